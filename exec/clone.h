/* SPDX-License-Identifier: MIT */
/*
 * exec/clone.h - a sandbox's first process: new namespaces, the root, no rights but three, then garth-init.
 *
 * The child talks to garthd over a sync socket, one message each way at a time:
 *     garthd  CLONE_ATTACHED   its cgroups hold it now, so it may begin
 *     child   CLONE_MAP        it is in its user namespace: clone_map, then garthd sends CLONE_MAPPED
 *     child   CLONE_FAILED     with a sentence; it then exits
 *     end of file              it has executed garth-init (or it died: the pidfd tells)
 * Not here: the mounts (exec/root.h), what a sandbox may do (exec/filter.h, exec/landlock.h), waiting (exec/life.h).
 * Thread: garthd's one thread, and the child.
 */
#ifndef GARTH_EXEC_CLONE_H
#define GARTH_EXEC_CLONE_H

#include <sys/types.h>

#include "exec/root.h"

enum clone_word { CLONE_ATTACHED = 1, CLONE_MAP, CLONE_MAPPED, CLONE_FAILED };

struct clone_note {
	uint32_t word; /* enum clone_word */
	int32_t code;  /* CLONE_FAILED: a negative errno */
	char msg[256];
};

struct clone_request {
	const struct sb_plan *plan;
	struct root_place place;
	int init_fd;  /* the program garth-init */
	int guest_fd; /* its end of the guest socket */
	int filter_fd; /* seccomp program; a description of its own, so that offsets are not shared */
	int cgroup_fd; /* to be born in (v2); -1 */
};

/* All fds are borrowed. The child waits for CLONE_ATTACHED. */
must_check int clone_start(const struct clone_request *a, pid_t *ret_pid, int *ret_pidfd,
			   int *ret_sync_fd, struct err *err);

/* Write a process's id maps, the lines as in /proc/PID/uid_map. */
must_check int clone_map(pid_t pid, const char *uid_map, const char *gid_map, struct err *err);

must_check int clone_say(int sync_fd, enum clone_word word);

/* 1 a note, 0 end of file, -EAGAIN, errno. */
must_check int clone_hear(int sync_fd, struct clone_note *ret);

#endif
