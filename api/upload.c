/* SPDX-License-Identifier: MIT */
/*
 * api/upload.c - PUT files/{path}: the body goes into a nameless file in the spool and is hashed on the way; whole and right, it
 * becomes a step of kind upload: garth-init writes it in a sandbox of the agent, so that the mount, its rules and the record see it
 * like any other write. A body cut short leaves nothing.
 * What the policy refuses is refused before the body is read, by an upload of nothing, so that the refusal is in the record.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/auth.h"
#include "api/digest.h"
#include "api/handlers.h"
#include "api/jsonx.h"
#include "api/reqws.h"
#include "api/step.h"
#include "api/view.h"
#include "core/fd.h"
#include "policy/decide.h"

struct upload {
	struct upload *next; /* of app->uploads, the oldest first */
	struct req *r;
	struct ws *ws;
	struct step_put put;
	struct sha256_ctx *hash;
	struct sha256 sha;
	uint64_t size, limit;
	uint32_t block;
	bool refused; /* it is there to be refused */
	bool whole;   /* all of the body has come: sha is its hash */
	json_t *row;  /* the artifact that came of it */
};

static void unlist(struct upload *u)
{
	struct upload **p = &u->r->app->uploads;

	while (*p != NULL && *p != u)
		p = &(*p)->next;
	if (*p == u)
		*p = u->next;
}

static void upload_free(void *own)
{
	struct upload *u = own;

	unlist(u);
	fd_closep(&u->put.fd);
	sha256_free(u->hash);
	json_decref(u->row);
	free(u);
}

/* ---- conditions ---- */

static int take_row(void *ctx, const struct idx_version *v)
{
	json_t **ret = ctx;

	*ret = view_version(v);
	return 1;
}

static json_t *newest(struct upload *u)
{
	struct idx_filter f = { .path = bytes_str(u->put.path), .newest = true, .limit = 1 };
	json_t *row = NULL;

	if (u->ws->reader != NULL && idx_versions(u->ws->reader, &f, take_row, &row) < 0)
		return NULL;
	return row;
}

/* 412 with both hashes. */
static void conflict(struct upload *u, const char *detail)
{
	struct problem p = problem_named("precondition_failed");
	const char *match = req_header(u->r, "If-Match"), *none = req_header(u->r, "If-None-Match");
	json_t *row = newest(u), *extra = json_object();
	const json_t *sha = json_object_get(row, "sha256");

	(void)json_object_set_new(extra, "expected",
				  match != NULL  ? json_string(match)
				  : none != NULL ? json_string(none)
						 : json_null());
	(void)json_object_set_new(extra, "current",
				  json_is_string(sha)
					  ? json_sprintf("\"sha256:%s\"", json_string_value(sha))
					  : json_null());
	(void)json_object_set_new(extra, "sent_sha256", u->whole ? jx_sha(&u->sha) : json_null());
	json_decref(row);
	req_problem(u->r, &p, detail, extra);
}

/* If-Match: the one of its hashes that the file has now; else the first, which the write itself then refuses. */
static int match_parse(struct upload *u, const char *match, const char *now)
{
	struct sha256 sha;
	bool any = false;
	char hex[SHA256_HEX_SIZE];
	int rc = 1;

	for (unsigned i = 0; rc == 1 && !any; i++) {
		rc = etag_parse(match, i, &sha, &any);
		if (rc != 1 || any)
			break;
		sha256_hex(&sha, hex);
		if (u->put.if_sha[0] == '\0' || (now != NULL && strcmp(now, hex) == 0))
			memcpy(u->put.if_sha, hex, sizeof hex);
	}
	if (any)
		u->put.if_sha[0] = '\0';
	return rc < 0 ? rc : 0;
}

/* Fill put from If-Match and If-None-Match. 0, or it has been answered. */
static int conditions(struct upload *u)
{
	const char *match = req_header(u->r, "If-Match"), *none = req_header(u->r, "If-None-Match");
	json_t *row;
	int rc = 0;

	u->put.replace = none == NULL;
	if (none != NULL && strcmp(none, "*") != 0) {
		req_fail(u->r, -EINVAL, "If-None-Match can only be '*' here");
		return -EINVAL;
	}
	if (match == NULL)
		return 0;
	row = newest(u);
	if (row == NULL) {
		conflict(u, "there is no such file");
		rc = -ESTALE;
	} else if (match_parse(u, match, json_string_value(json_object_get(row, "sha256"))) < 0) {
		req_fail(u->r, -EINVAL, "If-Match must be '*' or '\"sha256:...\"'");
		rc = -EINVAL;
	}
	json_decref(row);
	return rc;
}

/* ---- the end ---- */

static void answer(struct upload *u, const struct step *st)
{
	const char *sha = json_string_value(json_object_get(u->row, "sha256"));
	struct req *r = u->r;
	json_t *j = json_object();
	char hex[SHA256_HEX_SIZE], place[3 * PATH_LEN_MAX + 128], etag[SHA256_HEX_SIZE + 16];
	int n;

	sha256_hex(&u->sha, hex);
	(void)json_object_set_new(j, "path", json_string(u->put.path));
	(void)json_object_set_new(j, "sha256", json_string(hex));
	(void)json_object_set_new(j, "size", json_integer((json_int_t)u->size));
	(void)json_object_set(j, "version",
			      sha != NULL ? json_object_get(u->row, "version") : json_null());
	(void)json_object_set_new(j, "step", jx_id(ID_STEP, st->id));
	(void)json_object_set_new(j, "agent", json_string(st->agent));
	(void)json_object_set(j, "media_type",
			      sha != NULL ? json_object_get(u->row, "media_type") : json_null());
	req_json(r, u->put.created ? 201 : 200, j);
	n = snprintf(place, sizeof place, "/v1/workspaces/%s/files/", u->ws->name);
	uri_encode_path(bytes_str(u->put.path), place + n);
	(void)snprintf(etag, sizeof etag, "\"sha256:%s\"", hex);
	(void)response_header(r->response, "Location", place);
	(void)response_header(r->response, "ETag", etag);
}

/* ---- one after the other: else what If-Match has looked at is replaced by another before it is written ---- */

static struct upload *first_of(const struct upload *u)
{
	struct upload *o = u->r->app->uploads;

	while (o != NULL && (o->ws != u->ws || strcmp(o->put.path, u->put.path) != 0))
		o = o->next;
	return o;
}

static void launch(struct upload *u);

static void leave(struct upload *u)
{
	struct upload *next;

	unlist(u);
	next = first_of(u);
	if (next != NULL)
		launch(next);
}

static void start(struct upload *u)
{
	struct upload **p = &u->r->app->uploads;

	while (*p != NULL)
		p = &(*p)->next;
	u->next = NULL;
	*p = u;
	if (first_of(u) == u)
		launch(u);
}

static void done(void *ctx, struct step *st)
{
	struct upload *u = ctx;
	struct idx_filter f = { .step = st->id, .path = bytes_str(u->put.path), .limit = 1 };
	int status = st->status < 0  ? st->status
		     : !st->recorded ? -EPIPE
		     : !st->exited   ? -EPIPE
				     : u->put.status;
	const char *why = st->why[0] != '\0' ? st->why : "the workspace's parts ended meanwhile";

	if (status == -EEXIST || status == -ESTALE) {
		conflict(u,
			 status == -EEXIST ? "the file is there already" : "the file has changed");
	} else if (u->refused && status == 0) {
		req_fail(u->r, -EACCES, "the policy does not let this agent write '%.300s'",
			 u->put.path);
	} else if (status < 0) {
		req_fail(u->r, status, "'%.300s' was not written: %.120s", u->put.path, why);
	} else {
		if (u->ws->reader != NULL && idx_versions(u->ws->reader, &f, take_row, &u->row) < 0)
			u->row = NULL;
		answer(u, st);
	}
	leave(u);
}

static const struct step_ops ops = { .done = done };

static void launch(struct upload *u)
{
	struct spec *spec = calloc(1, sizeof *spec);
	struct step_new n = { .ws = u->ws,
			      .spec = spec,
			      .block = u->block,
			      .kind = STEP_UPLOAD,
			      .request_id = u->r->id,
			      .key = u->r->who.key,
			      .put = &u->put,
			      .ops = &ops,
			      .ctx = u };
	struct step *st;
	struct err err = { 0 };
	int rc;

	if (u->ws->policy == NULL || !peer_is_open(u->ws->fs)) { /* meanwhile */
		free(spec);
		req_fail(u->r, -EPIPE, "the workspace is being restarted");
		leave(u);
		return;
	}
	if (spec != NULL)
		spec->argv = calloc(2, sizeof *spec->argv);
	if (spec == NULL || spec->argv == NULL) {
		free(spec);
		req_send(u->r, 503, NULL);
		leave(u);
		return;
	}
	spec->argv[0] = "put";
	spec->argv[1] = u->put.path;
	spec->argc = 2;
	spec->lim = *policy_step_limits_of(u->ws->policy, ws_agent_name(u->ws, u->block));
	rc = step_start(u->r->app, &n, &st, &err);
	if (rc < 0) {
		req_fail(u->r, rc, "%s", err.msg);
		leave(u);
	}
}

/* ---- the body ---- */

static int sink(struct req *r, struct bytes piece, struct err *err)
{
	struct upload *u = r->own;
	int rc;

	if (u->size + piece.len > u->limit)
		return err_set(err, -EFBIG,
			       "the body is longer than %" PRIu64
			       " bytes, the policy's limit for an upload",
			       u->limit);
	rc = fd_write_full(u->put.fd, piece.p, piece.len);
	if (rc < 0)
		return err_set(err, rc, "the body can't be kept");
	sha256_add(u->hash, piece);
	u->size += piece.len;
	return 0;
}

/* 0, or it has been answered. */
static int digests(struct upload *u)
{
	static const char *const names[] = { "Content-Digest", "Repr-Digest" };
	const char *plain = req_header(u->r, "X-Content-SHA256");
	struct sha256 want;

	for (size_t i = 0; i < 3; i++) {
		int rc = i < 2           ? digest_parse(req_header(u->r, names[i]), &want)
			 : plain == NULL ? 0
			 : sha256_parse(plain, &want) < 0 ? -EINVAL
							  : 1;

		if (rc < 0) {
			req_fail(u->r, rc, "%s makes no sense",
				 i < 2 ? names[i] : "X-Content-SHA256");
			return rc;
		}
		if (rc == 1 && memcmp(want.b, u->sha.b, sizeof want.b) != 0) {
			req_fail_code(u->r, "digest_mismatch",
				      "the body's hash is not the one in %s",
				      i < 2 ? names[i] : "X-Content-SHA256");
			return -EBADMSG;
		}
	}
	return 0;
}

void h_file_put(struct req *r)
{
	struct upload *u = r->own;

	sha256_end(u->hash, &u->sha);
	sha256_free(u->hash);
	u->hash = NULL;
	u->whole = true;
	if (digests(u) < 0)
		return;
	if (lseek(u->put.fd, 0, SEEK_SET) < 0) {
		req_fail(r, -errno, "the spooled body can't be read");
		return;
	}
	if (!peer_is_open(u->ws->fs)) {
		req_fail(r, -EPIPE, "the workspace is being restarted");
		return;
	}
	start(u);
}

/* ---- the beginning ---- */

/* Which agent writes: 0 and u->block, or it has been answered. */
static int who_writes(struct upload *u)
{
	const char *named = req_arg(u->r, "agent"), *agent;
	int block;

	if (named == NULL && u->r->who.role == ROLE_ADMIN) {
		u->block = 0;
		return 0;
	}
	if (auth_agent(u->r, named, &agent) < 0)
		return -EPERM;
	block = req_agent_block(u->r, u->ws, agent);
	if (block < 0)
		return -ENOENT;
	u->block = (uint32_t)block;
	return 0;
}

static bool permitted(const struct upload *u)
{
	struct question q = { .agent = ws_agent_name(u->ws, u->block),
			      .op = OP_CREATE,
			      .path = bytes_str(u->put.path) };
	struct verdict v;

	policy_decide(u->ws->policy, &q, &v);
	return v.err == 0;
}

static void ready(struct req *r, struct ws *ws)
{
	struct upload *u = r->own;

	u->ws = ws;
	u->limit = ws->policy->limits.upload;
	if (who_writes(u) < 0)
		return;
	if (r->length != UINT64_MAX && r->length > u->limit) {
		req_fail(r, -EFBIG,
			 "the body has %" PRIu64 " bytes; the policy permits uploads of %" PRIu64,
			 r->length, u->limit);
		return;
	}
	if (conditions(u) < 0)
		return;
	u->refused = !permitted(u);
	u->put.fd = openat(r->app->spool_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	u->hash = sha256_new();
	if (u->put.fd < 0 || u->hash == NULL) {
		req_fail(r, u->put.fd < 0 ? -errno : -ENOMEM, "the spool has no room");
		return;
	}
	sha256_begin(u->hash);
	if (u->refused) {
		start(u);
		return;
	}
	r->sink = sink;
	req_head_done(r);
}

void h_file_put_head(struct req *r)
{
	struct upload *u = req_own(r, sizeof *u, upload_free);
	struct err err = { 0 };
	int rc = path_check(bytes_str(r->rest), &err);

	if (u == NULL)
		return;
	u->r = r;
	u->put.fd = -1;
	u->put.path = r->rest;
	if (rc < 0)
		req_fail(r, rc, "%s", err.msg);
	else if (r->uri.slash)
		req_fail(r, -EINVAL, "the path ends in a slash; name a file");
	else if (strchr(r->rest, '/') == NULL)
		req_fail(r, -EINVAL, "'%.64s' is a zone; name a file in it", r->rest);
	else
		with_ws(r, ready);
}
