/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/api_http_test.c - the pure parsers of HTTP: addresses, routes, ranges, entity tags, dates, digests, names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "api/digest.h"
#include "api/problem.h"
#include "api/range.h"
#include "api/route.h"
#include "api/uri.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void test_uri_parse_decodes_once_and_refuses(void **state)
{
	static const struct {
		const char *raw;
		int want;
		const char *path;
		bool slash;
	} rows[] = {
		{ "/", 0, "/", false },
		{ "/a", 0, "/a", false },
		{ "/a/", 0, "/a", true },
		{ "/a/b%20c", 0, "/a/b c", false },
		{ "/a%25b", 0, "/a%b", false },
		{ "/%2541", 0, "/%41", false },
		{ "/%C3%BC", 0, "/\xc3\xbc", false },
		{ "/a+b", 0, "/a+b", false },
		{ "/...", 0, "/...", false },
		{ "/a?x=1", 0, "/a", false },
		{ "", -EINVAL, NULL, false },
		{ "a", -EINVAL, NULL, false },
		{ "*", -EINVAL, NULL, false },
		{ "//", -EINVAL, NULL, false },
		{ "/a//b", -EINVAL, NULL, false },
		{ "/.", -EINVAL, NULL, false },
		{ "/..", -EINVAL, NULL, false },
		{ "/a/../b", -EINVAL, NULL, false },
		{ "/%2e%2E", -EINVAL, NULL, false },
		{ "/a%2fb", -EINVAL, NULL, false },
		{ "/a%00", -EINVAL, NULL, false },
		{ "/%", -EINVAL, NULL, false },
		{ "/%4", -EINVAL, NULL, false },
		{ "/%4g", -EINVAL, NULL, false },
		{ "/%ff", -EINVAL, NULL, false },
		{ "/%ed%a0%80", -EINVAL, NULL, false },
		{ "/a?x=%", -EINVAL, NULL, false },
		{ "/a?x=1&x=2", -EINVAL, NULL, false },
		{ "/a?x=%00", -EINVAL, NULL, false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct uri u = { 0 };
		struct err err;
		int rc = uri_parse(rows[i].raw, &u, &err);

		if (rc != rows[i].want)
			fail_msg("row %zu: '%s' gives %d, not %d", i, rows[i].raw, rc,
				 rows[i].want);
		if (rc == 0 && (strcmp(u.path, rows[i].path) != 0 || u.slash != rows[i].slash))
			fail_msg("row %zu: '%s' is '%s'", i, rows[i].raw, u.path);
		uri_fini(&u);
	}
}

static void test_uri_parse_reads_a_query(void **state)
{
	struct uri u;
	char *many = calloc(1, URI_MAX + 8);
	struct err err;

	(void)state;
	assert_int_equal(uri_parse("/x?a=1&b=x%20y+z&c&&d==&%65=f", &u, &err), 0);
	assert_string_equal(uri_arg(&u, "a"), "1");
	assert_string_equal(uri_arg(&u, "b"), "x y z");
	assert_string_equal(uri_arg(&u, "c"), "");
	assert_string_equal(uri_arg(&u, "d"), "=");
	assert_string_equal(uri_arg(&u, "e"), "f");
	assert_null(uri_arg(&u, "f"));
	uri_fini(&u);
	assert_int_equal(uri_parse("/x?a&b&c&d&e&f&g&h&i&j&k&l&m&n&o&p&q", &u, &err), -EINVAL);
	assert_non_null(many);
	memset(many, 'a', URI_MAX + 1);
	many[0] = '/';
	assert_int_equal(uri_parse(many, &u, &err), -ENAMETOOLONG);
	free(many);
}

static void test_uri_encode_path_is_the_way_back(void **state)
{
	char out[64];

	(void)state;
	uri_encode_path(bytes_str("output/a b+c%\xc3\xbc.csv"), out);
	assert_string_equal(out, "output/a%20b%2Bc%25%C3%BC.csv");
}

static void test_route_match_fits_patterns(void **state)
{
	static const struct {
		const char *pattern, *path;
		bool want;
		const char *first, *rest;
	} rows[] = {
		{ "/healthz", "/healthz", true, NULL, NULL },
		{ "/healthz", "/healthz/x", false, NULL, NULL },
		{ "/healthz", "/health", false, NULL, NULL },
		{ "/v1/w/{w}", "/v1/w/x", true, "x", NULL },
		{ "/v1/w/{w}", "/v1/w/", false, NULL, NULL },
		{ "/v1/w/{w}", "/v1/w/x/y", false, NULL, NULL },
		{ "/v1/w/{w}/files/{*}", "/v1/w/x/files/a/b", true, "x", "a/b" },
		{ "/v1/w/{w}/files/{*}", "/v1/w/x/files/", false, NULL, NULL },
		{ "/v1/w/{w}/files/{*}", "/v1/w/x/files", false, NULL, NULL },
		{ "/v1/w/{w}/s/{id}/out", "/v1/w/x/s/y/out", true, "x", NULL },
		{ "/v1/w/{w}/s/{id}/out", "/v1/w/x/s/y/outs", false, NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		const char *param[REQ_PARAMS_MAX] = { NULL }, *rest;
		char block[64];
		bool got = route_match(rows[i].pattern, rows[i].path, block, param, &rest);

		if (got != rows[i].want)
			fail_msg("row %zu: '%s' on '%s'", i, rows[i].pattern, rows[i].path);
		if (got && rows[i].first != NULL && strcmp(param[0], rows[i].first) != 0)
			fail_msg("row %zu: first is '%s'", i, param[0]);
		if (got && rows[i].rest != NULL && strcmp(rest, rows[i].rest) != 0)
			fail_msg("row %zu: rest is '%s'", i, rest);
	}
}

static void test_routes_are_whole(void **state)
{
	(void)state;
	for (unsigned i = 0; route_at(i) != NULL; i++) {
		const struct route *r = route_at(i);

		if (r->run == NULL || r->pattern[0] != '/' || r->query == NULL)
			fail_msg("route %u is not whole", i);
		if (strstr(r->pattern, "{w}") == NULL && r->access != ACCESS_OPEN &&
		    r->access != ACCESS_ADMIN && r->access != ACCESS_KEY)
			fail_msg("route %u '%s' asks for a workspace's role without a workspace", i,
				 r->pattern);
		for (unsigned k = 0; k < i; k++)
			if (strcmp(route_at(k)->pattern, r->pattern) == 0 &&
			    strcmp(route_at(k)->method, r->method) == 0)
				fail_msg("routes %u and %u are one", k, i);
	}
}

static void test_range_parse_takes_one_range(void **state)
{
	static const struct {
		const char *header;
		uint64_t size;
		int want;
		uint64_t from, len;
	} rows[] = {
		{ NULL, 10, 1, 0, 0 },
		{ "bytes=0-", 10, 0, 0, 10 },
		{ "bytes=0-0", 10, 0, 0, 1 },
		{ "bytes=9-9", 10, 0, 9, 1 },
		{ "bytes=5-100", 10, 0, 5, 5 },
		{ "bytes=-3", 10, 0, 7, 3 },
		{ "bytes=-30", 10, 0, 0, 10 },
		{ "BYTES=1-2", 10, 0, 1, 2 },
		{ "bytes=10-", 10, -ERANGE, 0, 0 },
		{ "bytes=0-", 0, -ERANGE, 0, 0 },
		{ "bytes=-0", 10, -ERANGE, 0, 0 },
		{ "bytes=-1", 0, -ERANGE, 0, 0 },
		{ "bytes=3-2", 10, 1, 0, 0 },
		{ "bytes=-", 10, 1, 0, 0 },
		{ "bytes=", 10, 1, 0, 0 },
		{ "bytes=a-b", 10, 1, 0, 0 },
		{ "bytes=0-1,2-3", 10, 1, 0, 0 },
		{ "bytes=0-1 ", 10, 1, 0, 0 },
		{ "items=0-1", 10, 1, 0, 0 },
		{ "bytes=18446744073709551616-", 10, 1, 0, 0 },
		{ "bytes=0-18446744073709551615", 10, 1, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		uint64_t from = 0, len = 0;
		int rc = range_parse(rows[i].header, rows[i].size, &from, &len);

		if (rc != rows[i].want || (rc == 0 && (from != rows[i].from || len != rows[i].len)))
			fail_msg("row %zu: '%s' gives %d %llu %llu", i, rows[i].header, rc,
				 (unsigned long long)from, (unsigned long long)len);
	}
}

static void test_etag_listed_finds_tags(void **state)
{
	static const struct {
		const char *header;
		bool weak, want;
	} rows[] = {
		{ NULL, true, false },
		{ "\"a\"", false, true },
		{ "\"b\", \"a\"", false, true },
		{ "W/\"a\"", true, true },
		{ "W/\"a\"", false, false },
		{ "W/\"b\",\"a\"", false, true },
		{ "*", false, true },
		{ "\"ab\"", false, false },
		{ "\"a", false, false },
		{ "a", false, false },
		{ "", false, false },
		{ " , ,", false, false },
		{ "\"b\"", true, false },
		{ "\"a\" ", false, true },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		if (etag_listed(rows[i].header, "\"a\"", rows[i].weak) != rows[i].want)
			fail_msg("row %zu: '%s'", i, rows[i].header);
}

#define SHA_A "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"

static void test_etag_parse_reads_hashes(void **state)
{
	static const struct {
		const char *header;
		unsigned at;
		int want;
		bool any;
	} rows[] = {
		{ "\"sha256:" SHA_A "\"", 0, 1, false },
		{ "sha256:" SHA_A, 0, 1, false },
		{ SHA_A, 0, 1, false },
		{ "\"sha256:" SHA_A "\", \"sha256:" SHA_A "\"", 1, 1, false },
		{ "\"sha256:" SHA_A "\"", 1, 0, false },
		{ "*", 0, 1, true },
		{ "", 0, 0, false },
		{ "\"x\"", 0, -EINVAL, false },
		{ "sha256:ca97", 0, -EINVAL, false },
		{ SHA_A "0", 0, -EINVAL, false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct sha256 sha, want;
		bool any;
		int rc = etag_parse(rows[i].header, rows[i].at, &sha, &any);

		if (rc != rows[i].want || any != rows[i].any)
			fail_msg("row %zu: '%s' gives %d", i, rows[i].header, rc);
		sha256_of(BYTES_LIT("a"), &want);
		if (rc == 1 && !any && memcmp(sha.b, want.b, sizeof sha.b) != 0)
			fail_msg("row %zu: another hash", i);
	}
}

static void test_digest_parse_reads_structured_fields(void **state)
{
	static const struct {
		const char *header;
		int want;
	} rows[] = {
		{ NULL, 0 },
		{ "", 0 },
		{ "sha-256=:ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs=:", 1 },
		{ "SHA-256=:ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs=:", 1 },
		{ "sha-512=:AAAA:, sha-256=:ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs=:", 1 },
		{ "md5=:AAAA:", 0 },
		{ "sha-256=:AAAA:", -EINVAL },
		{ "sha-256=:ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs=", -EINVAL },
		{ "sha-256=:%%%%:", -EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct sha256 sha, want;
		int rc = digest_parse(rows[i].header, &sha);

		if (rc != rows[i].want)
			fail_msg("row %zu: '%s' gives %d", i, rows[i].header, rc);
		sha256_of(BYTES_LIT("a"), &want);
		if (rc == 1 && memcmp(sha.b, want.b, sizeof sha.b) != 0)
			fail_msg("row %zu: another hash", i);
	}
}

static void test_dates_go_both_ways(void **state)
{
	char text[HTTP_DATE_SIZE];
	int64_t s = 0;

	(void)state;
	http_date(784111777LL * 1000000000, text);
	assert_string_equal(text, "Sun, 06 Nov 1994 08:49:37 GMT");
	assert_int_equal(http_date_parse(text, &s), 0);
	assert_int_equal(s, 784111777);
	assert_int_equal(http_date_parse("Sunday, 06-Nov-94 08:49:37 GMT", &s), -EINVAL);
	assert_int_equal(http_date_parse("Sun, 06 Nov 1994 08:49:37 CET", &s), -EINVAL);
	assert_int_equal(http_date_parse("Sun, 06 Xxx 1994 08:49:37 GMT", &s), -EINVAL);
	assert_int_equal(http_date_parse("", &s), -EINVAL);
}

static void test_time_parse_reads_rfc3339_and_seconds(void **state)
{
	static const struct {
		const char *text;
		int want;
		int64_t ns;
	} rows[] = {
		{ "1970-01-01T00:00:10Z", 0, 10000000000 },
		{ "1970-01-01T00:00:10.5Z", 0, 10500000000 },
		{ "1970-01-01T02:00:10+02:00", 0, 10000000000 },
		{ "1969-12-31T23:00:10-01:00", 0, 10000000000 },
		{ "10", 0, 10000000000 },
		{ "10.25", 0, 10250000000 },
		{ "", -EINVAL, 0 },
		{ "yesterday", -EINVAL, 0 },
		{ "1970-01-01T00:00:10", -EINVAL, 0 },
		{ "1970-01-01", -EINVAL, 0 },
		{ "1970-01-01T00:00:10+2", -EINVAL, 0 },
		{ "-5", -EINVAL, 0 },
		{ "1e300", -EINVAL, 0 },
		{ "nan", -EINVAL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		int64_t ns = 0;
		int rc = time_parse(rows[i].text, &ns);

		if (rc != rows[i].want || (rc == 0 && ns != rows[i].ns))
			fail_msg("row %zu: '%s' gives %d %lld", i, rows[i].text, rc, (long long)ns);
	}
}

static void test_content_disposition_is_safe_for_any_name(void **state)
{
	static const struct {
		const char *name, *want;
	} rows[] = {
		{ "a.csv", "attachment; filename=\"a.csv\"; filename*=UTF-8''a.csv" },
		{ "a b\"c\\d%.txt",
		  "attachment; filename=\"a b_c_d_.txt\"; filename*=UTF-8''a%20b%22c%5Cd%25.txt" },
		{ "\xc3\xbc", "attachment; filename=\"__\"; filename*=UTF-8''%C3%BC" },
		{ "a\r\nb", "attachment; filename=\"a__b\"; filename*=UTF-8''a%0D%0Ab" },
		{ "\xff", "attachment; filename=\"_\"" },
		{ "", "attachment; filename=\"\"; filename*=UTF-8''" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char out[256];

		content_disposition(bytes_str(rows[i].name), out);
		if (strcmp(out, rows[i].want) != 0)
			fail_msg("row %zu: %s", i, out);
	}
}

static void test_problem_of_maps_errnos(void **state)
{
	static const struct {
		int err;
		unsigned status;
		const char *code;
	} rows[] = {
		{ -EINVAL, 400, "invalid" },
		{ -ENAMETOOLONG, 400, "name_too_long" },
		{ -EACCES, 403, "refused" },
		{ -EROFS, 403, "refused" },
		{ -EPERM, 403, "forbidden" },
		{ -ENOENT, 404, "not_found" },
		{ -EEXIST, 409, "exists" },
		{ -EBUSY, 409, "busy" },
		{ -ESTALE, 412, "precondition_failed" },
		{ -EFBIG, 413, "too_large" },
		{ -EAGAIN, 429, "queue_full" },
		{ -EIO, 500, "internal" },
		{ -EBADMSG, 502, "bad_peer" },
		{ -EPIPE, 503, "unavailable" },
		{ -ETIMEDOUT, 504, "timeout" },
		{ -ENOSPC, 507, "no_space" },
		{ -EDQUOT, 507, "quota" },
		{ -EXDEV, 500, "internal" },
	};
	json_t *j;
	struct problem p;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		p = problem_of(rows[i].err);
		if (p.status != rows[i].status || strcmp(p.code, rows[i].code) != 0)
			fail_msg("row %zu: %u %s", i, p.status, p.code);
	}
	p = problem_of(-EAGAIN);
	j = problem_json(&p, "full", "r_1");
	assert_int_equal(json_integer_value(json_object_get(j, "retry_after_s")), p.retry_after_s);
	assert_string_equal(json_string_value(json_object_get(j, "request_id")), "r_1");
	json_decref(j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_uri_parse_decodes_once_and_refuses),
		cmocka_unit_test(test_uri_parse_reads_a_query),
		cmocka_unit_test(test_uri_encode_path_is_the_way_back),
		cmocka_unit_test(test_route_match_fits_patterns),
		cmocka_unit_test(test_routes_are_whole),
		cmocka_unit_test(test_range_parse_takes_one_range),
		cmocka_unit_test(test_etag_listed_finds_tags),
		cmocka_unit_test(test_etag_parse_reads_hashes),
		cmocka_unit_test(test_digest_parse_reads_structured_fields),
		cmocka_unit_test(test_dates_go_both_ways),
		cmocka_unit_test(test_time_parse_reads_rfc3339_and_seconds),
		cmocka_unit_test(test_content_disposition_is_safe_for_any_name),
		cmocka_unit_test(test_problem_of_maps_errnos),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
