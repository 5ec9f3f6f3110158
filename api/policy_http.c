/* SPDX-License-Identifier: MIT */
/*
 * api/policy_http.c - a workspace's policy over HTTP: its YAML, a new one, and which rule decides about a path.
 */
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "api/auth.h"
#include "api/folder.h"
#include "api/handlers.h"
#include "api/jsonx.h"
#include "api/reqws.h"
#include "api/roster.h"
#include "core/fd.h"
#include "policy/decide.h"

/* ---- get ---- */

struct fetch {
	struct req *r;
	struct call call;
};

static void fetch_free(void *own)
{
	struct fetch *f = own;

	call_cancel(&f->call);
	free(f);
}

static void send_yaml(struct req *r, struct bytes yaml, const struct sha256 *sha)
{
	char hex[SHA256_HEX_SIZE], etag[SHA256_HEX_SIZE + 16];
	char *copy = malloc(yaml.len + 1);
	struct MHD_Response *response = NULL;

	if (copy != NULL) {
		if (yaml.len > 0)
			memcpy(copy, yaml.p, yaml.len);
		response = MHD_create_response_from_buffer(yaml.len, copy, MHD_RESPMEM_MUST_FREE);
	}
	if (response != NULL) {
		sha256_hex(sha, hex);
		(void)snprintf(etag, sizeof etag, "\"sha256:%s\"", hex);
		(void)response_header(response, "Content-Type", "application/yaml");
		(void)response_header(response, "ETag", etag);
		(void)response_header(response, "Cache-Control", "private, no-cache");
	}
	req_send(r, 200, response);
}

static void on_object(void *ctx, int status, struct wire_msg *reply, const char *why)
{
	struct fetch *f = ctx;
	struct sha256 sha;
	autofd fd = -1;
	autobuf text;

	buf_init(&text, POLICY_TEXT_MAX);
	if (status == 0) {
		fd = wire_take_fd(reply, 0);
		status = fd_read_all(fd, &text);
	}
	if (status < 0) {
		req_fail(f->r, status == -ENOENT ? -EIO : status,
			 "the policy can't be read: %.160s", why);
		return;
	}
	sha256_of(buf_view(&text), &sha);
	send_yaml(f->r, buf_view(&text), &sha);
}

static void get(struct req *r, struct ws *ws)
{
	struct msg_object_open ask = { 0 };
	struct fetch *f;
	int64_t at;
	int rc = idx_policy_now(ws->reader, &ask.sha, &at);

	if (rc == -ENOENT) {
		send_yaml(r, BYTES_LIT(""), &ws->policy->sha);
		return;
	}
	f = rc == 0 ? calloc(1, sizeof *f) : NULL;
	if (f == NULL) {
		req_fail(r, rc < 0 ? rc : -ENOMEM, "the record can't be read now");
		return;
	}
	f->r = r;
	r->own = f;
	r->fini = fetch_free;
	peer_call(ws->fs, &f->call, MSG_OBJECT_OPEN, bytes_of(&ask, sizeof ask), bytes_of(NULL, 0),
		  NULL, 0, WS_CALL_MS, on_object, f);
}

void h_policy_get(struct req *r)
{
	with_ws(r, get);
}

/* ---- put ---- */

struct change {
	struct req *r;
	struct ws *ws;
	struct call call;
	struct policy *policy;
	struct roster roster;
};

static void change_free(void *own)
{
	struct change *c = own;

	call_cancel(&c->call);
	roster_cancel(&c->roster);
	policy_unref(c->policy);
	free(c);
}

/* The policy is in force by now, whatever becomes of the agents. */
static void on_agents(void *ctx, int status, const char *name, const char *why)
{
	struct change *c = ctx;

	if (status < 0)
		req_fail(c->r, status, "the policy is set, but agent '%s' can't be added: %.160s",
			 name, status == -ENOSPC ? "there is no room for it" : why);
	else
		req_json(c->r, 200,
			 json_pack("{s:s, s:o}", "workspace", c->ws->name, "sha256",
				   jx_sha(&c->policy->sha)));
}

static void on_set(void *ctx, int status, struct wire_msg *reply, const char *why)
{
	struct change *c = ctx;

	(void)reply;
	if (status < 0) {
		req_fail(c->r, status, "the policy was not taken: %.200s", why);
		return;
	}
	ws_policy_set(c->ws, policy_ref(c->policy));
	roster_policy(&c->roster, c->policy);
	roster_run(&c->roster, c->ws, on_agents, c);
}

static void put(struct req *r, struct ws *ws)
{
	struct change *c = r->own;
	struct msg_policy_set ask = { 0 };
	autofd fd = -1;
	int rc = fd_memfd("policy", buf_view(&r->body), &fd);

	if (rc < 0) {
		req_fail(r, rc, "no memory for the policy");
		return;
	}
	c->ws = ws;
	(void)snprintf(ask.key, sizeof ask.key, "%s", r->who.key);
	peer_call(ws->fs, &c->call, MSG_POLICY_SET, bytes_of(&ask, sizeof ask), bytes_of(NULL, 0),
		  &fd, 1, WS_CALL_MS, on_set, c);
}

void h_policy_put(struct req *r)
{
	struct change *c = req_own(r, sizeof *c, change_free);
	struct err err = { 0 };
	int rc;

	if (c == NULL)
		return;
	c->r = r;
	rc = policy_parse(buf_view(&r->body), &c->policy, &err);
	if (rc < 0)
		req_fail(r, rc, "%s", err.msg);
	else
		with_ws(r, put);
}

/* ---- explain ---- */

static enum ev_op op_parse(const char *text)
{
	for (int i = OP_READ; text != NULL && i < OP_COUNT; i++)
		if (strcasecmp(ev_op_text((enum ev_op)i), text) == 0)
			return (enum ev_op)i;
	return OP_NONE;
}

static void explain(struct req *r, struct ws *ws)
{
	char log_agent[IDENT_SIZE];
	struct question q = { .op = op_parse(req_arg(r, "op")) };
	const char *errname;
	struct verdict v;
	bool given;
	autobuf path;

	buf_init(&path, PATH_LEN_MAX);
	if (auth_agent(r, req_arg(r, "agent"), &q.agent) < 0 || req_path(r, &path, &given) < 0)
		return;
	if (q.op == OP_NONE || !given) {
		req_fail(r, -EINVAL,
			 q.op == OP_NONE ? "'op' must be one of: read list stat create write "
					   "truncate mkdir rmdir unlink rename "
					   "link symlink mknod chmod chown utimes setxattr "
					   "removexattr fallocate copy ioctl"
					 : "'path' is missing");
		return;
	}
	if (ws_agent_block(ws, q.agent) < 0) {
		req_fail(r, -ENOENT, "no agent '%.64s' in workspace '%s'", q.agent, ws->name);
		return;
	}
	q.path = buf_view(&path);
	q.log_agent = folder_log_agent(ws, q.path, log_agent);
	policy_decide(ws->policy, &q, &v);
	errname = v.err < 0 ? strerrorname_np(-v.err) : NULL;
	req_json(r, 200,
		 json_pack("{s:b, s:s?, s:s, s:i, s:b, s:s, s:s, s:s}", "allowed", v.err == 0,
			   "errno", errname, "rule", v.rule, "line", v.line, "violation",
			   v.violation, "agent", q.agent, "op", ev_op_text(q.op), "path",
			   buf_str(&path)));
}

void h_policy_explain(struct req *r)
{
	with_ws(r, explain);
}
