/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/core_text_test.c - what people write and read: core/size.h, core/clock.h, core/id.h, core/hash.h, core/ids.h,
 * core/media.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/mman.h>

#include "core/clock.h"
#include "core/fd.h"
#include "core/hash.h"
#include "core/id.h"
#include "core/ids.h"
#include "core/media.h"
#include "core/size.h"

static void test_size_parse_table(void **state)
{
	static const struct {
		const char *in;
		int want;
		uint64_t n;
	} rows[] = {
		{ "4096", 0, 4096 },
		{ "0", 0, 0 },
		{ "1G", 0, 1ull << 30 },
		{ "1g", 0, 1ull << 30 },
		{ "512MiB", 0, 512ull << 20 },
		{ "1.5GiB", 0, 3ull << 29 },
		{ "1.5K", 0, 1536 },
		{ "2KB", 0, 2000 },
		{ "3TB", 0, 3000000000000ull },
		{ "7B", 0, 7 },
		{ "0.5B", -EINVAL, 0 },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "16777216T", -ERANGE, 0 },
		{ "", -EINVAL, 0 },
		{ "G", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ " 1", -EINVAL, 0 },
		{ "1 G", -EINVAL, 0 },
		{ "1.G", -EINVAL, 0 },
		{ "1.1234567G", -EINVAL, 0 },
		{ "1Q", -EINVAL, 0 },
		{ "1GiBx", -EINVAL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		uint64_t n = 0;
		int r = size_parse(rows[i].in, &n);

		if (r != rows[i].want || n != rows[i].n)
			fail_msg("row %zu: size_parse('%s') = %d, %llu", i, rows[i].in, r,
				 (unsigned long long)n);
	}
}

static void test_size_text_table(void **state)
{
	static const struct {
		uint64_t n;
		const char *want;
	} rows[] = {
		{ 0, "0 B" },
		{ 512, "512 B" },
		{ 1023, "1023 B" },
		{ 1024, "1.0 KiB" },
		{ 1536, "1.5 KiB" },
		{ 1ull << 30, "1.0 GiB" },
		{ (1ull << 30) - 1, "1023.9 MiB" },
		{ UINT64_MAX, "15.9 EiB" },
	};
	char out[SIZE_TEXT_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		size_text(rows[i].n, out);
		if (strcmp(out, rows[i].want) != 0)
			fail_msg("row %zu: '%s', not '%s'", i, out, rows[i].want);
	}
}

static void test_clock_parse_duration_table(void **state)
{
	static const struct {
		const char *in;
		int want;
		int64_t ns;
	} rows[] = {
		{ "30s", 0, 30 * NS_PER_S },
		{ "5m", 0, 300 * NS_PER_S },
		{ "24h", 0, 86400 * NS_PER_S },
		{ "7d", 0, 7 * 86400 * NS_PER_S },
		{ "1h30m", 0, 5400 * NS_PER_S },
		{ "500ms", 0, 500 * NS_PER_MS },
		{ "1s500ms", 0, 1500 * NS_PER_MS },
		{ "30", 0, 30 * NS_PER_S },
		{ "0", 0, 0 },
		{ "0.5s", 0, NS_PER_S / 2 },
		{ "1.5", 0, 1500 * NS_PER_MS },
		{ "1.5ms", 0, 1500000 },
		{ "3650d", 0, 3650LL * 86400 * NS_PER_S },
		{ "3660d", -ERANGE, 0 },
		{ "9999999999d", -ERANGE, 0 },
		{ "99999999999999999999s", -ERANGE, 0 },
		{ "", -EINVAL, 0 },
		{ "s", -EINVAL, 0 },
		{ "-1s", -EINVAL, 0 },
		{ "1x", -EINVAL, 0 },
		{ "30m1h", -EINVAL, 0 },
		{ "1s1s", -EINVAL, 0 },
		{ "1h30", -EINVAL, 0 },
		{ "1. s", -EINVAL, 0 },
		{ "5 m", -EINVAL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		int64_t ns = 0;
		int r = clock_parse_duration(rows[i].in, &ns);

		if (r != rows[i].want || ns != rows[i].ns)
			fail_msg("row %zu: '%s' = %d, %lld", i, rows[i].in, r, (long long)ns);
	}
}

static void test_clock_rfc3339_table(void **state)
{
	static const struct {
		int64_t ns;
		const char *want;
	} rows[] = {
		{ 0, "1970-01-01T00:00:00.000000Z" },
		{ 1795939200123456789LL, "2026-11-29T08:00:00.123456Z" },
		{ -1, "1969-12-31T23:59:59.999999Z" },
	};
	char out[RFC3339_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		clock_rfc3339(rows[i].ns, out);
		if (strcmp(out, rows[i].want) != 0)
			fail_msg("row %zu: '%s', not '%s'", i, out, rows[i].want);
	}
}

static void test_id_text_and_parse_are_each_others_reverse(void **state)
{
	static const uint64_t ids[] = { 1, 31, 32, 0x0123456789abcdefull, (1ull << 62) - 1 };
	char text[ID_TEXT_SIZE];
	uint64_t id, made;

	(void)state;
	for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
		id_text(ID_SANDBOX, ids[i], text);
		if (id_parse(ID_SANDBOX, text, &id) != 0 || id != ids[i])
			fail_msg("row %zu: '%s'", i, text);
	}
	made = id_make();
	assert_true(made != 0 && made >> 62 == 0);
	id_text(ID_STEP, made, text);
	assert_int_equal(strlen(text), 15);
	assert_int_equal(id_parse(ID_STEP, text, &id), 0);
	assert_true(id == made);
}

static void test_id_parse_refuses_what_id_text_never_writes(void **state)
{
	static const char *const bad[] = {
		"",
		"s_",
		"s_0",
		"s_0000000000000",
		"s_00000000000001",
		"sb_0000000000001",
		"s_000000000000u",
		"s_000000000000A",
		"s_8000000000000",
		"s_4000000000000",
		"x_0000000000001",
		"s_000000000000 ",
		"s_\377000000000001",
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		uint64_t id = 77;

		if (id_parse(ID_STEP, bad[i], &id) != -EINVAL || id != 77)
			fail_msg("row %zu: '%s' is taken", i, bad[i]);
	}
}

static void test_sha256_vectors_and_parse(void **state)
{
	/* FIPS 180-4 examples */
	static const struct {
		const char *in, *want;
	} rows[] = {
		{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
	};
	struct sha256_ctx *c = sha256_new();
	struct sha256 h, back;
	char hex[SHA256_HEX_SIZE];

	(void)state;
	assert_non_null(c);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		autofd fd = -1;
		uint64_t len = 77;

		sha256_of(bytes_str(rows[i].in), &h);
		sha256_hex(&h, hex);
		if (strcmp(hex, rows[i].want) != 0)
			fail_msg("row %zu: sha256_of gives %s", i, hex);
		sha256_begin(c);
		for (const char *p = rows[i].in; *p; p++)
			sha256_add(c, bytes_of(p, 1));
		sha256_end(c, &back);
		assert_memory_equal(&h, &back, sizeof h);
		assert_int_equal(fd_memfd("t", bytes_str(rows[i].in), &fd), 0);
		assert_int_equal(sha256_fd(fd, &back, &len), 0);
		assert_memory_equal(&h, &back, sizeof h);
		assert_int_equal(len, strlen(rows[i].in));
		assert_int_equal(sha256_parse(rows[i].want, &back), 0);
		assert_memory_equal(&h, &back, sizeof h);
	}
	sha256_free(c);
	sha256_free(NULL);
	assert_int_equal(sha256_parse("", &back), -EINVAL);
	assert_int_equal(sha256_parse("e3b0", &back), -EINVAL);
	hex[10] = 'g';
	assert_int_equal(sha256_parse(hex, &back), -EINVAL);
	assert_int_equal(
		sha256_parse("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b8555",
			     &back),
		-EINVAL);
	assert_int_equal(sha256_fd(-1, &back, NULL), -EBADF);
}

static void test_hex_digit_knows_both_cases_and_nothing_else(void **state)
{
	static const char all[] = "0123456789abcdef";

	(void)state;
	for (int c = 0; c < 256; c++) {
		const char *at = c == 0 ? NULL : strchr(all, c >= 'A' && c <= 'F' ? c + 32 : c);
		int want = at != NULL ? (int)(at - all) : -1;

		if (hex_digit((char)c) != want)
			fail_msg("byte %d is %d, not %d", c, hex_digit((char)c), want);
	}
}

static void test_media_type_is_by_the_end_of_the_name(void **state)
{
	static const struct {
		const char *path, *want;
	} rows[] = {
		{ "output/a.csv", "text/csv" },
		{ "output/A.CSV", "text/csv" },
		{ "output/x.tar.gz", "application/gzip" },
		{ "page.html", "text/html" },
		{ "q.sql", "application/sql" },
		{ "rows.jsonl", "application/jsonl" },
		{ "output/noend", "application/octet-stream" },
		{ "output/d.csv/x", "application/octet-stream" },
		{ "output/.csv", "text/csv" },
		{ "output/x.", "application/octet-stream" },
		{ "output/x.unknownsuffix", "application/octet-stream" },
		{ "", "application/octet-stream" },
		{ "csv", "application/octet-stream" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (strcmp(media_type(bytes_str(rows[i].path)), rows[i].want) != 0)
			fail_msg("row %zu: '%s' is %s", i, rows[i].path,
				 media_type(bytes_str(rows[i].path)));
}

static void test_ids_blocks_and_step_slots(void **state)
{
	static const struct {
		uint32_t uid;
		bool want;
		uint32_t block;
	} rows[] = {
		{ 99999, false, 0 },
		{ 100000, true, 0 },
		{ 104095, true, 0 },
		{ 104096, true, 1 },
		{ 100000 + 33 * 4096 - 1, true, 32 },
		{ 100000 + 33 * 4096, false, 0 },
		{ 0, false, 0 },
		{ UINT32_MAX, false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		uint32_t block = 0;

		if (ids_agent_of(100000, rows[i].uid, &block) != rows[i].want ||
		    block != rows[i].block)
			fail_msg("row %zu: uid %u", i, rows[i].uid);
	}
	assert_int_equal(ids_step_slot(8192, 8192 + 4030), -1);
	assert_int_equal(ids_step_slot(8192, 8192 + 4031), 0);
	assert_int_equal(ids_step_slot(8192, 8192 + 4031 + 63), 63);
	assert_int_equal(ids_step_slot(8192, 8192 + 4095), -1);
	assert_int_equal(ids_step_slot(8192, 0), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_size_parse_table),
		cmocka_unit_test(test_size_text_table),
		cmocka_unit_test(test_clock_parse_duration_table),
		cmocka_unit_test(test_clock_rfc3339_table),
		cmocka_unit_test(test_id_text_and_parse_are_each_others_reverse),
		cmocka_unit_test(test_id_parse_refuses_what_id_text_never_writes),
		cmocka_unit_test(test_sha256_vectors_and_parse),
		cmocka_unit_test(test_hex_digit_knows_both_cases_and_nothing_else),
		cmocka_unit_test(test_media_type_is_by_the_end_of_the_name),
		cmocka_unit_test(test_ids_blocks_and_step_slots),
	};

	return cmocka_run_group_tests_name("core_text", tests, NULL, NULL);
}
