/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/cli_text_test.c - the pure parts of the client: addresses, paths as typed, base 64, hashes in headers, names for a terminal,
 * tables.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <string.h>

#include "cli/addr.h"
#include "cli/base64.h"
#include "cli/exit.h"
#include "cli/fetch.h"
#include "cli/print.h"
#include "cli/zone_path.h"

static void test_addr_parts_and_values_are_encoded(void **state)
{
	struct addr a;

	(void)state;
	addr_begin(&a, "w", "/files");
	addr_path(&a, "output/a b%/\xc3\xa9?#.csv");
	addr_arg(&a, "version", NULL);
	addr_arg(&a, "agent", "a&b=c");
	addr_arg(&a, "x", "1/2");
	assert_string_equal(
		addr_str(&a),
		"/v1/workspaces/w/files/output/a%20b%25/%C3%A9%3F%23.csv?agent=a%26b%3Dc&x=1%2F2");
	addr_begin(&a, NULL, "/v1/keys");
	addr_part(&a, "../x");
	addr_path(&a, "");
	assert_string_equal(addr_str(&a), "/v1/keys/..%2Fx");
}

static void test_addr_too_long_is_no_address(void **state)
{
	struct addr a;

	(void)state;
	addr_begin(&a, "w", "");
	for (int i = 0; i < ADDR_SIZE; i++)
		addr_arg(&a, "a", "b");
	assert_null(addr_str(&a));
	addr_begin(&a, "w", "");
	assert_string_equal(addr_str(&a), "/v1/workspaces/w");
}

static void test_zone_path_table(void **state)
{
	static const struct {
		const char *typed;
		int want;
		const char *path;
		bool known;
	} rows[] = {
		{ "", 0, "", false },
		{ "/", 0, "", false },
		{ "/workspace", 0, "", false },
		{ "output", 0, "output", true },
		{ "output/", 0, "output", true },
		{ "/workspace/output/a", 0, "output/a", true },
		{ "/output/a", 0, "output/a", true },
		{ "workspace/x", 0, "workspace/x", false },
		{ "/workspaces/x", 0, "workspaces/x", false },
		{ "inputs/x", 0, "inputs/x", false },
		{ "agents/a/x", 0, "agents/a/x", true },
		{ "output//a", -EINVAL, NULL, false },
		{ "//output", -EINVAL, NULL, false },
		{ "output/../x", -EINVAL, NULL, false },
		{ "./output", -EINVAL, NULL, false },
	};
	char out[ZONE_PATH_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		if (zone_path(rows[i].typed, out, NULL) != rows[i].want)
			fail_msg("row %zu: '%s' is not %d", i, rows[i].typed, rows[i].want);
		if (rows[i].want == 0 &&
		    (strcmp(out, rows[i].path) != 0 || zone_path_known(out) != rows[i].known))
			fail_msg("row %zu: '%s' became '%s'", i, rows[i].typed, out);
	}
}

static void test_base64_vectors_both_ways(void **state)
{
	/* RFC 4648 section 10 */
	static const struct {
		const char *plain, *coded;
	} rows[] = { { "", "" },
		     { "f", "Zg==" },
		     { "fo", "Zm8=" },
		     { "foo", "Zm9v" },
		     { "foob", "Zm9vYg==" },
		     { "fooba", "Zm9vYmE=" },
		     { "foobar", "Zm9vYmFy" },
		     { "\xff\xfe", "//4=" } };
	static const char *const bad[] = { "Z",    "Zg",   "Zg=",  "Zh==",         "Zm9=", "Zm9v ",
					   "====", "Z===", "Zm=v", "Zm9vYg==Zm9v", "-_==" };

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		autobuf coded;
		autobuf plain;

		buf_init(&coded, 100);
		buf_init(&plain, 100);
		if (b64_encode(bytes_str(rows[i].plain), &coded) != 0 ||
		    strcmp(buf_str(&coded), rows[i].coded) != 0)
			fail_msg("row %zu: '%s'", i, buf_str(&coded));
		if (b64_decode(bytes_str(rows[i].coded), &plain) != 0 ||
		    strcmp(buf_str(&plain), rows[i].plain) != 0)
			fail_msg("row %zu: back '%s'", i, buf_str(&plain));
	}
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		autobuf plain;

		buf_init(&plain, 100);
		if (b64_decode(bytes_str(bad[i]), &plain) != -EINVAL || plain.len != 0)
			fail_msg("bad row %zu: '%s' is taken", i, bad[i]);
	}
}

#define ABC_HEX "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define ABC_B64 "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="

static void test_fetch_said_sha_of_both_headers(void **state)
{
	static const struct {
		const char *digest, *etag;
		int want;
	} rows[] = {
		{ "sha-256=:" ABC_B64 ":", "", 0 },
		{ "sha-512=:AAAA:, sha-256=:" ABC_B64 ":", "", 0 },
		{ "", "\"sha256:" ABC_HEX "\"", 0 },
		{ "nonsense", "\"sha256:" ABC_HEX "\"", 0 },
		{ "sha-256=:AAAA:", "", -ENOENT },
		{ "sha-256=:" ABC_B64, "", -ENOENT },
		{ "", "\"sha256:abc\"", -ENOENT },
		{ "", "W/\"sha256:" ABC_HEX "\"", -ENOENT },
		{ "", "\"" ABC_HEX "\"", -ENOENT },
		{ "", "", -ENOENT },
	};
	struct sha256 want, got;

	(void)state;
	sha256_of(BYTES_LIT("abc"), &want);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		if (fetch_said_sha(rows[i].digest, rows[i].etag, &got) != rows[i].want)
			fail_msg("row %zu is not %d", i, rows[i].want);
		if (rows[i].want == 0 && memcmp(&want, &got, sizeof got) != 0)
			fail_msg("row %zu: another hash", i);
	}
}

static void test_print_safe_shows_and_obeys_nothing(void **state)
{
	static const struct {
		const char *in, *want;
	} rows[] = {
		{ "plain name.csv", "plain name.csv" },
		{ "\xc3\xa9\xe6\x97\xa5\xf0\x9f\x98\x80", "\xc3\xa9\xe6\x97\xa5\xf0\x9f\x98\x80" },
		{ "a\nb\tc\x1b[2J\x7f", "a\\x0ab\\x09c\\x1b[2J\\x7f" },
		{ "\xc2\x9b", "\\xc2\\x9b" },          /* C1: another way to say ESC [ */
		{ "\xe2\x80\xae", "\\xe2\\x80\\xae" }, /* turns the line around */
		{ "\xe2\x81\xa6", "\\xe2\\x81\\xa6" },
		{ "\xff\xc3(", "\\xff\\xc3(" },
		{ "\xc0\x80", "\\xc0\\x80" },                   /* too long a form */
		{ "\xed\xa0\x80", "\\xed\\xa0\\x80" },          /* half a surrogate */
		{ "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80" }, /* past the last character */
		{ "x\xe2\x82", "x\\xe2\\x82" },                 /* cut */
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		char *out = print_safe_dup(rows[i].in);

		assert_non_null(out);
		if (strcmp(out, rows[i].want) != 0)
			fail_msg("row %zu: '%s'", i, out);
		free(out);
	}
}

static void test_table_columns_line_up_without_colour_in_a_file(void **state)
{
	static const char *const heads[] = { "NAME", ">SIZE", "NOTE", NULL };
	static const char *const one[] = { "\xc3\xa9", "5", NULL }, *const two[] = { "longer",
										     "12345",
										     "x\n" };
	char text[256] = "";
	autotable t;
	FILE *f = tmpfile();

	(void)state;
	assert_non_null(f);
	table_init(&t, heads);
	table_row(&t, COLOR_RED, one);
	table_row(&t, COLOR_NONE, two);
	assert_int_equal(table_print(&t, f), EXIT_OK);
	rewind(f);
	assert_true(fread(text, 1, sizeof text - 1, f) > 0);
	(void)fclose(f);
	assert_string_equal(
		text, "NAME     SIZE  NOTE\n\xc3\xa9           5  -\nlonger  12345  x\\x0a\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addr_parts_and_values_are_encoded),
		cmocka_unit_test(test_addr_too_long_is_no_address),
		cmocka_unit_test(test_zone_path_table),
		cmocka_unit_test(test_base64_vectors_both_ways),
		cmocka_unit_test(test_fetch_said_sha_of_both_headers),
		cmocka_unit_test(test_print_safe_shows_and_obeys_nothing),
		cmocka_unit_test(test_table_columns_line_up_without_colour_in_a_file),
	};

	return cmocka_run_group_tests_name("cli_text", tests, NULL, NULL);
}
