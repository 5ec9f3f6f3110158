/* SPDX-License-Identifier: MIT */
/*
 * index/query_version.c - versions of files.
 * Not here: where they come from (index/lineage.c).
 */
#include "index/reader.h"

void query_version_row(const struct stmt *s, struct idx_version *ret)
{
	ret->version = stmt_col_u64(s, 0);
	ret->n = stmt_col_u64(s, 1);
	ret->path = stmt_col_bytes(s, 2);
	ret->step = stmt_col_u64(s, 3);
	ret->agent = (uint32_t)stmt_col_u64(s, 4);
	ret->agent_name = stmt_col_bytes(s, 5);
	ret->action = (uint8_t)stmt_col_u64(s, 6);
	ret->state = (uint8_t)stmt_col_u64(s, 7);
	ret->late = (uint8_t)stmt_col_u64(s, 8);
	ret->has_sha = stmt_col_sha(s, 9, &ret->sha);
	ret->kept = stmt_col_u64(s, 10) != 0;
	ret->newest = stmt_col_u64(s, 11) != 0;
	ret->size = stmt_col_u64(s, 12);
	ret->source = stmt_col_u64(s, 13);
	ret->media_type = stmt_col_bytes(s, 14);
	ret->reason = stmt_col_bytes(s, 15);
	ret->at_ns = stmt_col_i64(s, 16);
}

/* The narrowest index first. */
static enum idx_stmt choose(const struct query_filter *q)
{
	if (q->has_path && !q->room)
		return IDX_VERSIONS_PATH;
	if (q->f->sha)
		return IDX_VERSIONS_SHA;
	if (q->f->step)
		return IDX_VERSIONS_STEP;
	if (q->room)
		return q->f->newest ? IDX_VERSIONS_LIVE_BELOW : IDX_VERSIONS_BELOW;
	if (q->f->newest)
		return IDX_VERSIONS_LIVE;
	if (q->has_agent)
		return IDX_VERSIONS_AGENT;
	return IDX_VERSIONS_ALL;
}

int idx_versions(struct idx_reader *r, const struct idx_filter *f,
		 int (*fn)(void *, const struct idx_version *), void *ctx)
{
	struct query_filter q;
	struct stmt s;
	int told = 0;
	int rc = query_filter_init(r, f, &q);

	if (rc < 0)
		return rc;
	s = query_begin(r, choose(&q), &q);
	while (!q.nobody && told == 0 && (rc = stmt_row(&r->db, &s, NULL)) > 0) {
		struct idx_version v;

		query_version_row(&s, &v);
		told = fn(ctx, &v);
	}
	stmt_end(&s);
	query_filter_fini(&q);
	return query_answer(told, rc);
}
