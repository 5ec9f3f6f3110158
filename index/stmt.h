/* SPDX-License-Identifier: MIT */
/*
 * index/stmt.h - one database connection with its prepared statements, and binding values to them without a check at every line.
 * Not here: the SQL (index/sql.h), opening and migrating (index/db.h).
 * Thread: one a connection. Memory: bound bytes are borrowed until stmt_end.
 */
#ifndef GARTH_INDEX_STMT_H
#define GARTH_INDEX_STMT_H

#include <sqlite3.h>
#include <stdint.h>

#include "core/bytes.h"
#include "core/err.h"
#include "core/hash.h"
#include "index/sql.h"

#define X(group, name, sql) IDX_##name,
enum idx_stmt { IDX_STMTS(X) IDX_STMT_COUNT };
#undef X

struct idx_db {
	sqlite3 *h;
	sqlite3_stmt
		*st[IDX_STMT_COUNT]; /* NULL: of a group that this connection did not ask for */
};

/* Prepare the statements of these groups (IDX_G_...). 0, -EBADMSG the schema is not ours, -ENOMEM. */
must_check int stmt_prepare(struct idx_db *db, unsigned groups, struct err *err);
void stmt_finalize(struct idx_db *db);

/* A SQLite result code as a negative errno; 0 for what is no error. */
int stmt_errno(sqlite3 *h, int rc);
/* The same with a sentence. */
int stmt_fail(struct idx_db *db, int rc, struct err *err);

/* ---- run one: begin, bind in order (?1, ?2, ...), then stmt_run, or stmt_row until 0 and stmt_end ---- */

struct stmt {
	sqlite3_stmt *st;
	int at; /* the last that was bound */
	int rc; /* the first failure */
};

struct stmt stmt_begin(struct idx_db *db, enum idx_stmt which);
void stmt_u64(struct stmt *s, uint64_t v); /* two's complement: SQLite's integers are signed */
void stmt_i64(struct stmt *s, int64_t v);
void stmt_blob(struct stmt *s, struct bytes v);
void stmt_text(struct stmt *s, struct bytes v);
void stmt_sha(struct stmt *s, const struct sha256 *v); /* NULL: null */
void stmt_null(struct stmt *s);

/* Step once: 1 a row, 0 the end, or a negative errno. */
must_check int stmt_row(struct idx_db *db, struct stmt *s, struct err *err);
void stmt_end(struct stmt *s);
/* Step to the end, rows ignored, and stmt_end. */
must_check int stmt_run(struct idx_db *db, struct stmt *s, struct err *err);

/* Columns of the present row; bytes live until the next stmt_row or stmt_end. */
uint64_t stmt_col_u64(const struct stmt *s, int col);
int64_t stmt_col_i64(const struct stmt *s, int col);
struct bytes stmt_col_bytes(const struct stmt *s, int col);
bool stmt_col_sha(const struct stmt *s, int col,
		  struct sha256 *ret); /* false: null, or not a hash */

/* SQL of index/sql.h that is not prepared: pragmas, migrations. */
must_check int stmt_exec(struct idx_db *db, const char *sql, struct err *err);
/* Its first column of its first row. */
must_check int stmt_exec_i64(struct idx_db *db, const char *sql, int64_t *ret, struct err *err);

#endif
