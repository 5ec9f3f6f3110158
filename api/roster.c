/* SPDX-License-Identifier: MIT */
/*
 * api/roster.c - agents that a request or a policy names, made where they are missing.
 */
#include "api/roster.h"

#include <stdio.h>
#include <string.h>

static void add_next(struct roster *r);

void roster_name(struct roster *r, const char *name)
{
	if (strcmp(name, POLICY_OPERATOR) == 0 || r->count >= sizeof r->name / sizeof r->name[0])
		return;
	for (unsigned i = 0; i < r->count; i++)
		if (strcmp(r->name[i], name) == 0)
			return;
	(void)snprintf(r->name[r->count++], IDENT_SIZE, "%s", name);
}

void roster_policy(struct roster *r, const struct policy *p)
{
	const struct policy_hook *hooks[] = { &p->pre_step, &p->post_step, &p->on_output };

	for (unsigned i = 0; i < p->agent_count; i++)
		roster_name(r, p->agents[i].name);
	for (size_t i = 0; i < sizeof hooks / sizeof hooks[0]; i++)
		if (hooks[i]->set)
			roster_name(r, hooks[i]->agent);
}

static void on_added(void *ctx, int status, struct wire_msg *reply, const char *why)
{
	struct roster *r = ctx;
	const char *name = r->name[r->next];

	if (status < 0 && status != -EEXIST) {
		r->done(r->ctx, status, name, why);
		return;
	}
	if (status == 0)
		ws_agent_add(r->ws,
			     ((const struct msg_agent_add_reply *)msg_body(reply))->agent_block,
			     name);
	r->next++;
	add_next(r);
}

static void add_next(struct roster *r)
{
	struct msg_agent_add ask = { 0 };

	while (r->next < r->count && ws_agent_block(r->ws, r->name[r->next]) >= 0)
		r->next++;
	if (r->next >= r->count) {
		r->done(r->ctx, 0, "", "");
		return;
	}
	(void)snprintf(ask.name, sizeof ask.name, "%s", r->name[r->next]);
	peer_call(r->ws->fs, &r->call, MSG_AGENT_ADD, bytes_of(&ask, sizeof ask), bytes_of(NULL, 0),
		  NULL, 0, WS_CALL_MS, on_added, r);
}

void roster_run(struct roster *r, struct ws *ws, roster_fn *done, void *ctx)
{
	r->ws = ws;
	r->done = done;
	r->ctx = ctx;
	r->next = 0;
	add_next(r);
}

void roster_cancel(struct roster *r)
{
	call_cancel(&r->call);
}
