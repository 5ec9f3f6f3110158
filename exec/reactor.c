/* SPDX-License-Identifier: MIT */
/*
 * exec/reactor.c - epoll, one event a turn, and a sorted list of deadlines.
 */
#include "exec/reactor.h"

#include <limits.h>
#include <sys/epoll.h>

#include "core/clock.h"
#include "core/fd.h"

int reactor_init(struct reactor *l, struct err *err)
{
	*l = (struct reactor){ .epoll_fd = epoll_create1(EPOLL_CLOEXEC) };
	if (l->epoll_fd < 0)
		return err_sys(err, "epoll_create1");
	return 0;
}

void reactor_fini(struct reactor *l)
{
	fd_closep(&l->epoll_fd);
}

int reactor_io_add(struct reactor *l, struct reactor_io *io, int fd, uint32_t events,
		   void (*ready)(void *ctx, uint32_t events), void *ctx, struct err *err)
{
	struct epoll_event ev = { .events = events, .data.ptr = io };

	*io = (struct reactor_io){ .fd = fd, .ready = ready, .ctx = ctx };
	if (epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0)
		return err_sys(err, "watch a descriptor");
	io->on = true;
	return 0;
}

void reactor_io_want(struct reactor *l, struct reactor_io *io, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = io };

	if (io->on)
		(void)epoll_ctl(l->epoll_fd, EPOLL_CTL_MOD, io->fd, &ev);
}

void reactor_io_del(struct reactor *l, struct reactor_io *io)
{
	if (!io->on)
		return;
	(void)epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, io->fd, NULL);
	io->on = false;
}

void reactor_timer_clear(struct reactor *l, struct reactor_timer *t)
{
	if (!t->on)
		return;
	for (struct reactor_timer **p = &l->timers; *p; p = &(*p)->next) {
		if (*p != t)
			continue;
		*p = t->next;
		break;
	}
	t->on = false;
}

void reactor_timer_set(struct reactor *l, struct reactor_timer *t, int64_t delay_ns,
		       void (*fire)(void *ctx), void *ctx)
{
	int64_t now = clock_mono_ns();
	struct reactor_timer **p;

	reactor_timer_clear(l, t);
	*t = (struct reactor_timer){ .fire = fire, .ctx = ctx, .on = true };
	t->at_ns = delay_ns > INT64_MAX - now ? INT64_MAX : now + delay_ns;
	p = &l->timers;
	while (*p && (*p)->at_ns <= t->at_ns)
		p = &(*p)->next;
	t->next = *p;
	*p = t;
}

/* Fire what is due; the time-out for epoll_wait in ms. */
static int timers_run(struct reactor *l)
{
	for (;;) {
		struct reactor_timer *t = l->timers;
		int64_t left;

		if (!t)
			return -1;
		left = t->at_ns - clock_mono_ns();
		if (left > 0) {
			int64_t ms = (left + NS_PER_MS - 1) / NS_PER_MS;

			return ms > INT_MAX ? INT_MAX : (int)ms;
		}
		l->timers = t->next;
		t->on = false;
		t->fire(t->ctx);
		if (l->stop)
			return 0;
	}
}

int reactor_run(struct reactor *l, struct err *err)
{
	while (!l->stop) {
		struct epoll_event ev;
		int timeout = timers_run(l);
		int n;

		if (l->stop)
			break;
		n = epoll_wait(l->epoll_fd, &ev, 1, timeout);
		if (n < 0 && errno != EINTR)
			return err_sys(err, "epoll_wait");
		if (n == 1) {
			struct reactor_io *io = ev.data.ptr;

			io->ready(io->ctx, ev.events);
		}
	}
	return 0;
}
