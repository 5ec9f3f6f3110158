/* SPDX-License-Identifier: MIT */
/*
 * tests/exec/guest_talk.c - plays garth-api: the messages to a garth-init in a box.
 * Not here: the box (tests/exec/guest_box.c).
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/fd.h"
#include "core/ids.h"
#include "tests/exec/guest_box.h"

#define BODY_MAX (70u * 1024 * 1024)

static int add_text(struct buf *b, const char *s)
{
	uint32_t len = (uint32_t)strlen(s);
	int r = buf_add(b, &len, sizeof len);

	return r < 0 ? r : buf_add(b, s, len);
}

static uint32_t add_list(struct buf *b, const char *const *list)
{
	uint32_t n = 0;

	for (; list && list[n]; n++)
		(void)add_text(b, list[n]);
	return n;
}

static int make_body(const struct box_step *s, struct msg_spawn *m, int *ret_fd)
{
	autobuf b;
	int r;

	buf_init(&b, BODY_MAX);
	(void)add_text(&b, s->cwd ? s->cwd : "/workspace/task");
	m->argc = add_list(&b, s->argv);
	m->envc = add_list(&b, s->env);
	(void)add_text(&b, s->code ? s->code : "");
	m->files = add_list(&b, s->files) / 2;
	r = fd_memfd("spawn", buf_view(&b), ret_fd);
	return r;
}

static int make_stdin(const char *text)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (text) {
		fd_closep(&fd);
		if (fd_memfd("stdin", bytes_str(text), &fd) < 0)
			return -1;
	}
	return fd;
}

static void take_status(struct box *b, struct box_end *ret)
{
	struct bytes tail = msg_tail(&b->msg);

	ret->status = msg_status_of(&b->msg);
	if (ret->status != 0)
		(void)snprintf(ret->why, sizeof ret->why, "%.*s", (int)tail.len,
			       (const char *)tail.p);
}

/* The next message; 0 or -1 (printed). */
static int next(struct box *b)
{
	struct err err = { 0 };
	int r;

	wire_msg_fini(&b->msg);
	r = wire_recv_timeout(b->sock, &b->msg, BOX_WAIT_MS);
	if (r == 1)
		r = msg_check(&b->msg, PEER_G, PEER_API, &err);
	else if (r == 0)
		r = -EPIPE;
	if (r < 0)
		fprintf(stderr, "guest_talk: receive: %s %s\n", strerror(-r), err.msg);
	return r < 0 ? -1 : 0;
}

int box_spawn(struct box *b, const struct box_step *s, int ret_out[2], struct box_end *ret)
{
	struct msg_spawn m = { .step = s->step ? s->step : 1,
			       .uid = s->uid ? s->uid : IDS_UID_USER,
			       .gid = s->gid ? s->gid : IDS_STEP_GID,
			       .umask = 002,
			       .language = s->language,
			       .file_max = s->file_max ? s->file_max : UINT64_C(1) << 40,
			       .open_files = s->open_files ? s->open_files : 1024 };
	int out[2] = { -1, -1 }, err[2] = { -1, -1 };
	autofd in = make_stdin(s->stdin_text), body = -1;
	int r = -1;

	buf_init(&ret->out, BOX_OUT_MAX);
	buf_init(&ret->err, BOX_OUT_MAX);
	buf_init(&ret->report, BOX_OUT_MAX);
	if (make_body(s, &m, &body) == 0 && pipe2(out, O_CLOEXEC) == 0 &&
	    pipe2(err, O_CLOEXEC) == 0) {
		int fds[4] = { in, out[1], err[1], body };

		r = wire_send(b->sock, MSG_SPAWN, 7, bytes_of(&m, sizeof m), bytes_of(NULL, 0), fds,
			      4);
	}
	fd_closep(&out[1]);
	fd_closep(&err[1]);
	if (r == 0)
		r = next(b);
	if (r == 0 && b->msg.head.type != (MSG_SPAWN | WIRE_REPLY))
		r = -1;
	if (r == 0)
		take_status(b, ret);
	ret_out[0] = out[0];
	ret_out[1] = err[0];
	return r;
}

int box_exited(struct box *b, uint64_t step, struct box_end *ret)
{
	struct msg_exited m;
	struct bytes tail;

	if (next(b) < 0 || b->msg.head.type != MSG_EXITED)
		return -1;
	memcpy(&m, msg_body(&b->msg), sizeof m);
	tail = msg_tail(&b->msg);
	if (m.step != step || m.error_len != tail.len)
		return -1;
	ret->wait = m.status;
	ret->alive = m.alive;
	ret->maxrss = m.maxrss;
	return buf_add(&ret->report, tail.p, tail.len);
}

/* Both streams until they end, as they come. */
static int drain(int out[2], struct box_end *ret)
{
	struct pollfd p[2] = { { .fd = out[0], .events = POLLIN },
			       { .fd = out[1], .events = POLLIN } };
	struct buf *into[2] = { &ret->out, &ret->err };
	char piece[65536];

	while (p[0].fd >= 0 || p[1].fd >= 0) {
		if (poll(p, 2, BOX_WAIT_MS) <= 0)
			return -1;
		for (int i = 0; i < 2; i++) {
			ssize_t n = p[i].fd >= 0 && p[i].revents
					    ? read(p[i].fd, piece, sizeof piece)
					    : -1;

			if (n > 0)
				(void)buf_add(into[i], piece, (size_t)n);
			else if (n == 0)
				p[i].fd = -1;
		}
	}
	return 0;
}

int box_run(struct box *b, const struct box_step *s, struct box_end *ret)
{
	int out[2];
	int r;

	*ret = (struct box_end){ 0 };
	r = box_spawn(b, s, out, ret);
	if (r == 0 && ret->status == 0) {
		r = drain(out, ret);
		if (r == 0)
			r = box_exited(b, s->step ? s->step : 1, ret);
	}
	fd_closep(&out[0]);
	fd_closep(&out[1]);
	return r;
}

void box_end_fini(struct box_end *e)
{
	buf_fini(&e->out);
	buf_fini(&e->err);
	buf_fini(&e->report);
}

int box_kill(struct box *b, uint64_t step, uint32_t gid, int sig)
{
	struct msg_kill m = { .step = step, .gid = gid, .signal = sig };

	if (wire_send(b->sock, MSG_KILL, 9, bytes_of(&m, sizeof m), bytes_of(NULL, 0), NULL, 0) < 0)
		return -EPIPE;
	do { /* EXITED of what is killed comes first */
		if (next(b) < 0)
			return -EPIPE;
	} while (b->msg.head.type == MSG_EXITED);
	return msg_status_of(&b->msg);
}

int box_put(struct box *b, uint32_t uid, uint32_t gid, const char *path, const char *content,
	    bool replace, const char *if_sha, bool *ret_created)
{
	struct msg_put m = { .step = 2,
			     .uid = uid,
			     .gid = gid,
			     .replace = replace,
			     .path_len = (uint32_t)strlen(path) };
	struct msg_put_reply reply;
	autofd fd = -1;
	int r = fd_memfd("content", bytes_str(content), &fd);

	(void)snprintf(m.if_sha, sizeof m.if_sha, "%s", if_sha ? if_sha : "");
	if (r == 0)
		r = wire_send(b->sock, MSG_PUT, 8, bytes_of(&m, sizeof m), bytes_str(path), &fd, 1);
	if (r < 0 || next(b) < 0)
		return -EPIPE;
	r = msg_status_of(&b->msg);
	if (r == 0 && ret_created) {
		memcpy(&reply, msg_body(&b->msg), sizeof reply);
		*ret_created = reply.created != 0;
	}
	return r;
}

int box_provoke(struct box *b, uint16_t type, const void *body, size_t len, const int *fds,
		unsigned nfds)
{
	struct pollfd p = { .fd = b->dead_fd, .events = POLLIN };

	(void)!wire_send(b->sock, type, 5, bytes_of(body, len), bytes_of(NULL, 0), fds, nfds);
	return poll(&p, 1, BOX_WAIT_MS);
}
