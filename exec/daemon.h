/* SPDX-License-Identifier: MIT */
/*
 * exec/daemon.h - garthd's state, and answering who asked.
 * Not here: workspaces (exec/workspace.h), sandboxes (exec/life.h), messages one by one (exec/daemon.c).
 * Thread: one.
 */
#ifndef GARTH_EXEC_DAEMON_H
#define GARTH_EXEC_DAEMON_H

#include "exec/cgroup.h"
#include "exec/conn.h"
#include "exec/etc.h"
#include "exec/ids.h"
#include "exec/reactor.h"

#define DAEMON_SERVER_SIZE 17 /* 16 hex digits: the last part of RUNDIR */

struct daemon_config {
	const char *data;    /* DIR, absolute */
	const char *run;     /* RUNDIR, absolute */
	const char *libexec; /* where the other programs are */
	uint32_t ids_first, ids_count, api_gid, sandboxes;
};

struct workspace;
struct sandbox;

struct daemon {
	struct daemon_config cfg;
	struct reactor loop;
	char server[DAEMON_SERVER_SIZE];
	int data_fd, run_fd, init_fd, filter_fd;
	struct ids ids;
	struct cgroups cg;
	struct etc etc;
	struct conn up, api;
	unsigned api_generation; /* which garth-api asked: answers for a dead one are dropped */
	uint64_t next_id;        /* of requests to garth-fs */
	struct workspace *workspaces;
	struct sandbox *sandboxes;
	bool stopping, answer_stop;
	uint64_t stop_id;
};

/* A question of garth-api's that is answered later. */
struct ask {
	uint64_t id;
	unsigned generation;
	uint16_t type; /* 0: none */
};

struct ask ask_of(const struct daemon *d, const struct wire_msg *m);
void ask_answer(struct daemon *d, struct ask *a, int status,
		const struct err *err); /* a is none afterwards */
void ask_answer_fd(struct daemon *d, struct ask *a, struct bytes body,
		   int fd); /* fd is borrowed; status 0 */

/* Tell garth-api something unasked. */
void daemon_tell_api(struct daemon *d, uint16_t type, struct bytes body);

/* Everything is opened and swept. Owns nothing of cfg; takes up_fd where it succeeds. daemon_fini follows also where it does not. */
must_check int daemon_init(struct daemon *d, const struct daemon_config *cfg, int up_fd,
			   struct err *err);
must_check int daemon_run(struct daemon *d, struct err *err);
void daemon_fini(struct daemon *d);

/* Begin to end all sandboxes and workspaces; the loop stops when they have. */
void daemon_stop(struct daemon *d);
/* A workspace or sandbox has come to its end: was it the last one that a stop waits for? */
void daemon_check_stop(struct daemon *d);

#endif
