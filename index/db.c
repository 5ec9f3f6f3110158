/* SPDX-License-Identifier: MIT */
/*
 * index/db.c - opening index.db: settings, schema, version.
 * Not here: statements (index/stmt.c), the text of the schema (migrations/).
 */
#include "index/db.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "index/migrations.h"

#define PRAGMA_SIZE 64
#define BUSY_MS 5000 /* a reader while the writer recovers a WAL */
#define PATH_SIZE 4200

static int open_handle(struct idx_db *db, const char *path, int flags, struct err *err)
{
	int rc = sqlite3_open_v2(path, &db->h, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
				 NULL);

	if (rc != SQLITE_OK)
		return err_wrap(err, stmt_fail(db, rc, err), "open");
	(void)sqlite3_busy_timeout(db->h, BUSY_MS);
	if (sqlite3_db_config(db->h, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL) != SQLITE_OK ||
	    sqlite3_db_config(db->h, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL) != SQLITE_OK ||
	    sqlite3_db_config(db->h, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL) != SQLITE_OK)
		return err_set(err, -EIO, "index.db: SQLite refuses a setting");
	return stmt_exec(db, IDX_SQL_OPEN, err);
}

/* What the file says it is: user_version, or a failure for what is no index of ours. 0: empty. */
static int schema_version(struct idx_db *db, int64_t *ret, struct err *err)
{
	int64_t app = 0;
	int64_t tables = 0;
	int64_t version = 0;
	int rc = stmt_exec_i64(db, IDX_SQL_APP_ID, &app, err);

	if (rc == 0)
		rc = stmt_exec_i64(db, IDX_SQL_VERSION, &version, err);
	if (rc == 0)
		rc = stmt_exec_i64(db, IDX_SQL_SCHEMA_COUNT, &tables, err);
	if (rc < 0)
		return rc;
	if (tables == 0 && version == 0) {
		*ret = 0;
		return 0;
	}
	if (app != IDX_APP_ID)
		return err_set(err, -EBADMSG, "index.db: a database, but not garth's record");
	if (version > (int64_t)migration_count)
		return err_set(err, -EPROTO,
			       "index.db is of a newer garth (schema %lld, this one knows %u)",
			       (long long)version, migration_count);
	*ret = version;
	return 0;
}

static int migrate_one(struct idx_db *db, const struct migration *m, struct err *err)
{
	char pragma[PRAGMA_SIZE];
	int rc = stmt_exec(db, IDX_SQL_BEGIN, err);

	if (rc < 0)
		return rc;
	rc = stmt_exec(db, m->sql, err);
	if (rc == 0) {
		(void)snprintf(pragma, sizeof pragma, IDX_SQL_APP_ID_SET, IDX_APP_ID);
		rc = stmt_exec(db, pragma, err);
	}
	if (rc == 0) {
		(void)snprintf(pragma, sizeof pragma, IDX_SQL_VERSION_SET, m->number);
		rc = stmt_exec(db, pragma, err);
	}
	if (rc == 0)
		rc = stmt_exec(db, IDX_SQL_COMMIT, err);
	if (rc < 0) {
		(void)sqlite3_exec(db->h, IDX_SQL_ROLLBACK, NULL, NULL, NULL);
		return err_wrap(err, rc, "schema %u (%s)", m->number, m->name);
	}
	return 0;
}

static int migrate(struct idx_db *db, struct err *err)
{
	int64_t version = 0;
	int rc = schema_version(db, &version, err);

	for (unsigned i = 0; rc == 0 && i < migration_count; i++)
		if ((int64_t)migrations[i].number > version)
			rc = migrate_one(db, &migrations[i], err);
	return rc;
}

int idx_db_open_write(struct idx_db *db, const char *path, unsigned groups, struct err *err)
{
	int64_t version = 0;
	int rc = open_handle(db, path, SQLITE_OPEN_READWRITE, err);

	if (rc == 0)
		rc = schema_version(db, &version, err); /* nothing is changed in what isn't ours */
	if (rc == 0)
		rc = stmt_exec(db, IDX_SQL_OPEN_RW, err);
	if (rc < 0)
		return rc;
	/* readers need -wal and -shm after we are gone */
	(void)sqlite3_file_control(db->h, "main", SQLITE_FCNTL_PERSIST_WAL, &(int){ 1 });
	rc = migrate(db, err);
	return rc < 0 ? rc : stmt_prepare(db, groups, err);
}

/* "file:" and the path with what a URI would misread escaped, and the options. */
static int uri_of(const char *path, const char *options, char *out, size_t size)
{
	static const char hex[] = "0123456789ABCDEF";
	size_t n = 5;

	if (strlen(path) * 3 + strlen(options) + 6 > size)
		return -ENAMETOOLONG;
	memcpy(out, "file:", n);
	for (; *path; path++) {
		unsigned char c = (unsigned char)*path;

		if (c > ' ' && c < 0x7f && c != '%' && c != '?' && c != '#') {
			out[n++] = (char)c;
			continue;
		}
		out[n++] = '%';
		out[n++] = hex[c >> 4];
		out[n++] = hex[c & 15];
	}
	memcpy(out + n, options, strlen(options) + 1);
	return 0;
}

static bool beside(const char *path, const char *suffix, bool with_bytes)
{
	char name[PATH_SIZE];
	struct stat st;
	int n = snprintf(name, sizeof name, "%s%s", path, suffix);

	return n > 0 && (size_t)n < sizeof name && stat(name, &st) == 0 &&
	       (!with_bytes || st.st_size > 0);
}

int idx_db_open_read(struct idx_db *db, const char *path, bool still, unsigned groups,
		     struct err *err)
{
	char uri[PATH_SIZE * 3];
	struct stat st;
	int64_t version = 0;
	int rc;

	if (stat(path, &st) < 0)
		return err_sys(err, "%s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EBADMSG, "%s: not a file", path);
	/* a lone copy: mode=ro would want to make a -shm beside the evidence */
	still = still && !beside(path, "-shm", false) && !beside(path, "-wal", true);
	if (uri_of(path, still ? "?mode=ro&immutable=1" : "?mode=ro", uri, sizeof uri) < 0)
		return err_set(err, -ENAMETOOLONG, "%s: too long", path);
	rc = open_handle(db, uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, err);
	if (rc == 0)
		rc = schema_version(db, &version, err);
	if (rc < 0)
		return rc;
	if (version == 0)
		return err_set(err, -EBADMSG, "index.db: empty");
	if (version < (int64_t)migration_count)
		return err_set(err, -EPROTO,
			       "index.db is of an older garth (schema %lld, this one reads %u): "
			       "mount the workspace once",
			       (long long)version, migration_count);
	return stmt_prepare(db, groups, err);
}

int idx_db_open_copy(struct idx_db *db, const char *path, struct err *err)
{
	return open_handle(db, path, SQLITE_OPEN_READONLY, err);
}

int idx_db_open_scratch(struct idx_db *db, unsigned groups, struct err *err)
{
	int rc = open_handle(db, "", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, err);

	if (rc == 0)
		rc = stmt_exec(db, IDX_SQL_OPEN_SCRATCH, err);
	if (rc == 0)
		rc = migrate(db, err);
	return rc < 0 ? rc : stmt_prepare(db, groups, err);
}

void idx_db_close(struct idx_db *db)
{
	stmt_finalize(db);
	(void)sqlite3_close(db->h); /* no statement is left that could make it fail */
	db->h = NULL;
}
