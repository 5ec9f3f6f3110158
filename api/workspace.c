/* SPDX-License-Identifier: MIT */
/*
 * api/workspace.c - workspaces over HTTP: made with policy and agents, listed, described, removed.
 * Not here: what an open workspace is (api/ws.h).
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/handlers.h"
#include "api/jsonx.h"
#include "api/keys.h"
#include "api/reqws.h"
#include "api/roster.h"
#include "api/sandbox.h"
#include "core/fd.h"
#include "core/log.h"

#define CREATE_MS 60000
#define DELETE_MS 60000
#define NAMES_MAX 100000u

/* ---- create ---- */

struct creation {
	struct req *r;
	struct ws *ws;
	struct ws_wait wait;
	struct call call;
	json_t *body;
	char name[IDENT_SIZE];
	const char *yaml; /* NULL: the default policy */
	const json_t *agents;
	struct policy *policy;
	struct roster roster;
};

static void creation_free(void *own)
{
	struct creation *c = own;

	call_cancel(&c->call);
	roster_cancel(&c->roster);
	policy_unref(c->policy);
	json_decref(c->body);
	free(c);
}

static json_t *agent_names(const struct ws *ws)
{
	json_t *arr = json_array();

	for (unsigned i = 1; i < IDS_AGENTS_MAX; i++)
		if (ws->agents[i][0] != '\0')
			(void)json_array_append_new(arr, json_string(ws->agents[i]));
	return arr;
}

static json_t *describe(const struct ws *ws)
{
	uint64_t steps = 0, versions = 0, bytes = 0, violations = 0;
	int64_t at = 0;
	struct sha256 head;
	uint64_t seq;
	json_t *j = json_object();

	if (ws->reader != NULL &&
	    idx_workspace(ws->reader, &at, &steps, &versions, &bytes, &violations) < 0)
		at = 0;
	(void)json_object_set_new(j, "name", json_string(ws->name));
	(void)json_object_set_new(j, "created_at", jx_time(at));
	(void)json_object_set_new(j, "agents", agent_names(ws));
	(void)json_object_set_new(j, "policy_sha256", jx_sha(&ws->policy->sha));
	(void)json_object_set_new(j, "steps", json_integer((json_int_t)steps));
	(void)json_object_set_new(j, "versions", json_integer((json_int_t)versions));
	(void)json_object_set_new(j, "bytes", json_integer((json_int_t)bytes));
	(void)json_object_set_new(j, "violations", json_integer((json_int_t)violations));
	if (ws->reader != NULL && idx_chain_head(ws->reader, &seq, &head) == 0) {
		(void)json_object_set_new(j, "events", json_integer((json_int_t)seq));
		(void)json_object_set_new(j, "head", jx_sha(&head));
	}
	return j;
}

static void created(struct creation *c)
{
	char place[128];
	struct req *r = c->r;

	(void)snprintf(place, sizeof place, "/v1/workspaces/%s", c->name);
	req_json(r, 201, describe(c->ws));
	(void)response_header(r->response, "Location", place);
}

static void failed(struct creation *c, int status, const char *what, const char *why)
{
	req_fail(c->r, status, "%s '%s'%s%.160s", what, c->name, why[0] != '\0' ? ": " : "", why);
}

static void on_agents(void *ctx, int status, const char *name, const char *why)
{
	struct creation *c = ctx;

	if (status < 0)
		req_fail(c->r, status, "agent '%s' could not be added to '%s': %.120s", name,
			 c->name, status == -ENOSPC ? "it has all the agents it can have" : why);
	else
		created(c);
}

static void add_agents(struct creation *c)
{
	const json_t *v;
	size_t i;

	json_array_foreach(c->agents, i, v) roster_name(&c->roster, json_string_value(v));
	if (c->policy != NULL)
		roster_policy(&c->roster, c->policy);
	roster_run(&c->roster, c->ws, on_agents, c);
}

static void on_policy(void *ctx, int status, struct wire_msg *reply, const char *why)
{
	struct creation *c = ctx;

	(void)reply;
	if (status < 0) {
		failed(c, status, "the policy could not be set in", why);
		return;
	}
	ws_policy_set(c->ws, policy_ref(c->policy));
	add_agents(c);
}

static void on_opened(void *ctx, int status, struct ws *ws, const char *why)
{
	struct creation *c = ctx;
	struct msg_policy_set ask = { 0 };
	autofd fd = -1;

	c->ws = ws;
	if (status == 0 && c->yaml != NULL)
		status = fd_memfd("policy", bytes_str(c->yaml), &fd);
	if (status < 0) {
		failed(c, status == -ENOENT ? -EIO : status,
		       "it was made, but does not open:", why);
	} else if (c->yaml == NULL) {
		add_agents(c);
	} else {
		(void)snprintf(ask.key, sizeof ask.key, "%s", c->r->who.key);
		peer_call(ws->fs, &c->call, MSG_POLICY_SET, bytes_of(&ask, sizeof ask),
			  bytes_of(NULL, 0), &fd, 1, WS_CALL_MS, on_policy, c);
	}
}

static void on_made(void *ctx, int status, struct wire_msg *reply, const char *why)
{
	struct creation *c = ctx;

	(void)reply;
	if (status == -EEXIST)
		failed(c, status, "there is a workspace", "");
	else if (status < 0)
		failed(c, status, "can't make the workspace", why);
	else
		ws_get(c->r->app, c->name, &c->wait, on_opened, c);
}

/* Agents: names, each once, no more than there is room for. */
static int agents_check(const json_t *arr, struct err *err)
{
	if (json_array_size(arr) > IDS_AGENTS_MAX - 1)
		return err_set(err, -EINVAL, "field 'agents' names more than %u",
			       IDS_AGENTS_MAX - 1);
	for (size_t i = 0; i < json_array_size(arr); i++) {
		const json_t *v = json_array_get(arr, i);
		const char *name;
		int rc = json_is_string(v)
				 ? jx_text(v, "agents", IDENT_LEN_MAX, &name, err)
				 : err_set(err, -EINVAL, "field 'agents' must hold strings");

		if (rc == 0)
			rc = ident_check(name, "agent", err);
		if (rc == 0 && strcmp(name, POLICY_OPERATOR) == 0)
			rc = err_set(err, -EINVAL, "the agent name 'operator' is reserved");
		for (size_t k = 0; k < i && rc == 0; k++)
			if (strcmp(json_string_value(json_array_get(arr, k)), name) == 0)
				rc = err_set(err, -EINVAL, "field 'agents' names '%s' twice", name);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int creation_parse(struct creation *c, struct err *err)
{
	const json_t *name, *yaml;
	const struct jx_field f[] = { { "name", JX_STRING, true, &name },
				      { "policy", JX_STRING, false, &yaml },
				      { "agents", JX_ARRAY, false, &c->agents } };
	const char *text = NULL;
	int rc = jx_fields(c->body, "", f, sizeof f / sizeof f[0], err);

	if (rc == 0)
		rc = jx_text(name, "name", IDENT_LEN_MAX, &text, err);
	if (rc == 0)
		rc = ident_check(text, "workspace", err);
	if (rc == 0)
		rc = jx_text(yaml, "policy", POLICY_TEXT_MAX, &c->yaml, err);
	if (rc == 0)
		rc = agents_check(c->agents, err);
	if (rc == 0)
		(void)snprintf(c->name, sizeof c->name, "%s", text);
	if (rc == 0 && c->yaml != NULL) {
		rc = policy_parse(bytes_str(c->yaml), &c->policy, err);
		if (rc < 0)
			return err_wrap(err, rc, "policy");
	}
	return rc;
}

void h_ws_create(struct req *r)
{
	struct creation *c = req_own(r, sizeof *c, creation_free);
	struct msg_ws_create ask = { 0 };
	struct err err = { 0 };
	int rc;

	if (c == NULL)
		return;
	c->r = r;
	if (req_body_json(r, &c->body) < 0)
		return;
	rc = creation_parse(c, &err);
	if (rc < 0) {
		req_fail(r, rc, "%s", err.msg);
		return;
	}
	(void)snprintf(ask.name, sizeof ask.name, "%s", c->name);
	peer_call(r->app->garthd, &c->call, MSG_WS_CREATE, bytes_of(&ask, sizeof ask),
		  bytes_of(NULL, 0), NULL, 0, CREATE_MS, on_made, c);
}

/* ---- list and get ---- */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names in DIR/workspaces, sorted; the caller frees each and the array. */
static size_t names(struct app *app, char ***ret)
{
	int fd = openat(app->data_fd, "workspaces", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *e;
	char **list = NULL;
	size_t n = 0;

	*ret = NULL;
	if (dir == NULL) {
		fd_closep(&fd);
		return 0;
	}
	while (n < NAMES_MAX && (e = readdir(dir)) != NULL) {
		char **more;

		if (ident_check(e->d_name, "workspace", NULL) < 0 || !ws_exists(app, e->d_name))
			continue;
		more = realloc(list, (n + 1) * sizeof *more);
		if (more == NULL || (more[n] = strdup(e->d_name)) == NULL) {
			list = more != NULL ? more : list;
			break;
		}
		list = more;
		n++;
	}
	(void)closedir(dir);
	if (n > 0)
		qsort(list, n, sizeof *list, by_text);
	*ret = list;
	return n;
}

void h_ws_list(struct req *r)
{
	struct page p;
	char **list;
	size_t n;
	int rc = 0;

	if (page_begin(r, &p) < 0)
		return;
	n = names(r->app, &list);
	for (size_t i = p.after; i < n && rc == 0; i++) {
		const struct ws *ws = ws_find(r->app, list[i]);

		if (r->who.ws[0] != '\0' && strcmp(r->who.ws, list[i]) != 0)
			continue;
		if (ws != NULL && ws->deleting)
			continue;
		rc = page_add(&p, i + 1,
			      json_pack("{s:s, s:b}", "name", list[i], "open",
					ws != NULL && ws->state == WS_OPEN));
	}
	for (size_t i = 0; i < n; i++)
		free(list[i]);
	free(list);
	page_answer(r, &p, rc);
}

static void get(struct req *r, struct ws *ws)
{
	req_json(r, 200, describe(ws));
}

void h_ws_get(struct req *r)
{
	with_ws(r, get);
}

/* ---- delete ---- */

struct deletion {
	struct req *r;
	struct ws *ws;
	struct call call;
};

static void on_deleted(void *ctx, int status, struct wire_msg *reply, const char *why)
{
	struct deletion *d = ctx;
	struct err err = { 0 };
	char safe[LOG_ESC_SIZE];
	int rc;

	(void)reply;
	if (d->ws != NULL)
		d->ws->deleting = false;
	rc = status == 0 ? keys_remove_ws(d->r->app->keys, d->r->param[0], &err) : 0;
	if (rc < 0)
		log_warn("keys of a removed workspace stay ws=%s why=\"%s\"", d->r->param[0],
			 log_esc(bytes_str(err.msg), safe));
	if (status == 0 && rc < 0)
		req_fail(d->r, rc, "the workspace '%s' is removed, but not its keys: remove them",
			 d->r->param[0]);
	else if (status < 0)
		req_fail(d->r, status, "the workspace '%s' can't be removed: %.160s",
			 d->r->param[0], why);
	else
		req_empty(d->r, 204);
	free(d);
}

void h_ws_delete(struct req *r)
{
	struct msg_ws_delete ask = { 0 };
	struct deletion *d;

	if (!ws_exists(r->app, r->param[0])) {
		req_fail(r, -ENOENT, "no workspace '%s'", r->param[0]);
		return;
	}
	d = calloc(1, sizeof *d);
	if (d == NULL) {
		req_send(r, 503, NULL);
		return;
	}
	d->r = r;
	d->ws = ws_find(r->app, r->param[0]);
	if (d->ws != NULL) {
		d->ws->deleting = true;
		sandboxes_ws_delete(d->ws);
		ws_lost(d->ws, "it is being removed");
		ws_policy_set(d->ws, NULL);
	}
	(void)snprintf(ask.name, sizeof ask.name, "%s", r->param[0]);
	peer_call(r->app->garthd, &d->call, MSG_WS_DELETE, bytes_of(&ask, sizeof ask),
		  bytes_of(NULL, 0), NULL, 0, DELETE_MS, on_deleted, d);
}
