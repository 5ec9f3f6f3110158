/* SPDX-License-Identifier: MIT */
/*
 * api/audit.c - GET audit/verify and audit/export: a child does the work, its pipe is read when there is something.
 * Not here: the work (api/audit_work.h).
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <fcntl.h>

#include "api/audit_work.h"
#include "api/handlers.h"
#include "api/reqws.h"
#include "core/fd.h"
#include "core/log.h"

#define AUDIT_MAX 2u /* children at once */
#define AUDIT_MS (30 * 60 * 1000)
#define VERDICT_MAX 65536u /* bytes of the JSON */
#define EXPORT_BLOCK 65536u

struct audit {
	struct req *r;
	struct ws *ws;
	struct call call;
	bool exports, running;
	pid_t pid;
	int pipe;
	struct watch watch;
	struct timer clock;
	struct buf text;
};

static void reap(struct audit *a, int *ret_status)
{
	if (!a->running)
		return;
	a->running = false;
	a->r->app->audits--;
	while (waitpid(a->pid, ret_status, 0) < 0 && errno == EINTR)
		;
}

static void audit_free(void *own)
{
	struct audit *a = own;
	int status;

	call_cancel(&a->call);
	timer_stop(a->r->app->loop, &a->clock);
	loop_unwatch(a->r->app->loop, &a->watch);
	fd_closep(&a->pipe);
	if (a->running)
		(void)kill(a->pid, SIGKILL); /* our own child, not yet reaped */
	reap(a, &status);
	buf_fini(&a->text);
	free(a);
}

/* ---- verify: the whole of its JSON ---- */

static void verdict(struct audit *a, int status)
{
	json_t *j = a->text.len > 0 ? json_loadb(a->text.p, a->text.len, 0, NULL) : NULL;
	const char *error = json_string_value(json_object_get(j, "error"));

	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || j == NULL) {
		req_fail(a->r, -EIO, "the record could not be verified");
		json_decref(j);
	} else if (error != NULL) {
		req_fail(a->r, -(int)json_integer_value(json_object_get(j, "errno")), "%.200s",
			 error);
		json_decref(j);
	} else {
		(void)json_object_set_new(j, "workspace", json_string(a->ws->name));
		req_json(a->r, 200, j);
	}
}

static void verify_ready(void *ctx, uint32_t events)
{
	struct audit *a = ctx;
	char *room;
	ssize_t n;
	int status = -1;

	(void)events;
	n = buf_reserve(&a->text, 4096, &room) < 0 ? -1 : read(a->pipe, room, 4096);
	if (n > 0) {
		a->text.len += (size_t)n;
		return;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	loop_unwatch(a->r->app->loop, &a->watch);
	timer_stop(a->r->app->loop, &a->clock);
	reap(a, &status);
	verdict(a, status);
}

/* ---- export: as it comes ---- */

static void export_ready(void *ctx, uint32_t events)
{
	struct audit *a = ctx;

	(void)events;
	loop_unwatch(a->r->app->loop, &a->watch);
	req_resume(a->r);
}

static ssize_t reader(void *cls, uint64_t pos, char *out, size_t max)
{
	struct audit *a = cls;
	ssize_t n = read(a->pipe, out, max);
	int status = -1;

	(void)pos;
	if (n > 0)
		return n;
	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		if (!a->running ||
		    loop_watch(a->r->app->loop, &a->watch, a->pipe, EPOLLIN, export_ready, a) < 0)
			return MHD_CONTENT_READER_END_WITH_ERROR;
		req_suspend(a->r);
		return 0;
	}
	reap(a, &status); /* the end of its pipe is its exit */
	if (n == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return MHD_CONTENT_READER_END_OF_STREAM;
	log_warn("an export broke off ws=%s", a->ws->name);
	return MHD_CONTENT_READER_END_WITH_ERROR;
}

static void export_gone(void *ctx)
{
	struct audit *a = ctx;

	loop_unwatch(a->r->app->loop, &a->watch);
	if (a->running)
		(void)kill(a->pid, SIGKILL);
	req_resume(a->r);
}

static void export_answer(struct audit *a)
{
	struct MHD_Response *response =
		MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, EXPORT_BLOCK, reader, a, NULL);
	char line[128];

	if (response != NULL) {
		(void)snprintf(line, sizeof line, "attachment; filename=\"%s.tar\"", a->ws->name);
		(void)response_header(response, "Content-Type", "application/x-tar");
		(void)response_header(response, "Content-Disposition", line);
		(void)response_header(response, "Cache-Control", "no-store");
	}
	a->r->gone = export_gone;
	a->r->gone_ctx = a;
	req_send(a->r, 200, response);
}

/* ---- the child ---- */

static _Noreturn void child(const struct audit *a, int fs, int out)
{
	char db[4096], spool[4096];
	struct audit_job job = { .ws = a->ws->name, .db = db, .spool = spool, .fs = 3, .out = 4 };

	(void)snprintf(db, sizeof db, "%s/workspaces/%s/index.db", a->r->app->data, a->ws->name);
	(void)snprintf(spool, sizeof spool, "%s/spool", a->r->app->data);
	/* Of all that it inherits, it keeps these two. Both are above 4: 3 and 4 were garthd and the listening socket. */
	if (dup2(fs, 3) != 3 || dup2(out, 4) != 4 || syscall(SYS_close_range, 5, ~0U, 0) < 0)
		_exit(1);
	_exit(a->exports ? audit_export(&job) : audit_verify(&job));
}

static void too_long(void *ctx)
{
	struct audit *a = ctx;

	log_warn("an audit takes too long, stopped ws=%s", a->ws->name);
	if (a->running)
		(void)kill(a->pid, SIGKILL);
}

static int spawn(struct audit *a, int fs)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	a->pid = fork();
	if (a->pid == 0)
		child(a, fs, ends[1]);
	(void)close(ends[1]);
	a->pipe = ends[0];
	if (a->pid < 0)
		return -errno;
	a->running = true;
	a->r->app->audits++;
	timer_set(a->r->app->loop, &a->clock, AUDIT_MS, too_long, a);
	return fd_set_nonblock(a->pipe, true);
}

static void on_socket(void *ctx, int status, struct wire_msg *reply, const char *why)
{
	struct audit *a = ctx;
	autofd fs = -1;

	if (status == 0) {
		fs = wire_take_fd(reply, 0);
		status = spawn(a, fs);
	}
	if (status == 0 && !a->exports)
		status = loop_watch(a->r->app->loop, &a->watch, a->pipe, EPOLLIN, verify_ready, a);
	if (status < 0)
		req_fail(a->r, status, "the audit can't be started: %.160s", why);
	else if (a->exports)
		export_answer(a);
}

static void start(struct req *r, struct ws *ws, bool exports)
{
	struct msg_ws_open ask = { 0 };
	struct audit *a;

	if (r->app->audits >= AUDIT_MAX) {
		req_fail(r, -EAGAIN, "%u audits run already", AUDIT_MAX);
		return;
	}
	a = req_own(r, sizeof *a, audit_free);
	if (a == NULL)
		return;
	a->r = r;
	a->ws = ws;
	a->exports = exports;
	a->pipe = -1;
	buf_init(&a->text, VERDICT_MAX);
	(void)snprintf(ask.name, sizeof ask.name, "%s", ws->name);
	peer_call(r->app->garthd, &a->call, MSG_WS_OPEN, bytes_of(&ask, sizeof ask),
		  bytes_of(NULL, 0), NULL, 0, WS_OPEN_MS, on_socket, a);
}

static void verify(struct req *r, struct ws *ws)
{
	start(r, ws, false);
}

static void export(struct req *r, struct ws *ws)
{
	start(r, ws, true);
}

void h_audit_verify(struct req *r)
{
	with_ws(r, verify);
}

void h_audit_export(struct req *r)
{
	with_ws(r, export);
}
