/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/api_step_test.c - the pure parts of a step: reading its JSON, its limits, its bytes for others; its end and its hints.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "api/hint.h"
#include "api/reason.h"
#include "api/spec.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define EXIT(n) ((n) << 8)

static struct policy *policy(const char *yaml)
{
	struct policy *p = NULL;
	struct err err = { 0 };

	if (policy_parse(bytes_str(yaml), &p, &err) < 0)
		fail_msg("%s", err.msg);
	return p;
}

static void test_spec_parse_takes_and_refuses(void **state)
{
	static const struct {
		const char *text;
		int want;
		const char *word;
	} rows[] = {
		{ "{\"argv\":[\"ls\"]}", 0, NULL },
		{ "{\"code\":\"\"}", 0, NULL },
		{ "{\"code\":\"x\",\"language\":\"bash\"}", 0, NULL },
		{ "{\"code\":\"x\",\"stdin_base64\":\"AAE=\"}", 0, NULL },
		{ "{\"argv\":[\"x\"],\"files\":[{\"name\":\"a/"
		  "b\",\"content\":\"x\"},{\"name\":\"c\",\"content_base64\":\"AA==\"},{\"name\":"
		  "\"d\"}]}",
		  0, NULL },
		{ "{}", -EINVAL, "argv" },
		{ "{\"argv\":[\"x\"],\"code\":\"y\"}", -EINVAL, "either" },
		{ "{\"argv\":[\"x\"],\"language\":\"python\"}", -EINVAL, "language" },
		{ "{\"code\":\"x\",\"language\":\"ruby\"}", -EINVAL, "language" },
		{ "{\"argv\":[]}", -EINVAL, "argv" },
		{ "{\"argv\":[\"\"]}", -EINVAL, "argv[0]" },
		{ "{\"argv\":[\"x\",2]}", -EINVAL, "argv[1]" },
		{ "{\"argv\":[\"x\\u0000\"]}", -EINVAL, "argv[0]" },
		{ "{\"argv\":[\"x\"],\"stdin\":\"a\",\"stdin_base64\":\"AA==\"}", -EINVAL,
		  "stdin" },
		{ "{\"argv\":[\"x\"],\"stdin_base64\":\"A\"}", -EINVAL, "stdin" },
		{ "{\"argv\":[\"x\"],\"env\":{\"1A\":\"x\"}}", -EINVAL, "1A" },
		{ "{\"argv\":[\"x\"],\"env\":{\"GARTH_X\":\"x\"}}", -EINVAL, "GARTH_" },
		{ "{\"argv\":[\"x\"],\"env\":{\"A\":null}}", -EINVAL, "env.A" },
		{ "{\"argv\":[\"x\"],\"files\":[{\"content\":\"x\"}]}", -EINVAL, "name" },
		{ "{\"argv\":[\"x\"],\"files\":[{\"name\":\"/x\"}]}", -EINVAL, "files[0]" },
		{ "{\"argv\":[\"x\"],\"files\":[{\"name\":\"a/../b\"}]}", -EINVAL, "files[0]" },
		{ "{\"argv\":[\"x\"],\"files\":[{\"name\":\"\"}]}", -EINVAL, "files[0]" },
		{ "{\"argv\":[\"x\"],\"files\":[3]}", -EINVAL, "files[0]" },
		{ "{\"argv\":[\"x\"],\"what\":1}", -EINVAL, "what" },
		{ "{\"argv\":[\"x\"],\"job\":\"a\\u0001\"}", -EINVAL, "job" },
		{ "{\"argv\":[\"x\"],\"cwd\":\"\"}", -EINVAL, "cwd" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct spec *s = calloc(1, sizeof *s);
		struct err err = { 0 };
		int rc = spec_parse(json_loads(rows[i].text, JSON_ALLOW_NUL, NULL), s, &err);

		if (rc != rows[i].want ||
		    (rows[i].word != NULL && strstr(err.msg, rows[i].word) == NULL))
			fail_msg("row %zu: %d '%s'", i, rc, err.msg);
		if (rc == 0)
			spec_fini(s);
		free(s);
	}
}

static void test_spec_limits_hold_the_policy(void **state)
{
	struct policy *p = policy(
		"version: 1\nlimits: { step: { timeout: 10s, timeout_max: 20s, memory: 100MiB, "
		"memory_max: 200MiB, pids: 8, "
		"cpus: 2, code: 4KiB } }\nagents: { small: { limits: { memory: 64MiB } } }\n");
	static const struct {
		const char *text, *agent;
		int want;
		int64_t timeout_ms;
		uint64_t memory;
		uint32_t pids, cpus;
	} rows[] = {
		{ "{\"argv\":[\"x\"]}", "a", 0, 10000, 100 << 20, 8, 2000 },
		{ "{\"argv\":[\"x\"]}", "small", 0, 10000, 64 << 20, 8, 2000 },
		{ "{\"argv\":[\"x\"],\"timeout_s\":20,\"memory_bytes\":209715200,\"pids\":1,"
		  "\"cpus\":0.5}",
		  "a", 0, 20000, 200 << 20, 1, 500 },
		{ "{\"argv\":[\"x\"],\"timeout_s\":0.25}", "a", 0, 250, 100 << 20, 8, 2000 },
		{ "{\"argv\":[\"x\"],\"timeout_s\":20.1}", "a", -EINVAL, 0, 0, 0, 0 },
		{ "{\"argv\":[\"x\"],\"timeout_s\":-1}", "a", -EINVAL, 0, 0, 0, 0 },
		{ "{\"argv\":[\"x\"],\"memory_bytes\":209715201}", "a", -EINVAL, 0, 0, 0, 0 },
		{ "{\"argv\":[\"x\"],\"memory_bytes\":1}", "a", -EINVAL, 0, 0, 0, 0 },
		{ "{\"argv\":[\"x\"],\"pids\":9}", "a", -EINVAL, 0, 0, 0, 0 },
		{ "{\"argv\":[\"x\"],\"pids\":0}", "a", -EINVAL, 0, 0, 0, 0 },
		{ "{\"argv\":[\"x\"],\"cpus\":2.5}", "a", -EINVAL, 0, 0, 0, 0 },
		{ "{\"argv\":[\"x\"],\"cpus\":0}", "a", -EINVAL, 0, 0, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct spec *s = calloc(1, sizeof *s);
		struct err err = { 0 };
		int rc = spec_parse(json_loads(rows[i].text, 0, NULL), s, &err);

		assert_int_equal(rc, 0);
		rc = spec_limits(s, p, rows[i].agent, &err);
		if (rc != rows[i].want)
			fail_msg("row %zu: %d '%s'", i, rc, err.msg);
		if (rc == 0 && (s->lim.timeout_ns != rows[i].timeout_ms * 1000000 ||
				s->lim.memory != rows[i].memory || s->lim.pids != rows[i].pids ||
				s->lim.cpus_milli != rows[i].cpus))
			fail_msg("row %zu: other limits", i);
		spec_fini(s);
		free(s);
	}
	policy_unref(p);
}

/* The next string of a spawn body. */
static struct bytes next(struct bytes *b)
{
	uint32_t len;
	struct bytes out;

	assert_true(b->len >= 4);
	memcpy(&len, b->p, 4);
	assert_true(b->len - 4 >= len);
	out = bytes_of((const char *)b->p + 4, len);
	*b = bytes_of((const char *)b->p + 4 + len, b->len - 4 - len);
	return out;
}

static void test_spec_spawn_body_is_what_the_guest_reads(void **state)
{
	struct policy *p = policy("");
	struct spec *s = calloc(1, sizeof *s);
	struct spec_ids ids = { "w", "a", "s_1", "sb_1" };
	struct bytes left, env;
	struct err err;
	unsigned envc, homes = 0, paths = 0;
	autobuf out;

	(void)state;
	buf_init(&out, 1 << 20);
	assert_int_equal(spec_parse(json_loads("{\"code\":\"c\\u0000d\",\"cwd\":\"sub\",\"job\":"
					       "\"j\",\"env\":{\"HOME\":\"/h\",\"X\":\"\"},"
					       "\"files\":[{\"name\":\"f\",\"content\":\"x\"}]}",
					       JSON_ALLOW_NUL, NULL),
				    s, &err),
			 0);
	assert_int_equal(spec_limits(s, p, "a", &err), 0);
	assert_int_equal(spec_spawn_body(s, &ids, &out, &envc), 0);
	left = buf_view(&out);
	assert_true(bytes_equal(next(&left), BYTES_LIT("/workspace/task/sub")));
	for (unsigned i = 0; i < envc; i++) {
		env = next(&left);
		homes += env.len >= 5 && memcmp(env.p, "HOME=", 5) == 0;
		paths += env.len >= 5 && memcmp(env.p, "PATH=", 5) == 0;
		if (i == 2)
			assert_true(bytes_equal(env, BYTES_LIT("GARTH_STEP=s_1")));
		if (i == 4)
			assert_true(bytes_equal(env, BYTES_LIT("GARTH_JOB=j")));
	}
	assert_int_equal(homes, 1);
	assert_int_equal(paths, 1);
	assert_true(bytes_equal(next(&left), BYTES_LIT("c\0d")));
	assert_true(bytes_equal(next(&left), BYTES_LIT("f")));
	assert_true(bytes_equal(next(&left), BYTES_LIT("x")));
	assert_int_equal(left.len, 0);
	spec_fini(s);
	free(s);
	policy_unref(p);
}

static void test_spec_record_texts_are_bounded_and_hold_no_values(void **state)
{
	json_t *root = json_object(), *argv = json_array(), *env = json_object();
	struct spec *s = calloc(1, sizeof *s);
	autobuf command, names, limits, observed;
	json_t *j;
	struct err err;

	(void)state;
	buf_init(&command, SPEC_COMMAND_MAX);
	buf_init(&names, 4096);
	buf_init(&limits, 4096);
	buf_init(&observed, 4096);
	for (int i = 0; i < 1000; i++)
		(void)json_array_append_new(argv, json_string("an argument of \"some\" length"));
	(void)json_object_set_new(env, "TOKEN", json_string("secret"));
	(void)json_object_set_new(env, "B", json_string("secret"));
	(void)json_object_set_new(root, "argv", argv);
	(void)json_object_set_new(root, "env", env);
	assert_int_equal(spec_parse(root, s, &err), 0);
	assert_int_equal(spec_record_texts(s, &command, &names, &limits, &observed), 0);
	j = json_loads(buf_str(&command), 0, NULL);
	assert_true(json_is_array(j));
	assert_string_equal(json_string_value(json_array_get(j, json_array_size(j) - 1)), "...");
	json_decref(j);
	assert_string_equal(buf_str(&names), "TOKEN B");
	j = json_loads(buf_str(&limits), 0, NULL);
	assert_true(json_is_object(j));
	json_decref(j);
	spec_fini(s);
	free(s);
}

static const struct {
	struct end_facts f;
	enum ev_reason reason;
	int code;
	unsigned signal;
} ends[] = {
	{ { .exited = true, .wait_status = EXIT(0) }, REASON_EXITED, 0, 0 },
	{ { .exited = true, .wait_status = EXIT(3) }, REASON_EXITED, 3, 0 },
	{ { .exited = true, .wait_status = SIGSEGV }, REASON_SIGNALED, -1, SIGSEGV },
	{ { .exited = true, .wait_status = SIGKILL }, REASON_SIGNALED, -1, SIGKILL },
	{ { .exited = false }, REASON_LOST, -1, 0 },
	{ { .exited = true, .wait_status = SIGKILL, .oom_kills = 1 }, REASON_MEMORY, -1, SIGKILL },
	{ { .exited = true, .wait_status = EXIT(137), .oom_kills = 2 }, REASON_MEMORY, 137, 0 },
	{ { .exited = true, .wait_status = EXIT(0), .oom_kills = 1 }, REASON_EXITED, 0, 0 },
	{ { .exited = true, .wait_status = EXIT(1), .oom_kills = 1 }, REASON_EXITED, 1, 0 },
	{ { .exited = true, .wait_status = EXIT(1), .pids_refused = 1 }, REASON_PIDS, 1, 0 },
	{ { .exited = true, .wait_status = EXIT(0), .pids_refused = 9 }, REASON_EXITED, 0, 0 },
	{ { .exited = true, .wait_status = EXIT(1), .disk_full = true }, REASON_DISK, 1, 0 },
	{ { .exited = true, .wait_status = EXIT(0), .disk_full = true }, REASON_EXITED, 0, 0 },
	{ { .forced = REASON_TIMEOUT, .exited = true, .wait_status = SIGKILL, .oom_kills = 1 },
	  REASON_TIMEOUT,
	  -1,
	  SIGKILL },
	{ { .forced = REASON_KILLED }, REASON_KILLED, -1, 0 },
	{ { .forced = REASON_REFUSED }, REASON_REFUSED, -1, 0 },
	{ { .forced = REASON_LOST, .exited = true, .wait_status = EXIT(0) }, REASON_LOST, 0, 0 },
};

static void test_reason_of_names_one_cause(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(ends); i++) {
		struct end e = reason_of(&ends[i].f);

		if (e.reason != ends[i].reason || e.exit_code != ends[i].code ||
		    e.signal != ends[i].signal)
			fail_msg("row %zu: %s %d %u", i, ev_reason_text(e.reason), e.exit_code,
				 e.signal);
	}
}

static void test_reason_disk_text_knows_the_words(void **state)
{
	(void)state;
	assert_true(reason_disk_text(BYTES_LIT("dd: error writing 'x': Disk quota exceeded\n")));
	assert_true(reason_disk_text(BYTES_LIT("OSError: [Errno 28] No space left on device")));
	assert_false(reason_disk_text(BYTES_LIT("disk is fine")));
	assert_false(reason_disk_text(BYTES_LIT("")));
}

static void test_hint_from_runner_is_a_sieve(void **state)
{
	static const struct {
		const char *text;
		bool kept, hint;
	} rows[] = {
		{ "{\"name\":\"E\",\"value\":\"v\",\"traceback\":\"t\",\"hint\":{\"code\":\"a.b\","
		  "\"text\":\"x\",\"data\":{\"k\":1}}}",
		  true, true },
		{ "{\"name\":\"E\",\"hint\":null}", true, false },
		{ "{\"name\":\"E\",\"hint\":{\"code\":\"A B\",\"text\":\"x\"}}", true, false },
		{ "{\"name\":\"E\",\"hint\":{\"text\":\"x\"}}", true, false },
		{ "{\"name\":\"E\",\"hint\":{\"code\":\"a\",\"text\":7,\"data\":[1]}}", true,
		  true },
		{ "{\"name\":\"\"}", false, false },
		{ "{\"name\":7}", false, false },
		{ "{\"value\":\"x\"}", false, false },
		{ "[]", false, false },
		{ "rubbish", false, false },
		{ "", false, false },
		{ "{\"name\":\"E\",\"name\":\"F\"}", false, false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		json_t *j = hint_from_runner(bytes_str(rows[i].text));

		if ((j != NULL) != rows[i].kept)
			fail_msg("row %zu", i);
		if (j != NULL && (json_is_object(json_object_get(j, "hint")) != rows[i].hint ||
				  json_object_size(j) != 4))
			fail_msg("row %zu: hint or members", i);
		json_decref(j);
	}
}

static void test_hint_from_runner_bounds_all(void **state)
{
	size_t n = 20000;
	char *long_text = calloc(1, n + 1);
	json_t *in, *out, *hint;
	char *text;

	(void)state;
	assert_non_null(long_text);
	memset(long_text, 'x', n);
	in = json_pack("{s:s, s:s, s:s, s:s, s:{s:s, s:s, s:{s:s}}}", "name", long_text, "value",
		       long_text, "traceback", long_text, "more", "x", "hint", "code", "a.b",
		       "text", long_text, "data", "k", long_text);
	text = json_dumps(in, 0);
	out = hint_from_runner(bytes_str(text));
	assert_int_equal(json_string_length(json_object_get(out, "name")), HINT_NAME_MAX);
	assert_int_equal(json_string_length(json_object_get(out, "value")), HINT_VALUE_MAX);
	assert_int_equal(json_string_length(json_object_get(out, "traceback")), HINT_TRACEBACK_MAX);
	assert_null(json_object_get(out, "more"));
	hint = json_object_get(out, "hint");
	assert_int_equal(json_string_length(json_object_get(hint, "text")), HINT_TEXT_MAX);
	assert_int_equal(json_object_size(json_object_get(hint, "data")), 0);
	json_decref(in);
	json_decref(out);
	free(text);
	free(long_text);
}

static bool same(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static const struct {
	struct hint_facts f;
	const char *name, *code; /* NULL: no error */
} hint_rows[] = {
	{ { .end = { REASON_EXITED, 0, 0 }, .who = "" }, NULL, NULL },
	{ { .end = { REASON_EXITED, 3, 0 }, .who = "" }, NULL, NULL },
	{ { .end = { REASON_EXITED, 3, 0 }, .who = "", .python = true }, "SystemExit", "end.exit" },
	{ { .end = { REASON_EXITED, 139, 0 }, .who = "" }, "NativeCrash", "end.segv" },
	{ { .end = { REASON_SIGNALED, -1, SIGABRT }, .who = "" }, "NativeCrash", "end.segv" },
	{ { .end = { REASON_SIGNALED, -1, SIGTERM }, .who = "" }, NULL, NULL },
	{ { .end = { REASON_SIGNALED, -1, SIGXCPU }, .who = "" }, "CpuLimit", "end.cpu" },
	{ { .end = { REASON_SIGNALED, -1, SIGXFSZ }, .who = "", .file = 1 << 30 },
	  "FileTooLarge",
	  "file.toobig" },
	{ { .end = { REASON_EXITED, 128 + SIGXFSZ, 0 }, .who = "", .file = 1 << 30 },
	  "FileTooLarge",
	  "file.toobig" },
	{ { .end = { REASON_EXITED, 1, 0 }, .who = "", .file = 1 << 30, .too_big = true },
	  "FileTooLarge",
	  "file.toobig" },
	{ { .end = { REASON_EXITED, 0, 0 }, .who = "", .file = 1 << 30, .too_big = true },
	  NULL,
	  NULL },
	{ { .end = { REASON_TIMEOUT, -1, 9 }, .who = "", .too_big = true },
	  "Timeout",
	  "end.timeout" },
	{ { .end = { REASON_EXITED, 127, 0 }, .who = "", .spawn_error = "no such program" },
	  "ExecError",
	  "end.exec" },
	{ { .end = { REASON_TIMEOUT, -1, 9 }, .who = "", .limit_ns = 1000000000 },
	  "Timeout",
	  "end.timeout" },
	{ { .end = { REASON_MEMORY, -1, 9 }, .who = "", .memory = 1 << 30 },
	  "MemoryLimit",
	  "end.memory" },
	{ { .end = { REASON_PIDS, 1, 0 }, .who = "", .pids = 32 }, "PidsLimit", "end.pids" },
	{ { .end = { REASON_DISK, 1, 0 }, .who = "" }, "DiskQuota", "end.disk" },
	{ { .end = { REASON_KILLED, -1, 9 }, .who = "agent a" }, "Killed", "end.killed" },
	{ { .end = { REASON_REFUSED, -1, 0 }, .who = "no" }, "Refused", "end.refused" },
	{ { .end = { REASON_LOST, -1, 0 }, .who = "" }, "Lost", "end.lost" },
};

static void test_hint_error_has_a_row_for_each_end(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(hint_rows); i++) {
		json_t *j = hint_error(&hint_rows[i].f, NULL);
		const char *name = json_string_value(json_object_get(j, "name"));
		const json_t *hint = json_object_get(j, "hint");
		const char *code = json_string_value(json_object_get(hint, "code"));

		if ((j != NULL) != (hint_rows[i].name != NULL))
			fail_msg("row %zu: there is %san error", i, j != NULL ? "" : "no ");
		if (!same(name, hint_rows[i].name) || !same(code, hint_rows[i].code))
			fail_msg("row %zu: %s %s", i, name != NULL ? name : "-",
				 code != NULL ? code : "-");
		if (j != NULL && json_string_length(json_object_get(hint, "text")) > HINT_TEXT_MAX)
			fail_msg("row %zu: the text is too long", i);
		json_decref(j);
	}
}

static void test_hint_error_keeps_what_the_program_told(void **state)
{
	struct hint_facts f = { .end = { REASON_EXITED, 1, 0 }, .who = "", .python = true };
	json_t *j;

	(void)state;
	j = hint_error(
		&f, hint_from_runner(BYTES_LIT(
			    "{\"name\":\"KeyError\",\"hint\":{\"code\":\"k\",\"text\":\"t\"}}")));
	assert_string_equal(json_string_value(json_object_get(j, "name")), "KeyError");
	json_decref(j);
	f.end = (struct end){ REASON_MEMORY, -1, SIGKILL }; /* the server knows better why */
	j = hint_error(
		&f,
		hint_from_runner(BYTES_LIT(
			"{\"name\":\"MemoryError\",\"hint\":{\"code\":\"k\",\"text\":\"t\"}}")));
	assert_string_equal(json_string_value(json_object_get(j, "name")), "MemoryError");
	assert_string_equal(json_string_value(json_object_get(json_object_get(j, "hint"), "code")),
			    "end.memory");
	json_decref(j);
	f.end = (struct end){ REASON_EXITED, 1, 0 };
	f.file = 1 << 20;
	f.too_big = true; /* and which limit it was */
	j = hint_error(&f, hint_from_runner(BYTES_LIT(
				   "{\"name\":\"OSError\",\"value\":\"File too large\"}")));
	assert_string_equal(json_string_value(json_object_get(j, "name")), "OSError");
	assert_string_equal(json_string_value(json_object_get(json_object_get(j, "hint"), "code")),
			    "file.toobig");
	json_decref(j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spec_parse_takes_and_refuses),
		cmocka_unit_test(test_spec_limits_hold_the_policy),
		cmocka_unit_test(test_spec_spawn_body_is_what_the_guest_reads),
		cmocka_unit_test(test_spec_record_texts_are_bounded_and_hold_no_values),
		cmocka_unit_test(test_reason_of_names_one_cause),
		cmocka_unit_test(test_reason_disk_text_knows_the_words),
		cmocka_unit_test(test_hint_from_runner_is_a_sieve),
		cmocka_unit_test(test_hint_from_runner_bounds_all),
		cmocka_unit_test(test_hint_error_has_a_row_for_each_end),
		cmocka_unit_test(test_hint_error_keeps_what_the_program_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
