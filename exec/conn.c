/* SPDX-License-Identifier: MIT */
/*
 * exec/conn.c - sending without blocking, receiving with every check done.
 */
#include "exec/conn.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "core/fd.h"

struct conn_out {
	struct conn_out *next;
	uint64_t id;
	uint16_t type;
	unsigned nfds;
	int fds[WIRE_FDS_MAX];
	size_t len;
	uint8_t data[];
};

void conn_init(struct conn *k)
{
	*k = (struct conn){ .fd = -1 };
}

static void out_free(struct conn_out *o)
{
	for (unsigned i = 0; i < o->nfds; i++)
		fd_closep(&o->fds[i]);
	free(o);
}

static void out_pop(struct conn *k)
{
	struct conn_out *o = k->first;

	k->first = o->next;
	if (!k->first)
		k->last = &k->first;
	k->queued--;
	out_free(o);
}

void conn_close(struct conn *k)
{
	if (k->fd < 0)
		return;
	while (k->first)
		out_pop(k);
	reactor_io_del(k->loop, &k->io);
	fd_closep(&k->fd);
}

/* Send what waits. 0, also where the peer still lags; else negative. */
static int flush(struct conn *k)
{
	while (k->first) {
		struct conn_out *o = k->first;
		int r = wire_send(k->fd, o->type, o->id, bytes_of(o->data, o->len),
				  bytes_of(NULL, 0), o->fds, o->nfds);

		if (r == -EAGAIN)
			return 0;
		if (r < 0)
			return r;
		out_pop(k);
	}
	reactor_io_want(k->loop, &k->io, EPOLLIN);
	return 0;
}

static int receive(struct conn *k)
{
	struct wire_msg m;
	int r;

	wire_msg_init(&m);
	r = wire_recv(k->fd, &m);
	if (r == 1) {
		r = msg_check(&m, k->peer, PEER_D, NULL);
		if (r == 0)
			r = k->take(k->ctx, &m);
	} else if (r == 0) {
		r = -EPIPE;
	} else if (r == -EAGAIN) {
		r = 0;
	}
	wire_msg_fini(&m);
	return r;
}

static void ready(void *ctx, uint32_t events)
{
	struct conn *k = ctx;
	int r = 0;

	if (events & EPOLLOUT)
		r = flush(k);
	if (r == 0 && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		r = receive(k);
	if (r < 0 && k->fd >= 0)
		k->gone(k->ctx);
}

int conn_open(struct conn *k, struct reactor *loop, int fd, enum msg_peer peer,
	      int (*take)(void *ctx, struct wire_msg *m), void (*gone)(void *ctx), void *ctx,
	      struct err *err)
{
	autofd own = fd;
	int r;

	conn_init(k);
	r = fd_set_nonblock(own, true);
	if (r < 0)
		return err_set(err, r, "make a socket non-blocking");
	k->loop = loop;
	k->peer = peer;
	k->take = take;
	k->gone = gone;
	k->ctx = ctx;
	k->last = &k->first;
	r = reactor_io_add(loop, &k->io, own, EPOLLIN, ready, k, err);
	if (r < 0)
		return r;
	k->fd = fd_steal(&own);
	return 0;
}

static int queue(struct conn *k, uint16_t type, uint64_t id, struct bytes body, struct bytes tail,
		 const int *fds, unsigned nfds)
{
	struct conn_out *o;

	if (k->queued >= CONN_QUEUE_MAX)
		return -ENOBUFS;
	o = calloc(1, sizeof *o + body.len + tail.len);
	if (!o)
		return -ENOMEM;
	o->id = id;
	o->type = type;
	o->len = body.len + tail.len;
	if (body.len)
		memcpy(o->data, body.p, body.len);
	if (tail.len)
		memcpy(o->data + body.len, tail.p, tail.len);
	for (unsigned i = 0; i < nfds; i++) {
		o->fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 3);
		if (o->fds[i] < 0) {
			int code = -errno;

			out_free(o);
			return code;
		}
		o->nfds++;
	}
	*k->last = o;
	k->last = &o->next;
	k->queued++;
	reactor_io_want(k->loop, &k->io, EPOLLIN | EPOLLOUT);
	return 0;
}

int conn_send(struct conn *k, uint16_t type, uint64_t id, struct bytes body, struct bytes tail,
	      const int *fds, unsigned nfds)
{
	int r;

	if (k->fd < 0)
		return -EPIPE;
	if (k->first)
		return queue(k, type, id, body, tail, fds, nfds);
	r = wire_send(k->fd, type, id, body, tail, fds, nfds);
	return r == -EAGAIN ? queue(k, type, id, body, tail, fds, nfds) : r;
}

void conn_reply_status(struct conn *k, uint16_t type, uint64_t id, int status,
		       const struct err *err)
{
	struct msg_status s = { .status = status };
	struct bytes tail = bytes_of(NULL, 0);

	if (id == 0)
		return; /* it wants no answer */
	if (status != 0 && err)
		tail = bytes_str(err->msg);
	(void)conn_send(k, type | WIRE_REPLY, id, bytes_of(&s, sizeof s), tail, NULL, 0);
}
