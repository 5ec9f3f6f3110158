/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/core_wire_test.c - core/wire.h: whole messages, descriptors, and what is malformed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "core/clock.h"
#include "core/fd.h"
#include "core/wire.h"

struct pair {
	int fd[2];
	struct wire_msg *m;
};

static int open_pair(void **state)
{
	struct pair *p = calloc(1, sizeof *p);

	if (!p)
		return -1;
	p->m = calloc(1, sizeof *p->m);
	*state = p;
	if (!p->m || fd_seqpair(p->fd) < 0)
		return -1;
	wire_msg_init(p->m);
	return 0;
}

static int close_pair(void **state)
{
	struct pair *p = *state;

	wire_msg_fini(p->m);
	fd_closep(&p->fd[0]);
	fd_closep(&p->fd[1]);
	free(p->m);
	free(p);
	return 0;
}

static unsigned open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	(void)closedir(d);
	return n;
}

static void test_wire_message_with_tail_and_fds_arrives_whole(void **state)
{
	struct pair *p = *state;
	int fds[2] = { open("/dev/null", O_RDONLY | O_CLOEXEC),
		       open("/dev/zero", O_RDONLY | O_CLOEXEC) };
	autofd got = -1;
	struct stat a, b;

	assert_int_equal(wire_send(p->fd[0], 12, 77, BYTES_LIT("body"), BYTES_LIT("tail!"), fds, 2),
			 0);
	assert_int_equal(wire_recv(p->fd[1], p->m), 1);
	assert_int_equal(p->m->head.type, 12);
	assert_true(p->m->head.id == 77);
	assert_int_equal(p->m->head.len, 9);
	assert_memory_equal(p->m->body, "bodytail!", 9);
	assert_int_equal(p->m->head.fds, 2);
	assert_int_equal(fstat(fds[1], &a), 0);
	assert_int_equal(fstat(p->m->fd[1], &b), 0);
	assert_true(a.st_rdev == b.st_rdev);
	assert_true((fcntl(p->m->fd[0], F_GETFD) & FD_CLOEXEC) != 0);
	got = wire_take_fd(p->m, 0);
	assert_true(got >= 0);
	assert_int_equal(wire_take_fd(p->m, 0), -1);
	assert_int_equal(wire_take_fd(p->m, 9), -1);
	fd_closep(&fds[0]);
	fd_closep(&fds[1]);
}

static void test_wire_largest_message_passes_and_more_is_refused(void **state)
{
	struct pair *p = *state;
	static uint8_t big[WIRE_MSG_MAX + 1];

	assert_int_equal(wire_send(p->fd[0], 1, 1, bytes_of(big, WIRE_MSG_MAX - WIRE_TAIL_MAX),
				   bytes_of(big, WIRE_TAIL_MAX), NULL, 0),
			 0);
	assert_int_equal(wire_recv(p->fd[1], p->m), 1);
	assert_int_equal(p->m->head.len, WIRE_MSG_MAX);
	assert_int_equal(wire_send(p->fd[0], 1, 1, bytes_of(big, 1),
				   bytes_of(big, WIRE_TAIL_MAX + 1), NULL, 0),
			 -EMSGSIZE);
	assert_int_equal(wire_send(p->fd[0], 1, 1, bytes_of(big, WIRE_MSG_MAX), bytes_of(big, 1),
				   NULL, 0),
			 -EMSGSIZE);
	assert_int_equal(wire_send(p->fd[0], 1, 1, bytes_of(big, WIRE_MSG_MAX + 1),
				   bytes_of(NULL, 0), NULL, 0),
			 -EMSGSIZE);
	assert_int_equal(wire_send(p->fd[0], 1, 1, bytes_of(big, 1), bytes_of(NULL, 0), p->fd, 5),
			 -EMSGSIZE);
}

/* Send exactly these bytes, with n descriptors. */
static void send_raw(int sock, const void *bytes, size_t len, unsigned n)
{
	char copy[256];
	struct iovec iov = { copy, len };
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int) * 16)];
	} control = { 0 };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };

	memcpy(copy, bytes, len);
	if (n) {
		mh.msg_control = control.room;
		mh.msg_controllen = CMSG_SPACE(sizeof(int) * n);
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(sizeof(int) * n);
		for (unsigned i = 0; i < n; i++)
			memcpy(CMSG_DATA(&control.align) + i * sizeof sock, &sock, sizeof sock);
	}
	assert_int_equal(sendmsg(sock, &mh, 0), (int)len);
}

static void test_wire_recv_malformed_is_refused_and_leaks_no_descriptor(void **state)
{
	struct pair *p = *state;
	static const struct {
		struct wire_head head;
		size_t sent; /* bytes, header included */
		unsigned fds;
	} rows[] = {
		{ { .version = 1, .len = 4 },
		  20,
		  1 }, /* a descriptor that the header does not know */
		{ { .version = 1, .fds = 2, .len = 4 }, 20, 1 }, /* one too few */
		{ { .version = 1, .fds = 4, .len = 4 }, 20, 5 }, /* more than a message may have */
		{ { .version = 1, .fds = 16, .len = 4 }, 20, 16 },
		{ { .version = 1, .len = 5 }, 20, 0 },
		{ { .version = 1, .len = 3 }, 20, 0 },
		{ { .version = 1, .len = UINT32_MAX }, 20, 0 },
		{ { .version = 0, .len = 4 }, 20, 0 },
		{ { .version = 2, .len = 4 }, 20, 1 },
		{ { .version = 1 }, 15, 1 },
		{ { .version = 1 }, 1, 0 },
	};
	unsigned before = open_fds();

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		uint8_t bytes[64] = { 0 };
		int r;

		memcpy(bytes, &rows[i].head, sizeof rows[i].head);
		send_raw(p->fd[0], bytes, rows[i].sent, rows[i].fds);
		r = wire_recv(p->fd[1], p->m);
		if (r != -EBADMSG)
			fail_msg("row %zu gives %d", i, r);
		if (open_fds() != before)
			fail_msg("row %zu leaks a descriptor", i);
	}
}

static void test_wire_recv_oversized_packet_is_refused(void **state)
{
	struct pair *p = *state;
	size_t len = sizeof(struct wire_head) + WIRE_MSG_MAX + 1;
	struct wire_head head = { .version = 1, .len = WIRE_MSG_MAX + 1 };
	uint8_t *bytes = calloc(1, len);

	assert_non_null(bytes);
	memcpy(bytes, &head, sizeof head);
	assert_int_equal(send(p->fd[0], bytes, len, 0), (int)len);
	free(bytes);
	assert_int_equal(wire_recv(p->fd[1], p->m), -EBADMSG);
}

static void test_wire_ends_time_outs_and_full_queues(void **state)
{
	struct pair *p = *state;
	int64_t begun = clock_mono_ns();
	int r = 0;

	assert_int_equal(wire_recv_timeout(p->fd[1], p->m, 50), -ETIMEDOUT);
	assert_true(clock_mono_ns() - begun >= 49 * NS_PER_MS);
	assert_int_equal(fd_set_nonblock(p->fd[0], true), 0);
	assert_int_equal(fd_set_nonblock(p->fd[1], true), 0);
	assert_int_equal(wire_recv(p->fd[1], p->m), -EAGAIN);
	for (int i = 0; i < 10000 && r == 0; i++)
		r = wire_send(p->fd[0], 1, 1, bytes_of(p->m->body, 1000), bytes_of(NULL, 0), NULL,
			      0);
	assert_int_equal(r, -EAGAIN);
	assert_int_equal(wire_recv_timeout(p->fd[1], p->m, 1000), 1);
	fd_closep(&p->fd[1]);
	r = wire_send(p->fd[0], 1, 1, BYTES_LIT("x"), bytes_of(NULL, 0), NULL, 0);
	assert_true(r == -EPIPE || r == -ECONNRESET);
}

static void test_wire_recv_peer_gone_with_unread_mail_loses_nothing(void **state)
{
	struct pair *p = *state;

	assert_int_equal(
		wire_send(p->fd[1], 1, 0, BYTES_LIT("never read"), bytes_of(NULL, 0), NULL, 0), 0);
	assert_int_equal(
		wire_send(p->fd[0], 81, 0, BYTES_LIT("exited"), bytes_of(NULL, 0), NULL, 0), 0);
	fd_closep(&p->fd[0]);
	assert_int_equal(wire_recv(p->fd[1], p->m), 1);
	assert_int_equal(p->m->head.type, 81);
	assert_int_equal(wire_recv(p->fd[1], p->m), 0);
}

static void test_wire_recv_peer_gone_is_the_end(void **state)
{
	struct pair *p = *state;

	assert_int_equal(wire_send(p->fd[0], 3, 0, BYTES_LIT("last"), bytes_of(NULL, 0), NULL, 0),
			 0);
	fd_closep(&p->fd[0]);
	assert_int_equal(wire_recv(p->fd[1], p->m), 1);
	assert_int_equal(wire_recv(p->fd[1], p->m), 0);
	assert_int_equal(wire_recv_timeout(p->fd[1], p->m, 1000), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_wire_message_with_tail_and_fds_arrives_whole,
						open_pair, close_pair),
		cmocka_unit_test_setup_teardown(
			test_wire_largest_message_passes_and_more_is_refused, open_pair,
			close_pair),
		cmocka_unit_test_setup_teardown(
			test_wire_recv_malformed_is_refused_and_leaks_no_descriptor, open_pair,
			close_pair),
		cmocka_unit_test_setup_teardown(test_wire_recv_oversized_packet_is_refused,
						open_pair, close_pair),
		cmocka_unit_test_setup_teardown(test_wire_ends_time_outs_and_full_queues, open_pair,
						close_pair),
		cmocka_unit_test_setup_teardown(test_wire_recv_peer_gone_is_the_end, open_pair,
						close_pair),
		cmocka_unit_test_setup_teardown(
			test_wire_recv_peer_gone_with_unread_mail_loses_nothing, open_pair,
			close_pair),
	};

	return cmocka_run_group_tests_name("core_wire", tests, NULL, NULL);
}
