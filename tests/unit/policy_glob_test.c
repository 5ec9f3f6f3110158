/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/policy_glob_test.c - path patterns (policy/glob.h) and zones (policy/zone.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "policy/glob.h"
#include "policy/zone.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct {
	const char *pattern, *path;
	bool want;
} match_rows[] = {
	{ "output/a.csv", "output/a.csv", true },
	{ "output/a.csv", "output/a.csvx", false },
	{ "output/a.csv", "output", false },
	{ "output/*.csv", "output/a.csv", true },
	{ "output/*.csv", "output/.csv", true },
	{ "output/*.csv", "output/x/a.csv", false },
	{ "output/*", "output/a", true },
	{ "output/*", "output", false },
	{ "output/*", "output/a/b", false },
	{ "output/**", "output", true },
	{ "output/**", "output/a", true },
	{ "output/**", "output/a/b/c", true },
	{ "output/**", "outputs", false },
	{ "output/**/*.csv", "output/a.csv", true },
	{ "output/**/*.csv", "output/x/y/a.csv", true },
	{ "output/**/*.csv", "output/x/y/a.txt", false },
	{ "output/**/*.csv", "output", false },
	{ "output/**/b/**", "output/a/b", true },
	{ "output/**/b/**", "output/b/c/d", true },
	{ "output/**/b/**", "output/a/c", false },
	{ "output/**/b/**/c", "output/b/b/x/c", true },
	{ "output/**/b/**/c", "output/c/b", false },
	{ "**", "", true },
	{ "**", "input", true },
	{ "**/x", "x", true },
	{ "**/x", "a/b/x", true },
	{ "**/x", "a/b/xy", false },
	{ "**/**", "", true },
	{ "*", "", false },
	{ "*", "input", true },
	{ "*/*", "input", false },
	{ "a?c", "abc", true },
	{ "a?c", "a/c", false },
	{ "a?c", "ac", false },
	{ "a?c", "a\xc3\xa9", false },
	{ "a*b*c", "axxbyyc", true },
	{ "a*b*c", "axxbyycd", false },
	{ "a*b*c", "abc", true },
	{ "a*b*c", "acb", false },
	{ "*a", "aaab", false },
	{ "*a", "aaaa", true },
	{ "[ab]", "a", false },
	{ "[ab]", "[ab]", true },
	{ "{a,b}", "a", false },
	{ "a\\*", "a*", false },
	{ "a\\*", "a\\x", true },
	{ "agents/*/private/**", "agents/p/private/x", true },
	{ "agents/*/private/**", "agents/p/public/x", false },
	{ "agents/*/private/**", "agents/p/q/private", false },
	/* not patterns at all: they match nothing that exists */
	{ "", "", false },
	{ "/a", "a", false },
	{ "a//b", "a/b", false },
};

static void test_glob_match_table_holds(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(match_rows); i++)
		if (glob_match(match_rows[i].pattern, bytes_str(match_rows[i].path)) !=
		    match_rows[i].want)
			fail_msg("row %zu: glob_match('%s', '%s') != %d", i, match_rows[i].pattern,
				 match_rows[i].path, match_rows[i].want);
}

static void test_glob_match_hostile_paths_are_not_slow(void **state)
{
	enum { LEN = 4000 };
	char path[LEN + 1];
	char pattern[256] = "";
	size_t at = 0;

	(void)state;
	for (size_t i = 0; i < LEN; i++)
		path[i] = i % 2 == 0 ? 'a' : '/';
	path[LEN - 1] = 'b';
	path[LEN] = 0;
	for (int i = 0; i < 30; i++)
		at += (size_t)snprintf(pattern + at, sizeof(pattern) - at, "**/a/");
	(void)snprintf(pattern + at, sizeof(pattern) - at, "c");
	/* a matcher that goes back over every ** never ends here */
	assert_false(glob_match(pattern, bytes_of(path, LEN)));
	memset(path, 'a', 255);
	assert_false(glob_match("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", bytes_of(path, 255)));
}

static void test_glob_match_bytes_that_are_not_text_match(void **state)
{
	static const char name[] = "output/\xff\xfe\n";

	(void)state;
	assert_true(glob_match("output/*", bytes_of(name, sizeof(name) - 1)));
	assert_true(glob_match("output/??\n", bytes_of(name, sizeof(name) - 1)));
}

static void test_glob_check_table_holds(void **state)
{
	char many[GLOB_PARTS_MAX * 2 + 4], longest[300];
	struct {
		const char *pattern;
		int want;
	} rows[] = {
		{ "output", 0 },
		{ "output/**", 0 },
		{ "**", 0 },
		{ "**/a/**/b*?", 0 },
		{ "", -EINVAL },
		{ "/output", -EINVAL },
		{ "output/", -EINVAL },
		{ "a//b", -EINVAL },
		{ "a/./b", -EINVAL },
		{ "..", -EINVAL },
		{ "a/..", -EINVAL },
		{ "a**", -EINVAL },
		{ "output/**.csv", -EINVAL },
		{ "***", -EINVAL },
		{ "a/b**/c", -EINVAL },
		{ "...", 0 },
		{ many, -EINVAL },
		{ many + 2, 0 },
		{ longest, -EINVAL },
	};

	(void)state;
	for (size_t i = 0; i <= GLOB_PARTS_MAX; i++)
		memcpy(many + 2 * i, "a/", 2);
	many[2 * GLOB_PARTS_MAX + 1] = 0; /* 64 parts */
	memset(longest, 'x', 256);
	longest[256] = 0;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct err err = { 0 };
		int r = glob_check(rows[i].pattern, &err);

		if (r != rows[i].want || (r < 0 && err.msg[0] == 0))
			fail_msg("row %zu: glob_check('%s') is %d (%s)", i, rows[i].pattern, r,
				 err.msg);
	}
}

static void test_glob_reaches_and_child_table_holds(void **state)
{
	static const struct {
		const char *pattern, *dir;
		bool reaches, child;
	} rows[] = {
		{ "output/final/**", "output", true, true },
		{ "output/final/**", "output/final", true, true },
		{ "output/final/**", "output/final/a", true, true },
		{ "output/final/**", "output/other", false, false },
		{ "output/final/**", "", true, false },
		{ "output/final/x", "output/final", true, true },
		{ "output/final/x", "output/final/x", true, false },
		{ "output/final/x", "output/final/x/y", false, false },
		{ "output/final/x", "output", true, false },
		{ "**", "", true, true },
		{ "**", "a/b", true, true },
		{ "**/secret", "a/b", true, true },
		{ "agents/*/private/**", "agents", true, false },
		{ "agents/*/private/**", "agents/x", true, true },
		{ "agents/*/private/**", "agents/x/public", false, false },
		{ "*", "", true, true },
		{ "*", "a", true, false },
		{ "*", "a/b", false, false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		if (glob_reaches(rows[i].pattern, bytes_str(rows[i].dir)) != rows[i].reaches)
			fail_msg("row %zu: glob_reaches('%s', '%s') != %d", i, rows[i].pattern,
				 rows[i].dir, rows[i].reaches);
		if (glob_matches_child(rows[i].pattern, bytes_str(rows[i].dir)) != rows[i].child)
			fail_msg("row %zu: glob_matches_child('%s', '%s') != %d", i,
				 rows[i].pattern, rows[i].dir, rows[i].child);
	}
}

static void test_zone_of_table_holds(void **state)
{
	static const struct {
		const char *path;
		enum zone zone;
		const char *owner;
		bool top;
	} rows[] = {
		{ "", ZONE_ROOT, "", true },
		{ "input", ZONE_INPUT, "", true },
		{ "input/a/b", ZONE_INPUT, "", false },
		{ "inputs", ZONE_ROOT, "", false },
		{ "inpu", ZONE_ROOT, "", false },
		{ "Input", ZONE_ROOT, "", false },
		{ "task", ZONE_TASK, "", true },
		{ "task/x", ZONE_TASK, "", false },
		{ "output", ZONE_OUTPUT, "", true },
		{ "output/input", ZONE_OUTPUT, "", false },
		{ "agents", ZONE_AGENTS, "", true },
		{ "agents/a", ZONE_AREA, "a", true },
		{ "agents/a/b", ZONE_AREA, "a", false },
		{ "agents/A", ZONE_AREA, "", true },
		{ "agents/.x/y", ZONE_AREA, "", false },
		{ "agents/a b/y", ZONE_AREA, "", false },
		{ "agents/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		  ZONE_AREA, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		  true },
		{ "agents/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		  ZONE_AREA, "", true },
		{ "logs", ZONE_LOGS, "", true },
		{ "logs/s_1/stdout", ZONE_LOGS, "", false },
		{ "other", ZONE_ROOT, "", false },
		{ "other/input", ZONE_ROOT, "", false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct zone_place at;

		zone_of(bytes_str(rows[i].path), &at);
		if (at.zone != rows[i].zone || at.top != rows[i].top ||
		    strcmp(at.owner, rows[i].owner) != 0)
			fail_msg("row %zu: zone_of('%s') is %d '%s' %d", i, rows[i].path,
				 (int)at.zone, at.owner, at.top);
	}
	assert_string_equal(zone_text(ZONE_AREA), "agents");
	assert_string_equal(zone_text(ZONE_INPUT), "input");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_glob_match_table_holds),
		cmocka_unit_test(test_glob_match_hostile_paths_are_not_slow),
		cmocka_unit_test(test_glob_match_bytes_that_are_not_text_match),
		cmocka_unit_test(test_glob_check_table_holds),
		cmocka_unit_test(test_glob_reaches_and_child_table_holds),
		cmocka_unit_test(test_zone_of_table_holds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
