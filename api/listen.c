/* SPDX-License-Identifier: MIT */
/*
 * api/listen.c - libmicrohttpd's callbacks, and the phases of a request.
 */
#include "api/listen.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "api/route.h"
#include "core/clock.h"
#include "core/id.h"
#include "core/log.h"

/* ---- birth and death ---- */

/* The raw target, before libmicrohttpd decodes anything. */
static void *on_uri(void *cls, const char *raw, struct MHD_Connection *con)
{
	struct req *r = calloc(1, sizeof *r);

	if (r == NULL)
		return NULL;
	r->app = cls;
	r->con = con;
	r->raw = strdup(raw);
	r->born_ns = clock_mono_ns();
	r->next = r->app->reqs;
	r->link = &r->app->reqs;
	if (r->next != NULL)
		r->next->link = &r->next;
	r->app->reqs = r;
	return r;
}

static void on_completed(void *cls, struct MHD_Connection *con, void **con_cls,
			 enum MHD_RequestTerminationCode why)
{
	struct req *r = *con_cls;

	(void)cls;
	(void)con;
	(void)why;
	*con_cls = NULL;
	if (r == NULL)
		return;
	loop_unwatch(r->app->loop, &r->watch);
	if (r->fini != NULL)
		r->fini(r->own);
	if (r->response != NULL)
		MHD_destroy_response(r->response);
	*r->link = r->next;
	if (r->next != NULL)
		r->next->link = r->link;
	r->app->body_bytes -= r->counted;
	buf_fini(&r->body);
	uri_fini(&r->uri);
	free(r->param_block);
	free(r->raw);
	loop_free_later(r->app->loop, r);
}

static size_t keep_encoded(void *cls, struct MHD_Connection *con, char *s)
{
	(void)cls;
	(void)con;
	return strlen(s); /* api/uri.h decodes, once */
}

/* ---- the phases ---- */

static void take_request_id(struct req *r)
{
	const char *given = req_header(r, "X-Request-Id");
	size_t n = given != NULL ? strlen(given) : 0;
	bool good = n > 0 && n < sizeof r->id;

	for (size_t i = 0; good && i < n; i++)
		good = given[i] > ' ' && given[i] < 0x7f && given[i] != '"' && given[i] != '\\';
	if (good)
		memcpy(r->id, given, n + 1);
	else
		id_text("r_", id_make(), r->id);
}

/* Two lengths, or a length and chunks: whoever stands between might read another end of the body than we do. */
struct framing {
	unsigned lengths, codings;
	bool chunked;
};

static enum MHD_Result count_framing(void *cls, enum MHD_ValueKind kind, const char *name,
				     const char *value)
{
	struct framing *f = cls;

	(void)kind;
	if (strcasecmp(name, "Content-Length") == 0)
		f->lengths++;
	if (strcasecmp(name, "Transfer-Encoding") == 0) {
		f->codings++;
		f->chunked = value != NULL && strcasecmp(value, "chunked") == 0;
	}
	return MHD_YES;
}

static int framing_check(struct req *r)
{
	struct framing f = { 0 };

	(void)MHD_get_connection_values(r->con, MHD_HEADER_KIND, count_framing, &f);
	if (f.lengths <= 1 && f.codings <= 1 && f.lengths + f.codings <= 1 &&
	    (f.codings == 0 || f.chunked))
		return 0;
	req_fail(r, -EINVAL, "%s",
		 f.codings == 1 && !f.chunked && f.lengths == 0
			 ? "of transfer codings there is 'chunked' alone"
			 : "the length of the body is said more than once");
	(void)response_header(r->response, "Connection", "close");
	return -EINVAL;
}

static int take_length(struct req *r)
{
	const char *text = req_header(r, "Content-Length");
	char *end;

	if (framing_check(r) < 0)
		return -EINVAL;
	r->length = req_header(r, "Transfer-Encoding") != NULL ? UINT64_MAX : 0;
	if (text == NULL)
		return 0;
	errno = 0;
	r->length = strtoull(text, &end, 10);
	if (errno != 0 || *end != '\0' || text[0] < '0' || text[0] > '9') {
		req_fail(r, -EINVAL, "Content-Length is no number");
		return -EINVAL;
	}
	return 0;
}

static int limit_check(struct req *r)
{
	struct problem p = problem_named("no_memory");

	if (r->route->head != NULL)
		return 0;
	r->body_max = r->route->body_max;
	buf_init(&r->body, r->body_max);
	if (r->length != UINT64_MAX && r->length > r->body_max && r->body_max > 0) {
		req_fail(r, -EFBIG, "the body has %llu bytes; %zu are permitted here",
			 (unsigned long long)r->length, r->body_max);
		return -EFBIG;
	}
	if (r->body_max > REQ_BODY_SMALL &&
	    r->app->body_bytes + (r->length == UINT64_MAX ? 0 : r->length) > REQ_BODIES_MAX) {
		req_problem(r, &p, "too many large requests at once", NULL);
		return -ENOMEM;
	}
	return 0;
}

/* The headers are there. */
static void begin(struct req *r, const char *method)
{
	struct err err = { 0 };
	const char *ws;
	int rc;

	take_request_id(r);
	r->length = UINT64_MAX;
	r->head_only = strcmp(method, "HEAD") == 0;
	r->phase = REQ_BODY;
	if (r->raw == NULL) {
		req_send(r, 503, NULL);
		return;
	}
	if (take_length(r) < 0)
		return;
	rc = uri_parse(r->raw, &r->uri, &err);
	if (rc < 0) {
		req_fail(r, rc, "%s", err.msg);
		return;
	}
	if (route_find(r, method) < 0)
		return;
	ws = strstr(r->route->pattern, "{w}") != NULL ? r->param[0] : "";
	if (auth_check(r, r->route->access, ws) < 0)
		return;
	if (ws[0] != '\0' && ident_check(ws, "workspace", NULL) < 0) {
		req_fail(r, -ENOENT, "no workspace '%.64s'", ws);
		return;
	}
	if (limit_check(r) < 0 || r->route->head == NULL)
		return;
	r->phase = REQ_HEAD;
	r->route->head(r);
}

/* A piece of the body; once it is answered, the rest is read and dropped, up to a point. */
static enum MHD_Result piece(struct req *r, const char *p, size_t n)
{
	struct err err = { 0 };
	int rc;

	if (clock_mono_ns() - r->born_ns > LISTEN_BODY_S * NS_PER_S)
		return MHD_NO;
	if (r->response != NULL) {
		r->drained += n;
		return r->drained > REQ_DRAIN_MAX ? MHD_NO : MHD_YES;
	}
	if (r->sink != NULL) {
		rc = r->sink(r, bytes_of(p, n), &err);
		if (rc < 0)
			req_fail(r, rc, "%s", err.msg);
		return MHD_YES;
	}
	if (r->body_max == 0)
		return (r->drained += n) > REQ_DRAIN_MAX
			       ? MHD_NO
			       : MHD_YES; /* a body that nobody asked for */
	rc = r->app->body_bytes + n > REQ_BODIES_MAX ? -ENOMEM : buf_add(&r->body, p, n);
	if (rc < 0) {
		req_fail(r, rc,
			 rc == -EFBIG ? "the body is longer than %zu bytes"
				      : "no memory for a body (limit %zu bytes)",
			 r->body_max);
		return MHD_YES;
	}
	r->app->body_bytes += n;
	r->counted += n;
	return MHD_YES;
}

static enum MHD_Result answer(struct req *r)
{
	if (r->queued)
		return MHD_YES;
	r->queued = true;
	r->phase = REQ_OVER;
	return MHD_queue_response(r->con, r->status, r->response);
}

/*
 * Answered before the body was read. A small one is read first, or the client may see its connection reset in place of the answer.
 */
static enum MHD_Result answer_early(struct req *r)
{
	bool drain = r->status != 413 && r->length > 0 && r->length <= REQ_BODY_SMALL &&
		     req_header(r, "Expect") == NULL;

	if (!drain)
		return answer(r);
	r->phase = REQ_BODY;
	return MHD_YES;
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *con, const char *url,
				  const char *method, const char *version, const char *data,
				  size_t *len, void **con_cls)
{
	struct req *r = *con_cls;

	(void)cls;
	(void)con;
	(void)url;
	(void)version;
	if (r == NULL)
		return MHD_NO;
	switch (r->phase) {
	case REQ_NEW:
		begin(r, method);
		if (r->response != NULL)
			return answer_early(r);
		if (r->phase == REQ_HEAD)
			req_suspend(r);
		return MHD_YES;
	case REQ_HEAD: /* resumed without req_head_done: it is answered */
		return r->response != NULL ? answer_early(r) : MHD_YES;
	case REQ_BODY:
		if (*len > 0) {
			enum MHD_Result result = piece(r, data, *len);

			*len = 0;
			return result;
		}
		if (r->response == NULL) {
			r->phase = REQ_RUN;
			r->route->run(r);
		}
		if (r->response != NULL)
			return answer(r);
		req_suspend(r);
		return MHD_YES;
	case REQ_RUN: return r->response != NULL ? answer(r) : MHD_YES;
	case REQ_OVER: return MHD_YES;
	}
	return MHD_NO;
}

/* ---- the daemon ---- */

static void mhd_ready(void *arg, uint32_t events)
{
	(void)arg;
	(void)events; /* the idle function runs it */
}

static int64_t mhd_idle(void *arg)
{
	struct app *app = arg;
	MHD_UNSIGNED_LONG_LONG ms;

	if (MHD_run(app->mhd) != MHD_YES)
		return 1000;
	return MHD_get_timeout(app->mhd, &ms) == MHD_YES
		       ? (int64_t)(ms > INT32_MAX ? INT32_MAX : ms)
		       : -1;
}

static void mhd_log(void *cls, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
static void mhd_log(void *cls, const char *fmt, va_list ap)
{
	char text[256], safe[LOG_ESC_SIZE];

	(void)cls;
	(void)vsnprintf(text, sizeof text, fmt, ap);
	text[strcspn(text, "\n")] = '\0';
	log_debug("http library: %s", log_esc(bytes_str(text), safe));
}

int listen_start(struct app *app, int fd, struct err *err)
{
	const union MHD_DaemonInfo *info;
	int rc;

	app->mhd = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL, NULL,
		on_request, app, MHD_OPTION_EXTERNAL_LOGGER, mhd_log, NULL,
		MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_URI_LOG_CALLBACK, on_uri, app,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, app, MHD_OPTION_UNESCAPE_CALLBACK,
		keep_encoded, NULL, MHD_OPTION_CONNECTION_LIMIT, LISTEN_CONNECTIONS_MAX,
		MHD_OPTION_CONNECTION_TIMEOUT, LISTEN_IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)LISTEN_MEMORY, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
	if (app->mhd == NULL)
		return err_set(err, -EIO, "the HTTP server does not start on the listening socket");
	info = MHD_get_daemon_info(app->mhd, MHD_DAEMON_INFO_EPOLL_FD);
	if (info == NULL)
		return err_set(err, -EIO, "the HTTP server has no epoll descriptor");
	rc = loop_watch(app->loop, &app->mhd_watch, info->epoll_fd, EPOLLIN, mhd_ready, app);
	if (rc < 0)
		return err_errno(err, rc, "watch the HTTP server");
	loop_set_idle(app->loop, mhd_idle, app);
	return 0;
}

void listen_stop(struct app *app)
{
	for (struct req *r = app->reqs; r != NULL; r = r->next)
		if (r->suspended && r->response == NULL)
			req_fail(r, -EPIPE, "the server is being stopped");
	if (MHD_run(app->mhd) == MHD_YES)
		MHD_stop_daemon(app->mhd);
	app->mhd = NULL;
}
