/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/exec_ids_test.c - reservations of uids and gids, exec/ids.h.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/fd.h"
#include "core/ids.h"
#include "core/path.h"
#include "exec/ids.h"

#define FIRST 1000000000u
#define BLOCKS 80u /* room for two workspaces and eleven sandboxes */
#define COUNT (BLOCKS * IDS_BLOCK)
#define WS1 (FIRST + IDS_BLOCK)
#define WS2 (WS1 + IDS_WS_BLOCKS * IDS_BLOCK)

struct place {
	char path[64];
	int fd;
};

static int setup(void **state)
{
	static struct place p;

	(void)snprintf(p.path, sizeof p.path, "/tmp/garth-ids-XXXXXX");
	if (!mkdtemp(p.path))
		return -1;
	p.fd = open(p.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = &p;
	return 0;
}

static int teardown(void **state)
{
	struct place *p = *state;

	(void)unlinkat(p->fd, "ids", 0);
	(void)close(p->fd);
	return rmdir(p->path);
}

static void write_ids(const struct place *p, const char *text)
{
	autofd fd = openat(p->fd, "ids", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_int_equal(fd_write_full(fd, text, strlen(text)), 0);
}

static void test_ids_reserve_is_kept_over_a_restart(void **state)
{
	const struct place *p = *state;
	struct err err = { 0 };
	struct ids x;
	uint32_t a = 0, b = 0;

	assert_int_equal(ids_open(p->fd, FIRST, COUNT, &x, &err), 0);
	assert_int_equal(ids_reserve(&x, "one", &a, &err), 0);
	assert_int_equal(ids_reserve(&x, "two", &b, &err), 0);
	assert_int_equal(a, WS1);
	assert_int_equal(b, WS2);
	assert_int_equal(ids_reserve(&x, "one", &a, &err), -EEXIST);
	ids_close(&x);
	assert_int_equal(ids_open(p->fd, FIRST, COUNT, &x, &err), 0);
	assert_non_null(ids_find(&x, "one"));
	assert_int_equal(ids_find(&x, "two")->uid_base, WS2);
	assert_int_equal(ids_release(&x, "one", &err), 0);
	ids_close(&x);
	assert_int_equal(ids_open(p->fd, FIRST, COUNT, &x, &err), 0);
	assert_null(ids_find(&x, "one"));
	assert_int_equal(ids_reserve(&x, "three", &a, &err), 0);
	assert_int_equal(a, WS1); /* the hole is filled */
	ids_close(&x);
}

static void test_ids_reserve_past_the_range_is_refused(void **state)
{
	const struct place *p = *state;
	struct err err = { 0 };
	struct ids x;
	uint32_t base = 0;

	assert_int_equal(ids_open(p->fd, FIRST, COUNT, &x, &err), 0);
	assert_int_equal(ids_reserve(&x, "one", &base, &err), 0);
	assert_int_equal(ids_reserve(&x, "two", &base, &err), 0);
	assert_int_equal(ids_reserve(&x, "three", &base, &err), -ENOSPC);
	assert_non_null(strstr(err.msg, "ids"));
	ids_close(&x);
}

static void test_ids_cut_last_line_is_dropped(void **state)
{
	const struct place *p = *state;
	struct err err = { 0 };
	struct stat st;
	struct ids x;
	char text[128];

	(void)snprintf(text, sizeof text, "ws one %u\nws two 10", WS1);
	write_ids(p, text);
	assert_int_equal(ids_open(p->fd, FIRST, COUNT, &x, &err), 0);
	assert_int_equal(x.ws_count, 1);
	ids_close(&x);
	assert_int_equal(fstatat(p->fd, "ids", &st, 0), 0);
	assert_int_equal(st.st_size, (off_t)(strchr(text, '\n') - text) + 1);
}

static void test_ids_bad_lines_are_refused(void **state)
{
	static const struct {
		const char *text;
		int want;
	} rows[] = {
		{ "range 1000000000 327680\n", 0 },
		{ "range 1000000000 4096\n", -EINVAL },
		{ "ws one 1000004096\n", 0 },
		{ "ws one 1000004096\nfree one 1000004096\nws one 1000004096\n", 0 },
		{ "ws one 1000000000\n", -EINVAL }, /* garth-api's own block */
		{ "ws one 1000004097\n", -EINVAL }, /* not at a block */
		{ "ws one 999999999\n", -EINVAL },  /* outside */
		{ "ws one 1000270336\n", -EINVAL }, /* reaches past the end */
		{ "ws one 1000004096\nws one 1000143360\n", -EINVAL },
		{ "ws one 1000004096\nws two 1000008192\n", -EINVAL }, /* overlaps */
		{ "free one 1000004096\n", -EINVAL },
		{ "ws one 1000004096\nfree one 1000143360\n", -EINVAL },
		{ "ws ../x 1000004096\n", -EINVAL },
		{ "ws one 1000004096 more\n", -EINVAL },
		{ "ws one\n", -EINVAL },
		{ "lend one 1000004096\n", -EINVAL },
		{ "\n", -EINVAL },
	};
	const struct place *p = *state;

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct err err = { 0 };
		struct ids x;
		int r;

		write_ids(p, rows[i].text);
		r = ids_open(p->fd, FIRST, COUNT, &x, &err);
		if (r == 0)
			ids_close(&x);
		if (r != rows[i].want)
			fail_msg("row %zu: %d, not %d", i, r, rows[i].want);
	}
}

static void test_ids_small_range_is_refused(void **state)
{
	const struct place *p = *state;
	struct err err = { 0 };
	struct ids x;

	assert_int_equal(ids_open(p->fd, FIRST, 35 * IDS_BLOCK, &x, &err), -EINVAL);
	assert_int_equal(ids_open(p->fd, UINT32_MAX - 5, COUNT, &x, &err), -EINVAL);
}

static void test_ids_gid_blocks_never_meet_a_workspace(void **state)
{
	const struct place *p = *state;
	struct err err = { 0 };
	struct ids x;
	uint32_t base = 0, gid = 0, last = 0;
	unsigned n = 0;

	assert_int_equal(ids_open(p->fd, FIRST, COUNT, &x, &err), 0);
	assert_int_equal(ids_reserve(&x, "one", &base, &err), 0);
	while (ids_gid_take(&x, &gid) == 0) {
		assert_true(gid >= base + IDS_WS_BLOCKS * IDS_BLOCK &&
			    gid <= FIRST + COUNT - IDS_BLOCK);
		last = gid;
		n++;
	}
	assert_int_equal(n, BLOCKS - 1 - IDS_WS_BLOCKS);
	/* with all of them out, there is no room for a workspace */
	assert_int_equal(ids_reserve(&x, "two", &base, &err), -ENOSPC);
	ids_gid_put(&x, last);
	assert_int_equal(ids_gid_take(&x, &gid), 0);
	assert_int_equal(gid, last);
	ids_close(&x);
}

static void test_ids_gid_block_comes_back_late(void **state)
{
	const struct place *p = *state;
	struct err err = { 0 };
	struct ids x;
	uint32_t a = 0, b = 0;

	assert_int_equal(ids_open(p->fd, FIRST, COUNT, &x, &err), 0);
	assert_int_equal(ids_gid_take(&x, &a), 0);
	ids_gid_put(&x, a);
	assert_int_equal(ids_gid_take(&x, &b), 0);
	assert_int_not_equal(a, b);
	ids_close(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_ids_reserve_is_kept_over_a_restart, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_ids_reserve_past_the_range_is_refused, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_ids_cut_last_line_is_dropped, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ids_bad_lines_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ids_small_range_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ids_gid_blocks_never_meet_a_workspace, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_ids_gid_block_comes_back_late, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
