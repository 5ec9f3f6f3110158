/* SPDX-License-Identifier: MIT */
/*
 * api/link_http.c - POST links: a signed address for one version of one output.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/handlers.h"
#include "api/jsonx.h"
#include "api/link.h"
#include "api/reqws.h"
#include "core/clock.h"

struct asked {
	json_t *body;
	const char *path;
	uint64_t version; /* 0: the newest */
	uint64_t expires_s;
};

static void asked_free(void *own)
{
	struct asked *a = own;

	json_decref(a->body);
	free(a);
}

static int parse(struct asked *a, struct err *err)
{
	const json_t *path, *version, *expires;
	const struct jx_field f[] = { { "path", JX_STRING, true, &path },
				      { "version", JX_INTEGER, false, &version },
				      { "expires_s", JX_INTEGER, false, &expires } };
	int rc = jx_fields(a->body, "", f, 3, err);

	a->expires_s = LINK_SECONDS_DEFAULT;
	if (rc == 0)
		rc = jx_text(path, "path", PATH_LEN_MAX, &a->path, err);
	if (rc == 0)
		rc = path_check(bytes_str(a->path), err);
	if (rc == 0 && strncmp(a->path, "output/", 7) != 0)
		rc = err_set(err, -EINVAL, "field 'path' must lie below output/");
	if (rc == 0)
		rc = jx_uint(version, "version", 1, INT64_MAX, &a->version, err);
	if (rc == 0)
		rc = jx_uint(expires, "expires_s", 1, (uint64_t)LINK_DAYS_MAX * 24 * 3600,
			     &a->expires_s, err);
	return rc;
}

static int take(void *ctx, const struct idx_version *v)
{
	*(uint64_t *)ctx = v->n;
	return 1;
}

static void make(struct req *r, struct ws *ws)
{
	struct asked *a = r->own;
	struct idx_filter f = {
		.path = bytes_str(a->path), .n = a->version, .newest = a->version == 0, .limit = 1
	};
	char sig[SHA256_HEX_SIZE], coded[3 * PATH_LEN_MAX + 1];
	int64_t until = clock_wall_ns() / NS_PER_S + (int64_t)a->expires_s;
	uint64_t n = 0;
	int64_t made = 0;
	int rc = idx_versions(ws->reader, &f, take, &n);

	if (rc < 0 || n == 0) {
		req_fail(r, rc < 0 ? rc : -ENOENT, "the record has no such version of '%.300s'",
			 a->path);
		return;
	}
	if (!req_may_read(r, ws, bytes_str(a->path), NULL)) {
		req_fail(r, -EACCES, "'%.300s' is not for agent '%s'", a->path, r->who.agent);
		return;
	}
	rc = ws_made(ws, &made);
	if (rc < 0) {
		req_fail(r, rc, "the record does not tell when '%s' was made", ws->name);
		return;
	}
	link_sign(r->app->link_key, ws->name, made, bytes_str(a->path), n, until, sig);
	uri_encode_path(bytes_str(a->path), coded);
	req_json(r, 201,
		 json_pack("{s:o, s:s, s:I, s:o}", "url",
			   json_sprintf("%s/v1/workspaces/%s/%s?version=%" PRIu64
					"&expires=%" PRId64 "&made=%" PRId64 "&sig=%s",
					r->app->url, ws->name, coded, n, until, made, sig),
			   "path", a->path, "version", (json_int_t)n, "expires_at",
			   jx_time(until * NS_PER_S)));
}

void h_link_create(struct req *r)
{
	struct asked *a = req_own(r, sizeof *a, asked_free);
	struct err err = { 0 };
	int rc;

	if (a == NULL)
		return;
	if (req_body_json(r, &a->body) < 0)
		return;
	rc = parse(a, &err);
	if (rc < 0)
		req_fail(r, rc, "%s", err.msg);
	else
		with_ws(r, make);
}
