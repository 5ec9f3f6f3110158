/* SPDX-License-Identifier: MIT */
/*
 * index/verify_rows.c - the record's tables against those that its events make: the same schema, the same rows, both ways.
 * Not here: rebuilding them (index/verify.c).
 */
#include <stdio.h>

#include "core/id.h"
#include "core/log.h"
#include "index/verify_in.h"

#define LABEL_SIZE (LOG_ESC_SIZE + 64)

struct table {
	const char *name;
	enum idx_stmt all; /* in the order of its key */
	int keys;          /* its first columns are its key */
};

static const struct table tables[] = {
	{ "workspace", IDX_ALL_WORKSPACE, 1 }, { "start", IDX_ALL_START, 1 },
	{ "policy", IDX_ALL_POLICY, 1 },       { "agent", IDX_ALL_AGENT, 1 },
	{ "sandbox", IDX_ALL_SANDBOX, 1 },     { "step", IDX_ALL_STEP, 1 },
	{ "version", IDX_ALL_VERSION, 1 },     { "name", IDX_ALL_NAME, 2 },
	{ "live", IDX_ALL_LIVE, 1 },           { "used", IDX_ALL_USED, 1 },
	{ "change", IDX_ALL_CHANGE, 1 },       { "violation", IDX_ALL_VIOLATION, 1 },
	{ "among", IDX_ALL_AMONG, 3 },         { "doubt", IDX_ALL_DOUBT, 1 },
	{ "verdict", IDX_ALL_VERDICT, 1 },     { "tally", IDX_ALL_TALLY, 1 },
	{ "total", IDX_ALL_TOTAL, 1 },
};

/* One cell against another, in SQLite's order: <0, 0, >0. */
static int compare(const struct stmt *a, const struct stmt *b, int col)
{
	int type_a = sqlite3_column_type(a->st, col);
	int type_b = sqlite3_column_type(b->st, col);
	struct bytes x, y;
	size_t n;
	int c;

	if (type_a != type_b)
		return type_a < type_b ? -1 : 1;
	if (type_a == SQLITE_NULL)
		return 0;
	if (type_a == SQLITE_INTEGER) {
		int64_t i = stmt_col_i64(a, col);
		int64_t k = stmt_col_i64(b, col);

		return i < k ? -1 : i > k;
	}
	x = stmt_col_bytes(a, col);
	y = stmt_col_bytes(b, col);
	n = x.len < y.len ? x.len : y.len;
	c = n ? memcmp(x.p, y.p, n) : 0;
	return c ? c : x.len < y.len ? -1 : x.len > y.len;
}

static int compare_keys(const struct table *t, const struct stmt *a, const struct stmt *b)
{
	int c = 0;

	for (int i = 0; c == 0 && i < t->keys; i++)
		c = compare(a, b, i);
	return c;
}

/* "table step, row s_0c5m8w3k9d2fa" */
static const char *label(const struct table *t, const struct stmt *s, char out[LABEL_SIZE])
{
	char text[LOG_ESC_SIZE] = "";
	const char *col = sqlite3_column_name(s->st, 0);

	if (sqlite3_column_type(s->st, 0) != SQLITE_INTEGER)
		(void)log_esc(stmt_col_bytes(s, 0), text);
	else if (col && strcmp(col, "step") == 0 && stmt_col_u64(s, 0) != 0)
		id_text(ID_STEP, stmt_col_u64(s, 0), text);
	else
		(void)snprintf(text, sizeof text, "%lld", (long long)stmt_col_i64(s, 0));
	(void)snprintf(out, LABEL_SIZE, "table %s, row %.120s", t->name, text);
	return out;
}

/* The event that a row belongs to; the last, for sums. */
static uint64_t event_of(const struct verify *v, const struct stmt *s)
{
	int n = sqlite3_column_count(s->st);

	for (int i = 0; i < n; i++) {
		const char *col = sqlite3_column_name(s->st, i);

		if (col && strcmp(col, "event") == 0)
			return stmt_col_u64(s, i);
	}
	return v->ret->events;
}

/* A row of the record that no event makes. */
static int surplus(struct verify *v, const struct table *t, const struct stmt *s)
{
	char text[LABEL_SIZE];
	uint64_t event = event_of(v, s);

	if (event > v->ret->events)
		return verify_bad(v, event,
				  "%s comes from event %llu, but the chain ends at %llu: its end "
				  "was removed",
				  label(t, s, text), (unsigned long long)event,
				  (unsigned long long)v->ret->events);
	return verify_bad(v, event, "%s: no event made it", label(t, s, text));
}

static int missing(struct verify *v, const struct table *t, const struct stmt *s)
{
	char text[LABEL_SIZE];
	uint64_t event = event_of(v, s);

	return verify_bad(v, event, "%s is missing: event %llu made it", label(t, s, text),
			  (unsigned long long)event);
}

static int same_row(struct verify *v, const struct table *t, const struct stmt *src,
		    const struct stmt *own)
{
	char text[LABEL_SIZE];
	int n = sqlite3_column_count(own->st);

	for (int i = t->keys; i < n; i++)
		if (compare(src, own, i) != 0)
			return verify_bad(v, event_of(v, own),
					  "%s: '%s' is not what the events say",
					  label(t, own, text), sqlite3_column_name(own->st, i));
	v->ret->rows++;
	return 0;
}

/* Both stand on a row or at their end. Moves on whichever was dealt with. */
static int step_both(struct verify *v, const struct table *t, struct stmt *src, int *in_src,
		     struct stmt *own, int *in_own)
{
	int c = !*in_own ? -1 : !*in_src ? 1 : compare_keys(t, src, own);
	int rc;

	if (c < 0)
		return surplus(v, t, src);
	if (c > 0)
		return missing(v, t, own);
	rc = same_row(v, t, src, own);
	if (rc)
		return rc;
	*in_src = stmt_row(&v->src, src, v->err);
	*in_own = stmt_row(&v->own, own, v->err);
	return *in_src < 0 ? *in_src : *in_own < 0 ? *in_own : 0;
}

static int table_rows(struct verify *v, const struct table *t)
{
	struct stmt src = stmt_begin(&v->src, t->all);
	struct stmt own = stmt_begin(&v->own, t->all);
	int in_src = stmt_row(&v->src, &src, v->err);
	int in_own = stmt_row(&v->own, &own, v->err);
	int rc = in_src < 0 ? in_src : in_own < 0 ? in_own : 0;

	while (rc == 0 && (in_src || in_own))
		rc = step_both(v, t, &src, &in_src, &own, &in_own);
	stmt_end(&src);
	stmt_end(&own);
	if (rc == -EBADMSG)
		return verify_bad(v, 0, "table %s: %s", t->name, v->err->msg);
	return rc;
}

int verify_rows(struct verify *v)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof tables / sizeof tables[0]; i++)
		rc = table_rows(v, &tables[i]);
	return rc;
}

int verify_schema(struct verify *v)
{
	struct stmt src = { 0 };
	struct stmt own = { 0 };
	int in_src = 0;
	int in_own = 0;
	int rc = sqlite3_prepare_v2(v->src.h, IDX_SQL_SCHEMA, -1, &src.st, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(v->own.h, IDX_SQL_SCHEMA, -1, &own.st, NULL);
	if (rc != SQLITE_OK)
		rc = stmt_fail(&v->src, rc, v->err);
	while (rc == 0) {
		in_src = stmt_row(&v->src, &src, v->err);
		in_own = stmt_row(&v->own, &own, v->err);
		rc = in_src < 0 ? in_src : in_own < 0 ? in_own : 0;
		if (rc < 0 || (!in_src && !in_own))
			break;
		for (int i = 0; rc == 0 && i < 4; i++)
			if (in_src != in_own || compare(&src, &own, i) != 0)
				rc = verify_bad(v, 0, "the schema is not garth's, near '%s'",
						(const char *)sqlite3_column_text(
							in_src ? src.st : own.st, 1));
	}
	(void)sqlite3_finalize(src.st);
	(void)sqlite3_finalize(own.st);
	return rc;
}
