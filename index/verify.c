/* SPDX-License-Identifier: MIT */
/*
 * index/verify.c - the chain: every link recomputed, every event applied to an empty database.
 * Not here: comparing that database (index/verify_rows.c), the objects (index/verify_objects.c).
 */
#include "index/verify.h"

#include <stdarg.h>
#include <stdio.h>

#include "index/apply.h"
#include "index/chain.h"
#include "index/db.h"
#include "index/verify_in.h"

#define PROGRESS_EVENTS 1024u
#define REBUILD_BATCH 16384u

int verify_bad(struct verify *v, uint64_t seq, const char *fmt, ...)
{
	va_list ap;

	v->ret->ok = false;
	v->ret->bad_seq = seq;
	va_start(ap, fmt);
	(void)vsnprintf(v->ret->what, sizeof v->ret->what, fmt, ap);
	va_end(ap);
	return 1;
}

static int tx(struct idx_db *db, enum idx_stmt which, struct err *err)
{
	struct stmt s = stmt_begin(db, which);

	return stmt_run(db, &s, err);
}

/* The row that s stands on: is it the next link, and what does it say? */
static int check_event(struct verify *v, struct sha256_ctx *sha, const struct stmt *s)
{
	uint64_t want = v->ret->events + 1;
	uint64_t seq = stmt_col_u64(s, 0);
	struct sha256 prev, hash, own;
	struct event e;
	int rc;

	if (seq != want)
		return verify_bad(v, want, "event %llu is missing: the next one is %llu",
				  (unsigned long long)want, (unsigned long long)seq);
	if (!stmt_col_sha(s, 1, &prev) || memcmp(&prev, &v->ret->head, sizeof prev) != 0)
		return verify_bad(v, seq, "event %llu: does not follow the one before it",
				  (unsigned long long)seq);
	chain_link(sha, &v->ret->head, seq, stmt_col_bytes(s, 3), &own);
	if (!stmt_col_sha(s, 2, &hash) || memcmp(&hash, &own, sizeof hash) != 0)
		return verify_bad(v, seq, "event %llu: its hash is not that of its content",
				  (unsigned long long)seq);
	if (event_unpack(stmt_col_bytes(s, 3), &e) < 0)
		return verify_bad(v, seq, "event %llu: its content is no event",
				  (unsigned long long)seq);
	rc = apply_event(&v->own, seq, &e, v->err);
	if (rc == -EBADMSG)
		return verify_bad(v, seq, "event %llu: %s", (unsigned long long)seq, v->err->msg);
	if (rc < 0)
		return rc;
	v->ret->events = seq;
	v->ret->head = own;
	return 0;
}

static int check_events(struct verify *v, struct sha256_ctx *sha)
{
	struct stmt s = stmt_begin(&v->src, IDX_EVENTS);
	int rc = tx(&v->own, IDX_BEGIN, v->err);
	int got = 0;

	while (rc == 0 && (got = stmt_row(&v->src, &s, v->err)) > 0) {
		rc = check_event(v, sha, &s);
		if (rc == 0 && v->ret->events % REBUILD_BATCH == 0) {
			rc = tx(&v->own, IDX_COMMIT, v->err);
			if (rc == 0)
				rc = tx(&v->own, IDX_BEGIN, v->err);
		}
		if (v->progress && v->ret->events % PROGRESS_EVENTS == 0)
			v->progress(v->ctx, v->ret->events, v->last);
	}
	stmt_end(&s);
	if (rc == 0 && got == -EBADMSG)
		return verify_bad(v, v->ret->events + 1, "after event %llu: %s",
				  (unsigned long long)v->ret->events, v->err->msg);
	if (rc == 0 && got == 0)
		rc = tx(&v->own, IDX_COMMIT, v->err);
	return rc ? rc : got;
}

static int last_event(struct verify *v)
{
	struct stmt s = stmt_begin(&v->src, IDX_EVENT_LAST);
	int rc = stmt_row(&v->src, &s, v->err);

	if (rc == 1)
		v->last = stmt_col_u64(&s, 0);
	stmt_end(&s);
	return rc < 0 ? rc : 0;
}

/* Tables and indexes of the file against each other: an index that lies makes queries lie. */
static int check_file(struct verify *v)
{
	struct stmt s = { 0 };
	int rc = sqlite3_prepare_v2(v->src.h, IDX_SQL_INTEGRITY, -1, &s.st, NULL);

	if (rc != SQLITE_OK)
		return stmt_fail(&v->src, rc, v->err);
	rc = stmt_row(&v->src, &s, v->err);
	if (rc == 1) {
		struct bytes said = stmt_col_bytes(&s, 0);

		rc = bytes_equal(said, BYTES_LIT("ok"))
			     ? 0
			     : verify_bad(v, 0, "the database file is damaged: %.*s", (int)said.len,
					  (const char *)said.p);
	}
	(void)sqlite3_finalize(s.st);
	return rc;
}

static int check_all(struct verify *v)
{
	struct sha256_ctx *sha = sha256_new();
	int rc;

	if (!sha)
		return err_set(v->err, -ENOMEM, "verify: no memory");
	rc = tx(&v->src, IDX_BEGIN, v->err); /* one state of it, also where it is being written */
	if (rc == 0)
		rc = last_event(v);
	if (rc == 0)
		rc = verify_schema(v);
	if (rc == 0)
		rc = check_events(v, sha);
	if (rc == 0)
		rc = verify_rows(v);
	if (rc == 0)
		rc = check_file(v);
	if (rc == 0)
		rc = verify_objects(v);
	sha256_free(sha);
	return rc;
}

int idx_verify(const char *db_path, int objects_fd,
	       int (*open_object)(void *ctx, const struct sha256 *sha), void *ctx,
	       void (*progress)(void *ctx, uint64_t done, uint64_t all), struct idx_verify *ret,
	       struct err *err)
{
	struct err mine = { 0 };
	struct verify v = { .ret = ret,
			    .objects_fd = objects_fd,
			    .open_object = open_object,
			    .progress = progress,
			    .ctx = ctx,
			    .err = &mine };
	int rc;

	*ret = (struct idx_verify){ 0 };
	rc = idx_db_open_read(&v.src, db_path, true, IDX_G_TX | IDX_G_VERIFY, &mine);
	if (rc == 0)
		rc = idx_db_open_scratch(&v.own, IDX_G_TX | IDX_G_APPLY | IDX_G_VERIFY, &mine);
	if (rc == 0)
		rc = check_all(&v);
	if (rc == 0)
		ret->ok = true;
	else if (
		rc ==
		-EBADMSG) /* no database, or not ours, or damaged: it could be checked, and doesn't hold */
		rc = verify_bad(&v, ret->events ? ret->events + 1 : 0, "%s", mine.msg);
	idx_db_close(&v.src);
	idx_db_close(&v.own);
	return rc < 0 ? err_set(err, rc, "%s", mine.msg) : 0;
}
