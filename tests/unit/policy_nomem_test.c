/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/policy_nomem_test.c - parsing with the 1st, 2nd, ... allocation of our own refused: -ENOMEM, and nothing leaks (ASan).
 */
/* link: -Wl,--wrap=calloc */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "policy/policy.h"

#define ALLOCATIONS_MAX 1000

/* How many calls still get memory; < 0: all. The wrapper has no other way to be told. */
static int left = -1;

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

void *__wrap_calloc(size_t n, size_t size)
{
	if (left == 0)
		return NULL;
	if (left > 0)
		left--;
	return __real_calloc(n, size);
}

static void test_policy_parse_without_memory_says_so(void **state)
{
	static const char text[] =
		"agents: { a: {}, b: { limits: { pids: 3 } } }\nhost_paths: [/opt/venv]\n"
		"rules: [ { deny: [read], path: \"output/**\" } ]\n"
		"hooks: { pre_step: { agent: g, run: [python3, /x.py] } }\n";
	int failures = 0;

	(void)state;
	for (int i = 0; i < ALLOCATIONS_MAX; i++) {
		struct policy *p = NULL;
		struct err err = { 0 };
		int r;

		left = i;
		r = policy_parse(bytes_of(text, sizeof(text) - 1), &p, &err);
		left = -1;
		if (r == 0) {
			policy_unref(p);
			assert_true(failures > 2);
			return;
		}
		if (r != -ENOMEM || p != NULL || err.msg[0] == 0)
			fail_msg("allocation %d: %d '%s'", i, r, err.msg);
		failures++;
	}
	fail_msg("it never came to an end");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_policy_parse_without_memory_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
