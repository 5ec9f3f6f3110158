/* SPDX-License-Identifier: MIT */
/*
 * exec/reap.h - a child of garthd: watched through its pidfd, waited for exactly once.
 * Thread: the loop's. Memory: owns the pidfd.
 */
#ifndef GARTH_EXEC_REAP_H
#define GARTH_EXEC_REAP_H

#include <sys/types.h>

#include "exec/reactor.h"

struct child {
	struct reactor *loop;
	struct reactor_io io;
	pid_t pid; /* 0: none */
	int pidfd;
	bool group;                           /* leads a process group that dies with it */
	void (*ended)(void *ctx, int status); /* as wait(2); the child is reaped, pid is 0 */
	void *ctx;
};

void child_init(struct child *c); /* none */

/* Takes pidfd. On failure the child is killed and reaped. */
must_check int child_watch(struct child *c, struct reactor *loop, pid_t pid, int pidfd, bool group,
			   void (*ended)(void *ctx, int status), void *ctx, struct err *err);
/* Reap it whenever it ends; nobody asks how. */
void child_leave(struct reactor *loop, pid_t pid);

void child_kill(struct child *c); /* SIGKILL, to its group where it leads one; none: nothing */

#endif
