/* SPDX-License-Identifier: MIT */
/*
 * index/load.c - what garth-fs asks of the record at its start, and what retention may take.
 * Not here: the queries of readers (index/query.c).
 */
#include "index/at.h"
#include "index/db.h"
#include "index/writer_in.h"

int idx_load_state(struct idx_writer *w, struct idx_load *ret)
{
	struct stmt s = stmt_begin(&w->store.db, IDX_LOAD_STATE);
	int rc = stmt_row(&w->store.db, &s, NULL);

	if (rc == 1) {
		*ret = (struct idx_load){ 0 };
		ret->next_version = stmt_col_u64(&s, 0);
		ret->next_agent = (uint32_t)stmt_col_u64(&s, 1);
		ret->has_workspace = stmt_col_u64(&s, 2) != 0;
		ret->has_policy = stmt_col_sha(&s, 3, &ret->policy);
	}
	stmt_end(&s);
	return rc < 0 ? rc : 0;
}

/* A callback's answer as the result of the query: 0 goes on, more ends it well. */
static int answer(int rc)
{
	return rc > 0 ? 0 : rc;
}

int idx_load_files(struct idx_writer *w, int (*fn)(void *ctx, const struct idx_load_file *f),
		   void *ctx)
{
	struct stmt s = stmt_begin(&w->store.db, IDX_LOAD_FILES);
	int rc;
	int told = 0;

	while (told == 0 && (rc = stmt_row(&w->store.db, &s, NULL)) > 0) {
		struct idx_load_file f = {
			.path = stmt_col_bytes(&s, 0),
			.version = stmt_col_u64(&s, 1),
			.step = stmt_col_u64(&s, 2),
			.size = stmt_col_u64(&s, 3),
			.ino = stmt_col_u64(&s, 4),
			.gen = stmt_col_u64(&s, 5),
			.agent = (uint32_t)stmt_col_u64(&s, 6),
			.state = (uint8_t)stmt_col_u64(&s, 7),
			.kept = (uint8_t)stmt_col_u64(&s, 8),
		};

		f.has_sha = stmt_col_sha(&s, 9, &f.sha);
		told = fn(ctx, &f);
	}
	stmt_end(&s);
	return told ? answer(told) : rc;
}

int idx_load_agents(struct idx_writer *w, int (*fn)(void *ctx, uint32_t agent, struct bytes name),
		    void *ctx)
{
	struct stmt s = stmt_begin(&w->store.db, IDX_AGENTS);
	int rc;
	int told = 0;

	while (told == 0 && (rc = stmt_row(&w->store.db, &s, NULL)) > 0)
		told = fn(ctx, (uint32_t)stmt_col_u64(&s, 0), stmt_col_bytes(&s, 1));
	stmt_end(&s);
	return told ? answer(told) : rc;
}

int idx_load_open_steps(struct idx_writer *w, int (*fn)(void *ctx, const struct idx_load_step *s),
			void *ctx)
{
	struct stmt s = stmt_begin(&w->store.db, IDX_LOAD_OPEN_STEPS);
	int rc;
	int told = 0;

	while (told == 0 && (rc = stmt_row(&w->store.db, &s, NULL)) > 0) {
		const struct idx_load_step step = {
			.step = stmt_col_u64(&s, 0),
			.sandbox = stmt_col_u64(&s, 1),
			.agent = (uint32_t)stmt_col_u64(&s, 2),
		};

		told = fn(ctx, &step);
	}
	stmt_end(&s);
	return told ? answer(told) : rc;
}

static int prunable(struct idx_db *db, uint32_t keep,
		    int (*fn)(void *ctx, uint64_t version, const struct sha256 *sha), void *ctx)
{
	struct stmt s = stmt_begin(db, IDX_LOAD_PRUNABLE);
	int rc;
	int told = 0;

	stmt_u64(&s, keep ? keep : 1); /* the newest is always kept */
	while (told == 0 && (rc = stmt_row(db, &s, NULL)) > 0) {
		struct sha256 sha;

		if (stmt_col_sha(&s, 1, &sha))
			told = fn(ctx, stmt_col_u64(&s, 0), &sha);
	}
	stmt_end(&s);
	return told ? answer(told) : rc;
}

int idx_load_prunable(struct idx_writer *w, uint32_t keep,
		      int (*fn)(void *ctx, uint64_t version, const struct sha256 *sha), void *ctx)
{
	struct idx_db db = { 0 };
	char path[AT_PATH_SIZE];
	int rc = at_path(w->dir_fd, IDX_FILE, path);

	if (rc == 0)
		rc = idx_db_open_copy(&db, path, NULL);
	if (rc == 0)
		rc = stmt_prepare(&db, IDX_G_LOAD, NULL);
	if (rc == 0)
		rc = prunable(&db, keep, fn, ctx);
	idx_db_close(&db);
	return rc;
}
