/* SPDX-License-Identifier: MIT */
/*
 * fs/client.c - a connection of garth-api.
 */
#include "fs/client.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "core/fd.h"
#include "core/msg.h"

int client_new(int sock, struct client **ret)
{
	struct timeval limit = { .tv_sec = CLIENT_SEND_S };
	struct client *c = calloc(1, sizeof *c);

	if (!c) {
		fd_closep(&sock);
		return -ENOMEM;
	}
	atomic_init(&c->refs, 1);
	(void)setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
	c->sock = sock;
	pthread_mutex_init(&c->lock, NULL);
	*ret = c;
	return 0;
}

struct client *client_ref(struct client *c)
{
	if (c)
		atomic_fetch_add(&c->refs, 1);
	return c;
}

void client_put(struct client *c)
{
	if (!c || atomic_fetch_sub(&c->refs, 1) > 1)
		return;
	fd_closep(&c->sock);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

void client_reply(struct client *c, uint16_t type, uint64_t id, struct bytes body,
		  struct bytes tail, const int *fds, unsigned nfds)
{
	pthread_mutex_lock(&c->lock);
	(void)wire_send(c->sock, (uint16_t)(type | WIRE_REPLY), id, body, tail, fds, nfds);
	pthread_mutex_unlock(&c->lock);
}

void client_status(struct client *c, uint16_t type, uint64_t id, int status, const struct err *err)
{
	uint8_t body[512] = {
		0
	}; /* the reply's own struct, zero but for its status: the largest is far below that */
	const struct msg_spec *spec = msg_spec_of(type);
	struct msg_status s = { .status = status };
	struct bytes tail = { 0 };

	invariant(spec && spec->reply >= sizeof s && spec->reply <= sizeof body);
	memcpy(body, &s, sizeof s);
	if (status < 0 && err && err->msg[0])
		tail = bytes_str(err->msg);
	client_reply(c, type, id, bytes_of(body, status < 0 ? sizeof s : spec->reply), tail, NULL,
		     0);
}

void client_tell(struct client *c, uint16_t type, struct bytes body)
{
	struct pollfd p = { .fd = c->sock, .events = POLLOUT };

	pthread_mutex_lock(&c->lock);
	if (poll(&p, 1, 0) == 1 && (p.revents & POLLOUT))
		(void)wire_send(c->sock, type, 0, body, (struct bytes){ 0 }, NULL, 0);
	pthread_mutex_unlock(&c->lock);
}
