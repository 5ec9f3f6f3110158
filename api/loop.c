/* SPDX-License-Identifier: MIT */
/*
 * api/loop.c - epoll, a binary heap of timers, and a list of blocks to free.
 * Not here: what is watched.
 */
#include "api/loop.h"

#include <stdlib.h>

#include "core/clock.h"
#include "core/fd.h"

#define LOOP_BATCH 64
#define LOOP_TIMERS_FIRST 256u

struct loop {
	int epoll_fd;
	struct timer **heap;
	unsigned count, cap;
	struct epoll_event batch[LOOP_BATCH];
	int batch_len;
	void **dead; /* to free when the round is over */
	unsigned dead_len, dead_cap;
	int64_t (*idle)(void *);
	void *idle_ctx;
	bool stop;
};

int loop_new(struct loop **ret, struct err *err)
{
	struct loop *l = calloc(1, sizeof *l);

	if (l == NULL)
		return err_set(err, -ENOMEM, "no memory for the event loop");
	l->heap = calloc(LOOP_TIMERS_FIRST, sizeof(struct timer *));
	l->cap = LOOP_TIMERS_FIRST;
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (l->heap == NULL || l->epoll_fd < 0) {
		int code = err_sys(err, "make the event loop");

		loop_free(l);
		return code;
	}
	*ret = l;
	return 0;
}

static void bury(struct loop *l)
{
	for (unsigned i = 0; i < l->dead_len; i++)
		free(l->dead[i]);
	l->dead_len = 0;
}

void loop_free(struct loop *l)
{
	if (l == NULL)
		return;
	bury(l);
	fd_closep(&l->epoll_fd);
	free(l->dead);
	free(l->heap);
	free(l);
}

int loop_watch(struct loop *l, struct watch *w, int fd, uint32_t events,
	       void (*fn)(void *, uint32_t), void *ctx)
{
	struct epoll_event ev = { .events = events, .data.ptr = w };

	if (epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0)
		return -errno;
	*w = (struct watch){ .fd = fd, .on = true, .fn = fn, .ctx = ctx };
	return 0;
}

int loop_rewatch(struct loop *l, struct watch *w, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = w };

	return epoll_ctl(l->epoll_fd, EPOLL_CTL_MOD, w->fd, &ev) < 0 ? -errno : 0;
}

void loop_unwatch(struct loop *l, struct watch *w)
{
	if (!w->on)
		return;
	w->on = false;
	(void)epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, w->fd, NULL);
	for (int i = 0; i < l->batch_len; i++)
		if (l->batch[i].data.ptr == w)
			l->batch[i].data.ptr = NULL;
}

/* ---- timers ---- */

static void heap_put(struct loop *l, unsigned i, struct timer *t)
{
	l->heap[i] = t;
	t->pos = i + 1;
}

static void heap_up(struct loop *l, unsigned i)
{
	struct timer *t = l->heap[i];

	while (i > 0 && l->heap[(i - 1) / 2]->at_ns > t->at_ns) {
		heap_put(l, i, l->heap[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	heap_put(l, i, t);
}

static void heap_down(struct loop *l, unsigned i)
{
	struct timer *t = l->heap[i];

	for (;;) {
		unsigned kid = 2 * i + 1;

		if (kid >= l->count)
			break;
		if (kid + 1 < l->count && l->heap[kid + 1]->at_ns < l->heap[kid]->at_ns)
			kid++;
		if (l->heap[kid]->at_ns >= t->at_ns)
			break;
		heap_put(l, i, l->heap[kid]);
		i = kid;
	}
	heap_put(l, i, t);
}

void timer_stop(struct loop *l, struct timer *t)
{
	unsigned i = t->pos;

	if (i == 0)
		return;
	t->pos = 0;
	i--;
	l->count--;
	if (i == l->count)
		return;
	heap_put(l, i, l->heap[l->count]);
	heap_down(l, i);
	heap_up(l, i);
}

void timer_set(struct loop *l, struct timer *t, int64_t ms, void (*fn)(void *), void *ctx)
{
	timer_stop(l, t);
	if (l->count == l->cap) {
		struct timer **more = realloc(l->heap, 2 * l->cap * sizeof(struct timer *));

		invariant(more !=
			  NULL); /* a lost deadline would be a hang: better to be started anew */
		l->heap = more;
		l->cap *= 2;
	}
	t->at_ns = clock_mono_ns() + ms * NS_PER_MS;
	t->fn = fn;
	t->ctx = ctx;
	l->heap[l->count] = t;
	heap_up(l, l->count++);
}

static void timers_run(struct loop *l)
{
	int64_t now = clock_mono_ns();

	while (l->count > 0 && l->heap[0]->at_ns <= now && !l->stop) {
		struct timer *t = l->heap[0];

		timer_stop(l, t);
		t->fn(t->ctx);
	}
}

void loop_free_later(struct loop *l, void *p)
{
	if (p == NULL)
		return;
	if (l->dead_len == l->dead_cap) {
		unsigned cap = l->dead_cap == 0 ? 64 : 2 * l->dead_cap;
		void **more = realloc(l->dead, cap * sizeof(void *));

		invariant(more != NULL);
		l->dead = more;
		l->dead_cap = cap;
	}
	l->dead[l->dead_len++] = p;
}

/* ---- the round ---- */

void loop_set_idle(struct loop *l, int64_t (*fn)(void *), void *ctx)
{
	l->idle = fn;
	l->idle_ctx = ctx;
}

static int wait_ms(struct loop *l)
{
	int64_t ms = l->idle != NULL ? l->idle(l->idle_ctx) : -1;

	if (l->count > 0) {
		int64_t left = l->heap[0]->at_ns - clock_mono_ns();
		int64_t t = left <= 0 ? 0 : (left + NS_PER_MS - 1) / NS_PER_MS;

		if (ms < 0 || t < ms)
			ms = t;
	}
	return ms < 0 ? -1 : ms > INT32_MAX ? INT32_MAX : (int)ms;
}

int loop_run(struct loop *l, struct err *err)
{
	l->stop = false;
	while (!l->stop) {
		int ms = wait_ms(l);
		int n = l->stop ? 0 : epoll_wait(l->epoll_fd, l->batch, LOOP_BATCH, ms);

		if (n < 0 && errno != EINTR)
			return err_sys(err, "epoll_wait");
		l->batch_len = n > 0 ? n : 0;
		for (int i = 0; i < l->batch_len; i++) {
			struct watch *w = l->batch[i].data.ptr;

			if (w != NULL)
				w->fn(w->ctx, l->batch[i].events);
		}
		l->batch_len = 0;
		timers_run(l);
		bury(l);
	}
	return 0;
}

void loop_stop(struct loop *l)
{
	l->stop = true;
}
