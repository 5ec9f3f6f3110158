/* SPDX-License-Identifier: MIT */
/*
 * api/slots.c - two counters and two queues.
 */
#include "api/slots.h"

#include <stdlib.h>

#include "api/sandbox.h"

struct slots {
	unsigned max, kept;    /* of max, for hooks */
	unsigned plain, hooks; /* used */
	unsigned waiting;      /* plain ones */
	struct slot_wait *first_plain, *first_hook;
};

int slots_new(struct app *app, struct slots **ret)
{
	struct slots *s = calloc(1, sizeof *s);

	if (s == NULL)
		return -ENOMEM;
	s->max = app->sandboxes_max < SLOTS_MIN ? SLOTS_MIN : app->sandboxes_max;
	s->kept = 1 + s->max / 8;
	if (s->kept >= s->max)
		s->kept = s->max - 1;
	*ret = s;
	return 0;
}

void slots_free(struct slots *s)
{
	free(s);
}

static bool at_own_limit(const struct ws *ws)
{
	return ws->policy != NULL && ws->slots_used >= ws->policy->limits.ws_sandboxes;
}

static bool has_room(const struct slots *s, const struct ws *ws, bool hook)
{
	if (s->plain + s->hooks >= s->max)
		return false;
	return hook || (s->plain < s->max - s->kept && !at_own_limit(ws));
}

static void use(struct slots *s, struct ws *ws, bool hook)
{
	if (hook) {
		s->hooks++;
		return;
	}
	s->plain++;
	ws->slots_used++;
}

static void enqueue(struct slot_wait **first, struct slot_wait *w)
{
	while (*first != NULL)
		first = &(*first)->next;
	w->next = NULL;
	w->link = first;
	*first = w;
}

static void dequeue(struct slots *s, struct slot_wait *w)
{
	invariant(w->link != NULL);
	if (w->link == NULL)
		return;
	*w->link = w->next;
	if (w->next != NULL)
		w->next->link = w->link;
	w->link = NULL;
	if (!w->hook) {
		s->waiting--;
		w->ws->slots_waiting--;
	}
}

int slots_take(struct app *app, struct ws *ws, bool hook, bool wait, struct slot_wait *w,
	       void (*fn)(void *), void *ctx)
{
	struct slots *s = app->slots;
	bool behind = !hook && ws->slots_waiting > 0; /* others of this workspace were first */
	bool freed;

	*w = (struct slot_wait){ .ws = ws, .hook = hook, .fn = fn, .ctx = ctx };
	if (!behind && has_room(s, ws, hook)) {
		use(s, ws, hook);
		return 0;
	}
	freed = sandbox_evict_idle(app, !hook && at_own_limit(ws) ? ws : NULL);
	if ((!wait && (behind || !freed)) ||
	    (!hook &&
	     (s->waiting >= app->queue_max ||
	      (ws->policy != NULL && ws->slots_waiting >= ws->policy->limits.ws_steps_queued))))
		return -EAGAIN;
	enqueue(hook ? &s->first_hook : &s->first_plain, w);
	if (!hook) {
		s->waiting++;
		ws->slots_waiting++;
	}
	return -EINPROGRESS;
}

void slots_cancel(struct app *app, struct slot_wait *w)
{
	if (w->link != NULL)
		dequeue(app->slots, w);
}

static struct slot_wait *next_fit(struct slots *s)
{
	struct slot_wait *w;

	if (s->first_hook != NULL && has_room(s, s->first_hook->ws, true))
		return s->first_hook;
	for (w = s->first_plain; w != NULL; w = w->next)
		if (has_room(s, w->ws, false))
			return w;
	return NULL;
}

void slots_give(struct app *app, struct ws *ws, bool hook)
{
	struct slots *s = app->slots;
	struct slot_wait *w;

	if (hook) {
		s->hooks--;
	} else {
		s->plain--;
		ws->slots_used--;
	}
	while ((w = next_fit(s)) != NULL) {
		dequeue(s, w);
		use(s, w->ws, w->hook);
		w->fn(w->ctx);
	}
}

unsigned slots_used(const struct app *app)
{
	return app->slots->plain + app->slots->hooks;
}

unsigned slots_waiting(const struct app *app)
{
	return app->slots->waiting;
}
