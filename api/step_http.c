/* SPDX-License-Identifier: MIT */
/*
 * api/step_http.c - POST steps: wait for the end, stream, or answer at once (Prefer: respond-async).
 * A client that goes away while it waits or streams takes its step with it (reason killed); with respond-async it does not.
 * Not here: listing, reading and killing steps (api/step_read.c), the step itself (api/step.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "api/auth.h"
#include "api/handlers.h"
#include "api/jsonx.h"
#include "api/reqws.h"
#include "api/step.h"
#include "api/step_view.h"
#include "api/stream.h"
#include "api/view.h"
#include "core/log.h"

enum mode { MODE_WAIT = 0, MODE_STREAM, MODE_ASYNC };

struct asked {         /* a POST that is being answered */
	struct req *r; /* NULL: its client has gone, and it with him */
	struct ws *ws;
	struct step *st;
	struct stream *stream;
	enum mode mode;
};

static json_t *object_of(struct step *st)
{
	json_t *j = NULL;

	if (!st->recorded || view_step(st->ws, st->id, true, &j) < 0)
		j = step_view(st);
	if (j == NULL)
		return NULL;
	(void)view_log_fd(j, "stdout", st->log_fd[0]);
	(void)view_log_fd(j, "stderr", st->log_fd[1]);
	return j;
}

static void done(void *ctx, struct step *st)
{
	struct asked *a = ctx;

	if (a->r == NULL && !st->recorded)
		ghost_add(st->app, st);
	else if (a->r == NULL)
		log_debug("a step ended that nobody waited for");
	else if (a->stream != NULL)
		stream_end(a->stream, object_of(st));
	else if (!st->begun || (!st->recorded && st->status < 0))
		req_fail(a->r, st->status == -ECANCELED ? -EPIPE : st->status, "%s", st->why);
	else
		req_json(a->r, st->reason == REASON_REFUSED ? 422 : 200, object_of(st));
	if (a->stream == NULL)
		free(a);
	else
		a->st = NULL; /* the stream still has it */
}

/* Prefer: respond-async. From now on the step is on its own; `done` remembers it where the record does not. */
static void placed(void *ctx, struct step *st)
{
	struct asked *a = ctx;
	struct req *r = a->r;
	char id[ID_TEXT_SIZE], place[256];

	if (a->mode != MODE_ASYNC)
		return;
	id_text(ID_STEP, st->id, id);
	(void)snprintf(place, sizeof place, "/v1/workspaces/%s/steps/%s", a->ws->name, id);
	a->r = NULL;
	r->gone = NULL;
	req_json(r, 202, step_view(st));
	(void)response_header(r->response, "Location", place);
	(void)response_header(r->response, "Preference-Applied", "respond-async");
}

static void stream_closed(void *ctx)
{
	struct asked *a = ctx;

	a->stream = NULL;
	a->r = NULL;
	if (a->st == NULL)
		free(a);
}

static void begun(void *ctx, struct step *st)
{
	struct asked *a = ctx;

	if (a->mode != MODE_STREAM)
		return;
	a->stream = stream_begin(a->r, st, stream_closed, a);
	if (a->stream == NULL) /* then it gets the whole at the end */
		a->mode = MODE_WAIT;
}

static void grew(void *ctx, struct step *st)
{
	struct asked *a = ctx;

	(void)st;
	if (a->stream != NULL)
		stream_grew(a->stream);
}

static const struct step_ops ops = { .placed = placed, .begun = begun, .grew = grew, .done = done };

static void client_gone(void *ctx)
{
	struct asked *a = ctx;

	step_kill(a->st, REASON_KILLED, "its client, who went away");
}

static bool lists_word(const char *header, const char *word)
{
	return header != NULL && strcasestr(header, word) != NULL;
}

/* The sandbox that the request names: its id, 0 none; -1 and it has been answered. */
static int named_sandbox(struct req *r, const struct ws *ws, const struct spec *s, int block,
			 uint64_t *ret)
{
	const struct sb *sb;

	*ret = 0;
	if (s->sandbox == NULL)
		return 0;
	if (req_id(r, ID_SANDBOX, s->sandbox, ret) < 0)
		return -1;
	sb = sb_find(r->app, ws, *ret);
	if (sb == NULL || sb->use != SB_LIVE || sb->block != (uint32_t)block) {
		req_fail(r, -ENOENT, "no live sandbox '%s' of this agent", s->sandbox);
		return -1;
	}
	return 0;
}

/* Everything is checked: start it. Takes spec. */
static void start(struct req *r, struct ws *ws, struct spec *spec, int block, uint64_t sandbox)
{
	struct asked *a = calloc(1, sizeof *a);
	struct step_new n = { .ws = ws,
			      .spec = spec,
			      .block = (uint32_t)block,
			      .sandbox = sandbox,
			      .kind = STEP_RUN,
			      .request_id = r->id,
			      .key = r->who.key,
			      .ops = &ops,
			      .ctx = a };
	struct err err = { 0 };
	int rc;

	if (a == NULL) {
		spec_fini(spec);
		free(spec);
		req_send(r, 503, NULL);
		return;
	}
	a->r = r;
	a->ws = ws;
	a->mode = lists_word(req_header(r, "Prefer"), "respond-async")          ? MODE_ASYNC
		  : lists_word(req_header(r, "Accept"), "application/x-ndjson") ? MODE_STREAM
										: MODE_WAIT;
	r->gone = client_gone;
	r->gone_ctx = a;
	rc = step_start(r->app, &n, &a->st, &err);
	if (rc < 0) {
		free(a);
		r->gone = NULL;
		req_fail(r, rc, "%s", err.msg);
	}
}

static void with_spec(struct req *r, struct ws *ws)
{
	struct spec *spec = r->own;
	const char *agent;
	struct err err = { 0 };
	uint64_t sandbox;
	int block = -1, rc = 0;

	r->fini = NULL;
	r->own = NULL;
	if (auth_agent(r, spec->agent, &agent) == 0)
		block = req_agent_block(r, ws, agent);
	if (block > 0) {
		rc = spec_limits(spec, ws->policy, agent, &err);
		if (rc < 0)
			req_fail(r, rc, "%s", err.msg);
		else if (named_sandbox(r, ws, spec, block, &sandbox) == 0) {
			start(r, ws, spec, block, sandbox);
			return;
		}
	}
	spec_fini(spec);
	free(spec);
}

static void drop_spec(void *own)
{
	struct spec *spec = own;

	spec_fini(spec);
	free(spec);
}

void h_step_create(struct req *r)
{
	struct spec *spec;
	struct err err = { 0 };
	json_t *body;
	int rc;

	if (req_body_json(r, &body) < 0)
		return;
	spec = calloc(1, sizeof *spec);
	if (spec == NULL) {
		json_decref(body);
		req_send(r, 503, NULL);
		return;
	}
	rc = spec_parse(body, spec, &err);
	if (rc < 0) {
		free(spec);
		req_fail(r, rc, "%s", err.msg);
		return;
	}
	r->own = spec;
	r->fini = drop_spec;
	with_ws(r, with_spec);
}
