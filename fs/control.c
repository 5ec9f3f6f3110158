/* SPDX-License-Identifier: MIT */
/*
 * fs/control.c - the main thread: messages of garthd and of garth-api.
 */
#include "fs/control.h"

#include <poll.h>
#include <stdlib.h>

#include "core/fd.h"
#include "core/ids.h"
#include "core/msg.h"
#include "fs/agent.h"
#include "fs/api.h"
#include "fs/emit.h"
#include "fs/step.h"
#include "fs/task.h"

#define TURNS 16 /* messages of one peer, before the others have their turn */

struct control {
	struct fs *fs;
	struct client *client[CONTROL_CLIENTS_MAX];
	unsigned clients;
	struct wire_msg *m;
	bool stop;
	uint64_t stop_id;
};

static void reply(const struct wire_msg *m, int status, const struct err *err)
{
	(void)msg_reply_status(FD_CONTROL, m, status,
			       err); /* a peer that is gone is seen by poll */
}

static void add_client(struct control *k)
{
	struct client *c = NULL;
	int fd = wire_take_fd(k->m, 0);

	if (k->clients == CONTROL_CLIENTS_MAX) {
		fd_closep(&fd);
		return;
	}
	if (client_new(fd, &c) == 0)
		k->client[k->clients++] = c;
}

static int begin_sandbox(struct fs *fs, const struct msg_fs_sandbox *q, struct err *err)
{
	struct event e = { .kind = EV_SANDBOX };
	struct sandbox *sb = NULL;
	int r;

	if (!agent_name(fs->agents, q->agent_block))
		return err_set(err, -ENOENT, "no agent has block %u", q->agent_block);
	r = sandbox_add(fs->steps, q->sandbox, q->gid_base, q->agent_block, q->live != 0, &sb);
	if (r < 0)
		return err_errno(err, r, "sandbox with gids from %u", q->gid_base);
	r = task_begin(fs, sb, err);
	if (r == 0) {
		e.u.sandbox = (struct ev_sandbox){ .sandbox = sb->id,
						   .agent = sb->agent,
						   .live = sb->live };
		emit(fs, &e);
	} else {
		sandbox_end(fs->steps, sb);
	}
	sandbox_put(fs->steps, sb);
	return r;
}

static int end_sandbox(struct fs *fs, const struct msg_fs_sandbox_end *q, struct err *err)
{
	struct event e = { .kind = EV_SANDBOX_END };
	struct sandbox *sb = sandbox_by_id(fs->steps, q->sandbox);

	if (!sb)
		return err_set(err, -ENOENT, "no such sandbox");
	sandbox_end(fs->steps, sb);
	task_end(fs, sb);
	e.u.sandbox_end = (struct ev_sandbox_end){ .sandbox = sb->id, .why = bytes_str(q->why) };
	emit(fs, &e);
	sandbox_put(fs->steps, sb);
	return 0;
}

static int handle(struct control *k)
{
	struct err err = { 0 };
	int r = msg_check(k->m, PEER_D, PEER_F, &err);

	if (r < 0)
		return r;
	switch (k->m->head.type) {
	case MSG_FS_CLIENT: add_client(k); break;
	case MSG_FS_SANDBOX: reply(k->m, begin_sandbox(k->fs, msg_body(k->m), &err), &err); break;
	case MSG_FS_SANDBOX_END: reply(k->m, end_sandbox(k->fs, msg_body(k->m), &err), &err); break;
	case MSG_FS_STOP:
		k->stop = true;
		k->stop_id = k->m->head.id;
		break;
	default: return -EBADMSG;
	}
	return 0;
}

/* 0; -EPIPE garthd is gone, or talks nonsense. */
static int from_garthd(struct control *k)
{
	int r = wire_recv(FD_CONTROL, k->m);

	if (r == -EAGAIN || r == -EINTR)
		return 0;
	if (r <= 0)
		return -EPIPE;
	r = handle(k);
	wire_msg_fini(k->m);
	return r < 0 ? -EPIPE : 0;
}

/* false: it is gone, or talks nonsense. */
static bool from_client(struct control *k, struct client *c)
{
	struct pollfd p = { .fd = c->sock, .events = POLLIN };

	for (int i = 0; i < TURNS; i++) {
		int r = wire_recv(c->sock, k->m);

		if (r == -EAGAIN || r == -EINTR)
			return true;
		if (r <= 0)
			return false;
		r = msg_check(k->m, PEER_API, PEER_F, NULL);
		if (r == 0)
			api_handle(k->fs, c, k->m);
		wire_msg_fini(k->m);
		if (r < 0)
			return false;
		if (poll(&p, 1, 0) <= 0)
			return true;
	}
	return true;
}

static void drop_client(struct control *k, unsigned i)
{
	struct client *c = k->client[i];

	api_client_gone(k->fs, c);
	k->client[i] = k->client[--k->clients];
	client_put(c);
}

static void serve_clients(struct control *k, const struct pollfd *p)
{
	for (unsigned i = k->clients;
	     i-- > 0;) /* backwards: dropping one moves only what was served */
		if (p[i].revents && !from_client(k, k->client[i]))
			drop_client(k, i);
}

static int turn(struct control *k)
{
	struct pollfd p[2 + CONTROL_CLIENTS_MAX];
	unsigned n = k->clients;
	int r = 0;

	p[0] = (struct pollfd){ .fd = FD_CONTROL, .events = POLLIN };
	p[1] = (struct pollfd){ .fd = FD_KEEPER,
				.events = 0 }; /* its answers are read by who asked */
	for (unsigned i = 0; i < n; i++)
		p[2 + i] = (struct pollfd){ .fd = k->client[i]->sock, .events = POLLIN };
	if (poll(p, 2 + n, -1) < 0)
		return errno == EINTR ? 0 : -errno;
	if (p[1].revents & (POLLHUP | POLLERR))
		return -EPIPE;
	serve_clients(k, p + 2);
	if (p[0].revents)
		r = from_garthd(k);
	return r;
}

int control_run(struct fs *fs, uint64_t *ret_stop_id, struct err *err)
{
	struct control k = { .fs = fs };
	int r = 0;

	k.m = calloc(1, sizeof *k.m);
	if (!k.m)
		return -ENOMEM;
	wire_msg_init(k.m);
	while (r == 0 && !k.stop)
		r = turn(&k);
	while (k.clients > 0)
		drop_client(&k, 0);
	free(k.m);
	*ret_stop_id = k.stop_id;
	return r < 0 ? err_errno(err, r, "garthd or the keeper is gone") : 0;
}
