/* SPDX-License-Identifier: MIT */
/*
 * api/download.c - GET files/{path} and output/{path}: which version, may it be read, is it held back; then send.c sends it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/auth.h"
#include "api/files.h"
#include "api/folder.h"
#include "api/handlers.h"
#include "api/hook.h"
#include "api/reqws.h"
#include "api/send.h"
#include "core/fd.h"
#include "core/id.h"
#include "policy/zone.h"

struct download {
	struct req *r;
	struct ws *ws;
	struct call call;
	struct buf path;
	/* what the record says of the version */
	bool found, held, pruned;
	bool asked; /* for this version, not for the newest */
	uint64_t version, n, step;
	char media[128];
	/* what garth-fs opened */
	int fd;
	struct msg_file_open_reply reply;
	bool flushed;
	char row_sha[SHA256_HEX_SIZE]; /* "" none */
};

static void download_free(void *own)
{
	struct download *d = own;

	call_cancel(&d->call);
	fd_closep(&d->fd);
	buf_fini(&d->path);
	free(d);
}

static int take_row(void *ctx, const struct idx_version *v)
{
	struct download *d = ctx;

	d->found = true;
	d->version = v->version;
	d->n = v->n;
	d->step = v->step;
	d->held = v->state == STATE_HELD;
	d->pruned = v->state == STATE_PRUNED;
	if (v->has_sha)
		sha256_hex(&v->sha, d->row_sha);
	(void)snprintf(d->media, sizeof d->media, "%.*s",
		       (int)(v->media_type.len < sizeof d->media ? v->media_type.len : 0),
		       (const char *)v->media_type.p);
	return 1;
}

/* ?version=: a number or a hash. 0, or it has been answered. */
static int asked_version(struct download *d)
{
	const char *text = req_arg(d->r, "version");
	struct idx_filter f = { .path = buf_view(&d->path), .limit = 1 };
	struct sha256 sha;

	if (text == NULL)
		return 0;
	if (strncmp(text, "sha256:", 7) == 0)
		text += 7;
	if (sha256_parse(text, &sha) == 0) {
		f.sha = &sha;
	} else if (req_number(d->r, "version", 1, UINT64_MAX, &f.n) < 0) {
		return -EINVAL;
	}
	if (idx_versions(d->ws->reader, &f, take_row, d) < 0) {
		req_fail(d->r, -EIO, "the record can't be read now");
		return -EIO;
	}
	d->asked = true;
	if (!d->found) {
		req_fail(d->r, -ENOENT, "no version %s of '%.300s'", text, buf_str(&d->path));
		return -ENOENT;
	}
	return 0;
}

static void failed(struct download *d, int status, const char *why)
{
	const char *path = buf_str(&d->path);

	if (status == -EISDIR)
		folder_answer(d->r, d->ws, buf_view(&d->path));
	else if (status == -EAGAIN)
		req_fail_code(d->r, "held", "'%.300s' is held back by an on_output hook", path);
	else if (status == -ESTALE)
		req_fail_code(d->r, "pruned",
			      "the bytes of this version of '%.300s' are not kept any more", path);
	else if (status == -ENOENT)
		req_fail(d->r, status, "nothing at '%.300s'", path);
	else
		req_fail(d->r, status, "'%.300s' can't be read: %.100s", path, why);
}

static void lineage_link(const struct download *d, char *out, size_t size)
{
	char path[3 * PATH_LEN_MAX + 1];

	uri_encode_path(buf_view(&d->path), path);
	(void)snprintf(out, size,
		       "</v1/workspaces/%s/lineage?path=%s&version=%" PRIu64
		       ">; rel=\"describedby\"",
		       d->ws->name, path, d->n);
}

static void send_it(struct download *d, int fd, const struct msg_file_open_reply *b)
{
	const char *path = buf_str(&d->path), *slash = strrchr(path, '/');
	char link[3 * PATH_LEN_MAX + 256], step[ID_TEXT_SIZE];
	struct sending s = { .fd = fd,
			     .size = b->size,
			     .mtime_ns = b->mtime_ns,
			     .sha = b->sha,
			     .name = bytes_str(slash != NULL ? slash + 1 : path) };

	if (d->found && (d->asked || d->version == b->version)) {
		id_text(ID_STEP, d->step, step);
		lineage_link(d, link, sizeof link);
		s.step = d->step != 0 ? step : NULL;
		s.version = d->n;
		s.lineage = link;
		s.media = d->media[0] != '\0' ? d->media : NULL;
	}
	send_file(d->r, &s);
}

/* What the record says of the bytes that garth-fs opened; d->found. */
static int look_up(struct download *d)
{
	struct idx_filter f = { .path = buf_view(&d->path), .limit = 1 };
	struct sha256 sha;

	if (d->asked)
		return 0;
	d->found = false;
	if (d->ws->reader == NULL)
		return -EPIPE;
	if (d->reply.version != 0)
		f.after = d->reply.version - 1;
	else if (sha256_parse(d->reply.sha, &sha) == 0)
		f.sha = &sha; /* the last version of what is being written */
	else
		return 0;
	if (idx_versions(d->ws->reader, &f, take_row, d) < 0)
		return -EIO;
	if (d->reply.version != 0 && d->version != d->reply.version)
		d->found = false;
	return 0;
}

static void judge(struct download *d);

static void on_flush(void *ctx, int status, struct wire_msg *reply, const char *why)
{
	struct download *d = ctx;

	(void)reply;
	d->flushed = true;
	if (status < 0)
		failed(d, status, why);
	else
		judge(d);
}

/* Send it, unless it is held back; ask for the record first where it lags behind the file server. */
static void judge(struct download *d)
{
	struct zone_place place;
	bool versioned = d->reply.version != 0 || d->reply.sha[0] != '\0';
	int rc = look_up(d);

	zone_of(buf_view(&d->path), &place);
	if (rc < 0)
		failed(d, rc, "the record can't be read now");
	else if (!d->found && !d->flushed && (versioned || place.zone == ZONE_OUTPUT))
		files_flush(d->ws, &d->call, on_flush, d);
	else if (place.zone == ZONE_OUTPUT && !versioned)
		failed(d, -EBUSY, "it has no version yet");
	else if (d->found &&
		 (d->held || hook_pending(d->r->app, d->ws, d->step, buf_view(&d->path))))
		failed(d, -EAGAIN, "");
	else
		send_it(d, fd_steal(&d->fd), &d->reply);
}

static void on_open(void *ctx, int status, struct wire_msg *reply, const char *why)
{
	struct download *d = ctx;

	if (status < 0) {
		failed(d, status, why);
		return;
	}
	d->reply = *(const struct msg_file_open_reply *)msg_body(reply);
	d->fd = wire_take_fd(reply, 0);
	if (!msg_text_ok(d->reply.sha, sizeof d->reply.sha))
		req_fail(d->r, -EBADMSG, "a hash that is none");
	else
		judge(d);
}

static void opened(struct req *r, struct ws *ws)
{
	struct download *d = r->own;
	char agent[IDENT_SIZE];
	struct bytes path = buf_view(&d->path);
	const char *log_agent;

	d->ws = ws;
	log_agent = folder_log_agent(ws, path, agent);
	if (!req_may_read(r, ws, path, log_agent)) {
		req_fail(r, log_agent != NULL && log_agent[0] != '\0' ? -ENOENT : -EACCES,
			 "'%.300s' is not for agent '%s'", buf_str(&d->path), r->who.agent);
		return;
	}
	if (path.len == 0) {
		folder_answer(r, ws, path);
		return;
	}
	if (asked_version(d) < 0)
		return;
	if (d->asked && d->pruned)
		failed(d, -ESTALE, "");
	else /* an older version is found by its hash alone */
		files_open(ws, &d->call, req_asker(r, ws), path,
			   d->asked && d->row_sha[0] == '\0' ? d->version : 0, d->row_sha, on_open,
			   d);
}

/* @prefix "" or "output" */
static void get(struct req *r, const char *prefix)
{
	struct download *d = req_own(r, sizeof *d, download_free);
	struct err err = { 0 };
	bool given = false;
	int rc;

	if (d == NULL)
		return;
	buf_init(&d->path, PATH_LEN_MAX);
	d->r = r;
	d->fd = -1;
	rc = buf_add_str(&d->path, prefix);
	if (rc == 0 && r->rest != NULL)
		rc = buf_addf(&d->path, "%s%s", prefix[0] != '\0' ? "/" : "", r->rest);
	if (rc < 0) {
		req_fail(r, -ENAMETOOLONG, "the path is longer than %d bytes", PATH_LEN_MAX);
		return;
	}
	if (r->rest == NULL && req_arg(r, "path_base64") != NULL) {
		buf_reset(&d->path);
		if (req_path(r, &d->path, &given) < 0)
			return;
		if (auth_decide(&r->who, ACCESS_FILES, "", buf_str(&d->path)) < 0) {
			req_fail_code(r, "forbidden", "a key of role %s reads output/ alone",
				      role_text(r->who.role));
			return;
		}
	}
	rc = path_check(buf_view(&d->path), &err);
	if (rc < 0)
		req_fail(r, rc, "%s", err.msg);
	else
		with_ws(r, opened);
}

void h_file_get(struct req *r)
{
	get(r, "");
}

void h_output_get(struct req *r)
{
	get(r, "output");
}
