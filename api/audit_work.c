/* SPDX-License-Identifier: MIT */
/*
 * api/audit_work.c - verifying and exporting, in a child.
 */
#include "api/audit_work.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/jsonx.h"
#include "api/tar.h"
#include "core/clock.h"
#include "core/fd.h"
#include "core/msg.h"
#include "index/query.h"
#include "index/verify.h"

#define ASK_MS 60000

struct work {
	const struct audit_job *job;
	struct wire_msg *msg;
	struct sha256 *seen; /* objects that the record wants, in the order they were asked for */
	size_t count;
};

/* One question; the first descriptor of the answer, or a negative errno. */
static int ask_fd(struct work *w, uint16_t type, struct bytes body)
{
	struct err err;
	int fd, rc;

	wire_msg_init(w->msg);
	rc = msg_ask(w->job->fs, type, body, bytes_of(NULL, 0), NULL, 0, PEER_API, PEER_F, w->msg,
		     ASK_MS, &err);
	fd = rc == 0 ? wire_take_fd(w->msg, 0) : rc;
	wire_msg_fini(w->msg);
	return fd;
}

static int open_object(void *ctx, const struct sha256 *sha)
{
	struct msg_object_open ask = { .sha = *sha };

	return ask_fd(ctx, MSG_OBJECT_OPEN, bytes_of(&ask, sizeof ask));
}

/* As open_object, and remember which. */
static int note_object(void *ctx, const struct sha256 *sha)
{
	struct work *w = ctx;

	if (w->count % 1024 == 0) {
		struct sha256 *more = realloc(w->seen, (w->count + 1024) * sizeof *more);

		if (more == NULL)
			return -ENOMEM;
		w->seen = more;
	}
	w->seen[w->count++] = *sha;
	return open_object(ctx, sha);
}

static int flush(struct work *w)
{
	struct msg_flush ask = { { 0 } };
	int rc = ask_fd(w, MSG_FLUSH, bytes_of(&ask, sizeof ask));

	return rc == -1 ? 0 : rc; /* its answer has no descriptor: wire_take_fd gives -1 */
}

static int say(int out, json_t *j)
{
	char *text = j != NULL ? json_dumps(j, JSON_COMPACT) : NULL;
	int rc = text != NULL ? fd_write_full(out, text, strlen(text)) : -ENOMEM;

	json_decref(j);
	free(text);
	return rc;
}

/*
 * The snapshot as a file that SQLite can open by name. Not index.db itself: SQLite's locks on it belong to the process that forked this
 * one, which reads it too, and a child can't tell its own from those (SQLITE_PROTOCOL).
 */
static int spool_copy(struct work *w, const char *path)
{
	struct msg_snapshot ask = { { 0 } };
	autofd from = ask_fd(w, MSG_SNAPSHOT, bytes_of(&ask, sizeof ask));
	autofd to = -1;
	char piece[65536];
	off_t at = 0;
	ssize_t n;
	int rc;

	if (from < 0)
		return from;
	to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (to < 0)
		return -errno;
	while ((n = pread(from, piece, sizeof piece, at)) > 0) {
		rc = fd_write_full(to, piece, (size_t)n);
		if (rc < 0)
			return rc;
		at += n;
	}
	return n < 0 ? -errno : 0;
}

int audit_verify(const struct audit_job *job)
{
	struct work w = { .job = job, .msg = malloc(sizeof *w.msg) };
	struct idx_verify v = { 0 };
	struct err err = { 0 };
	char db[4096];
	json_t *j;
	int rc;

	if (w.msg == NULL)
		return 1;
	(void)snprintf(db, sizeof db, "%s/verify-%ld.db", job->spool, (long)getpid());
	rc = flush(&w);
	if (rc == 0)
		rc = spool_copy(&w, db);
	if (rc == 0)
		rc = idx_verify(db, -1, open_object, &w, NULL, &v, &err);
	(void)unlink(db);
	if (rc < 0)
		j = json_pack("{s:s, s:i}", "error",
			      err.msg[0] != '\0' ? err.msg : "the record can't be read", "errno",
			      -rc);
	else
		j = json_pack("{s:b, s:I, s:I, s:I, s:I, s:s, s:o}", "ok", v.ok, "events",
			      (json_int_t)v.events, "rows", (json_int_t)v.rows, "objects",
			      (json_int_t)v.objects, "bad_seq", (json_int_t)v.bad_seq, "what",
			      v.what, "head", jx_sha(&v.head));
	free(w.msg);
	return say(job->out, j) < 0;
}

/* ---- export ---- */

static int add_policy(struct work *w, const char *db, int64_t now)
{
	struct idx_reader *reader;
	struct sha256 sha;
	char name[TAR_NAME_MAX + 1];
	int64_t at;
	autofd fd = -1;
	int rc = idx_reader_open(db, &reader, NULL);

	if (rc < 0)
		return rc;
	rc = idx_policy_now(reader, &sha, &at);
	idx_reader_close(reader);
	(void)snprintf(name, sizeof name, "%s/policy.yaml", w->job->ws);
	if (rc == -ENOENT)
		return tar_bytes(w->job->out, name, now, bytes_of(NULL, 0));
	fd = rc == 0 ? open_object(w, &sha) : rc;
	return fd < 0 ? fd : tar_file(w->job->out, name, now, fd);
}

static int by_hash(const void *a, const void *b)
{
	return memcmp(a, b, SHA256_LEN);
}

static int add_objects(struct work *w, int64_t now)
{
	qsort(w->seen, w->count, sizeof *w->seen, by_hash);
	for (size_t i = 0; i < w->count; i++) {
		char hex[SHA256_HEX_SIZE], name[IDENT_SIZE + SHA256_HEX_SIZE + 16];
		autofd fd = -1;
		int rc;

		if (i > 0 && by_hash(&w->seen[i], &w->seen[i - 1]) == 0)
			continue;
		fd = open_object(w, &w->seen[i]);
		if (fd == -ENOENT)
			continue; /* verifying the copy will say so */
		sha256_hex(&w->seen[i], hex);
		(void)snprintf(name, sizeof name, "%.20s/objects/%s", w->job->ws, hex);
		rc = fd < 0 ? fd : tar_file(w->job->out, name, now, fd);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int export_all(struct work *w, const char *db)
{
	int64_t now = clock_wall_ns() / NS_PER_S;
	struct idx_verify v;
	char name[TAR_NAME_MAX + 1];
	autofd fd = open(db, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	int rc = fd < 0 ? -errno : 0;

	/* Verifying asks for exactly the objects that a copy needs to be verified. */
	if (rc == 0)
		rc = idx_verify(db, -1, note_object, w, NULL, &v, NULL);
	(void)snprintf(name, sizeof name, "%s/index.db", w->job->ws);
	if (rc == 0)
		rc = tar_file(w->job->out, name, now, fd);
	if (rc == 0)
		rc = add_policy(w, db, now);
	if (rc == 0)
		rc = add_objects(w, now);
	return rc == 0 ? tar_end(w->job->out) : rc;
}

int audit_export(const struct audit_job *job)
{
	struct work w = { .job = job, .msg = malloc(sizeof *w.msg) };
	char db[4096];
	int rc;

	if (w.msg == NULL)
		return 1;
	(void)snprintf(db, sizeof db, "%s/export-%ld.db", job->spool, (long)getpid());
	rc = flush(&w);
	if (rc == 0)
		rc = spool_copy(&w, db);
	if (rc == 0)
		rc = export_all(&w, db);
	(void)unlink(db);
	free(w.seen);
	free(w.msg);
	return rc < 0;
}
