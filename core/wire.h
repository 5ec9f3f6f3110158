/* SPDX-License-Identifier: MIT */
/*
 * core/wire.h - one message between two processes of garth: SOCK_SEQPACKET, a fixed header, a fixed body, a bounded tail, up to 4 fds.
 *
 *   header (16 bytes) | body (the size of its struct in core/msg.h) | tail (0..WIRE_TAIL_MAX bytes, what the body's comment says)
 *
 * A reply carries the request's type | WIRE_REPLY and its id; its body begins with an int32 status (0 or a negative errno) and, where
 * status is not 0, the tail may be a sentence for people. What does not fit in a tail travels in a sealed memfd.
 * Numbers are the host's: both ends are one build on one host, and `version` says so.
 * Not here: which messages there are and who may send them (core/msg.h).
 * Thread: any, one reader and one writer a socket.
 */
#ifndef GARTH_CORE_WIRE_H
#define GARTH_CORE_WIRE_H

#include <stdint.h>

#include "core/bytes.h"
#include "core/err.h"

#define WIRE_VERSION 1
#define WIRE_REPLY 0x8000u
#define WIRE_FDS_MAX 4
#define WIRE_TAIL_MAX (48u * 1024)
#define WIRE_MSG_MAX (64u * 1024)

struct wire_head {
	uint8_t version; /* WIRE_VERSION */
	uint8_t fds;     /* descriptors that come along */
	uint16_t type;   /* core/msg.h */
	uint32_t len;    /* bytes after the header */
	uint64_t id;     /* of the request, chosen by who asks; 0 for what wants no answer */
};
_Static_assert(sizeof(struct wire_head) == 16, "wire header");

/* A received message; its descriptors are closed by wire_msg_fini unless taken (set to -1). */
struct wire_msg {
	struct wire_head head;
	int fd[WIRE_FDS_MAX]; /* -1 where none */
	uint8_t body[WIRE_MSG_MAX];
};

void wire_msg_init(struct wire_msg *m); /* fds -1 */
void wire_msg_fini(struct wire_msg *m);
int wire_take_fd(struct wire_msg *m, unsigned i); /* the caller's now; -1 where there is none */

/*
 * Send. @fds are borrowed (the kernel duplicates them). Blocks while the peer's queue is full unless the socket is O_NONBLOCK.
 * 0, -EAGAIN, -EPIPE/-ECONNRESET the peer is gone, -EMSGSIZE, errno.
 */
must_check int wire_send(int sock, uint16_t type, uint64_t id, struct bytes body, struct bytes tail,
			 const int *fds, unsigned nfds);

/*
 * Receive one. Everything is checked: version, len against what came, count of fds, no truncation; received fds are CLOEXEC.
 * 1 a message, 0 the peer closed, -EAGAIN, -EBADMSG (its fds are closed), errno. m was wire_msg_init'ed or fini'ed.
 */
must_check int wire_recv(int sock, struct wire_msg *m);

/* As wire_recv, waiting at most timeout_ms: -ETIMEDOUT. */
must_check int wire_recv_timeout(int sock, struct wire_msg *m, int timeout_ms);

#endif
