/* SPDX-License-Identifier: MIT */
/*
 * api/req.c - answers, and waiting for them.
 */
#include "api/req.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/utf8.h"
#include "core/log.h"

#define TYPE_JSON "application/json"
#define TYPE_PROBLEM "application/problem+json"

const char *req_header(const struct req *r, const char *name)
{
	return MHD_lookup_connection_value(r->con, MHD_HEADER_KIND, name);
}

const char *req_arg(const struct req *r, const char *name)
{
	return uri_arg(&r->uri, name);
}

/* ---- suspending ---- */

static void client_event(void *arg, uint32_t events)
{
	struct req *r = arg;

	(void)events;
	loop_unwatch(r->app->loop, &r->watch);
	r->is_gone = true;
	if (r->gone != NULL)
		r->gone(r->gone_ctx);
}

void req_suspend(struct req *r)
{
	const union MHD_ConnectionInfo *info;

	if (r->suspended)
		return;
	r->suspended = true;
	info = MHD_get_connection_info(r->con, MHD_CONNECTION_INFO_CONNECTION_FD);
	if (info != NULL &&
	    loop_watch(r->app->loop, &r->watch, info->connect_fd, EPOLLRDHUP, client_event, r) < 0)
		log_warn("can't watch a client, its going away will not be noticed request=%s",
			 r->id);
	MHD_suspend_connection(r->con);
}

void req_resume(struct req *r)
{
	if (!r->suspended)
		return;
	r->suspended = false;
	loop_unwatch(r->app->loop, &r->watch);
	MHD_resume_connection(r->con);
}

void req_head_done(struct req *r)
{
	r->phase = REQ_BODY;
	req_resume(r);
}

/* ---- answers ---- */

int response_header(struct MHD_Response *response, const char *name, const char *value)
{
	return MHD_add_response_header(response, name, value) == MHD_YES ? 0 : -ENOMEM;
}

bool req_is_answered(const struct req *r)
{
	return r->response != NULL;
}

void req_send(struct req *r, unsigned status, struct MHD_Response *response)
{
	invariant(r->response == NULL);
	if (response == NULL) { /* the one answer that needs no memory of ours */
		static char text[] = "out of memory\n";

		status = MHD_HTTP_SERVICE_UNAVAILABLE;
		response = MHD_create_response_from_buffer(sizeof text - 1, text,
							   MHD_RESPMEM_PERSISTENT);
		invariant(response != NULL);
	}
	(void)response_header(response, "X-Request-Id", r->id);
	(void)response_header(response, "X-Content-Type-Options", "nosniff");
	r->response = response;
	r->status = status;
	req_resume(r);
}

static struct MHD_Response *from_json(json_t *j, const char *type)
{
	char *text = j != NULL ? json_dumps(j, JSON_COMPACT) : NULL;
	struct MHD_Response *response;
	size_t len;

	json_decref(j);
	if (text == NULL)
		return NULL;
	len = strlen(text);
	text[len] = '\n'; /* over the NUL: the length is given */
	response = MHD_create_response_from_buffer(len + 1, text, MHD_RESPMEM_MUST_FREE);
	if (response == NULL) {
		free(text);
		return NULL;
	}
	(void)response_header(response, "Content-Type", type);
	(void)response_header(response, "Cache-Control", "no-store");
	return response;
}

void req_json(struct req *r, unsigned status, json_t *j)
{
	req_send(r, status, from_json(j, TYPE_JSON));
}

void req_empty(struct req *r, unsigned status)
{
	static char nothing[1];

	req_send(r, status, MHD_create_response_from_buffer(0, nothing, MHD_RESPMEM_PERSISTENT));
}

void req_problem(struct req *r, const struct problem *p, const char *detail, json_t *extra)
{
	char safe[LOG_ESC_SIZE], number[16];
	struct MHD_Response *response;
	json_t *j;

	if (!utf8_ok(bytes_str(detail)))
		detail = log_esc(bytes_str(detail), safe);
	j = problem_json(p, detail, r->id);
	if (j != NULL && extra != NULL)
		(void)json_object_update(j, extra);
	json_decref(extra);
	if (p->status >= 500)
		log_warn("request failed status=%u code=%s request=%s detail=\"%s\"", p->status,
			 p->code, r->id, log_esc(bytes_str(detail), safe));
	response = from_json(j, TYPE_PROBLEM);
	if (response != NULL && p->retry_after_s > 0) {
		(void)snprintf(number, sizeof number, "%u", p->retry_after_s);
		(void)response_header(response, "Retry-After", number);
	}
	if (response != NULL && p->status == 401)
		(void)response_header(response, "WWW-Authenticate", "Bearer realm=\"garth\"");
	req_send(r, p->status, response);
}

void req_fail(struct req *r, int err, const char *fmt, ...)
{
	struct problem p = problem_of(err);
	char detail[REQ_DETAIL_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(detail, sizeof detail, fmt, ap);
	va_end(ap);
	req_problem(r, &p, detail, NULL);
}

void req_fail_code(struct req *r, const char *code, const char *fmt, ...)
{
	struct problem p = problem_named(code);
	char detail[REQ_DETAIL_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(detail, sizeof detail, fmt, ap);
	va_end(ap);
	req_problem(r, &p, detail, NULL);
}

void *req_own(struct req *r, size_t size, void (*fini)(void *own))
{
	void *own = calloc(1, size);

	if (own == NULL) {
		req_send(r, 503, NULL);
		return NULL;
	}
	r->own = own;
	r->fini = fini;
	return own;
}

int req_body_json(struct req *r, json_t **ret)
{
	json_error_t je;
	json_t *j;

	if (r->body.len == 0) {
		req_fail(r, -EINVAL, "the request has no body; it wants a JSON object");
		return -EINVAL;
	}
	j = json_loadb(r->body.p, r->body.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &je);
	if (j == NULL) {
		req_fail(r, -EINVAL, "the body is not JSON: line %d, column %d: %s", je.line,
			 je.column, je.text);
		return -EINVAL;
	}
	if (!json_is_object(j)) {
		json_decref(j);
		req_fail(r, -EINVAL, "the body is JSON, but no object");
		return -EINVAL;
	}
	buf_fini(&r->body); /* 64 MiB need not wait for the step's end */
	r->app->body_bytes -= r->counted;
	r->counted = 0;
	*ret = j;
	return 0;
}
