/* SPDX-License-Identifier: MIT */
/*
 * index_verify_test.c - whatever is changed in a record, the verifier finds it and names it.
 */
#include "tests/unit/index_fixture.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/fd.h"
#include "index/chain.h"

#define STEP FX_STEP(1)
#define FLIPS 400
#define SQL_SIZE 4096

struct record {
	struct fx fx;
	struct buf whole; /* index.db as it should be */
};

/* Two steps that a read may have been of. */
static void read_of_either(struct fx *x)
{
	struct event e = { .kind = EV_READ };
	uint8_t steps[16] = { [6] = 0x10, [7] = 1, [14] = 0x10, [15] = 2 };

	e.u.read = (struct ev_read){ .who = { .agent = 1,
					      .sandbox = FX_SANDBOX,
					      .steps = bytes_of(steps, sizeof steps) },
				     .version = 1,
				     .path = BYTES_LIT("output/a.csv") };
	fx_put(x, &e);
}

/* A row in every table. */
static void fill(struct fx *x)
{
	struct event e = { .kind = EV_DOUBT };
	struct sha256 code;

	fx_begin(x);
	fx_object(x, "print(1)", &code);
	fx_step_code(x, STEP, 1, "a job to be found", 0, &code);
	fx_step(x, FX_STEP(2), 2);
	fx_read(x, STEP, 0, "input/a.csv");
	(void)fx_seal(x, STEP, "output/a.csv", "a;b\n");
	(void)fx_seal(x, STEP, "output/a.csv", "a;b\n1;2\n");
	fx_change(x, STEP, OP_MKDIR, "output/d", "");
	fx_violation(x, STEP, OP_CREATE, "input/x", "input.readonly");
	read_of_either(x);
	fx_end(x, STEP);
	e.u.doubt.path = BYTES_LIT("output/z");
	fx_put(x, &e);
	e = (struct event){ .kind = EV_VERDICT };
	e.u.verdict.version = 2;
	e.u.verdict.pass = 1;
	fx_put(x, &e);
	fx_sync(x);
}

static int setup(void **state)
{
	static struct record r;
	struct err err = { 0 };
	autofd fd = -1;

	fx_open(&r.fx);
	fx_start(&r.fx);
	fill(&r.fx);
	if (idx_writer_snapshot(r.fx.w, "whole.db", &err) < 0)
		fail_msg("%s", err.msg);
	fx_stop(&r.fx);
	fd = openat(r.fx.dir_fd, "whole.db", O_RDONLY | O_CLOEXEC);
	buf_init(&r.whole, 64u << 20);
	assert_int_equal(fd_read_all(fd, &r.whole), 0);
	*state = &r;
	return 0;
}

static int teardown(void **state)
{
	struct record *r = *state;

	buf_fini(&r->whole);
	fx_close(&r->fx);
	return 0;
}

/* index.db as it should be, alone in its folder. */
static void restore(struct record *r)
{
	autofd fd = -1;

	(void)unlinkat(r->fx.dir_fd, "index.db-wal", 0);
	(void)unlinkat(r->fx.dir_fd, "index.db-shm", 0);
	fd = openat(r->fx.dir_fd, "index.db", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
	assert_int_equal(fd_write_full(fd, r->whole.p, r->whole.len), 0);
}

static void expect_bad(struct record *r, const char *case_name, const char *what, uint64_t seq)
{
	struct idx_verify v;

	fx_verify(&r->fx, &v);
	if (v.ok)
		fail_msg("%s: not found", case_name);
	if (what && !strstr(v.what, what))
		fail_msg("%s: says '%s', not '%s'", case_name, v.what, what);
	if (seq && v.bad_seq != seq)
		fail_msg("%s: event %llu, not %llu (%s)", case_name, (unsigned long long)v.bad_seq,
			 (unsigned long long)seq, v.what);
}

static void test_verify_whole_record_holds(void **state)
{
	struct record *r = *state;
	struct idx_verify v;

	restore(r);
	fx_verify(&r->fx, &v);
	if (!v.ok)
		fail_msg("%s", v.what);
	assert_int_equal(v.events, fx_number(&r->fx, "SELECT max(seq) FROM event"));
	assert_int_equal(v.bad_seq, 0);
	assert_string_equal(v.what, "");
	assert_int_equal(v.objects, 4); /* two versions, code, policy */
	assert_true(v.rows > 20);
}

static void test_verify_lone_copy_leaves_nothing_beside_it(void **state)
{
	struct record *r = *state;
	struct stat st;

	restore(r);
	fx_assert_verifies(&r->fx);
	assert_int_equal(fstatat(r->fx.dir_fd, "index.db-shm", &st, 0), -1);
	assert_int_equal(fstatat(r->fx.dir_fd, "index.db-wal", &st, 0), -1);
}

struct column {
	char table[32], name[32];
};

/* All of them but meta's. */
static size_t columns_of(struct record *r, struct column *ret, size_t room)
{
	char path[FX_PATH_SIZE];
	sqlite3 *h = NULL;
	sqlite3_stmt *s = NULL;
	size_t n = 0;

	restore(r);
	assert_int_equal(sqlite3_open_v2(fx_db(&r->fx, path), &h, SQLITE_OPEN_READONLY, NULL), 0);
	assert_int_equal(sqlite3_prepare_v2(h,
					    "SELECT t.name, c.name FROM sqlite_schema t,"
					    " pragma_table_info(t.name) c WHERE t.type = 'table'"
					    " AND t.name != 'meta' ORDER BY 1, c.cid",
					    -1, &s, NULL),
			 SQLITE_OK);
	for (; n < room && sqlite3_step(s) == SQLITE_ROW; n++) {
		(void)snprintf(ret[n].table, sizeof ret[n].table, "%s",
			       (const char *)sqlite3_column_text(s, 0));
		(void)snprintf(ret[n].name, sizeof ret[n].name, "%s",
			       (const char *)sqlite3_column_text(s, 1));
	}
	(void)sqlite3_finalize(s);
	(void)sqlite3_close(h);
	return n;
}

static size_t each_column(struct record *r, void (*fn)(struct record *, const char *, const char *))
{
	struct column columns[256];
	size_t n = columns_of(r, columns, 256);

	for (size_t i = 0; i < n; i++) {
		restore(r);
		fn(r, columns[i].table, columns[i].name);
	}
	return n;
}

static void change_column(struct record *r, const char *table, const char *column)
{
	char name[160];
	char sql[SQL_SIZE];

	/* their CHECK holds them at 1 */
	if (strcmp(column, "id") == 0 &&
	    (strcmp(table, "workspace") == 0 || strcmp(table, "total") == 0))
		return;
	(void)snprintf(name, sizeof name, "%s.%s changed", table, column);
	(void)snprintf(sql, sizeof sql,
		       "UPDATE OR IGNORE %s SET %s = CASE typeof(%s) WHEN 'integer' THEN %s + 1000"
		       " WHEN 'text' THEN %s || 'x' ELSE CAST(coalesce(%s, '') || 'x' AS BLOB) END",
		       table, column, column, column, column, column);
	fx_tamper(&r->fx, sql);
	expect_bad(r, name, table, 0);
}

static void test_verify_each_column_changed_is_found(void **state)
{
	assert_true(each_column(*state, change_column) > 120);
}

static void delete_row(struct record *r, const char *table, const char *column)
{
	char name[160];
	char sql[SQL_SIZE];

	(void)snprintf(name, sizeof name, "a row of %s deleted by %s", table, column);
	(void)snprintf(sql, sizeof sql, "DELETE FROM %s WHERE %s IS (SELECT max(%s) FROM %s)",
		       table, column, column, table);
	fx_tamper(&r->fx, sql);
	expect_bad(r, name, NULL, 0);
}

static void test_verify_each_row_deleted_is_found(void **state)
{
	assert_true(each_column(*state, delete_row) > 120);
}

static void test_verify_row_added_is_found(void **state)
{
	static const struct {
		const char *sql, *what;
	} rows[] = {
		{ "INSERT INTO live VALUES (x'6f', 1, 3)", "table live, row o: no event made it" },
		{ "INSERT INTO agent VALUES (9, 5, 1, 'eve')", "table agent, row 9" },
		{ "INSERT INTO policy VALUES (2, 5, zeroblob(32), 'k')", "table policy, row 2" },
		{ "INSERT INTO used SELECT 3, at_ns, agent, sandbox, step, late, steps, version,"
		  " path, open FROM used LIMIT 1",
		  "table used, row 3" },
		{ "INSERT INTO used SELECT 999, at_ns, agent, sandbox, step, late, steps, version,"
		  " path, open FROM used LIMIT 1",
		  "comes from event 999, but the chain ends at" },
		{ "CREATE TABLE note(a)", "schema" },
		{ "CREATE TRIGGER t AFTER INSERT ON event BEGIN DELETE FROM event; END", "schema" },
		{ "DROP INDEX used_step", "schema" },
		{ "ALTER TABLE live ADD COLUMN note TEXT", "schema" },
	};
	struct record *r = *state;

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		restore(r);
		fx_tamper(&r->fx, rows[i].sql);
		expect_bad(r, rows[i].sql, rows[i].what, 0);
	}
}

static void test_verify_chain_broken_is_named(void **state)
{
	static const struct {
		const char *sql, *what;
		uint64_t seq;
	} rows[] = {
		{ "UPDATE event SET body = CAST(substr(body, 1, length(body) - 1) || 'x' AS BLOB)"
		  " WHERE seq = 5",
		  "event 5: its hash", 5 },
		{ "UPDATE event SET hash = zeroblob(32) WHERE seq = 7", "event 7: its hash", 7 },
		{ "UPDATE event SET prev_hash = zeroblob(32) WHERE seq = 8", "does not follow", 8 },
		{ "DELETE FROM event WHERE seq = 6", "event 6 is missing", 6 },
		{ "DELETE FROM event WHERE seq = 1", "event 1 is missing", 1 },
		{ "DELETE FROM event", "its end was removed", 0 },
		{ "DELETE FROM event WHERE seq >= (SELECT max(seq) FROM event)",
		  "its end was removed", 0 },
		{ "DELETE FROM event WHERE seq = 6; UPDATE event SET seq = seq - 1 WHERE seq > 6",
		  "does not follow", 6 },
		{ "UPDATE event SET seq = 100 WHERE seq = 6; UPDATE event SET seq = 6 WHERE seq = "
		  "7;"
		  "UPDATE event SET seq = 7 WHERE seq = 100",
		  "does not follow", 6 },
	};
	struct record *r = *state;

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		restore(r);
		fx_tamper(&r->fx, rows[i].sql);
		expect_bad(r, rows[i].sql, rows[i].what, rows[i].seq);
	}
}

static void bind_hash(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	struct sha256_ctx *sha = sha256_new();
	struct sha256 prev, hash;

	(void)argc;
	assert_non_null(sha);
	memcpy(&prev, sqlite3_value_blob(argv[0]), sizeof prev);
	chain_link(sha, &prev, (uint64_t)sqlite3_value_int64(argv[1]),
		   bytes_of(sqlite3_value_blob(argv[2]), (size_t)sqlite3_value_bytes(argv[2])),
		   &hash);
	sha256_free(sha);
	sqlite3_result_blob(c, &hash, sizeof hash, SQLITE_TRANSIENT);
}

/* Somebody who rewrites the whole chain after their change, as its definition says. */
static void rechain(struct fx *x)
{
	char path[FX_PATH_SIZE];
	sqlite3 *h = NULL;
	int64_t last = fx_number(x, "SELECT max(seq) FROM event");

	assert_int_equal(sqlite3_open(fx_db(x, path), &h), SQLITE_OK);
	assert_int_equal(sqlite3_create_function(h, "chain", 3, SQLITE_UTF8, NULL, bind_hash, NULL,
						 NULL),
			 SQLITE_OK);
	for (int64_t seq = 1; seq <= last; seq++) {
		char sql[SQL_SIZE];

		(void)snprintf(
			sql, sizeof sql,
			"UPDATE event SET prev_hash = coalesce((SELECT hash FROM event p"
			" WHERE p.seq = %lld - 1), zeroblob(32)) WHERE seq = %lld;"
			"UPDATE event SET hash = chain(prev_hash, seq, body) WHERE seq = %lld",
			(long long)seq, (long long)seq, (long long)seq);
		assert_int_equal(sqlite3_exec(h, sql, NULL, NULL, NULL), SQLITE_OK);
	}
	(void)sqlite3_close(h);
}

static void test_verify_chain_rewritten_tables_disagree(void **state)
{
	struct record *r = *state;

	restore(r);
	rechain(&r->fx);
	fx_assert_verifies(&r->fx); /* the rewriting itself is right */
	/* STEP_END's last field, "fine" */
	fx_tamper(&r->fx, "UPDATE event SET body = CAST(substr(body, 1, length(body) - 4)"
			  " || 'fin!' AS BLOB) WHERE substr(body, -4) = x'66696e65'");
	rechain(&r->fx);
	expect_bad(r, "detail rewritten", "table step, row s_", 0);
	/* an event whose content is none */
	restore(r);
	fx_tamper(&r->fx, "UPDATE event SET body = x'ff' WHERE seq = 4");
	rechain(&r->fx);
	expect_bad(r, "no event", "its content is no event", 4);
}

static void test_verify_object_changed_is_named(void **state)
{
	struct record *r = *state;
	char hex[SHA256_HEX_SIZE];
	struct sha256 sha;
	struct idx_verify v;
	autofd fd = -1;

	restore(r);
	sha256_of(bytes_str("a;b\n1;2\n"), &sha);
	sha256_hex(&sha, hex);
	fd = openat(r->fx.objects_fd, hex, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fd_pwrite_full(fd, "9", 1, 4), 0);
	expect_bad(r, "one byte", "its bytes have changed", 0);
	fx_verify(&r->fx, &v);
	assert_non_null(strstr(v.what, hex));
	assert_int_equal(v.bad_seq, fx_number(&r->fx, "SELECT event FROM version WHERE n = 2"));
	assert_int_equal(unlinkat(r->fx.objects_fd, hex, 0), 0);
	expect_bad(r, "missing", "can't be opened", 0);
	assert_int_equal(mkfifoat(r->fx.objects_fd, hex, 0600), 0);
	expect_bad(r, "a fifo", "is no file", 0);
	assert_int_equal(unlinkat(r->fx.objects_fd, hex, 0), 0);
	assert_int_equal(symlinkat("/etc/passwd", r->fx.objects_fd, hex), 0);
	expect_bad(r, "a link", "can't be opened", 0);
	assert_int_equal(unlinkat(r->fx.objects_fd, hex, 0), 0);
	fx_object(&r->fx, "a;b\n1;2\n", &sha);
	fx_assert_verifies(&r->fx);
}

static void test_verify_files_that_are_no_record(void **state)
{
	struct record *r = *state;
	char path[FX_PATH_SIZE];
	struct idx_verify v;
	struct err err = { 0 };

	restore(r);
	fx_tamper(&r->fx, "PRAGMA user_version = 99");
	assert_int_equal(idx_verify(fx_db(&r->fx, path), -1, NULL, NULL, NULL, &v, &err), -EPROTO);
	assert_non_null(strstr(err.msg, "newer"));
	restore(r);
	fx_tamper(&r->fx, "PRAGMA application_id = 5");
	expect_bad(r, "another application", "not garth's record", 0);
	{
		autofd fd = openat(r->fx.dir_fd, "index.db", O_WRONLY | O_TRUNC | O_CLOEXEC);

		assert_int_equal(fd_write_full(fd, "not a database, but long enough", 31), 0);
	}
	expect_bad(r, "text", "not a database", 0);
	assert_int_equal(unlinkat(r->fx.dir_fd, "index.db", 0), 0);
	assert_int_equal(idx_verify(fx_db(&r->fx, path), -1, NULL, NULL, NULL, &v, &err), -ENOENT);
	restore(r);
}

/* Where text stands in a table and in an index, the one place changed in the file is found as well as the other. */
static void test_verify_each_place_of_a_text_changed_is_found(void **state)
{
	static const char text[] = "a job to be found";
	struct record *r = *state;
	unsigned places = 0;
	size_t off = 0;

	for (;;) {
		const char *at =
			memmem(r->whole.p + off, r->whole.len - off, text, sizeof text - 1);
		char name[64];
		autofd fd = -1;

		if (!at)
			break;
		off = (size_t)(at - r->whole.p) + 1;
		(void)snprintf(name, sizeof name, "place %u", ++places);
		restore(r);
		fd = openat(r->fx.dir_fd, "index.db", O_WRONLY | O_CLOEXEC);
		assert_int_equal(fd_pwrite_full(fd, "A", 1, (off_t)off - 1), 0);
		expect_bad(r, name, NULL, 0);
	}
	assert_int_equal(places, 3); /* the event, the step, the index */
	restore(r);
}

static void test_verify_bytes_flipped_anywhere_never_harm_it(void **state)
{
	struct record *r = *state;
	unsigned found = 0;

	srandom(7);
	for (unsigned i = 0; i < FLIPS; i++) {
		size_t off = (size_t)random() % r->whole.len;
		char path[FX_PATH_SIZE];
		struct idx_verify v;
		uint8_t byte = (uint8_t)r->whole.p[off] ^ (uint8_t)(1u << (random() % 8));
		autofd fd = -1;

		restore(r);
		fd = openat(r->fx.dir_fd, "index.db", O_WRONLY | O_CLOEXEC);
		assert_int_equal(fd_pwrite_full(fd, &byte, 1, (off_t)off), 0);
		if (idx_verify(fx_db(&r->fx, path), -1, NULL, NULL, NULL, &v, NULL) < 0 || !v.ok)
			found++;
	}
	assert_true(found > 0); /* most of a small database is free space */
	restore(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verify_whole_record_holds),
		cmocka_unit_test(test_verify_lone_copy_leaves_nothing_beside_it),
		cmocka_unit_test(test_verify_each_column_changed_is_found),
		cmocka_unit_test(test_verify_each_row_deleted_is_found),
		cmocka_unit_test(test_verify_row_added_is_found),
		cmocka_unit_test(test_verify_chain_broken_is_named),
		cmocka_unit_test(test_verify_chain_rewritten_tables_disagree),
		cmocka_unit_test(test_verify_object_changed_is_named),
		cmocka_unit_test(test_verify_files_that_are_no_record),
		cmocka_unit_test(test_verify_each_place_of_a_text_changed_is_found),
		cmocka_unit_test(test_verify_bytes_flipped_anywhere_never_harm_it),
	};

	return cmocka_run_group_tests_name("index verify", tests, setup, teardown);
}
