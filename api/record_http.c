/* SPDX-License-Identifier: MIT */
/*
 * api/record_http.c - lists of the record: artifacts and violations.
 * Not here: steps (api/step_read.c), lineage (api/lineage.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "api/folder.h"
#include "api/handlers.h"
#include "api/reqws.h"
#include "api/view.h"
#include "core/clock.h"
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

/* RFC 3339 ("2026-11-30T08:00:00Z", fraction and offset understood) or seconds since 1970. */
static int since_parse(const char *text, int64_t *ret_ns)
{
	struct tm tm = { 0 };
	const char *p = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	int64_t frac = 0, unit = NS_PER_S / 10, off = 0;
	char *end;
	int h, m;

	if (p == NULL) {
		double s = strtod(text, &end);

		if (end == text || *end != '\0' || !(s >= 0 && s < 9e9))
			return -EINVAL;
		*ret_ns = (int64_t)(s * 1e9);
		return 0;
	}
	if (*p == '.')
		for (p++; *p >= '0' && *p <= '9'; p++, unit /= 10)
			frac += (*p - '0') * unit;
	if ((*p == '+' || *p == '-') && sscanf(p + 1, "%2d:%2d", &h, &m) == 2 && strlen(p) == 6)
		off = (*p == '+' ? 1 : -1) * (int64_t)(h * 3600 + m * 60);
	else if (strcmp(p, "Z") != 0 && strcmp(p, "z") != 0)
		return -EINVAL;
	*ret_ns = ((int64_t)timegm(&tm) - off) * NS_PER_S + frac;
	return 0;
}

static void violations(struct req *r, struct ws *ws)
{
	struct listing l = { .r = r, .ws = ws };
	struct idx_filter f = { .agent = req_arg(r, "agent") };
	const char *since = req_arg(r, "since");

	if (r->who.role == ROLE_AGENT)
		f.agent = r->who.agent; /* its own alone */
	if (since != NULL && since_parse(since, &f.since_ns) < 0) {
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
