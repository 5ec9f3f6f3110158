/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/api_text_test.c - UTF-8, base 64, the cutting of output into lines, strict JSON, tar headers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "api/base64.h"
#include "api/jsonx.h"
#include "api/stream.h"
#include "api/tar.h"
#include "api/utf8.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void test_utf8_whole_follows_unicode(void **state)
{
	static const struct {
		const char *text;
		size_t len, whole;
		bool bad;
	} rows[] = {
		{ "", 0, 0, false },
		{ "abc", 3, 3, false },
		{ "a\0b", 3, 3, false },
		{ "\xc3\xbc", 2, 2, false },
		{ "a\xc3", 2, 1, false },
		{ "\xe2\x98\x82", 3, 3, false },
		{ "x\xe2\x98", 3, 1, false },
		{ "\xf0\x9f\x98\x80", 4, 4, false },
		{ "\xf0\x9f\x98", 3, 0, false },
		{ "\xff", 1, 0, true },
		{ "\x80", 1, 0, true },
		{ "\xc0\x80", 2, 0, true },
		{ "\xc1\xbf", 2, 0, true },
		{ "\xe0\x80\x80", 3, 0, true },
		{ "\xe0\x80", 2, 0, true },
		{ "\xed\xa0\x80", 3, 0, true },
		{ "\xed\x9f\xbf", 3, 3, false },
		{ "\xf0\x80\x80\x80", 4, 0, true },
		{ "\xf4\x8f\xbf\xbf", 4, 4, false },
		{ "\xf4\x90\x80\x80", 4, 0, true },
		{ "\xf5\x80\x80\x80", 4, 0, true },
		{ "ab\xc3(", 4, 2, true },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		bool bad;
		size_t n = utf8_whole(bytes_of(rows[i].text, rows[i].len), &bad);

		if (n != rows[i].whole || bad != rows[i].bad)
			fail_msg("row %zu: %zu %d", i, n, bad);
		if (utf8_ok(bytes_of(rows[i].text, rows[i].len)) != (n == rows[i].len && !bad))
			fail_msg("row %zu: utf8_ok differs", i);
	}
	assert_int_equal(utf8_cut(bytes_str("a\xc3\xbc"), 2), 1);
	assert_int_equal(utf8_cut(bytes_str("a\xc3\xbc"), 3), 3);
}

static void test_base64_goes_both_ways(void **state)
{
	static const struct {
		const char *plain, *coded;
	} rows[] = { { "", "" },
		     { "f", "Zg==" },
		     { "fo", "Zm8=" },
		     { "foo", "Zm9v" },
		     { "foob", "Zm9vYg==" },
		     { "fooba", "Zm9vYmE=" },
		     { "foobar", "Zm9vYmFy" },
		     { "\xff\xfe\xfd", "//79" } };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char *coded = base64_encode(bytes_str(rows[i].plain));
		autobuf b;

		buf_init(&b, 64);
		if (coded == NULL || strcmp(coded, rows[i].coded) != 0)
			fail_msg("row %zu: '%s'", i, coded);
		if (base64_decode(bytes_str(rows[i].coded), &b) != 0 ||
		    strcmp(buf_str(&b), rows[i].plain) != 0)
			fail_msg("row %zu does not come back", i);
		free(coded);
	}
}

static void test_base64_decode_is_strict(void **state)
{
	static const char *const rows[] = { "Z",    "Zg",   "Zg=",  "Zh==",   "Zm9=",    "Zg==Zg==",
					    "Z===", "====", "Zm 9", "Zm9v\n", "Zm9\xff", "=Zg=" };
	autobuf b;

	(void)state;
	buf_init(&b, 64);
	for (size_t i = 0; i < COUNT(rows); i++)
		if (base64_decode(bytes_str(rows[i]), &b) != -EINVAL || b.len != 0)
			fail_msg("row %zu: '%s' was taken", i, rows[i]);
	assert_int_equal(base64_decode(BYTES_LIT("_-8="), &b), 0);
	buf_fini(&b);
	buf_init(&b, 2);
	assert_int_equal(base64_decode(BYTES_LIT("Zm9v"), &b), -EFBIG);
}

static void test_stream_cut_never_cuts_a_character(void **state)
{
	static const struct {
		const char *piece;
		size_t len;
		bool last;
		size_t want;
		bool text;
	} rows[] = {
		{ "abc", 3, false, 3, true },           { "ab\xc3", 3, false, 2, true },
		{ "\xc3", 1, false, 0, true },          { "\xc3", 1, true, 1, false },
		{ "ab\xc3", 3, true, 2, true },         { "\xff", 1, false, 1, false },
		{ "\xff\xc3\xbc", 3, false, 3, false }, { "\xff\xc3", 2, false, 1, false },
		{ "\xff\xe2\x98", 3, false, 1, false }, { "\xff\xe2\x98", 3, true, 3, false },
		{ "ok\xff", 3, false, 3, false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		bool text;
		size_t n = stream_cut(bytes_of(rows[i].piece, rows[i].len), rows[i].last, &text);

		if (n != rows[i].want || (n > 0 && text != rows[i].text))
			fail_msg("row %zu: %zu %d", i, n, text);
	}
}

/* Whatever comes in whatever pieces: put together it is what went in, and text where all of it is text. */
static void test_stream_cut_loses_nothing(void **state)
{
	unsigned seed = 1;
	unsigned char in[4096];

	(void)state;
	for (int round = 0; round < 200; round++) {
		size_t at = 0, max = 1 + (size_t)rand_r(&seed) % 64;
		bool pure = round % 2 == 0;

		for (size_t i = 0; i < sizeof in; i++)
			in[i] = (unsigned char)(pure ? "a\xc3\xbc\xe2\x98\x82"[i % 6]
						     : (char)rand_r(&seed));
		while (at < sizeof in) {
			size_t have = sizeof in - at < max + 4 ? sizeof in - at : max + 4;
			bool text, last = at + have == sizeof in;
			size_t n = stream_cut(bytes_of(in + at, have), last, &text);

			if (n == 0 || n > have)
				fail_msg("round %d: %zu of %zu at %zu", round, n, have, at);
			if (text && !utf8_ok(bytes_of(in + at, n)))
				fail_msg("round %d: no text at %zu", round, at);
			if (pure && !text && !last)
				fail_msg("round %d: text was not told as text at %zu", round, at);
			at += n;
		}
	}
}

static void test_jx_fields_is_strict(void **state)
{
	static const struct {
		const char *text;
		int want;
		const char *word;
	} rows[] = {
		{ "{\"s\":\"x\"}", 0, NULL },
		{ "{\"s\":\"x\",\"i\":1,\"n\":1.5,\"b\":true,\"o\":{},\"a\":[]}", 0, NULL },
		{ "{\"s\":\"x\",\"i\":null}", 0, NULL },
		{ "{}", -EINVAL, "'s' is missing" },
		{ "{\"s\":null}", -EINVAL, "'s' is missing" },
		{ "{\"s\":1}", -EINVAL, "'s' must be a string" },
		{ "{\"s\":\"x\",\"i\":1.5}", -EINVAL, "'i' must be an integer" },
		{ "{\"s\":\"x\",\"n\":\"1\"}", -EINVAL, "'n' must be a number" },
		{ "{\"s\":\"x\",\"b\":0}", -EINVAL, "'b' must be true or false" },
		{ "{\"s\":\"x\",\"o\":[]}", -EINVAL, "'o' must be an object" },
		{ "{\"s\":\"x\",\"a\":{}}", -EINVAL, "'a' must be an array" },
		{ "{\"s\":\"x\",\"z\":1}", -EINVAL, "unknown field 'z'" },
		{ "[]", -EINVAL, "object" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		const json_t *s, *n, *k, *b, *o, *a;
		const struct jx_field f[] = {
			{ "s", JX_STRING, true, &s },  { "i", JX_INTEGER, false, &k },
			{ "n", JX_NUMBER, false, &n }, { "b", JX_BOOL, false, &b },
			{ "o", JX_OBJECT, false, &o }, { "a", JX_ARRAY, false, &a }
		};
		json_t *j = json_loads(rows[i].text, 0, NULL);
		struct err err = { 0 };
		int rc = jx_fields(j, "", f, COUNT(f), &err);

		if (rc != rows[i].want ||
		    (rows[i].word != NULL && strstr(err.msg, rows[i].word) == NULL))
			fail_msg("row %zu: %d '%s'", i, rc, err.msg);
		json_decref(j);
	}
}

static void test_jx_numbers_hold_their_ranges(void **state)
{
	json_t *big = json_integer(INT64_MAX), *neg = json_integer(-1), *half = json_real(0.5),
	       *inf = json_real(1e300);
	uint64_t u = 7;
	int64_t m = 7;

	(void)state;
	assert_int_equal(jx_uint(NULL, "x", 1, 2, &u, NULL), 0);
	assert_int_equal(u, 7);
	assert_int_equal(jx_uint(neg, "x", 0, 10, &u, NULL), -EINVAL);
	assert_int_equal(jx_uint(big, "x", 0, 10, &u, NULL), -EINVAL);
	assert_int_equal(jx_uint(big, "x", 0, UINT64_MAX, &u, NULL), 0);
	assert_int_equal(jx_milli(half, "x", 1, 1000, &m, NULL), 0);
	assert_int_equal(m, 500);
	assert_int_equal(jx_milli(inf, "x", 1, INT64_MAX, &m, NULL), -EINVAL);
	assert_int_equal(jx_milli(neg, "x", 0, 1000, &m, NULL), -EINVAL);
	json_decref(big);
	json_decref(neg);
	json_decref(half);
	json_decref(inf);
}

static void test_jx_set_bytes_keeps_what_is_no_text(void **state)
{
	json_t *j = json_object();

	(void)state;
	jx_set_bytes(j, "a", BYTES_LIT("text"));
	jx_set_bytes(j, "b", BYTES_LIT("\xff"));
	assert_string_equal(json_string_value(json_object_get(j, "a")), "text");
	assert_null(json_object_get(j, "a_base64"));
	assert_true(json_is_null(json_object_get(j, "b")));
	assert_string_equal(json_string_value(json_object_get(j, "b_base64")), "/w==");
	json_decref(j);
}

static void test_tar_header_is_ustar(void **state)
{
	uint8_t h[TAR_BLOCK];
	unsigned sum = 0;
	char name[TAR_NAME_MAX + 2];

	(void)state;
	assert_int_equal(tar_header("w/index.db", 1234, 1000, 0644, h), 0);
	assert_string_equal((char *)h, "w/index.db");
	assert_string_equal((char *)h + 124, "00000002322");
	assert_memory_equal(h + 257, "ustar\00000", 8);
	for (unsigned i = 0; i < TAR_BLOCK; i++)
		sum += i >= 148 && i < 156 ? ' ' : h[i];
	assert_int_equal(strtoul((char *)h + 148, NULL, 8), sum);
	assert_int_equal(tar_header("big", (uint64_t)1 << 40, 0, 0644, h), 0);
	assert_int_equal(h[124], 0x80);
	assert_int_equal(h[124 + 6], 1); /* 2^40 in base 256 over the last 11 bytes */
	memset(name, 'n', sizeof name);
	name[sizeof name - 1] = '\0';
	assert_int_equal(tar_header(name, 0, 0, 0644, h), -ENAMETOOLONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_utf8_whole_follows_unicode),
		cmocka_unit_test(test_base64_goes_both_ways),
		cmocka_unit_test(test_base64_decode_is_strict),
		cmocka_unit_test(test_stream_cut_never_cuts_a_character),
		cmocka_unit_test(test_stream_cut_loses_nothing),
		cmocka_unit_test(test_jx_fields_is_strict),
		cmocka_unit_test(test_jx_numbers_hold_their_ranges),
		cmocka_unit_test(test_jx_set_bytes_keeps_what_is_no_text),
		cmocka_unit_test(test_tar_header_is_ustar),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
