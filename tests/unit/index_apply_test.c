/* SPDX-License-Identifier: MIT */
/*
 * index_apply_test.c - which paths live, under which number, after changes and versions in any order.
 * Every case ends with the verifier, so that rows are what their events make, whichever way they were stored.
 */
#include "tests/unit/index_fixture.h"

#include <stdio.h>
#include <string.h>

#define STEP FX_STEP(1)

static int setup(void **state)
{
	static struct fx x;

	fx_open(&x);
	fx_start(&x);
	fx_begin(&x);
	fx_step(&x, STEP, 1);
	*state = &x;
	return 0;
}

static int teardown(void **state)
{
	fx_close(*state);
	return 0;
}

struct want {
	const char *path;
	const char *live; /* "n:version" */
};

static void expect(struct fx *x, const struct want *rows, size_t n)
{
	char got[64];

	fx_sync(x);
	for (size_t i = 0; i < n; i++)
		if (strcmp(fx_live(x, rows[i].path, got), rows[i].live) != 0)
			fail_msg("row %zu: '%s' is %s, not %s", i, rows[i].path, got, rows[i].live);
	fx_assert_verifies(x);
}
#define EXPECT(x, ...)                                    \
	expect((x), (const struct want[]){ __VA_ARGS__ }, \
	       sizeof((const struct want[]){ __VA_ARGS__ }) / sizeof(struct want))

static void test_version_of_a_path_counts_from_one(void **state)
{
	struct fx *x = *state;

	(void)fx_seal(x, STEP, "output/a", "1");
	(void)fx_seal(x, STEP, "output/b", "1");
	(void)fx_seal(x, STEP, "output/a", "2");
	EXPECT(x, { "output/a", "2:3" }, { "output/b", "1:2" }, { "output/c", "-" });
}

static void test_unlink_leaves_no_newest_and_counts_on(void **state)
{
	struct fx *x = *state;

	(void)fx_seal(x, STEP, "output/a", "1");
	fx_change(x, STEP, OP_UNLINK, "output/a", "");
	EXPECT(x, { "output/a", "-" });
	(void)fx_seal(x, STEP, "output/a", "2");
	EXPECT(x, { "output/a", "2:2" });
}

static void test_rename_of_a_file_moves_it(void **state)
{
	struct fx *x = *state;

	(void)fx_seal(x, STEP, "output/a", "1");
	(void)fx_seal(x, STEP, "output/b", "old");
	fx_change(x, STEP, OP_RENAME, "output/a", "output/b");
	(void)fx_version(x, STEP, "output/b", ACTION_RENAMED, STATE_SEALED, 1);
	EXPECT(x, { "output/a", "-" }, { "output/b", "2:3" });
	fx_change(x, STEP, OP_RENAME, "output/b", "output/c");
	(void)fx_version(x, STEP, "output/c", ACTION_RENAMED, STATE_SEALED, 3);
	EXPECT(x, { "output/b", "-" }, { "output/c", "1:4" });
}

static void test_rename_of_an_unknown_file_over_a_known_ends_that(void **state)
{
	struct fx *x = *state;

	(void)fx_seal(x, STEP, "output/a", "old");
	fx_change(x, STEP, OP_RENAME, "output/.tmp", "output/a");
	EXPECT(x, { "output/a", "-" });
	(void)fx_seal(x, STEP, "output/a", "new");
	EXPECT(x, { "output/a", "2:2" });
}

static void test_rename_of_a_folder_carries_all_below(void **state)
{
	struct fx *x = *state;

	(void)fx_seal(x, STEP, "output/d/a", "1");
	(void)fx_seal(x, STEP, "output/d/e/b", "2");
	(void)fx_seal(x, STEP, "output/d!", "3"); /* sorts between "output/d" and "output/d/" */
	(void)fx_seal(x, STEP, "output/d0", "4");
	(void)fx_seal(x, STEP, "output/n\xff\xfe/a", "5");
	fx_change(x, STEP, OP_RENAME, "output/d", "output/n\xc3\x28");
	fx_change(x, STEP, OP_RENAME, "output/n\xff\xfe", "output/d");
	EXPECT(x, { "output/n\xc3\x28/a", "1:1" }, { "output/n\xc3\x28/e/b", "1:2" },
	       { "output/d!", "1:3" }, { "output/d0", "1:4" }, { "output/d/a", "2:5" },
	       { "output/d/e/b", "-" }, { "output/n\xff\xfe/a", "-" });
	(void)fx_seal(x, STEP, "output/d/a", "6");
	EXPECT(x, { "output/d/a", "3:6" });
}

static void test_exchange_of_folders_is_one_change(void **state)
{
	struct fx *x = *state;

	(void)fx_seal(x, STEP, "output/p/a", "1");
	(void)fx_seal(x, STEP, "output/q/a", "2");
	(void)fx_seal(x, STEP, "output/q/b", "3");
	fx_change(x, STEP, OP_RENAME, "output/p", "output/q");
	EXPECT(x, { "output/p/a", "2:2" }, { "output/q/a", "2:1" }, { "output/p/b", "1:3" },
	       { "output/q/b", "-" });
}

static void test_exchange_of_files_keeps_both(void **state)
{
	struct fx *x = *state;

	(void)fx_seal(x, STEP, "output/a", "1");
	(void)fx_seal(x, STEP, "output/b", "2");
	fx_change(x, STEP, OP_RENAME, "output/a", "output/b");
	(void)fx_version(x, STEP, "output/b", ACTION_RENAMED, STATE_SEALED, 1);
	(void)fx_version(x, STEP, "output/a", ACTION_RENAMED, STATE_SEALED, 2);
	EXPECT(x, { "output/a", "2:4" }, { "output/b", "2:3" });
}

static void test_link_lives_beside_its_source(void **state)
{
	struct fx *x = *state;

	(void)fx_seal(x, STEP, "output/a", "1");
	(void)fx_version(x, STEP, "output/l", ACTION_LINKED, STATE_SEALED, 1);
	EXPECT(x, { "output/a", "1:1" }, { "output/l", "1:2" });
}

static void test_bytes_are_those_that_live(void **state)
{
	struct fx *x = *state;
	uint64_t open;

	(void)fx_seal(x, STEP, "output/a", "12345");
	(void)fx_seal(x, STEP, "output/a", "123");
	(void)fx_seal(x, STEP, "output/b", "1234567");
	open = fx_version(x, STEP, "output/o", ACTION_CREATED, STATE_OPEN, 0);
	fx_sync(x);
	assert_int_equal(fx_number(x, "SELECT bytes FROM total"), 3 + 7 + 10);
	fx_state(x, open, STATE_SEALED, "12", true);
	fx_change(x, STEP, OP_UNLINK, "output/b", "");
	fx_sync(x);
	assert_int_equal(fx_number(x, "SELECT bytes FROM total"), 3 + 2);
	assert_int_equal(fx_number(x, "SELECT versions FROM total"), 4);
	fx_assert_verifies(x);
}

static void test_state_without_a_hash_keeps_what_was_known(void **state)
{
	struct fx *x = *state;
	uint64_t v = fx_seal(x, STEP, "output/a", "12345");

	fx_state(x, v, STATE_PRUNED, NULL, false);
	fx_sync(x);
	assert_int_equal(fx_number(x, "SELECT size FROM version"), 5);
	assert_int_equal(fx_number(x, "SELECT sha IS NOT NULL AND state = 5 AND kept = 0"
				      " FROM version"),
			 1);
	fx_assert_verifies(x);
}

static void test_verdict_turns_held_and_sealed(void **state)
{
	struct fx *x = *state;
	struct event e = { .kind = EV_VERDICT };
	uint64_t v = fx_seal(x, STEP, "output/a", "1");

	e.u.verdict = (struct ev_verdict){ .version = v,
					   .hook_step = FX_STEP(9),
					   .reason = BYTES_LIT("row 3: no number") };
	fx_put(x, &e);
	fx_sync(x);
	assert_int_equal(fx_number(x, "SELECT state FROM version"), STATE_HELD);
	e.u.verdict.pass = 1;
	fx_put(x, &e);
	fx_sync(x);
	assert_int_equal(fx_number(x, "SELECT state FROM version"), STATE_SEALED);
	fx_assert_verifies(x);
}

static void test_doubt_marks_what_was_open_alone(void **state)
{
	struct fx *x = *state;
	struct event e = { .kind = EV_DOUBT };
	uint64_t sealed = fx_seal(x, STEP, "output/a", "1");
	uint64_t open = fx_version(x, STEP, "output/b", ACTION_CREATED, STATE_OPEN, 0);

	e.u.doubt = (struct ev_doubt){ .step = STEP,
				       .version = sealed,
				       .path = BYTES_LIT("output/a"),
				       .why = BYTES_LIT("changed since") };
	fx_put(x, &e);
	e.u.doubt.version = open;
	fx_put(x, &e);
	fx_sync(x);
	assert_int_equal(fx_number(x, "SELECT state FROM version WHERE version = 1"), STATE_SEALED);
	assert_int_equal(fx_number(x, "SELECT state FROM version WHERE version = 2"), STATE_DOUBT);
	assert_int_equal(fx_number(x, "SELECT count(*) FROM doubt"), 2);
	fx_assert_verifies(x);
}

static void test_contradiction_changes_no_row(void **state)
{
	struct fx *x = *state;
	uint64_t v = fx_seal(x, STEP, "output/a", "1");

	x->next_version = v; /* the same number again */
	(void)fx_seal(x, STEP, "output/b", "2");
	fx_step(x, STEP, 2);
	fx_end(x, FX_STEP(77));
	fx_state(x, 99, STATE_SEALED, "3", true);
	fx_agent(x, 1, "other");
	EXPECT(x, { "output/a", "1:1" }, { "output/b", "-" });
	assert_int_equal(fx_number(x, "SELECT agent FROM step"), 1);
	assert_int_equal(fx_number(x, "SELECT name = 'planner' FROM agent WHERE agent = 1"), 1);
	assert_int_equal(fx_number(x, "SELECT steps FROM total"), 1);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_version_of_a_path_counts_from_one),
		T(test_unlink_leaves_no_newest_and_counts_on),
		T(test_rename_of_a_file_moves_it),
		T(test_rename_of_an_unknown_file_over_a_known_ends_that),
		T(test_rename_of_a_folder_carries_all_below),
		T(test_exchange_of_folders_is_one_change),
		T(test_exchange_of_files_keeps_both),
		T(test_link_lives_beside_its_source),
		T(test_bytes_are_those_that_live),
		T(test_state_without_a_hash_keeps_what_was_known),
		T(test_verdict_turns_held_and_sealed),
		T(test_doubt_marks_what_was_open_alone),
		T(test_contradiction_changes_no_row),
	};

	return cmocka_run_group_tests_name("index apply", tests, NULL, NULL);
}
