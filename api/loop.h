/* SPDX-License-Identifier: MIT */
/*
 * api/loop.h - the one event loop of garth-api: descriptors, timers, and work for later.
 * A callback may end any watch or timer, also its own: what the kernel had already reported for an ended watch is dropped.
 * Not here: HTTP (api/listen.h), messages (api/peer.h).
 * Thread: one. Memory: watches and timers live in their users' structs.
 */
#ifndef GARTH_API_LOOP_H
#define GARTH_API_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "core/err.h"

struct loop;

struct timer {
	int64_t at_ns; /* monotonic */
	unsigned pos;  /* place in the heap + 1; 0: not set */
	void (*fn)(void *ctx);
	void *ctx;
};

struct watch {
	int fd; /* borrowed */
	bool on;
	void (*fn)(void *ctx, uint32_t events);
	void *ctx;
};

must_check int loop_new(struct loop **ret, struct err *err);
void loop_free(struct loop *l);

must_check int loop_watch(struct loop *l, struct watch *w, int fd, uint32_t events,
			  void (*fn)(void *, uint32_t), void *ctx);
must_check int loop_rewatch(struct loop *l, struct watch *w, uint32_t events); /* other events */
void loop_unwatch(struct loop *l, struct watch *w); /* before its fd is closed; twice is fine */

/* (Re)start a one-shot timer. 0 ms: as soon as the present callback is over. Never fails: a full heap was grown before. */
void timer_set(struct loop *l, struct timer *t, int64_t ms, void (*fn)(void *), void *ctx);
void timer_stop(struct loop *l, struct timer *t); /* not set: fine */

/* free(p) once no callback of this round can look at it any more. */
void loop_free_later(struct loop *l, void *p);

/* Called before each wait; gives the longest time to wait in ms, -1 for any. */
void loop_set_idle(struct loop *l, int64_t (*fn)(void *), void *ctx);

/* Run until loop_stop. 0, or the errno of epoll. */
must_check int loop_run(struct loop *l, struct err *err);
void loop_stop(struct loop *l);

#endif
