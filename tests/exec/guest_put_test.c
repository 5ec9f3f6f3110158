/* SPDX-License-Identifier: MIT */
/*
 * tests/exec/guest_put_test.c - PUT writes a whole file as its step, or nothing.
 * Not here: what garth-fs says to it (tests/e2e).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include <cmocka.h>

#include "core/fd.h"
#include "tests/exec/guest_box.h"

#define SHA_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define SHA_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static int open_box(void **state)
{
	static struct box box;

	*state = &box;
	return box_open(&box, true);
}

static int close_box(void **state)
{
	box_close(*state);
	return 0;
}

/* What a shell text in a step prints. */
static void expect(void **state, const char *text, const char *want)
{
	const char *argv[] = { "bash", "-c", text, NULL };
	struct box_step s = { .step = 1, .argv = argv, .cwd = "/workspace/output" };
	struct box_end e;

	assert_int_equal(box_run(*state, &s, &e), 0);
	if (strcmp(buf_str(&e.out), want) != 0)
		fail_msg("%s: '%s', not '%s' (%s)", text, buf_str(&e.out), want, buf_str(&e.err));
	box_end_fini(&e);
}

static int put(void **state, const char *path, const char *content, bool replace,
	       const char *if_sha, bool *ret_created)
{
	return box_put(*state, 1000, 60007, path, content, replace, if_sha, ret_created);
}

static void test_put_new_file_is_the_steps(void **state)
{
	bool created = false;

	assert_int_equal(put(state, "output/a/b/c.txt", "content\n", false, NULL, &created), 0);
	assert_true(created);
	expect(state, "cat a/b/c.txt; stat -c %u:%g:%a a a/b/c.txt; ls -A a/b",
	       "content\n1000:60007:775\n1000:60007:664\nc.txt\n");
}

static void test_put_existing_file_is_kept_or_replaced(void **state)
{
	bool created = true;

	assert_int_equal(put(state, "output/r.txt", "one", true, NULL, &created), 0);
	assert_true(created);
	assert_int_equal(put(state, "output/r.txt", "two", false, NULL, NULL), -EEXIST);
	expect(state, "cat r.txt; ls -A | grep -c garth-put", "one0\n");
	assert_int_equal(put(state, "output/r.txt", "two", true, NULL, &created), 0);
	assert_false(created);
	expect(state, "cat r.txt; ls -A | grep -c garth-put", "two0\n");
}

/* The box's files are on a tmpfs: from Linux 6.6 on. */
static bool tmpfs_has_user_attributes(void)
{
	autofd fd = memfd_create("attributes", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fsetxattr(fd, "user.garth.sha256", SHA_A, strlen(SHA_A), 0) == 0;
}

static void test_put_if_sha_decides(void **state)
{
	bool created = true;

	if (!tmpfs_has_user_attributes())
		skip();
	assert_int_equal(put(state, "output/h.txt", "one", true, SHA_A, NULL), -ESTALE);
	expect(state, "ls -A | grep -c 'h.txt\\|garth-put'", "0\n");
	assert_int_equal(put(state, "output/h.txt", "one", true, NULL, NULL), 0);
	/* a plain filesystem has no hash to tell: it is given one as garth-fs would */
	expect(state,
	       "python3 -c 'import os; os.setxattr(\"h.txt\", \"user.garth.sha256\", b\"" SHA_A
	       "\")'; echo $?",
	       "0\n");
	assert_int_equal(put(state, "output/h.txt", "two", true, SHA_B, NULL), -ESTALE);
	expect(state, "cat h.txt; ls -A | grep -c garth-put", "one0\n");
	assert_int_equal(put(state, "output/h.txt", "two", true, SHA_A, &created), 0);
	assert_false(created);
	expect(state, "cat h.txt", "two");
}

static void test_put_where_it_may_not_go_fails(void **state)
{
	static const struct {
		const char *path;
		int want;
	} rows[] = {
		{ "input/x", -EACCES },
		{ "input/sub/x", -EACCES },
		{ "x", -EACCES },
		{ "output/link/x", -ENOTDIR },
		{ "output/link/y/x", -ELOOP },
		{ "output/dir", -EISDIR },
		{ "output/file/x", -ENOTDIR },
		{ "output/../x", -EINVAL },
		{ "/etc/x", -EINVAL },
		{ "", -EINVAL },
		{ "output//x", -EINVAL },
	};

	expect(state, "ln -s /tmp link; mkdir dir; touch file; echo ok", "ok\n");
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		int r = put(state, rows[i].path, "bytes", true, NULL, NULL);

		if (r != rows[i].want)
			fail_msg("row %zu (%s): %d", i, rows[i].path, r);
	}
	expect(state, "ls -A /tmp /workspace/input dir; ls -A | grep -c garth-put",
	       "/tmp:\n\n/workspace/input:\n\ndir:\n0\n");
}

static void test_put_over_a_symlink_replaces_the_link(void **state)
{
	expect(state, "echo keep >target; ln -s target sl; echo ok", "ok\n");
	assert_int_equal(put(state, "output/sl", "new", true, NULL, NULL), 0);
	expect(state, "cat target; stat -c %F sl; cat sl", "keep\nregular file\nnew");
}

static void test_put_as_inside_root_works(void **state)
{
	assert_int_equal(box_put(*state, 0, 60008, "input/data.csv", "a,b\n", false, NULL, NULL),
			 0);
	expect(state,
	       "cat ../input/data.csv; stat -c %u ../input/data.csv; (echo >>../input/data.csv) "
	       "2>/dev/null; echo $?",
	       "a,b\n0\n1\n");
}

static void test_put_empty_file_is_a_file(void **state)
{
	assert_int_equal(put(state, "output/empty", "", false, NULL, NULL), 0);
	expect(state, "stat -c %s empty", "0\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_put_new_file_is_the_steps),
		cmocka_unit_test(test_put_existing_file_is_kept_or_replaced),
		cmocka_unit_test(test_put_if_sha_decides),
		cmocka_unit_test(test_put_where_it_may_not_go_fails),
		cmocka_unit_test(test_put_over_a_symlink_replaces_the_link),
		cmocka_unit_test(test_put_as_inside_root_works),
		cmocka_unit_test(test_put_empty_file_is_a_file),
	};

	return cmocka_run_group_tests(tests, open_box, close_box);
}
