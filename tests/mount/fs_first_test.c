/* SPDX-License-Identifier: MIT */
/*
 * tests/mount/fs_first_test.c - one agent, one step, one version, one violation on a real mount.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/hash.h"
#include "tests/mount/fs_rig.h"

static int setup(void **state)
{
	static struct fs_rig rig; /* cmocka's state: one a program */

	*state = &rig;
	rig_up(&rig);
	return 0;
}

static int teardown(void **state)
{
	rig_down(*state);
	return 0;
}

static void test_step_writes_one_version_and_one_violation(void **state)
{
	struct fs_rig *r = *state;
	struct rig_rows *rows = calloc(1, sizeof *rows);
	uint32_t a = rig_agent(r, "analyzer");
	struct fs_box box = rig_box(r, a);
	struct fs_step s = rig_step(r, &box, true);
	struct msg_step_end_reply end;
	struct msg_file_open_reply f;
	uint8_t reason;
	uint64_t out;
	bool cut;
	int rc;

	rc = rig_sh(
		r, &s, 1000,
		"set -e; ls $W; echo hello >$W/output/a.csv; cat $W/output/a.csv; echo x >t; ls; "
		"mkdir $W/output/d; echo 1 >$W/output/d/e; mv $W/output/d/e $W/output/d/f; rm "
		"$W/output/d/f; rmdir $W/output/d;"
		"echo y >$W/agents/analyzer/own; stat -c %U $W/output/a.csv; ! echo z 2>&1 "
		">$W/input/x");
	if (rc != 0)
		fail_msg("status %d: %s", rc, r->out);
	assert_non_null(strstr(r->out, "Read-only file system"));
	assert_int_equal(write(s.out, "said\n", 5), 5);
	end = rig_end(r, &s, false);
	assert_int_equal(end.artifacts, 2);
	assert_int_equal(end.violations, 1);
	rig_versions(r, "output/a.csv", rows);
	assert_int_equal(rows->n, 1);
	assert_true(rows->row[0].has_sha && rows->row[0].kept && rows->row[0].newest);
	assert_string_equal(rows->row[0].sha,
			    "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03");
	assert_int_equal(rows->row[0].step, s.id);
	rig_violations(r, rows);
	assert_int_equal(rows->n, 1);
	assert_string_equal(rows->row[0].path, "input/x");
	assert_string_equal(rows->row[0].rule, "input.readonly");
	assert_true(rig_step_row(r, s.id, &reason, &out, &cut));
	assert_int_equal(reason, REASON_EXITED);
	assert_int_equal(out, 5);
	assert_int_equal(rig_open(r, "output/a.csv", NULL, &f), 0);
	assert_string_equal(r->out, "hello\n");
	assert_string_equal(f.sha,
			    "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03");
	rig_stop(r);
	rig_verify(r);
	free(rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_step_writes_one_version_and_one_violation,
						setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
