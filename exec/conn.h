/* SPDX-License-Identifier: MIT */
/*
 * exec/conn.h - one peer of garthd: its socket in the loop, and a bounded queue of what it has not taken yet, so that a peer which
 * does not read never stops garthd.
 * Not here: which messages there are (core/msg.h), what they do (exec/daemon.h).
 * Thread: the loop's. Memory: owns the socket and the queue.
 */
#ifndef GARTH_EXEC_CONN_H
#define GARTH_EXEC_CONN_H

#include "core/msg.h"
#include "exec/reactor.h"

#define CONN_QUEUE_MAX 4096u /* messages a peer may lag behind before it counts as gone */

struct conn_out;

struct conn {
	struct reactor *loop;
	struct reactor_io io;
	int fd; /* -1: no peer */
	enum msg_peer peer;
	struct conn_out *first, **last;
	unsigned queued;
	int (*take)(
		void *ctx,
		struct wire_msg *m); /* checked by msg_check; negative: the peer is thrown out */
	void (*gone)(void *ctx); /* the peer closed, broke the rules or lags; calls conn_close */
	void *ctx;
};

void conn_init(struct conn *k); /* no peer */

/* Takes fd, also on failure. */
must_check int conn_open(struct conn *k, struct reactor *loop, int fd, enum msg_peer peer,
			 int (*take)(void *ctx, struct wire_msg *m), void (*gone)(void *ctx),
			 void *ctx, struct err *err);
void conn_close(struct conn *k);
static inline bool conn_is_open(const struct conn *k)
{
	return k->fd >= 0;
}

/* Send or queue; fds are borrowed. 0, -EPIPE no peer or a dead one (its `gone` comes from the loop), -ENOBUFS, -ENOMEM. */
int conn_send(struct conn *k, uint16_t type, uint64_t id, struct bytes body, struct bytes tail,
	      const int *fds, unsigned nfds);

/* The answer to request `id` of `type`: a bare status, with err's sentence as tail where it is not 0. */
void conn_reply_status(struct conn *k, uint16_t type, uint64_t id, int status,
		       const struct err *err);

#endif
