/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/policy_mutate_test.c - spoiled policies and random bytes: each is accepted or refused with a place, none crashes.
 * The same every time: the generator's seed is fixed. The open-ended search is tests/fuzz/policy_fuzz.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "policy/decide.h"

#define ROUNDS 6000
#define TEXT_MAX 1024
#define SEED 88172645463325252u

static const char *const good[] = {
	"version: 1\nroot: shared\nlimits:\n  step: { timeout: 1m, memory: 2GiB, cpus: 1.5 }\n  "
	"upload: 1GiB\n"
	"agents:\n  a: {}\n  b: { limits: { memory: 512MiB } }\n",
	"rules:\n  - { deny: [write], agent: b, path: \"output/final/**\" }\n  - allow: [read, "
	"write]\n    agent: '*'\n"
	"    path: agents/*/x?/**\n",
	"hooks:\n  pre_step: { agent: g, run: [python3, /x.py], timeout: 5s }\n"
	"  on_output:\n    path: output/**/*.csv\n    agent: c\n    run:\n      - \"a\\tb\"\n      "
	"- 'c''d'\n      - |\n"
	"        x\nnetwork: none\n",
	"host_paths: [/opt/venv]\nretention: { versions: 5, logs: 7d, trash: 10m }\n# end\n...\n",
};
static const char pieces[] = "{}[]:,-&*!|>'\"%@`#?\n\t ~<=/\\0123456789aGiB\xc3\xa9\xff";

static uint64_t next(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

static size_t pick(uint64_t *x, size_t below)
{
	return (size_t)(next(x) % below);
}

/* One change: a byte set, a run removed, a run doubled. */
static size_t spoil(uint64_t *x, char *text, size_t len)
{
	size_t at = len > 0 ? pick(x, len) : 0, run = len > at ? 1 + pick(x, len - at) % 16 : 0;

	if (run > len - at)
		run = len - at;
	switch (pick(x, 3)) {
	case 0:
		if (len > 0)
			text[at] = pieces[pick(x, sizeof(pieces))]; /* its NUL too */
		return len;
	case 1: memmove(text + at, text + at + run, len - at - run); return len - run;
	default:
		if (len + run > TEXT_MAX)
			return len;
		memmove(text + at + run, text + at, len - at);
		return len + run;
	}
}

/* Whatever came of it must be usable. Returns whether it was accepted. */
static bool try_text(const char *text, size_t len)
{
	static const char *const agents[] = { "a", "operator" };
	struct policy *p = NULL;
	struct err err = { 0 };
	int r = policy_parse(bytes_of(text, len), &p, &err);

	if (r < 0) {
		if (r != -EINVAL || strncmp(err.msg, "line ", 5) != 0)
			fail_msg("%d '%s'", r, err.msg);
		return false;
	}
	for (int op = OP_READ; op < OP_COUNT; op++)
		for (size_t i = 0; i < sizeof(agents) / sizeof(agents[0]); i++) {
			struct question q = { .agent = agents[i],
					      .op = (enum ev_op)op,
					      .path = BYTES_LIT("input/x") };
			struct verdict v;

			policy_decide(p, &q, &v);
			if (i == 0 && policy_access_of(q.op) == POL_WRITE)
				assert_int_equal(v.err, -EROFS); /* whatever the policy says */
		}
	assert_true(p->limits.step.timeout_ns <= p->limits.step.timeout_max_ns);
	assert_true(p->limits.step.memory <= p->limits.step.memory_max);
	policy_unref(p);
	return true;
}

static void test_policy_parse_spoiled_policies_are_survived(void **state)
{
	uint64_t x = SEED;
	unsigned accepted = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(try_text(good[i], strlen(good[i])));
	for (unsigned i = 0; i < ROUNDS; i++) {
		const char *from = good[pick(&x, sizeof(good) / sizeof(good[0]))];
		size_t len = strnlen(from, TEXT_MAX), changes = 1 + pick(&x, 4);
		char text[TEXT_MAX];

		memcpy(text, from,
		       len); /* NOLINT(bugprone-not-null-terminated-result): no string */
		while (changes-- > 0)
			len = spoil(&x, text, len);
		accepted += try_text(text, len);
	}
	assert_in_range(accepted, 1, ROUNDS - 1); /* both ways were gone */
}

static void test_policy_parse_random_bytes_are_survived(void **state)
{
	uint64_t x = SEED;

	(void)state;
	for (unsigned i = 0; i < ROUNDS; i++) {
		char text[64];
		size_t len = pick(&x, sizeof(text));

		for (size_t k = 0; k < len; k++)
			text[k] = i % 2 == 0 ? (char)pick(&x, 256)
					     : pieces[pick(&x, sizeof(pieces) - 1)];
		(void)try_text(text, len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_policy_parse_spoiled_policies_are_survived),
		cmocka_unit_test(test_policy_parse_random_bytes_are_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
