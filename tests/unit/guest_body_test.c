/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/guest_body_test.c - the body of SPAWN: what is right is understood, everything else is refused.
 * Not here: running it (tests/exec/guest_init_test.c).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/buf.h"
#include "guest/body.h"
#include "guest/layout.h"

#define REPORT "/run/garth/report/1"

static void add(struct buf *b, const char *s, size_t len)
{
	uint32_t n = (uint32_t)len;

	assert_int_equal(buf_add(b, &n, sizeof n), 0);
	assert_int_equal(buf_add(b, s, len), 0);
}

static void add_str(struct buf *b, const char *s)
{
	add(b, s, strlen(s));
}

/* cwd, two arguments, one variable, code, one file */
static void sample(struct buf *b, struct msg_spawn *m)
{
	buf_init(b, 4096);
	add_str(b, "/workspace/task");
	add_str(b, "echo");
	add_str(b, "");
	add_str(b, "HOME=/x");
	add_str(b, "code");
	add_str(b, "d/f");
	add(b, "a\0b", 3);
	*m = (struct msg_spawn){ .argc = 2, .envc = 1, .files = 1 };
}

static void test_body_sample_is_understood(void **state)
{
	static const char *const want[][8] = {
		{ "echo", "", NULL },
		{ GUEST_PYTHON, GUEST_RUNNER, REPORT, GUEST_CODE_PY, "echo", "", NULL },
		{ GUEST_BASH, GUEST_CODE_SH, "echo", "", NULL },
	};

	(void)state;
	for (uint32_t language = 0; language < 3; language++) {
		struct msg_spawn m;
		struct body body;
		struct err err = { 0 };
		autobuf b;

		sample(&b, &m);
		m.language = language;
		assert_int_equal(body_parse(&m, buf_view(&b), REPORT, &body, &err), 0);
		assert_string_equal(body.cwd, "/workspace/task");
		for (size_t i = 0; want[language][i]; i++)
			assert_string_equal(body.argv[i], want[language][i]);
		assert_string_equal(body_env(body.env, "HOME"), "/x");
		assert_string_equal(body_env(body.env, "PATH"), GUEST_PATH);
		assert_string_equal(body_env(body.env, "LANG"), "C.UTF-8");
		assert_null(body_env(body.env, "HOM"));
		assert_null(body.env[3]);
		assert_int_equal(body.code.len, 4);
		assert_int_equal(body.nfiles, 1);
		assert_memory_equal(body.files[0].content.p, "a\0b", 3);
		body_fini(&body);
		body_fini(&body);
	}
}

static void test_body_cut_anywhere_is_refused(void **state)
{
	struct msg_spawn m;
	struct body body;
	autobuf b;

	(void)state;
	sample(&b, &m);
	for (size_t len = 0; len < b.len; len++) {
		/* a copy of just that length, so that a sanitizer sees the first byte past it */
		char *cut = malloc(len ? len : 1);

		assert_non_null(cut);
		memcpy(cut, b.p, len);
		if (body_parse(&m, bytes_of(cut, len), REPORT, &body, NULL) != -EBADMSG)
			fail_msg("%zu bytes are understood", len);
		free(cut);
	}
	add_str(&b, "one more");
	assert_int_equal(body_parse(&m, buf_view(&b), REPORT, &body, NULL), -EBADMSG);
}

static void test_body_changed_bytes_never_crash(void **state)
{
	struct msg_spawn m;
	autobuf b;

	(void)state;
	sample(&b, &m);
	for (size_t at = 0; at < b.len; at++)
		for (unsigned v = 0; v < 256; v += 17) {
			char saved = b.p[at];
			struct body body = { 0 };

			b.p[at] = (char)v;
			if (body_parse(&m, buf_view(&b), REPORT, &body, NULL) == 0)
				body_fini(&body);
			b.p[at] = saved;
		}
}

static void test_body_wrong_counts_are_refused(void **state)
{
	static const struct {
		uint32_t language, argc, envc, files;
		int want;
	} rows[] = {
		{ 0, 0, 1, 1, -EINVAL },
		{ 3, 2, 1, 1, -EINVAL },
		{ 0, 3, 1, 1, -EINVAL }, /* "HOME=/x" becomes an argument, and "code" is no variable */
		{ 0, 2, 1, 2, -EBADMSG },
		{ 0, 2, 1, 0, -EBADMSG },
		{ 0, UINT32_MAX, 1, 1, -E2BIG },
		{ 0, 2, UINT32_MAX, 1, -E2BIG },
		{ 0, 2, 1, UINT32_MAX, -E2BIG },
		{ 0, GUEST_ARGS_MAX, GUEST_ARGS_MAX, GUEST_FILES_MAX, -EBADMSG },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct msg_spawn m;
		struct body body;
		autobuf b;
		int r;

		sample(&b, &m);
		m.language = rows[i].language;
		m.argc = rows[i].argc;
		m.envc = rows[i].envc;
		m.files = rows[i].files;
		r = body_parse(&m, buf_view(&b), REPORT, &body, NULL);
		if (r != rows[i].want)
			fail_msg("row %zu: %d, not %d", i, r, rows[i].want);
	}
}

static void test_body_bad_strings_are_refused(void **state)
{
	static const struct {
		const char *cwd, *arg, *env, *file;
		size_t arg_len;
		int want;
	} rows[] = {
		{ "/", "a", "A=1", "f", 1, 0 },
		{ "/", "a", "A=", "f", 1, 0 },
		{ "", "a", "A=1", "f", 1, -EINVAL },
		{ "x", "a", "A=1", "f", 1, -EINVAL },
		{ "/", "a\0b", "A=1", "f", 3, -EINVAL },
		{ "/", "a", "A", "f", 1, -EINVAL },
		{ "/", "a", "=1", "f", 1, -EINVAL },
		{ "/", "a", "", "f", 1, -EINVAL },
		{ "/", "a", "A=1", "", 1, -EINVAL },
		{ "/", "a", "A=1", "/f", 1, -EINVAL },
		{ "/", "a", "A=1", "a/../f", 1, -EINVAL },
		{ "/", "a", "A=1", "f/", 1, -EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct msg_spawn m = { .argc = 1, .envc = 1, .files = 1 };
		struct body body;
		autobuf b;
		int r;

		buf_init(&b, 4096);
		add_str(&b, rows[i].cwd);
		add(&b, rows[i].arg, rows[i].arg_len);
		add_str(&b, rows[i].env);
		add_str(&b, "");
		add_str(&b, rows[i].file);
		add_str(&b, "content");
		r = body_parse(&m, buf_view(&b), REPORT, &body, NULL);
		if (r != rows[i].want)
			fail_msg("row %zu: %d, not %d", i, r, rows[i].want);
		if (r == 0)
			body_fini(&body);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_body_sample_is_understood),
		cmocka_unit_test(test_body_cut_anywhere_is_refused),
		cmocka_unit_test(test_body_changed_bytes_never_crash),
		cmocka_unit_test(test_body_wrong_counts_are_refused),
		cmocka_unit_test(test_body_bad_strings_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
