/* SPDX-License-Identifier: MIT */
/*
 * api/slots.h - how many sandboxes at once, and who waits for one: first come, first served, but a workspace at its own limit is
 * passed over. One slot in eight (at least one) is kept for hooks, whose steps hold a slot while they wait for them: so hooks
 * always get on, and nobody waits for ever.
 * Not here: sandboxes (api/sandbox.h).
 */
#ifndef GARTH_API_SLOTS_H
#define GARTH_API_SLOTS_H

#include "api/ws.h"

#define SLOTS_MIN 2u

struct slot_wait {
	struct slot_wait *next, **link; /* link NULL: does not wait */
	struct ws *ws;
	bool hook;
	void (*fn)(void *ctx); /* the slot is the waiter's */
	void *ctx;
};

must_check int slots_new(struct app *app, struct slots **ret);
void slots_free(struct slots *s);

/*
 * 0 it is yours now, -EINPROGRESS fn will be called, -EAGAIN the queue is full. @wait false: queue only
 * where an idle helper makes room right now.
 */
must_check int slots_take(struct app *app, struct ws *ws, bool hook, bool wait, struct slot_wait *w,
			  void (*fn)(void *), void *ctx);
void slots_cancel(struct app *app, struct slot_wait *w); /* not waiting: fine */
void slots_give(struct app *app, struct ws *ws, bool hook);

unsigned slots_used(const struct app *app);
unsigned slots_waiting(const struct app *app);

#endif
