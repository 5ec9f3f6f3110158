/* SPDX-License-Identifier: MIT */
/*
 * index/store.c - one batch of events into chain and tables.
 * Not here: when to begin and commit (index/writer.c), what rows an event makes (index/apply.c).
 */
#include "index/store.h"

#include <stdlib.h>

#include "core/ring.h"
#include "index/apply.h"
#include "index/chain.h"
#include "index/writer.h"

int store_init(struct store *s, struct err *err)
{
	struct stmt q;
	int rc;

	s->sha = sha256_new();
	s->seen = squash_new();
	s->rest = squash_new();
	s->room = malloc(RING_EVENT_MAX);
	if (!s->sha || !s->seen || !s->rest || !s->room)
		return err_set(err, -ENOMEM, "index: no memory");
	q = stmt_begin(&s->db, IDX_EVENT_HEAD);
	rc = stmt_row(&s->db, &q, err);
	if (rc == 1) {
		s->seq = stmt_col_u64(&q, 0);
		if (!stmt_col_sha(&q, 1, &s->head))
			rc = err_set(err, -EBADMSG, "index.db: event %llu has no hash",
				     (unsigned long long)s->seq);
	}
	stmt_end(&q);
	s->stored_seq = s->seq;
	s->stored_head = s->head;
	return rc < 0 ? rc : 0;
}

void store_fini(struct store *s)
{
	sha256_free(s->sha);
	squash_free(s->seen);
	squash_free(s->rest);
	free(s->room);
	s->sha = NULL;
	s->seen = s->rest = NULL;
	s->room = NULL;
}

int store_begin(struct store *s, struct err *err)
{
	struct stmt q = stmt_begin(&s->db, IDX_BEGIN_WRITE);

	return stmt_run(&s->db, &q, err);
}

/* The next link of the chain, and the rows that follow from it. */
static int link_event(struct store *s, const struct event *e, struct bytes body, struct err *err)
{
	struct sha256 hash;
	struct stmt q;
	int rc;

	chain_link(s->sha, &s->head, s->seq + 1, body, &hash);
	q = stmt_begin(&s->db, IDX_EVENT_ADD);
	stmt_u64(&q, s->seq + 1);
	stmt_sha(&q, &s->head);
	stmt_sha(&q, &hash);
	stmt_blob(&q, body);
	rc = stmt_run(&s->db, &q, err);
	if (rc == 0)
		rc = apply_event(&s->db, s->seq + 1, e, err);
	if (rc < 0)
		return err_wrap(err, rc, "event %llu", (unsigned long long)s->seq + 1);
	s->seq++;
	s->head = hash;
	return 0;
}

static int link_packed(struct store *s, const struct event *e, struct err *err)
{
	size_t len = 0;
	int rc = event_pack(e, s->room, RING_EVENT_MAX, &len);

	return rc < 0 ? err_set(err, rc, "index: an event grew too long")
		      : link_event(s, e, bytes_of(s->room, len), err);
}

static int rows_of(struct store *s, uint64_t step, uint64_t *ret, struct err *err)
{
	struct stmt q = stmt_begin(&s->db, IDX_VIOLATION_TALLY);
	int rc;

	stmt_u64(&q, step);
	rc = stmt_row(&s->db, &q, err);
	*ret = rc == 1 ? stmt_col_u64(&q, 0) : 0;
	stmt_end(&q);
	return rc < 0 ? rc : 0;
}

/* May it have a row with its path: 1, 0 no, or the error. */
static int has_place(struct store *s, const struct ev_violation *v, struct err *err)
{
	struct stmt q;
	uint64_t rows = 0;
	int rc = rows_of(s, v->who.step, &rows, err);

	if (rc < 0 || rows < IDX_VIOLATION_ROWS)
		return rc < 0 ? rc : 1;
	q = stmt_begin(&s->db, IDX_VIOLATION_HAS);
	stmt_u64(&q, v->who.step);
	stmt_blob(&q, v->path);
	stmt_u64(&q, v->op);
	stmt_text(&q, v->rule);
	stmt_u64(&q, v->errnum);
	stmt_u64(&q, v->who.agent);
	stmt_u64(&q, v->who.sandbox);
	stmt_u64(&q, v->who.late);
	stmt_blob(&q, v->who.steps);
	rc = stmt_row(&s->db, &q, err);
	stmt_end(&q);
	return rc;
}

/* The batch's violations so far, each kind once. */
static int flush(struct store *s, struct err *err)
{
	struct event e;
	int rc;

	for (unsigned i = 0; (rc = squash_get(s->seen, i, &e)) > 0; i++) {
		rc = has_place(s, &e.u.violation, err);
		if (rc > 0) {
			rc = link_packed(s, &e, err);
		} else if (rc == 0) {
			e.u.violation.path = bytes_of(NULL, 0);
			rc = squash_add(s->rest, &e);
		}
		if (rc < 0)
			return rc;
	}
	for (unsigned i = 0; rc == 0 && (rc = squash_get(s->rest, i, &e)) > 0; i++)
		rc = link_packed(s, &e, err);
	squash_reset(s->seen);
	squash_reset(s->rest);
	return rc;
}

int store_event(struct store *s, struct bytes body, struct err *err)
{
	struct event e;
	int rc = event_unpack(body, &e);

	if (rc < 0)
		return err_set(err, -EBADMSG, "event ring: %zu bytes are no event", body.len);
	if (e.kind == EV_VIOLATION) {
		rc = squash_add(s->seen, &e);
		return rc < 0 ? err_set(err, rc, "index: no room for a violation") : 0;
	}
	/* what a step was refused stands before its end */
	if (e.kind == EV_STEP_END) {
		rc = flush(s, err);
		if (rc < 0)
			return rc;
	}
	return link_event(s, &e, body, err);
}

int store_commit(struct store *s, uint64_t ring_pos, struct err *err)
{
	struct stmt q;
	int rc = flush(s, err);

	if (rc < 0)
		return rc;
	q = stmt_begin(&s->db, IDX_META_SET);
	stmt_text(&q, BYTES_LIT(STORE_RING));
	stmt_u64(&q, ring_pos);
	rc = stmt_run(&s->db, &q, err);
	if (rc < 0)
		return rc;
	q = stmt_begin(&s->db, IDX_COMMIT);
	rc = stmt_run(&s->db, &q, err);
	if (rc < 0)
		return rc;
	s->stored_seq = s->seq;
	s->stored_head = s->head;
	return 0;
}

void store_rollback(struct store *s)
{
	/* SQLite rolls back by itself on some errors: then there is nothing to do */
	if (!sqlite3_get_autocommit(s->db.h)) {
		struct stmt q = stmt_begin(&s->db, IDX_ROLLBACK);
		int rc = stmt_run(&s->db, &q, NULL);

		(void)rc;
	}
	squash_reset(s->seen);
	squash_reset(s->rest);
	s->seq = s->stored_seq;
	s->head = s->stored_head;
}

int store_sync(struct store *s, struct err *err)
{
	struct stmt q;
	int rc = stmt_exec(&s->db, IDX_SQL_SYNC_FULL, err);

	if (rc == 0)
		rc = store_begin(s, err);
	if (rc == 0) {
		q = stmt_begin(&s->db, IDX_META_BUMP);
		stmt_text(&q, BYTES_LIT(STORE_SYNCS));
		rc = stmt_run(&s->db, &q, err);
	}
	if (rc == 0) {
		q = stmt_begin(&s->db, IDX_COMMIT);
		rc = stmt_run(&s->db, &q, err);
	}
	if (rc < 0)
		store_rollback(s);
	/* NORMAL is for speed alone: when it can't be set, all stays FULL */
	(void)sqlite3_exec(s->db.h, IDX_SQL_SYNC_NORMAL, NULL, NULL, NULL);
	return rc;
}

int store_meta(struct store *s, const char *name, uint64_t *ret, struct err *err)
{
	struct stmt q = stmt_begin(&s->db, IDX_META_GET);
	int rc;

	stmt_text(&q, bytes_str(name));
	rc = stmt_row(&s->db, &q, err);
	if (rc == 1)
		*ret = stmt_col_u64(&q, 0);
	else if (rc == 0)
		rc = err_set(err, -EBADMSG, "index.db: meta has no '%s'", name);
	stmt_end(&q);
	return rc < 0 ? rc : 0;
}
