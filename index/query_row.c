/* SPDX-License-Identifier: MIT */
/*
 * index/query_row.c - what a step read, changed and was refused.
 * Not here: steps themselves (index/query_step.c).
 */
#include "index/reader.h"

static void violation_row(const struct stmt *s, struct idx_violation *ret)
{
	ret->row = stmt_col_u64(s, 0);
	ret->step = stmt_col_u64(s, 1);
	ret->sandbox = stmt_col_u64(s, 2);
	ret->agent = (uint32_t)stmt_col_u64(s, 3);
	ret->agent_name = stmt_col_bytes(s, 4);
	ret->op = (uint8_t)stmt_col_u64(s, 5);
	ret->late = (uint8_t)stmt_col_u64(s, 6);
	ret->path = stmt_col_bytes(s, 7);
	ret->rule = stmt_col_bytes(s, 8);
	ret->errnum = (uint32_t)stmt_col_u64(s, 9);
	ret->at_ns = stmt_col_i64(s, 10);
	ret->last_ns = stmt_col_i64(s, 11);
	ret->count = stmt_col_u64(s, 12);
}

static enum idx_stmt choose(const struct query_filter *q)
{
	if (q->f->step)
		return IDX_VIOLATIONS_STEP;
	if (q->has_agent)
		return IDX_VIOLATIONS_AGENT;
	if (q->f->since_ns)
		return IDX_VIOLATIONS_SINCE;
	return IDX_VIOLATIONS_ALL;
}

int idx_violations(struct idx_reader *r, const struct idx_filter *f,
		   int (*fn)(void *, const struct idx_violation *), void *ctx)
{
	struct query_filter q;
	struct stmt s;
	int told = 0;
	int rc = query_filter_init(r, f, &q);

	if (rc < 0)
		return rc;
	s = query_begin(r, choose(&q), &q);
	while (!q.nobody && told == 0 && (rc = stmt_row(&r->db, &s, NULL)) > 0) {
		struct idx_violation v;

		violation_row(&s, &v);
		told = fn(ctx, &v);
	}
	stmt_end(&s);
	query_filter_fini(&q);
	return query_answer(told, rc);
}

int idx_reads(struct idx_reader *r, uint64_t step, int (*fn)(void *, const struct idx_read *),
	      void *ctx)
{
	struct stmt s = stmt_begin(&r->db, IDX_READS);
	int told = 0;
	int rc = 0;

	stmt_u64(&s, step);
	while (told == 0 && (rc = stmt_row(&r->db, &s, NULL)) > 0) {
		struct idx_read read = {
			.version = stmt_col_u64(&s, 0),
			.n = stmt_col_u64(&s, 1),
			.path = stmt_col_bytes(&s, 2),
			.open = stmt_col_u64(&s, 3) != 0,
			.at_ns = stmt_col_i64(&s, 4),
		};

		read.has_sha = stmt_col_sha(&s, 5, &read.sha);
		told = fn(ctx, &read);
	}
	stmt_end(&s);
	return query_answer(told, rc);
}

int idx_changes(struct idx_reader *r, uint64_t step, int (*fn)(void *, const struct idx_change *),
		void *ctx)
{
	struct stmt s = stmt_begin(&r->db, IDX_CHANGES);
	int told = 0;
	int rc = 0;

	stmt_u64(&s, step);
	while (told == 0 && (rc = stmt_row(&r->db, &s, NULL)) > 0) {
		const struct idx_change change = {
			.op = (uint8_t)stmt_col_u64(&s, 0),
			.path = stmt_col_bytes(&s, 1),
			.path2 = stmt_col_bytes(&s, 2),
			.at_ns = stmt_col_i64(&s, 3),
		};

		told = fn(ctx, &change);
	}
	stmt_end(&s);
	return query_answer(told, rc);
}
