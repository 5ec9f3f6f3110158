/* SPDX-License-Identifier: MIT */
/*
 * api/sandbox_http.c - live sandboxes over HTTP.
 * Not here: what a sandbox is (api/sandbox.h).
 */
#include <stdio.h>
#include <stdlib.h>

#include "api/auth.h"
#include "api/handlers.h"
#include "api/jsonx.h"
#include "api/reqws.h"
#include "api/sandbox.h"
#include "core/clock.h"

static const char *state_text(const struct sb *sb)
{
	return sb->state == SB_STARTING ? "starting"
	       : sb->state == SB_ENDING ? "ending"
	       : sb->turns_used > 0     ? "busy"
					: "idle";
}

static const char *use_text(const struct sb *sb)
{
	return sb->use == SB_LIVE ? "live" : sb->use == SB_HELPER ? "upload" : "step";
}

static json_t *sandbox_json(const struct sb *sb)
{
	return json_pack("{s:o, s:o, s:s, s:s, s:s, s:s, s:o, s:o, s:i}", "id",
			 jx_id(ID_SANDBOX, sb->id), "sandbox", jx_id(ID_SANDBOX, sb->id),
			 "workspace", sb->ws->name, "agent", sb->agent, "kind", use_text(sb),
			 "state", state_text(sb), "created_at", jx_time(sb->born_ns), "expires_at",
			 jx_time(sb->ends_ns), "waiting", (int)sb->turns_waiting);
}

static bool visible(const struct req *r, const struct ws *ws, const struct sb *sb)
{
	return sb->ws == ws && (r->who.role != ROLE_AGENT || strcmp(r->who.agent, sb->agent) == 0);
}

static void list(struct req *r, struct ws *ws)
{
	struct page p;
	int rc = 0;

	if (page_begin(r, &p) < 0)
		return;
	/* newest first; a cursor is the id of the last one shown */
	for (const struct sb *sb = r->app->sandboxes; sb != NULL && rc == 0; sb = sb->next)
		if (visible(r, ws, sb) && (p.after == 0 || sb->id < p.after))
			rc = page_add(&p, sb->id, sandbox_json(sb));
	page_answer(r, &p, rc);
}

void h_sandbox_list(struct req *r)
{
	with_ws(r, list);
}

/* The one that the address names and the caller may see; NULL: it has been answered. */
static struct sb *named(struct req *r, const struct ws *ws)
{
	struct sb *sb;
	uint64_t id;

	if (req_id(r, ID_SANDBOX, r->param[1], &id) < 0)
		return NULL;
	sb = sb_find(r->app, ws, id);
	if (sb != NULL && visible(r, ws, sb))
		return sb;
	req_fail(r, -ENOENT, "no sandbox '%.32s'", r->param[1]);
	return NULL;
}

static void get(struct req *r, struct ws *ws)
{
	const struct sb *sb = named(r, ws);

	if (sb != NULL)
		req_json(r, 200, sandbox_json(sb));
}

void h_sandbox_get(struct req *r)
{
	with_ws(r, get);
}

/* ---- delete ---- */

struct removal {
	struct req *r;
	struct sb_wait wait;
};

static void removed(void *ctx)
{
	struct removal *m = ctx;

	req_empty(m->r, 204);
	free(m);
}

static void delete (struct req *r, struct ws *ws)
{
	struct sb *sb = named(r, ws);
	struct removal *m;

	if (sb == NULL)
		return;
	m = calloc(1, sizeof *m);
	if (m == NULL) {
		req_send(r, 503, NULL);
		return;
	}
	m->r = r;
	sb_kill(sb, "killed", &m->wait, removed, m);
}

void h_sandbox_delete(struct req *r)
{
	with_ws(r, delete);
}

/* ---- create ---- */

struct creation {
	struct req *r;
	struct ws *ws;
	struct sb *sb;
	struct sb_turn turn;
	struct slot_wait slot;
	uint32_t block;
	json_t *body;
	const char *agent;
	int64_t lifetime_ns;
};

static void creation_free(void *own)
{
	struct creation *c = own;

	json_decref(c->body);
	free(c);
}

static void ready(void *ctx, int status, const char *why)
{
	struct creation *c = ctx;
	char id[ID_TEXT_SIZE], where[160];

	if (status < 0) {
		req_fail(c->r, status, "the sandbox can't be made: %.160s", why);
		return;
	}
	sb_turn_give(c->sb);
	id_text(ID_SANDBOX, c->sb->id, id);
	(void)snprintf(where, sizeof where, "/v1/workspaces/%s/sandboxes/%s", c->sb->ws->name, id);
	req_json(c->r, 201, sandbox_json(c->sb));
	(void)response_header(c->r->response, "Location", where);
}

/* A slot is ours. */
static void place(void *ctx)
{
	struct creation *c = ctx;
	struct req *r = c->r;
	int rc = -EPIPE;

	if (c->ws->policy != NULL && peer_is_open(c->ws->fs))
		rc = sb_new(r->app, c->ws, c->block, SB_LIVE, false,
			    policy_step_limits_of(c->ws->policy, c->agent), c->ws->policy,
			    c->lifetime_ns, &c->sb);

	if (rc == 0)
		rc = sb_turn_take(c->sb, &c->turn, ready, c);
	else
		slots_give(r->app, c->ws, false);
	if (rc < 0)
		req_fail(r, rc, "the sandbox can't be asked for");
}

static void create(struct req *r, struct ws *ws)
{
	struct creation *c = r->own;
	int block, rc;

	if (auth_agent(r, c->agent, &c->agent) < 0 ||
	    (block = req_agent_block(r, ws, c->agent)) < 0)
		return;
	c->ws = ws;
	c->block = (uint32_t)block;
	rc = slots_take(r->app, ws, false, false, &c->slot, place, c);
	if (rc == 0)
		place(c);
	else if (rc != -EINPROGRESS)
		req_fail(r, -EAGAIN, "all sandboxes are in use");
}

static int parse(struct creation *c, struct err *err)
{
	const json_t *agent, *life;
	const struct jx_field f[] = { { "agent", JX_STRING, false, &agent },
				      { "lifetime_s", JX_NUMBER, false, &life } };
	int64_t ms = SB_LIFETIME_DEFAULT_NS / NS_PER_MS;
	int rc = jx_fields(c->body, "", f, 2, err);

	if (rc == 0)
		rc = jx_text(agent, "agent", IDENT_LEN_MAX, &c->agent, err);
	if (rc == 0)
		rc = jx_milli(life, "lifetime_s", 1000, SB_LIFETIME_MAX_NS / NS_PER_MS, &ms, err);
	c->lifetime_ns = ms * NS_PER_MS;
	return rc;
}

void h_sandbox_create(struct req *r)
{
	struct creation *c = req_own(r, sizeof *c, creation_free);
	struct err err = { 0 };
	int rc;

	if (c == NULL)
		return;
	c->r = r;
	if (req_body_json(r, &c->body) < 0)
		return;
	rc = parse(c, &err);
	if (rc < 0)
		req_fail(r, rc, "%s", err.msg);
	else
		with_ws(r, create);
}
