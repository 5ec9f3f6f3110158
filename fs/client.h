/* SPDX-License-Identifier: MIT */
/*
 * fs/client.h - a connection of garth-api, counted: the control thread reads from it, any thread may answer on it.
 */
#ifndef GARTH_FS_CLIENT_H
#define GARTH_FS_CLIENT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "core/bytes.h"
#include "core/err.h"
#include "core/wire.h"

#define CLIENT_SEND_S \
	10 /* a peer that reads nothing for so long misses the answer, and holds nobody up longer */

struct client {
	atomic_uint refs;
	int sock;
	pthread_mutex_t lock; /* one writer at a time */
};

must_check int client_new(int sock, struct client **ret); /* takes sock, also when it fails */
struct client *client_ref(struct client *c);
void client_put(struct client *c); /* NULL is fine */

/* An answer to request `type`, `id`. Errors are the peer's end, which the control thread sees. */
void client_reply(struct client *c, uint16_t type, uint64_t id, struct bytes body,
		  struct bytes tail, const int *fds, unsigned nfds);
void client_status(struct client *c, uint16_t type, uint64_t id, int status, const struct err *err);
void client_tell(struct client *c, uint16_t type, struct bytes body); /* unasked; never waits */

#endif
