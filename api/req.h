/* SPDX-License-Identifier: MIT */
/*
 * api/req.h - one HTTP request, from its headers to its answer.
 *
 * A handler answers with exactly one of the req_ answers below, now or later; until then the connection is suspended, costs nothing
 * and has no time-out, so a handler that asks others always answers in the end. A client that goes away meanwhile is noticed: `gone`
 * is called, and the handler still answers, into the void.
 * Not here: the HTTP parser and its loop (api/listen.h), which handler (api/route.h).
 * Thread: one.
 */
#ifndef GARTH_API_REQ_H
#define GARTH_API_REQ_H

#include <jansson.h>
#include <microhttpd.h>

#include "api/app.h"
#include "api/keys.h"
#include "api/problem.h"
#include "api/uri.h"
#include "core/buf.h"

#define REQ_PARAMS_MAX 3u
#define REQ_ID_SIZE \
	65 /* X-Request-Id: 1..64 printable characters without blanks, else one is made */
#define REQ_BODY_SMALL (1u << 20)   /* bytes of an ordinary JSON body */
#define REQ_BODY_STEP (64u << 20)   /* bytes of a step's: 16 MiB of code, escaped, and files */
#define REQ_BODIES_MAX (256u << 20) /* bytes of all bodies in memory; past it 503 */
#define REQ_DRAIN_MAX \
	(16u << 20) /* bytes that are read and dropped so that a client sees its answer */
#define REQ_DETAIL_MAX 512

struct caller {
	enum role role;
	char key[KEY_ID_SIZE]; /* id of the key, "" none; "link" for a signed link */
	char ws[IDENT_SIZE];   /* "" every workspace */
	char agent[IDENT_SIZE];
	int64_t link_made_ns; /* of a signed link: when the workspace it is for was made; else 0 */
};

enum req_phase { REQ_NEW = 0, REQ_HEAD, REQ_BODY, REQ_RUN, REQ_OVER };

struct req;
/* Takes a piece of the body instead of r->body. 0, or a negative errno (message in err): the rest is dropped, and it is answered. */
typedef int req_sink_fn(struct req *r, struct bytes piece, struct err *err);

struct req {
	struct app *app;
	struct req *next, **link;
	struct MHD_Connection *con;
	const struct route *route;
	char *raw;
	struct uri uri;
	char *param_block;
	const char *param[REQ_PARAMS_MAX]; /* of {w}, {id}; NUL-terminated */
	const char *rest;                  /* of {*} */
	struct caller who;
	char id[REQ_ID_SIZE];
	bool head_only; /* HEAD */
	enum req_phase phase;
	uint64_t length; /* Content-Length; UINT64_MAX not said */
	size_t body_max;
	struct buf body;
	size_t counted; /* of app->body_bytes */
	uint64_t drained;
	int64_t born_ns; /* monotonic */
	req_sink_fn *sink;
	struct MHD_Response *response;
	unsigned status;
	bool suspended, queued, is_gone;
	struct watch watch; /* for the client's going away */
	void (*gone)(void *ctx);
	void *gone_ctx;
	void (*fini)(void *ctx); /* of what the handler keeps; called when the request is over */
	void *own;
};

const char *req_header(const struct req *r, const char *name); /* NULL */
const char *req_arg(const struct req *r, const char *name);    /* of the query, NULL */

/* What the handler keeps until the request is over, zeroed; then fini, which frees it. NULL: it has been answered with 503. */
void *req_own(struct req *r, size_t size, void (*fini)(void *own));

/* The body as a JSON object; -EINVAL: it has been answered with 400. */
must_check int req_body_json(struct req *r, json_t **ret);

/* ---- answers ---- */
void req_json(struct req *r, unsigned status, json_t *j); /* takes j; NULL is out of memory */
void req_send(struct req *r, unsigned status,
	      struct MHD_Response *response); /* takes it; NULL is out of memory */
void req_empty(struct req *r, unsigned status);
__attribute__((format(printf, 3, 4))) void req_fail(struct req *r, int err, const char *fmt, ...);
__attribute__((format(printf, 3, 4))) void req_fail_code(struct req *r, const char *code,
							 const char *fmt, ...);
void req_problem(struct req *r, const struct problem *p, const char *detail,
		 json_t *extra); /* takes extra: more members, or NULL */
bool req_is_answered(const struct req *r);

/* A header of an answer that is being made; 0 or -ENOMEM. */
int response_header(struct MHD_Response *response, const char *name, const char *value);

/* ---- for listen.c and streams ---- */
void req_suspend(struct req *r);
void req_resume(struct req *r);
void req_head_done(
	struct req *r); /* an asynchronous `head` of a route is content: read the body now */

#endif
