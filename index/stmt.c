/* SPDX-License-Identifier: MIT */
/*
 * index/stmt.c - prepared statements of one connection.
 * Not here: the SQL (index/sql.h), opening and migrating (index/db.c).
 */
#include "index/stmt.h"

static const struct {
	unsigned group;
	const char *name;
	const char *sql;
} table[IDX_STMT_COUNT] = {
#define X(group, name, sql) { IDX_G_##group, #name, sql },
	IDX_STMTS(X)
#undef X
};

int stmt_errno(sqlite3 *h, int rc)
{
	int os = h ? sqlite3_system_errno(h) : 0;

	switch (rc & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE: return 0;
	case SQLITE_FULL: return -ENOSPC;
	case SQLITE_IOERR: return os == ENOSPC || os == EDQUOT ? -ENOSPC : -EIO;
	case SQLITE_BUSY:
	case SQLITE_LOCKED: return -EBUSY;
	case SQLITE_NOMEM: return -ENOMEM;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_CONSTRAINT:
	case SQLITE_MISMATCH:
	case SQLITE_ERROR: return -EBADMSG;
	case SQLITE_CANTOPEN: return os == ENOENT || os == EACCES ? -os : -EIO;
	case SQLITE_READONLY:
	case SQLITE_PERM:
	case SQLITE_AUTH: return -EACCES;
	case SQLITE_TOOBIG: return -EFBIG;
	default: return -EIO;
	}
}

int stmt_fail(struct idx_db *db, int rc, struct err *err)
{
	return err_set(err, stmt_errno(db->h, rc), "index.db: %s",
		       db->h ? sqlite3_errmsg(db->h) : sqlite3_errstr(rc));
}

int stmt_prepare(struct idx_db *db, unsigned groups, struct err *err)
{
	for (unsigned i = 0; i < IDX_STMT_COUNT; i++) {
		int rc;

		if (!(table[i].group & groups))
			continue;
		rc = sqlite3_prepare_v3(db->h, table[i].sql, -1, SQLITE_PREPARE_PERSISTENT,
					&db->st[i], NULL);
		if (rc != SQLITE_OK)
			return err_wrap(err, stmt_fail(db, rc, err), "statement %s", table[i].name);
	}
	return 0;
}

void stmt_finalize(struct idx_db *db)
{
	for (unsigned i = 0; i < IDX_STMT_COUNT; i++) {
		(void)sqlite3_finalize(db->st[i]); /* repeats the last step's error: known there */
		db->st[i] = NULL;
	}
}

struct stmt stmt_begin(struct idx_db *db, enum idx_stmt which)
{
	struct stmt s = { .st = db->st[which] };

	invariant(s.st);
	/* busy: a callback asks again what is being answered */
	if (sqlite3_stmt_busy(s.st))
		s.rc = SQLITE_BUSY;
	else
		(void)sqlite3_clear_bindings(s.st);
	return s;
}

static void keep(struct stmt *s, int rc)
{
	if (s->rc == SQLITE_OK)
		s->rc = rc;
}

void stmt_u64(struct stmt *s, uint64_t v)
{
	stmt_i64(s, (int64_t)v);
}

void stmt_i64(struct stmt *s, int64_t v)
{
	s->at++;
	if (s->rc == SQLITE_OK)
		keep(s, sqlite3_bind_int64(s->st, s->at, v));
}

void stmt_blob(struct stmt *s, struct bytes v)
{
	s->at++;
	/* a NULL pointer would bind null: an empty blob is no null */
	if (s->rc == SQLITE_OK)
		keep(s, sqlite3_bind_blob64(s->st, s->at, v.len ? v.p : "", v.len, SQLITE_STATIC));
}

void stmt_text(struct stmt *s, struct bytes v)
{
	s->at++;
	if (s->rc == SQLITE_OK)
		keep(s, sqlite3_bind_text64(s->st, s->at, v.len ? v.p : "", v.len, SQLITE_STATIC,
					    SQLITE_UTF8));
}

void stmt_sha(struct stmt *s, const struct sha256 *v)
{
	if (v)
		stmt_blob(s, bytes_of(v->b, SHA256_LEN));
	else
		stmt_null(s);
}

void stmt_null(struct stmt *s)
{
	s->at++;
	if (s->rc == SQLITE_OK)
		keep(s, sqlite3_bind_null(s->st, s->at));
}

int stmt_row(struct idx_db *db, struct stmt *s, struct err *err)
{
	int rc;

	if (s->rc != SQLITE_OK)
		return stmt_errno(NULL, s->rc) == -EBUSY
			       ? err_set(err, -EBUSY, "index.db: this query is being answered")
			       : stmt_fail(db, s->rc, err);
	rc = sqlite3_step(s->st);
	if (rc == SQLITE_ROW)
		return 1;
	if (rc == SQLITE_DONE)
		return 0;
	return stmt_fail(db, rc, err);
}

void stmt_end(struct stmt *s)
{
	/* one that was busy is another's: its rows go on */
	if (s->st && s->rc != SQLITE_BUSY)
		(void)sqlite3_reset(s->st); /* repeats the last step's error: known there */
}

int stmt_run(struct idx_db *db, struct stmt *s, struct err *err)
{
	int rc;

	do
		rc = stmt_row(db, s, err);
	while (rc > 0);
	stmt_end(s);
	return rc;
}

uint64_t stmt_col_u64(const struct stmt *s, int col)
{
	return (uint64_t)sqlite3_column_int64(s->st, col);
}

int64_t stmt_col_i64(const struct stmt *s, int col)
{
	return sqlite3_column_int64(s->st, col);
}

struct bytes stmt_col_bytes(const struct stmt *s, int col)
{
	const void *p = sqlite3_column_blob(s->st, col);
	int len = sqlite3_column_bytes(s->st, col);

	return bytes_of(p, p && len > 0 ? (size_t)len : 0);
}

bool stmt_col_sha(const struct stmt *s, int col, struct sha256 *ret)
{
	struct bytes b = stmt_col_bytes(s, col);

	*ret = (struct sha256){ 0 };
	if (b.len != SHA256_LEN)
		return false;
	memcpy(ret->b, b.p, SHA256_LEN);
	return true;
}

int stmt_exec(struct idx_db *db, const char *sql, struct err *err)
{
	int rc = sqlite3_exec(db->h, sql, NULL, NULL, NULL);

	return rc == SQLITE_OK ? 0 : stmt_fail(db, rc, err);
}

int stmt_exec_i64(struct idx_db *db, const char *sql, int64_t *ret, struct err *err)
{
	struct stmt s = { 0 };
	int rc = sqlite3_prepare_v2(db->h, sql, -1, &s.st, NULL);

	if (rc != SQLITE_OK)
		return stmt_fail(db, rc, err);
	rc = stmt_row(db, &s, err);
	if (rc > 0)
		*ret = stmt_col_i64(&s, 0);
	(void)sqlite3_finalize(s.st);
	if (rc == 0)
		return err_set(err, -EBADMSG, "index.db: no answer to '%s'", sql);
	return rc < 0 ? rc : 0;
}
