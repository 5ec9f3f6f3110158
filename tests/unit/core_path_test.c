/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/core_path_test.c - core/path.h: names, paths, opening below a directory, removing trees.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "core/fd.h"
#include "core/path.h"

#define DEEP 3000 /* levels; as one path string it is longer than PATH_MAX */

static char dir_name[] = "/tmp/garth-path-XXXXXX";
static int dir_fd = -1;

static int make_dir(void **state)
{
	(void)state;
	if (!mkdtemp(dir_name))
		return -1;
	dir_fd = open(dir_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir_fd < 0 ? -1 : 0;
}

static int drop_dir(void **state)
{
	autofd tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	fd_closep(&dir_fd);
	return path_rm_tree(tmp, dir_name + strlen("/tmp/"), NULL);
}

static void test_name_check_escapes_are_refused(void **state)
{
	char longest[NAME_LEN_MAX + 2];
	static const struct {
		const char *name;
		int want;
	} rows[] = { { "a.txt", 0 },     { "...", 0 },    { ".a", 0 },      { "\xff\x01", 0 },
		     { "a b", 0 },       { "", -EINVAL }, { ".", -EINVAL }, { "..", -EINVAL },
		     { "a/b", -EINVAL }, { "/", -EINVAL } };

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (name_check(rows[i].name) != rows[i].want)
			fail_msg("row %zu: name_check('%s') != %d", i, rows[i].name, rows[i].want);
	assert_int_equal(name_check_bytes(bytes_of("a\0b", 3)), -EINVAL);
	memset(longest, 'a', sizeof longest);
	longest[NAME_LEN_MAX] = '\0';
	assert_int_equal(name_check(longest), 0);
	longest[NAME_LEN_MAX] = 'a';
	longest[NAME_LEN_MAX + 1] = '\0';
	assert_int_equal(name_check(longest), -ENAMETOOLONG);
}

static void test_path_check_table(void **state)
{
	static const struct {
		const char *path;
		int want;
		const char *says;
	} rows[] = {
		{ "", 0, "" },
		{ "output", 0, "" },
		{ "output/a/b.csv", 0, "" },
		{ "a/...", 0, "" },
		{ "/output", -EINVAL, "begins with a slash" },
		{ "output/", -EINVAL, "ends with a slash" },
		{ "a//b", -EINVAL, "empty part" },
		{ "a/./b", -EINVAL, "'.' part" },
		{ "a/..", -EINVAL, "'..' part" },
		{ "..", -EINVAL, "'..' part" },
		{ "/", -EINVAL, "begins with a slash" },
	};
	struct err err = { 0 };
	char big[PATH_LEN_MAX + 1];

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		err.msg[0] = '\0';
		if (path_check(bytes_str(rows[i].path), &err) != rows[i].want ||
		    !strstr(err.msg, rows[i].says))
			fail_msg("row %zu: path_check('%s') says '%s'", i, rows[i].path, err.msg);
	}
	assert_int_equal(path_check(bytes_of("a\0b", 3), NULL), -EINVAL);
	for (size_t i = 0; i < sizeof big; i++)
		big[i] = i % 2 ? '/' : 'a';
	assert_int_equal(path_check(bytes_of(big, PATH_LEN_MAX), NULL), 0);
	assert_int_equal(path_check(bytes_of(big, PATH_LEN_MAX + 1), NULL), -ENAMETOOLONG);
	memset(big, 'a', 256);
	assert_int_equal(path_check(bytes_of(big, 256), NULL), -ENAMETOOLONG);
}

static void test_ident_check_table(void **state)
{
	static const struct {
		const char *name;
		int want;
	} rows[] = {
		{ "a", 0 },
		{ "w-1_x", 0 },
		{ "0", 0 },
		{ "", -EINVAL },
		{ "-a", -EINVAL },
		{ "_a", -EINVAL },
		{ "A", -EINVAL },
		{ "a.b", -EINVAL },
		{ "a/b", -EINVAL },
		{ "\xc3\xa9", -EINVAL },
		{ "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 0 },
		{ "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", -EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (ident_check(rows[i].name, "agent", NULL) != rows[i].want)
			fail_msg("row %zu: '%s'", i, rows[i].name);
}

static void test_path_open_beneath_stays_below_and_follows_nothing(void **state)
{
	static const struct {
		const char *path;
		int want;
	} rows[] = { { "f", 0 },
		     { "d/f", 0 },
		     { "", 0 },
		     { "link", -ELOOP },
		     { "dlink/f", -ELOOP },
		     { "../x", -EXDEV },
		     { "d/../../x", -EXDEV },
		     { "/etc/passwd", -EXDEV },
		     { "none", -ENOENT } };
	autofd made = -1;

	(void)state;
	assert_int_equal(path_mkdirs(dir_fd, "d", 0, NULL), 0);
	assert_int_equal(path_open_beneath(dir_fd, "f", O_CREAT | O_WRONLY, 0640, &made, NULL), 0);
	fd_closep(&made);
	assert_int_equal(path_open_beneath(dir_fd, "d/f", O_CREAT | O_WRONLY, 0640, &made, NULL),
			 0);
	assert_int_equal(symlinkat("f", dir_fd, "link"), 0);
	assert_int_equal(symlinkat("d", dir_fd, "dlink"), 0);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		autofd fd = -1;
		int r = path_open_beneath(dir_fd, rows[i].path, O_RDONLY, 0600, &fd, NULL);

		if (r != rows[i].want || (r == 0) != (fd >= 0))
			fail_msg("row %zu: open '%s' gives %d", i, rows[i].path, r);
		if (r == 0 && !(fcntl(fd, F_GETFD) & FD_CLOEXEC))
			fail_msg("row %zu: not CLOEXEC", i);
	}
}

static void test_path_mkdirs_makes_all_parts_and_refuses_escapes(void **state)
{
	struct stat st;
	mode_t old = umask(0);

	(void)state;
	assert_int_equal(path_mkdirs(dir_fd, "m/n/o", 0770, NULL), 0);
	assert_int_equal(path_mkdirs(dir_fd, "m/n/o", 0770, NULL), 0);
	assert_int_equal(path_mkdirs(dir_fd, "", 0770, NULL), 0);
	assert_int_equal(fstatat(dir_fd, "m/n", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0770);
	assert_int_equal(path_mkdirs(dir_fd, "m/../x", 0770, NULL), -EINVAL);
	assert_int_equal(symlinkat("/tmp", dir_fd, "m/l"), 0);
	assert_int_not_equal(path_mkdirs(dir_fd, "m/l/x", 0770, NULL), 0);
	(void)umask(old);
}

static void test_path_rm_tree_leaves_link_targets_alone(void **state)
{
	autofd fd = -1;
	struct stat st;

	(void)state;
	assert_int_equal(path_mkdirs(dir_fd, "kept", 0, NULL), 0);
	assert_int_equal(path_open_beneath(dir_fd, "kept/f", O_CREAT | O_WRONLY, 0600, &fd, NULL),
			 0);
	assert_int_equal(path_mkdirs(dir_fd, "gone/a/b", 0, NULL), 0);
	assert_int_equal(symlinkat("../kept", dir_fd, "gone/link"), 0);
	assert_int_equal(linkat(dir_fd, "kept/f", dir_fd, "gone/a/hard", 0), 0);
	assert_int_equal(symlinkat("kept", dir_fd, "onlylink"), 0);
	assert_int_equal(path_rm_tree(dir_fd, "gone", NULL), 0);
	assert_int_equal(path_rm_tree(dir_fd, "onlylink", NULL), 0);
	assert_int_equal(fstatat(dir_fd, "kept/f", &st, 0), 0);
	assert_int_equal(fstatat(dir_fd, "gone", &st, 0), -1);
	assert_int_equal(path_rm_tree(dir_fd, "gone", NULL), 0);
	assert_int_equal(path_rm_tree(dir_fd, "kept/f", NULL), -EINVAL);
	assert_int_equal(path_rm_tree(dir_fd, "..", NULL), -EINVAL);
}

static void test_path_rm_tree_goes_as_deep_as_it_must_with_few_fds(void **state)
{
	struct rlimit old, few = { 64, 64 };
	autofd at = dup(dir_fd);
	struct stat st;
	int r;

	(void)state;
	assert_int_equal(path_mkdirs(dir_fd, "deep", 0, NULL), 0);
	for (int i = 0; i < DEEP; i++) {
		int next;

		assert_int_equal(mkdirat(at, i ? "d" : "deep/d", 0700), 0);
		next = openat(at, i ? "d" : "deep/d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		fd_closep(&at);
		at = next;
		if (i % 100 == 0) {
			autofd f = openat(at, "file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

			assert_true(f >= 0);
		}
	}
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	few.rlim_max = old.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	r = path_rm_tree(dir_fd, "deep", NULL);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(r, 0);
	assert_int_equal(fstatat(dir_fd, "deep", &st, 0), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_name_check_escapes_are_refused),
		cmocka_unit_test(test_path_check_table),
		cmocka_unit_test(test_ident_check_table),
		cmocka_unit_test(test_path_open_beneath_stays_below_and_follows_nothing),
		cmocka_unit_test(test_path_mkdirs_makes_all_parts_and_refuses_escapes),
		cmocka_unit_test(test_path_rm_tree_leaves_link_targets_alone),
		cmocka_unit_test(test_path_rm_tree_goes_as_deep_as_it_must_with_few_fds),
	};

	return cmocka_run_group_tests_name("core_path", tests, make_dir, drop_dir);
}
