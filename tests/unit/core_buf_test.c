/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/core_buf_test.c - core/buf.h, core/err.h, core/log.h (the escaper), core/fd.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "core/buf.h"
#include "core/fd.h"
#include "core/log.h"

static void test_buf_grows_up_to_its_max_and_no_further(void **state)
{
	autobuf b;

	(void)state;
	buf_init(&b, 100);
	assert_string_equal(buf_str(&b), "");
	for (int i = 0; i < 10; i++)
		assert_int_equal(buf_add(&b, "0123456789", 10), 0);
	assert_int_equal(buf_add_char(&b, 'x'), -EFBIG);
	assert_int_equal(buf_addf(&b, "%d", 1), -EFBIG);
	assert_int_equal(b.len, 100);
	assert_int_equal(strlen(buf_str(&b)), 100);
	buf_reset(&b);
	assert_int_equal(buf_addf(&b, "%s-%d", "a", 7), 0);
	assert_string_equal(buf_str(&b), "a-7");
	assert_int_equal(buf_add_str(&b, ""), 0);
	assert_int_equal(b.len, 3);
}

static void test_buf_steal_gives_a_string_also_of_nothing(void **state)
{
	struct buf b;
	char *p;

	(void)state;
	buf_init(&b, 10);
	p = buf_steal(&b);
	assert_non_null(p);
	assert_string_equal(p, "");
	free(p);
	assert_int_equal(buf_add_str(&b, "abc"), 0);
	p = buf_steal(&b);
	assert_string_equal(p, "abc");
	assert_null(b.p);
	assert_int_equal(b.max, 10);
	free(p);
	buf_fini(&b);
	buf_fini(NULL);
}

static void test_err_set_wrap_and_errno_build_a_sentence(void **state)
{
	struct err e = { 0 };
	char longer[600];

	(void)state;
	assert_int_equal(err_set(&e, -ENOENT, "no %s", "file"), -ENOENT);
	assert_int_equal(err_wrap(&e, -ENOENT, "open %d", 3), -ENOENT);
	assert_string_equal(e.msg, "open 3: no file");
	assert_int_equal(err_errno(&e, -EACCES, "read"), -EACCES);
	assert_string_equal(e.msg, "read: Permission denied");
	assert_int_equal(e.code, -EACCES);
	memset(longer, 'x', sizeof longer);
	longer[sizeof longer - 1] = '\0';
	(void)err_set(&e, -EINVAL, "%s", longer);
	assert_int_equal(strlen(e.msg), sizeof e.msg - 1);
	(void)err_wrap(&e, -EINVAL, "%s", longer);
	assert_int_equal(strlen(e.msg), sizeof e.msg - 1);
	assert_int_equal(err_set(NULL, -EIO, "x"), -EIO);
	assert_int_equal(err_wrap(NULL, -EIO, "x"), -EIO);
	assert_int_equal(err_errno(NULL, -EIO, "x"), -EIO);
}

static void test_log_esc_shows_every_byte_and_cuts(void **state)
{
	static const struct {
		const char *in;
		size_t len;
		const char *want;
	} rows[] = {
		{ "plain text", 10, "plain text" },
		{ "a\nb", 3, "a\\x0ab" },
		{ "\\", 1, "\\x5c" },
		{ "\0\x7f\xff", 3, "\\x00\\x7f\\xff" },
		{ "", 0, "" },
	};
	char out[LOG_ESC_SIZE], big[400];

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (strcmp(log_esc(bytes_of(rows[i].in, rows[i].len), out), rows[i].want) != 0)
			fail_msg("row %zu: '%s'", i, out);
	for (size_t n = LOG_ESC_SIZE - 6; n < sizeof big; n++) {
		memset(big, n % 2 ? 'a' : '\n', n);
		(void)log_esc(bytes_of(big, n), out);
		if (strlen(out) >= LOG_ESC_SIZE)
			fail_msg("%zu bytes: not terminated", n);
		if (n >= LOG_ESC_SIZE && strcmp(out + strlen(out) - 3, "...") != 0)
			fail_msg("%zu bytes: the cut is not said: '%s'", n, out);
	}
}

static void test_fd_memfd_round_trips_and_unsealed_is_refused(void **state)
{
	autofd fd = -1;
	autofd open_fd = -1;
	autobuf b;
	autobuf small;

	(void)state;
	buf_init(&b, 1000);
	buf_init(&small, 4);
	assert_int_equal(fd_memfd("t", BYTES_LIT("hello"), &fd), 0);
	assert_int_equal(fd_memfd_read(fd, &b), 0);
	assert_string_equal(buf_str(&b), "hello");
	assert_int_equal(fd_memfd_read(fd, &small), -EFBIG);
	assert_int_equal(fd_pwrite_full(fd, "x", 1, 0), -EPERM);
	open_fd = memfd_create("u", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_true(open_fd >= 0);
	assert_int_equal(fd_memfd_read(open_fd, &b), -EBADMSG);
	assert_true((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
}

static void test_fd_read_all_stops_at_the_max(void **state)
{
	autofd fd = memfd_create("t", MFD_CLOEXEC);
	autobuf exact;
	autobuf small;
	char got[8];

	(void)state;
	assert_int_equal(fd_write_full(fd, "0123456789", 10), 0);
	buf_init(&exact, 10);
	buf_init(&small, 9);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(fd_read_all(fd, &exact), 0);
	assert_string_equal(buf_str(&exact), "0123456789");
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(fd_read_all(fd, &small), -EFBIG);
	assert_int_equal(lseek(fd, 5, SEEK_SET), 5);
	assert_int_equal(fd_read_full(fd, got, sizeof got), -ENODATA);
}

static void test_fd_flags_are_set_and_cleared(void **state)
{
	int fds[2];

	(void)state;
	assert_int_equal(fd_seqpair(fds), 0);
	assert_int_equal(fd_set_nonblock(fds[0], true), 0);
	assert_true((fcntl(fds[0], F_GETFL) & O_NONBLOCK) != 0);
	assert_int_equal(fd_set_nonblock(fds[0], false), 0);
	assert_true((fcntl(fds[0], F_GETFL) & O_NONBLOCK) == 0);
	assert_int_equal(fd_set_cloexec(fds[0], false), 0);
	assert_true((fcntl(fds[0], F_GETFD) & FD_CLOEXEC) == 0);
	fd_closep(&fds[0]);
	assert_int_equal(fds[0], -1);
	fd_closep(&fds[0]);
	fd_closep(&fds[1]);
	assert_int_equal(fd_set_nonblock(-1, true), -EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_buf_grows_up_to_its_max_and_no_further),
		cmocka_unit_test(test_buf_steal_gives_a_string_also_of_nothing),
		cmocka_unit_test(test_err_set_wrap_and_errno_build_a_sentence),
		cmocka_unit_test(test_log_esc_shows_every_byte_and_cuts),
		cmocka_unit_test(test_fd_memfd_round_trips_and_unsealed_is_refused),
		cmocka_unit_test(test_fd_read_all_stops_at_the_max),
		cmocka_unit_test(test_fd_flags_are_set_and_cleared),
	};

	return cmocka_run_group_tests_name("core_buf", tests, NULL, NULL);
}
