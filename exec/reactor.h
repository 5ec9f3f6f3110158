/* SPDX-License-Identifier: MIT */
/*
 * exec/reactor.h - the event loop of garthd: descriptors and deadlines on one thread.
 * Events are taken one at a time, so a callback may delete any other source without leaving a stale event behind.
 * Not here: messages (exec/conn.h), children (exec/reap.h).
 * Thread: one. Memory: sources and timers are the caller's, and must be deleted before they go.
 */
#ifndef GARTH_EXEC_REACTOR_H
#define GARTH_EXEC_REACTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"

struct reactor_io {
	int fd;                                    /* borrowed */
	void (*ready)(void *ctx, uint32_t events); /* EPOLLIN, EPOLLOUT, EPOLLHUP, EPOLLERR */
	void *ctx;
	bool on;
};

struct reactor_timer {
	int64_t at_ns; /* monotonic */
	void (*fire)(void *ctx);
	void *ctx;
	struct reactor_timer *next;
	bool on;
};

struct reactor {
	int epoll_fd;
	struct reactor_timer *timers; /* soonest first */
	bool stop;
};

must_check int reactor_init(struct reactor *l, struct err *err);
void reactor_fini(struct reactor *l); /* zeroed with epoll_fd -1 is fine */

must_check int reactor_io_add(struct reactor *l, struct reactor_io *io, int fd, uint32_t events,
			      void (*ready)(void *ctx, uint32_t events), void *ctx,
			      struct err *err);
void reactor_io_want(struct reactor *l, struct reactor_io *io, uint32_t events);
void reactor_io_del(struct reactor *l, struct reactor_io *io); /* not on: nothing */

/* Call fire(ctx) once, delay_ns from now; moves a timer that is on. */
void reactor_timer_set(struct reactor *l, struct reactor_timer *t, int64_t delay_ns,
		       void (*fire)(void *ctx), void *ctx);
void reactor_timer_clear(struct reactor *l, struct reactor_timer *t);

/* Run until l->stop. 0 or the errno of epoll_wait. */
must_check int reactor_run(struct reactor *l, struct err *err);

#endif
