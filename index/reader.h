/* SPDX-License-Identifier: MIT */
/*
 * index/reader.h - what the files that answer queries share.
 * Not here: the contract (index/query.h).
 */
#ifndef GARTH_INDEX_READER_H
#define GARTH_INDEX_READER_H

#include "index/query.h"
#include "index/stmt.h"

struct idx_reader {
	struct idx_db db;
};

/* The numbered parameters of index/sql.h, ready to be bound; borrows from the idx_filter and from itself: don't copy it. */
struct query_filter {
	const struct idx_filter *f;
	struct bytes path;   /* exact, or the folder */
	struct bytes slash;  /* folder + "/" */
	struct bytes behind; /* folder + "0" */
	bool has_path;
	bool has_agent, nobody; /* nobody: there is no agent of that name, so there are no rows */
	uint32_t agent;
	char *room; /* owned */
};

must_check int query_filter_init(struct idx_reader *r, const struct idx_filter *f,
				 struct query_filter *ret);
void query_filter_fini(struct query_filter *q);

/* Begin a statement with ?1..?13 bound. */
struct stmt query_begin(struct idx_reader *r, enum idx_stmt which, const struct query_filter *q);

/* What a callback gave, as the query's result: 0 goes on, more ended it well. */
static inline int query_answer(int told, int rc)
{
	return told > 0 ? 0 : told < 0 ? told : rc;
}

/* Rows of SQL_STEP and SQL_VERSION as structs; bytes live until the next row. */
void query_step_row(const struct stmt *s, struct idx_step *ret);
void query_version_row(const struct stmt *s, struct idx_version *ret);

#endif
