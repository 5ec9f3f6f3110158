/* SPDX-License-Identifier: MIT */
/*
 * exec/reap.c - waiting for children.
 */
#include "exec/reap.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/wait.h>

#include "core/fd.h"

void child_init(struct child *c)
{
	*c = (struct child){ .pidfd = -1 };
}

void child_kill(struct child *c)
{
	if (c->pid == 0)
		return;
	/* Not reaped yet, so neither number can be somebody else's. */
	if (c->group)
		(void)kill(-c->pid, SIGKILL);
	(void)pidfd_send_signal(c->pidfd, SIGKILL, NULL, 0);
}

static void ready(void *ctx, uint32_t events)
{
	struct child *c = ctx;
	int status = 0;
	pid_t got;

	(void)events;
	if (c->group)
		(void)kill(-c->pid, SIGKILL); /* what it left behind, before its number is free */
	do {
		got = waitpid(c->pid, &status, WNOHANG);
	} while (got < 0 && errno == EINTR);
	if (got == 0)
		return;
	reactor_io_del(c->loop, &c->io);
	fd_closep(&c->pidfd);
	c->pid = 0;
	c->ended(c->ctx, status);
}

int child_watch(struct child *c, struct reactor *loop, pid_t pid, int pidfd, bool group,
		void (*ended)(void *ctx, int status), void *ctx, struct err *err)
{
	int r;

	*c = (struct child){
		.loop = loop, .pid = pid, .pidfd = pidfd, .group = group, .ended = ended, .ctx = ctx
	};
	r = reactor_io_add(loop, &c->io, pidfd, EPOLLIN, ready, c, err);
	if (r < 0) {
		child_kill(c);
		(void)waitpid(pid, NULL, 0);
		fd_closep(&c->pidfd);
		c->pid = 0;
	}
	return r;
}

static void left_ended(void *ctx, int status)
{
	(void)status;
	free(ctx);
}

void child_leave(struct reactor *loop, pid_t pid)
{
	struct child *c = calloc(1, sizeof *c);
	int pidfd = pidfd_open(pid, 0);

	/* On failure it stays a zombie until garthd ends: harmless. */
	if (!c || pidfd < 0 || child_watch(c, loop, pid, pidfd, false, left_ended, c, NULL) < 0)
		free(c);
}
