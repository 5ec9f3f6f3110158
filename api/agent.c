/* SPDX-License-Identifier: MIT */
/*
 * api/agent.c - a workspace's agents over HTTP.
 */
#include <stdio.h>
#include <stdlib.h>

#include "api/handlers.h"
#include "api/jsonx.h"
#include "api/reqws.h"

static int take(void *ctx, uint32_t agent, struct bytes name, int64_t at_ns)
{
	struct page *p = ctx;
	json_t *j;

	if (agent == 0 || agent < p->after)
		return 0;
	j = json_pack("{s:o, s:o}", "name", jx_str(name), "created_at", jx_time(at_ns));
	return page_add(p, agent + 1, j);
}

static void list(struct req *r, struct ws *ws)
{
	struct page p;

	if (page_begin(r, &p) == 0)
		page_answer(r, &p, idx_agents(ws->reader, take, &p));
}

void h_agent_list(struct req *r)
{
	with_ws(r, list);
}

/* ---- add ---- */

struct addition {
	struct req *r;
	struct ws *ws;
	struct call call;
	char name[IDENT_SIZE];
};

static void addition_free(void *own)
{
	struct addition *a = own;

	call_cancel(&a->call);
	free(a);
}

static void on_added(void *ctx, int status, struct wire_msg *reply, const char *why)
{
	struct addition *a = ctx;

	if (status == -ENOSPC) {
		req_fail_code(a->r, "agents_full", "workspace '%s' has all the agents it can have",
			      a->ws->name);
	} else if (status < 0) {
		req_fail(a->r, status, "agent '%s': %.160s", a->name,
			 status == -EEXIST ? "it is there already" : why);
	} else {
		ws_agent_add(a->ws,
			     ((const struct msg_agent_add_reply *)msg_body(reply))->agent_block,
			     a->name);
		req_json(a->r, 201,
			 json_pack("{s:s, s:s}", "name", a->name, "workspace", a->ws->name));
	}
}

static void add(struct req *r, struct ws *ws)
{
	struct addition *a = r->own;
	struct msg_agent_add ask = { 0 };

	a->ws = ws;
	(void)snprintf(ask.name, sizeof ask.name, "%s", a->name);
	peer_call(ws->fs, &a->call, MSG_AGENT_ADD, bytes_of(&ask, sizeof ask), bytes_of(NULL, 0),
		  NULL, 0, WS_CALL_MS, on_added, a);
}

static int parse(const json_t *body, char name[IDENT_SIZE], struct err *err)
{
	const json_t *v;
	const struct jx_field f[] = { { "name", JX_STRING, true, &v } };
	const char *text = NULL;
	int rc = jx_fields(body, "", f, 1, err);

	if (rc == 0)
		rc = jx_text(v, "name", IDENT_LEN_MAX, &text, err);
	if (rc == 0)
		rc = ident_check(text, "agent", err);
	if (rc == 0 && strcmp(text, POLICY_OPERATOR) == 0)
		rc = err_set(err, -EINVAL, "the agent name 'operator' is reserved");
	if (rc == 0)
		(void)snprintf(name, IDENT_SIZE, "%s", text);
	return rc;
}

void h_agent_create(struct req *r)
{
	struct addition *a = req_own(r, sizeof *a, addition_free);
	struct err err = { 0 };
	json_t *body;
	int rc;

	if (a == NULL)
		return;
	a->r = r;
	if (req_body_json(r, &body) < 0)
		return;
	rc = parse(body, a->name, &err);
	json_decref(body);
	if (rc < 0)
		req_fail(r, rc, "%s", err.msg);
	else
		with_ws(r, add);
}
