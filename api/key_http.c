/* SPDX-License-Identifier: MIT */
/*
 * api/key_http.c - keys over HTTP: made (shown once), listed, removed.
 */
#include <stdio.h>
#include <stdlib.h>

#include "api/handlers.h"
#include "api/jsonx.h"
#include "api/reqws.h"

static json_t *key_json(const struct key *k, const char *text)
{
	json_t *j = json_pack("{s:s, s:s, s:s?, s:s?, s:s?, s:s}", "id", k->id, "role",
			      role_text(k->role), "workspace", k->ws[0] != '\0' ? k->ws : NULL,
			      "agent", k->agent[0] != '\0' ? k->agent : NULL, "label",
			      k->label[0] != '\0' ? k->label : NULL, "created_at", k->created);

	if (j != NULL && text != NULL)
		(void)json_object_set_new(j, "key", json_string(text));
	return j;
}

void h_key_list(struct req *r)
{
	struct page p;
	int rc = 0;

	if (page_begin(r, &p) < 0)
		return;
	keys_refresh(r->app->keys);
	for (unsigned i = (unsigned)p.after; rc == 0; i++) {
		const struct key *k = keys_at(r->app->keys, i);

		if (k == NULL)
			break;
		rc = page_add(&p, i + 1, key_json(k, NULL));
	}
	page_answer(r, &p, rc);
}

static int label_check(const char *label, struct err *err)
{
	for (const char *p = label; p != NULL && *p != '\0'; p++)
		if (*p <= ' ' || *p > '~')
			return err_set(err, -EINVAL,
				       "field 'label' may hold printable ASCII without blanks");
	return 0;
}

/* What fits a role: workspace for all but admin, agent for agent alone. */
static int role_check(const struct key *k, struct err *err)
{
	if (k->role == ROLE_NONE)
		return err_set(err, -EINVAL,
			       "field 'role' must be admin, agent, auditor or reader");
	if (k->role != ROLE_ADMIN && k->ws[0] == '\0')
		return err_set(err, -EINVAL, "a key of role %s needs 'workspace'",
			       role_text(k->role));
	if (k->role == ROLE_ADMIN && k->ws[0] != '\0')
		return err_set(err, -EINVAL, "a key of role admin is for all workspaces");
	if ((k->role == ROLE_AGENT) != (k->agent[0] != '\0'))
		return err_set(err, -EINVAL, "'agent' belongs to role agent, and to it alone");
	return 0;
}

static int parse(const json_t *body, struct key *k, struct err *err)
{
	const json_t *role, *ws, *agent, *label;
	const struct jx_field f[] = { { "role", JX_STRING, true, &role },
				      { "workspace", JX_STRING, false, &ws },
				      { "agent", JX_STRING, false, &agent },
				      { "label", JX_STRING, false, &label } };
	const char *role_s = NULL, *ws_s = NULL, *agent_s = NULL, *label_s = NULL;
	int rc = jx_fields(body, "", f, sizeof f / sizeof f[0], err);

	if (rc == 0)
		rc = jx_text(role, "role", 16, &role_s, err);
	if (rc == 0)
		rc = jx_text(ws, "workspace", IDENT_LEN_MAX, &ws_s, err);
	if (rc == 0)
		rc = jx_text(agent, "agent", IDENT_LEN_MAX, &agent_s, err);
	if (rc == 0)
		rc = jx_text(label, "label", KEY_LABEL_SIZE - 1, &label_s, err);
	if (rc == 0)
		rc = label_check(label_s, err);
	if (rc < 0)
		return rc;
	*k = (struct key){ .role = role_parse(role_s) };
	(void)snprintf(k->ws, sizeof k->ws, "%s", ws_s != NULL ? ws_s : "");
	(void)snprintf(k->agent, sizeof k->agent, "%s", agent_s != NULL ? agent_s : "");
	(void)snprintf(k->label, sizeof k->label, "%s", label_s != NULL ? label_s : "");
	return role_check(k, err);
}

struct new_key {
	struct ws_wait wait;
	struct req *r;
	struct key key;
};

static void create(struct req *r, struct key *k)
{
	char text[KEY_TEXT_SIZE];
	struct err err = { 0 };
	int rc = keys_add(r->app->keys, k, text, &err);

	if (rc < 0)
		req_fail(r, rc, "%s", err.msg);
	else
		req_json(r, 201, key_json(k, text));
	explicit_bzero(text, sizeof text);
}

static void with_agent(void *ctx, int status, struct ws *ws, const char *why)
{
	struct new_key *n = ctx;

	if (status < 0)
		req_fail(n->r, status, "no workspace '%s'%s%.100s", n->key.ws,
			 why[0] != '\0' ? ": " : "", why);
	else if (n->key.agent[0] != '\0' && ws_agent_block(ws, n->key.agent) <= 0)
		req_fail(n->r, -ENOENT, "no agent '%s' in workspace '%s'", n->key.agent, n->key.ws);
	else
		create(n->r, &n->key);
	free(n);
}

void h_key_create(struct req *r)
{
	struct new_key *n;
	struct err err = { 0 };
	json_t *body;
	int rc;

	if (req_body_json(r, &body) < 0)
		return;
	n = calloc(1, sizeof *n);
	if (n == NULL) {
		json_decref(body);
		req_send(r, 503, NULL);
		return;
	}
	n->r = r;
	rc = parse(body, &n->key, &err);
	json_decref(body);
	if (rc < 0) {
		free(n);
		req_fail(r, rc, "%s", err.msg);
	} else if (n->key.ws[0] == '\0') {
		create(r, &n->key);
		free(n);
	} else {
		ws_get(r->app, n->key.ws, &n->wait, with_agent, n);
	}
}

void h_key_delete(struct req *r)
{
	struct err err = { 0 };
	int rc = keys_remove(r->app->keys, r->param[0], &err);

	if (rc < 0)
		req_fail(r, rc, "%s", err.msg);
	else
		req_empty(r, 204);
}
