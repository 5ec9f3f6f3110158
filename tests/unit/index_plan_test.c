/* SPDX-License-Identifier: MIT */
/*
 * index_plan_test.c - every question is one indexed search: SQLite's own plan of each statement scans no table that grows, but where the
 * answer is that table.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "index/chain.h"
#include "index/db.h"

static const struct {
	unsigned group;
	const char *name, *sql;
} statements[] = {
#define X(group, name, sql) { IDX_G_##group, #name, sql },
	IDX_STMTS(X)
#undef X
};

/* Whole answers, single rows, and small sets that have an index of their own. */
static const struct {
	const char *name, *detail;
} allowed[] = {
	{ "LOAD_STATE", "SCAN CONSTANT ROW" },
	{ "LOAD_STATE", "SCAN workspace" }, /* has one row */
	{ "LOAD_STATE", "SCAN policy" },    /* its last row */
	{ "POLICY_NOW", "SCAN policy" },    /* its last row */
	{ "EVENT_HEAD", "SCAN event" },     /* its last row */
	{ "LOAD_FILES", "SCAN l" },         /* all that lives */
	{ "VERSIONS_LIVE", "SCAN l" },      /* all that lives */
	{ "AGENTS", "SCAN agent" },         /* at most 33 */
	{ "LOAD_OPEN_STEPS", "SCAN step USING INDEX step_open" },
	{ "STEPS_OPEN", "SCAN s USING INDEX step_open" },
	{ "LOAD_PRUNABLE", "SCAN v USING INDEX version_kept" },
	{ "LOAD_PRUNABLE", "SCAN o" },
	{ "LOAD_PRUNABLE", "SCAN old" },
};

static int is_allowed(const char *name, const char *detail)
{
	for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++)
		if (strcmp(allowed[i].name, name) == 0 && strcmp(allowed[i].detail, detail) == 0)
			return 1;
	return 0;
}

static void check_plan(struct idx_db *db, const char *name, const char *sql)
{
	char explain[8192];
	sqlite3_stmt *s = NULL;

	(void)snprintf(explain, sizeof explain, "EXPLAIN QUERY PLAN %s", sql);
	if (sqlite3_prepare_v2(db->h, explain, -1, &s, NULL) != SQLITE_OK)
		fail_msg("%s: %s", name, sqlite3_errmsg(db->h));
	while (sqlite3_step(s) == SQLITE_ROW) {
		const char *detail = (const char *)sqlite3_column_text(s, 3);

		if (strncmp(detail, "SCAN", 4) == 0 && !is_allowed(name, detail))
			fail_msg("%s: '%s'", name, detail);
		if (strstr(detail, "AUTOMATIC"))
			fail_msg("%s builds an index: '%s'", name, detail);
	}
	(void)sqlite3_finalize(s);
}

static void test_plan_of_every_statement_is_a_search(void **state)
{
	struct idx_db db = { 0 };
	struct err err = { 0 };

	(void)state;
	if (idx_db_open_scratch(&db, 0, &err) < 0)
		fail_msg("%s", err.msg);
	for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++)
		if (!(statements[i].group & (IDX_G_TX | IDX_G_VERIFY)))
			check_plan(&db, statements[i].name, statements[i].sql);
	idx_db_close(&db);
}

/*
 * The first is what this prints, and the second follows from it:
 * (printf 'garth.event.v1\0'; head -c32 /dev/zero; printf '\0\0\0\0\0\0\0\1'; printf body) | sha256sum
 */
static void test_chain_link_is_as_documented(void **state)
{
	static const char *const want[] = {
		"647fae17c7ee4abddfcb99d9769ad6d76a97d09925e487d95ce27af82e05759a",
		"38dccf620cddaf28397cf13ee79f555a3e5c69b90ccff625da01686667f37c4b",
	};
	struct sha256_ctx *sha = sha256_new();
	struct sha256 head = { 0 };
	char hex[SHA256_HEX_SIZE];

	(void)state;
	assert_non_null(sha);
	for (uint64_t seq = 1; seq <= 2; seq++) {
		struct sha256 next;

		chain_link(sha, &head, seq, BYTES_LIT("body"), &next);
		head = next;
		sha256_hex(&head, hex);
		assert_string_equal(hex, want[seq - 1]);
	}
	sha256_free(sha);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plan_of_every_statement_is_a_search),
		cmocka_unit_test(test_chain_link_is_as_documented),
	};

	return cmocka_run_group_tests_name("index plan", tests, NULL, NULL);
}
