/* SPDX-License-Identifier: MIT */
/*
 * api/reqws.c - the beginnings of handlers.
 */
#include "api/reqws.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/auth.h"
#include "api/base64.h"
#include "core/id.h"
#include "core/ids.h"
#include "core/msg.h"
#include "policy/decide.h"

struct opening {
	struct ws_wait wait;
	struct req *r;
	void (*fn)(struct req *, struct ws *);
};

/* A signed link is of one workspace, not of whoever has its name later. */
static bool same_life(struct req *r, struct ws *ws)
{
	int64_t made = 0;
	int rc = r->who.link_made_ns != 0 ? ws_made(ws, &made) : 0;

	if (rc < 0)
		req_fail(r, rc, "the record does not tell when '%s' was made", ws->name);
	return rc == 0 && auth_same_life(r, made);
}

static void opened(void *ctx, int status, struct ws *ws, const char *why)
{
	struct opening *o = ctx;
	struct req *r = o->r;
	void (*fn)(struct req *, struct ws *) = o->fn;

	free(o);
	if (status == -ENOENT)
		req_fail(r, status, "no workspace '%s'", r->param[0]);
	else if (status < 0)
		req_fail(r, status, "the workspace '%s' can't be opened now: %.200s", r->param[0],
			 why);
	else if (same_life(r, ws))
		fn(r, ws);
}

void with_ws(struct req *r, void (*fn)(struct req *r, struct ws *ws))
{
	struct opening *o = calloc(1, sizeof *o);

	if (o == NULL) {
		req_send(r, 503, NULL);
		return;
	}
	o->r = r;
	o->fn = fn;
	ws_get(r->app, r->param[0], &o->wait, opened, o);
}

int req_agent_block(struct req *r, const struct ws *ws, const char *agent)
{
	int block = ws_agent_block(ws, agent);

	if (block == 0) {
		req_fail_code(r, "forbidden", "the agent 'operator' is reserved for uploads");
		return -1;
	}
	if (block < 0)
		req_fail(r, -ENOENT, "no agent '%.64s' in workspace '%s'", agent, ws->name);
	return block;
}

uint32_t req_asker(const struct req *r, const struct ws *ws)
{
	if (r->who.role != ROLE_AGENT)
		return MSG_ASKER_ALL;
	int block = ws_agent_block(ws, r->who.agent);

	return block < 0 ? IDS_AGENTS_MAX : (uint32_t)block; /* that is nobody */
}

bool req_may_read(const struct req *r, const struct ws *ws, struct bytes path,
		  const char *log_agent)
{
	struct question q = {
		.agent = r->who.agent, .op = OP_READ, .path = path, .log_agent = log_agent
	};
	struct verdict v;

	if (r->who.role != ROLE_AGENT)
		return true;
	policy_decide(ws->policy, &q, &v);
	return v.err == 0;
}

int req_path(struct req *r, struct buf *ret, bool *ret_given)
{
	const char *plain = req_arg(r, "path"), *b64 = req_arg(r, "path_base64");
	struct err err = { 0 };
	int rc = 0;

	*ret_given = plain != NULL || b64 != NULL;
	if (plain != NULL)
		rc = buf_add_str(ret, plain);
	else if (b64 != NULL)
		rc = base64_decode(bytes_str(b64), ret);
	if (rc < 0)
		(void)err_set(&err, rc,
			      b64 != NULL ? "'path_base64' is no base 64, or too long"
					  : "'path' is too long");
	else if (*ret_given)
		rc = path_check(buf_view(ret), &err);
	if (rc < 0)
		req_fail(r, -EINVAL, "%s", err.msg);
	return rc < 0 ? -EINVAL : 0;
}

int req_number(struct req *r, const char *name, uint64_t min, uint64_t max, uint64_t *ret)
{
	const char *text = req_arg(r, name);
	unsigned long long n;
	char *end;

	if (text == NULL)
		return 0;
	errno = 0;
	n = strtoull(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || n < min || n > max) {
		req_fail(r, -EINVAL, "'%s' must be a number within %" PRIu64 " and %" PRIu64, name,
			 min, max);
		return -EINVAL;
	}
	*ret = n;
	return 0;
}

int req_id(struct req *r, const char *prefix, const char *text, uint64_t *ret)
{
	if (id_parse(prefix, text, ret) == 0)
		return 0;
	req_fail(r, -ENOENT, "there is no '%.64s'; ids begin with '%s'", text, prefix);
	return -EINVAL;
}

/* ---- pages ---- */

int page_begin(struct req *r, struct page *p)
{
	*p = (struct page){ .limit = PAGE_DEFAULT };
	if (req_number(r, "limit", 1, PAGE_MAX, &p->limit) < 0 ||
	    req_number(r, "cursor", 0, UINT64_MAX, &p->after) < 0)
		return -EINVAL;
	p->items = json_array();
	if (p->items == NULL) {
		req_send(r, 503, NULL);
		return -EINVAL;
	}
	return 0;
}

int page_add(struct page *p, uint64_t cursor, json_t *j)
{
	if (json_array_size(p->items) >= p->limit) {
		json_decref(j);
		p->more = true;
		return 1;
	}
	p->last = cursor;
	return json_array_append_new(p->items, j) < 0 ? -ENOMEM : 0;
}

void page_answer(struct req *r, struct page *p, int rc)
{
	char cursor[24];

	if (rc < 0) {
		json_decref(p->items);
		req_fail(r, rc, "the record can't be read now");
		return;
	}
	(void)snprintf(cursor, sizeof cursor, "%" PRIu64, p->last);
	req_json(r, 200,
		 json_pack("{s:o, s:s?}", "items", p->items, "next", p->more ? cursor : NULL));
}
