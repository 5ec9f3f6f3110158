/* SPDX-License-Identifier: MIT */
/*
 * api/peer.h - questions to another process of garth, answered later: an id, a callback and a deadline each.
 * Whatever happens (answer, deadline, the peer gone, a full queue) the callback is called exactly once, never from within peer_call;
 * after call_cancel it is not called. So a stuck peer keeps nobody waiting but those who asked it, and those not for ever.
 * Not here: which messages there are (core/msg.h).
 * Thread: one. Memory: a struct call lives in its user's struct and must outlive the question or be cancelled.
 */
#ifndef GARTH_API_PEER_H
#define GARTH_API_PEER_H

#include "api/loop.h"
#include "core/msg.h"

#define PEER_QUEUE_MAX \
	512u /* messages that the socket did not take yet; past it a call fails with -EAGAIN */

struct peer;

/*
 * @status 0, or a negative errno: of the reply, -ETIMEDOUT, -EPIPE the peer is gone, -EAGAIN its queue is full.
 * @reply  the checked reply; where status is not 0 it may be NULL. Its fds are closed after the callback unless taken.
 * @why    a sentence for people, "" where there is none.
 */
typedef void call_fn(void *ctx, int status, struct wire_msg *reply, const char *why);

struct call {
	struct peer *peer; /* NULL: nothing is open */
	struct loop *loop;
	struct call *next, **link;
	uint64_t id;
	uint16_t type;
	int status; /* of a failure that is reported from the timer */
	struct timer timer;
	call_fn *fn;
	void *ctx;
};

struct peer_ops {
	void (*told)(void *ctx, struct wire_msg *m); /* a checked message that answers nothing */
	void (*gone)(
		void *ctx,
		const char *
			why); /* once; the peer is closed already, peer_free it or keep it for later */
};

/* Takes fd on success. @me garth-api's side in the table of messages is always PEER_API; @who the other's. */
must_check int peer_new(struct loop *l, int fd, enum msg_peer who, const struct peer_ops *ops,
			void *ctx, struct peer **ret);
void peer_free(
	struct peer
		*p); /* NULL is fine; open calls fail with -EPIPE, ops are not called any more */
bool peer_is_open(const struct peer *p);

/* @fds borrowed. @call must not be open. */
void peer_call(struct peer *p, struct call *call, uint16_t type, struct bytes body,
	       struct bytes tail, const int *fds, unsigned nfds, int64_t timeout_ms, call_fn *fn,
	       void *ctx);

/* A call that fails by itself, for whoever has no peer to ask. */
void call_fail(struct loop *l, struct call *call, int status, call_fn *fn, void *ctx);
void call_cancel(struct call *call); /* not open: fine */
bool call_is_open(const struct call *call);

#endif
