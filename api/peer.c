/* SPDX-License-Identifier: MIT */
/*
 * api/peer.c - one socket: calls that wait for an answer, messages that wait for room.
 * Not here: what to ask.
 */
#include "api/peer.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/fd.h"

#define PEER_WHY_MAX 512

struct queued {
	struct queued *next;
	uint64_t id;
	uint16_t type;
	unsigned nfds;
	int fds[WIRE_FDS_MAX];
	size_t body_len, tail_len;
	uint8_t bytes[];
};

struct peer {
	struct loop *loop;
	int fd;
	enum msg_peer who;
	const struct peer_ops *ops;
	void *ctx;
	struct watch watch;
	struct call *calls;
	struct queued *first, **last;
	unsigned queue_len;
	uint64_t next_id;
	struct wire_msg msg; /* the one that is being looked at */
	char why[PEER_WHY_MAX];
};

/* ---- calls ---- */

static void call_unlink(struct call *c)
{
	if (c->link == NULL)
		return;
	*c->link = c->next;
	if (c->next != NULL)
		c->next->link = c->link;
	c->link = NULL;
	c->next = NULL;
}

static void call_late(void *arg)
{
	struct call *c = arg;
	int status = c->status;

	call_unlink(c);
	c->loop = NULL;
	c->peer = NULL;
	c->fn(c->ctx, status, NULL, status == -ETIMEDOUT ? "no answer in time" : "");
}

static void call_fail_soon(struct call *c, int status)
{
	call_unlink(c);
	c->peer = NULL;
	c->status = status;
	timer_set(c->loop, &c->timer, 0, call_late, c);
}

void call_fail(struct loop *l, struct call *call, int status, call_fn *fn, void *ctx)
{
	invariant(call->loop == NULL);
	*call = (struct call){ .loop = l, .fn = fn, .ctx = ctx };
	call_fail_soon(call, status);
}

void call_cancel(struct call *call)
{
	if (call->loop == NULL)
		return;
	call_unlink(call);
	timer_stop(call->loop, &call->timer);
	call->loop = NULL;
	call->peer = NULL;
}

bool call_is_open(const struct call *call)
{
	return call->loop != NULL;
}

/* ---- the queue ---- */

static void queued_free(struct queued *q)
{
	for (unsigned i = 0; i < q->nfds; i++)
		fd_closep(&q->fds[i]);
	free(q);
}

static int queue_add(struct peer *p, uint16_t type, uint64_t id, struct bytes body,
		     struct bytes tail, const int *fds, unsigned nfds)
{
	struct queued *q;

	if (p->queue_len >= PEER_QUEUE_MAX)
		return -EAGAIN;
	q = calloc(1, sizeof *q + body.len + tail.len);
	if (q == NULL)
		return -ENOMEM;
	q->type = type;
	q->id = id;
	q->body_len = body.len;
	q->tail_len = tail.len;
	if (body.len > 0)
		memcpy(q->bytes, body.p, body.len);
	if (tail.len > 0)
		memcpy(q->bytes + body.len, tail.p, tail.len);
	for (unsigned i = 0; i < nfds; i++) {
		q->fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 0);
		if (q->fds[i] < 0) {
			int code = -errno;

			q->nfds = i;
			queued_free(q);
			return code;
		}
	}
	q->nfds = nfds;
	*p->last = q;
	p->last = &q->next;
	p->queue_len++;
	return loop_rewatch(p->loop, &p->watch, EPOLLIN | EPOLLOUT);
}

static void queue_drop(struct peer *p)
{
	while (p->first != NULL) {
		struct queued *q = p->first;

		p->first = q->next;
		queued_free(q);
	}
	p->last = &p->first;
	p->queue_len = 0;
}

static int queue_flush(struct peer *p)
{
	while (p->first != NULL) {
		struct queued *q = p->first;
		int rc = wire_send(p->fd, q->type, q->id, bytes_of(q->bytes, q->body_len),
				   bytes_of(q->bytes + q->body_len, q->tail_len), q->fds, q->nfds);

		if (rc == -EAGAIN)
			return 0;
		if (rc < 0)
			return rc;
		p->first = q->next;
		if (p->first == NULL)
			p->last = &p->first;
		p->queue_len--;
		queued_free(q);
	}
	return loop_rewatch(p->loop, &p->watch, EPOLLIN);
}

/* ---- the socket ---- */

static void peer_close(struct peer *p)
{
	if (p->fd < 0)
		return;
	loop_unwatch(p->loop, &p->watch);
	fd_closep(&p->fd);
	queue_drop(p);
	while (p->calls != NULL)
		call_fail_soon(p->calls, -EPIPE);
}

static void peer_lost(struct peer *p, const char *why)
{
	if (p->fd < 0)
		return;
	peer_close(p);
	p->ops->gone(p->ctx, why);
}

static void answered(struct peer *p)
{
	struct call *c = p->calls;
	struct bytes tail;
	int status;

	while (c != NULL && c->id != p->msg.head.id)
		c = c->next;
	if (c == NULL)
		return; /* its deadline has passed, or nobody wants it any more */
	if (c->type != (p->msg.head.type & ~WIRE_REPLY)) {
		peer_lost(p, "answered something else than it was asked");
		return;
	}
	status = msg_status_of(&p->msg);
	tail = msg_tail(&p->msg);
	p->why[0] = '\0';
	if (status < 0 && tail.len > 0)
		(void)snprintf(p->why, sizeof p->why, "%.*s",
			       (int)(tail.len < sizeof p->why ? tail.len : sizeof p->why - 1),
			       (const char *)tail.p);
	call_cancel(c);
	c->fn(c->ctx, status, &p->msg, p->why);
}

/* One message; false when there is nothing more to read now. */
static bool receive(struct peer *p)
{
	struct err err = { 0 };
	int rc = wire_recv(p->fd, &p->msg);

	if (rc == -EAGAIN)
		return false;
	if (rc <= 0) {
		peer_lost(p, rc == 0 ? "closed its socket" : "sent something malformed");
		return false;
	}
	rc = msg_check(&p->msg, p->who, PEER_API, &err);
	if (rc < 0)
		peer_lost(p, err.msg);
	else if (p->msg.head.type & WIRE_REPLY)
		answered(p);
	else
		p->ops->told(p->ctx, &p->msg);
	wire_msg_fini(&p->msg);
	return p->fd >= 0;
}

static void ready(void *arg, uint32_t events)
{
	struct peer *p = arg;

	if ((events & EPOLLOUT) && queue_flush(p) < 0) {
		peer_lost(p, "does not take messages");
		return;
	}
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		for (int i = 0; i < 32 && receive(p); i++) /* then others have a turn */
			;
}

int peer_new(struct loop *l, int fd, enum msg_peer who, const struct peer_ops *ops, void *ctx,
	     struct peer **ret)
{
	struct peer *p = calloc(1, sizeof *p);
	int rc;

	if (p == NULL)
		return -ENOMEM;
	p->loop = l;
	p->fd = fd;
	p->who = who;
	p->ops = ops;
	p->ctx = ctx;
	p->last = &p->first;
	p->next_id = 1;
	wire_msg_init(&p->msg);
	rc = fd_set_nonblock(fd, true);
	if (rc == 0)
		rc = loop_watch(l, &p->watch, fd, EPOLLIN, ready, p);
	if (rc < 0) {
		free(p);
		return rc;
	}
	*ret = p;
	return 0;
}

void peer_free(struct peer *p)
{
	if (p == NULL)
		return;
	peer_close(p);
	loop_free_later(p->loop, p); /* one of its callbacks may be on the stack */
}

bool peer_is_open(const struct peer *p)
{
	return p != NULL && p->fd >= 0;
}

void peer_call(struct peer *p, struct call *call, uint16_t type, struct bytes body,
	       struct bytes tail, const int *fds, unsigned nfds, int64_t timeout_ms, call_fn *fn,
	       void *ctx)
{
	int rc;

	invariant(call->loop == NULL);
	*call = (struct call){
		.peer = p, .loop = p->loop, .id = p->next_id++, .type = type, .fn = fn, .ctx = ctx
	};
	call->next = p->calls;
	call->link = &p->calls;
	if (p->calls != NULL)
		p->calls->link = &call->next;
	p->calls = call;
	if (p->fd < 0) {
		call_fail_soon(call, -EPIPE);
		return;
	}
	rc = p->first != NULL ? -EAGAIN : wire_send(p->fd, type, call->id, body, tail, fds, nfds);
	if (rc == -EAGAIN)
		rc = queue_add(p, type, call->id, body, tail, fds, nfds);
	if (rc < 0) {
		call_fail_soon(call, rc);
		return;
	}
	call->status = -ETIMEDOUT;
	timer_set(p->loop, &call->timer, timeout_ms, call_late, call);
}
