/* SPDX-License-Identifier: MIT */
/*
 * api/record_http.c - lists of the record: artifacts and violations.
 * Not here: steps (api/step_read.c), lineage (api/lineage.c).
 */
#include <stdlib.h>

#include "api/folder.h"
#include "api/handlers.h"
#include "api/range.h"
#include "api/reqws.h"
#include "api/view.h"
#include "core/id.h"

struct listing {
	struct page page;
	struct req *r;
	struct ws *ws;
};

/* ?step= as an id. -EINVAL has been answered. */
static int step_arg(struct req *r, uint64_t *ret)
{
	const char *text = req_arg(r, "step");

	return text == NULL ? 0 : req_id(r, ID_STEP, text, ret);
}

static bool flag(const struct req *r, const char *name)
{
	const char *text = req_arg(r, name);

	return text != NULL && strcmp(text, "0") != 0 && strcmp(text, "false") != 0;
}

static int take_version(void *ctx, const struct idx_version *v)
{
	struct listing *l = ctx;

	if (!req_may_read(l->r, l->ws, v->path, NULL))
		return 0;
	return page_add(&l->page, v->version, view_version(v));
}

static void artifacts(struct req *r, struct ws *ws)
{
	struct listing l = { .r = r, .ws = ws };
	struct idx_filter f = { .agent = req_arg(r, "agent"), .newest = flag(r, "newest") };
	const char *below = req_arg(r, "below");
	bool given;
	autobuf path;

	buf_init(&path, PATH_LEN_MAX);
	if (step_arg(r, &f.step) < 0 || req_path(r, &path, &given) < 0 ||
	    page_begin(r, &l.page) < 0)
		return;
	if (given)
		f.path = buf_view(&path);
	if (below != NULL)
		f.below = bytes_str(below);
	f.after = l.page.after;
	page_answer(r, &l.page, idx_versions(ws->reader, &f, take_version, &l));
}

void h_artifacts(struct req *r)
{
	with_ws(r, artifacts);
}

static int take_violation(void *ctx, const struct idx_violation *v)
{
	struct listing *l = ctx;

	return page_add(&l->page, v->row, view_violation(v));
}

static void violations(struct req *r, struct ws *ws)
{
	struct listing l = { .r = r, .ws = ws };
	struct idx_filter f = { .agent = req_arg(r, "agent") };
	const char *since = req_arg(r, "since");

	if (r->who.role == ROLE_AGENT)
		f.agent = r->who.agent; /* its own alone */
	if (since != NULL && time_parse(since, &f.since_ns) < 0) {
		req_fail(r, -EINVAL,
			 "'since' must be a time as in RFC 3339, or seconds since 1970");
		return;
	}
	if (step_arg(r, &f.step) < 0 || page_begin(r, &l.page) < 0)
		return;
	f.after = l.page.after;
	page_answer(r, &l.page, idx_violations(ws->reader, &f, take_violation, &l));
}

void h_violations(struct req *r)
{
	with_ws(r, violations);
}
