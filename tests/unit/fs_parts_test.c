/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/fs_parts_test.c - small parts of garth-fs: what a step has read, agents, sandboxes and steps, workers.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fs/agent.h"
#include "fs/read.h"
#include "fs/step.h"

static void test_readset_tells_each_once(void **state)
{
	struct readset *s = NULL;

	(void)state;
	for (uint64_t k = 1; k < 5000; k++)
		assert_true(readset_add(&s, k * 7919));
	for (uint64_t k = 1; k < 5000; k++)
		assert_false(readset_add(&s, k * 7919));
	readset_free(s);
	readset_free(NULL);
}

static void test_agents_get_blocks_in_order(void **state)
{
	struct agents *a = NULL;
	uint32_t block = 99;
	char name[8];

	(void)state;
	assert_int_equal(agents_new(&a), 0);
	assert_string_equal(agent_name(a, 0), POLICY_OPERATOR);
	assert_null(agent_name(a, 1));
	assert_int_equal(agent_add(a, BYTES_LIT("ann"), 0, &block), 0);
	assert_int_equal(block, 1);
	assert_int_equal(agent_add(a, BYTES_LIT("ann"), 0, &block), -EEXIST);
	assert_int_equal(agent_add(a, BYTES_LIT("operator"), 0, &block), -EEXIST);
	assert_int_equal(agent_add(a, BYTES_LIT("late"), 7, &block), 0); /* as the record has it */
	assert_int_equal(block, 7);
	assert_int_equal(agent_block(a, "late", &block), 0);
	assert_int_equal(block, 7);
	assert_int_equal(agent_block(a, "none", &block), -ENOENT);
	for (unsigned i = 0; i < IDS_AGENTS_MAX - 3; i++) {
		name[0] = 'x';
		name[1] = (char)('a' + (int)i / 26);
		name[2] = (char)('a' + (int)i % 26);
		name[3] = '\0';
		assert_int_equal(agent_add(a, bytes_str(name), 0, &block), 0);
	}
	assert_int_equal(agent_add(a, BYTES_LIT("toomany"), 0, &block), -ENOSPC);
	assert_null(agent_name(a, IDS_AGENTS_MAX));
	agents_free(a);
}

static int setup(void **state)
{
	struct policy *p = NULL;
	struct steps *s = NULL;

	if (policy_parse((struct bytes){ "", 0 }, &p, NULL) < 0 || steps_new(p, &s) < 0)
		return -1;
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	steps_free(*state);
	return 0;
}

static void test_sandbox_is_found_by_any_gid_of_its_block(void **state)
{
	struct steps *s = *state;
	struct sandbox *a = NULL, *b = NULL, *found;

	assert_int_equal(sandbox_add(s, 1, 100000, 1, true, &a), 0);
	assert_int_equal(sandbox_add(s, 2, 100000 + IDS_BLOCK, 2, false, &b), 0);
	sandbox_put(s, a);
	sandbox_put(s, b);
	assert_int_equal(sandbox_add(s, 2, 900000, 1, true, &found), -EEXIST); /* the id */
	assert_int_equal(sandbox_add(s, 3, 100000 + IDS_BLOCK / 2, 1, true, &found),
			 -EEXIST); /* the gids */
	assert_null(sandbox_by_gid(s, 99999));
	for (uint32_t off = 0; off < IDS_BLOCK; off += IDS_BLOCK - 1) {
		found = sandbox_by_gid(s, 100000 + off);
		assert_ptr_equal(found, a);
		sandbox_put(s, found);
	}
	found = sandbox_by_gid(s, 100000 + IDS_BLOCK);
	assert_ptr_equal(found, b);
	sandbox_end(s, found);
	sandbox_put(s, found);
	assert_null(sandbox_by_gid(s, 100000 + IDS_BLOCK));
}

static void test_slot_is_a_steps_own_until_its_last_file_is_closed(void **state)
{
	struct steps *s = *state;
	struct sandbox *sb = NULL;
	struct step *one = NULL, *two = NULL, *got;
	uint64_t ids[IDS_STEPS_MAX];
	bool late = false;

	assert_int_equal(sandbox_add(s, 1, 100000, 1, true, &sb), 0);
	assert_int_equal(step_add(s, sb, 11, NULL, &one), 0);
	assert_int_equal(steps_open_in(s, sb, ids, IDS_STEPS_MAX, &got), 1);
	assert_ptr_equal(got, one);
	step_put(s, got);
	atomic_store(&one->files, 1);
	assert_true(step_set_ending(s, one));
	assert_false(step_set_ending(s, one)); /* once */
	step_set_ended(s, one, false);
	got = step_in_slot(s, sb, 0, &late);
	assert_ptr_equal(got, one);
	assert_true(late);
	step_put(s, got);
	assert_null(step_by_id(s, 11));
	assert_int_equal(step_add(s, sb, 12, NULL, &two), 0);
	assert_int_equal(two->slot, 1);
	atomic_store(&one->files, 0);
	step_file_closed(s, one);
	assert_null(step_in_slot(s, sb, 0, &late));
	step_put(s, one);
	/* its sandbox may go first: the step is still to be ended */
	sandbox_end(s, sb);
	got = step_by_id(s, 12);
	assert_ptr_equal(got, two);
	step_put(s, got);
	step_set_ended(s, two, true);
	assert_null(step_by_id(s, 12));
	step_put(s, two);
	sandbox_put(s, sb);
}

static void test_sixty_five_living_steps_do_not_fit(void **state)
{
	struct steps *s = *state;
	struct sandbox *sb = NULL;
	struct step *st[IDS_STEPS_MAX], *more;

	assert_int_equal(sandbox_add(s, 1, 100000, 1, true, &sb), 0);
	for (unsigned i = 0; i < IDS_STEPS_MAX; i++) {
		assert_int_equal(step_add(s, sb, 100 + i, NULL, &st[i]), 0);
		step_set_ended(s, st[i], true); /* daemons live on */
		step_put(s, st[i]);
	}
	assert_int_equal(step_add(s, sb, 999, NULL, &more), -EAGAIN);
	sandbox_put(s, sb);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_readset_tells_each_once),
		cmocka_unit_test(test_agents_get_blocks_in_order),
		cmocka_unit_test_setup_teardown(test_sandbox_is_found_by_any_gid_of_its_block,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_slot_is_a_steps_own_until_its_last_file_is_closed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sixty_five_living_steps_do_not_fit, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
