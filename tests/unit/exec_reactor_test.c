/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/exec_reactor_test.c - garthd's event loop, children and peers: exec/reactor.h, exec/reap.h, exec/conn.h.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/clock.h"
#include "core/fd.h"
#include "exec/conn.h"
#include "exec/reap.h"

struct scene {
	struct reactor loop;
	struct reactor_timer a, b, c, limit;
	char order[8];
	unsigned n;
	struct child child;
	int status;
	struct conn conn;
	unsigned taken, gone;
};

static void too_late(void *ctx)
{
	(void)ctx;
	abort();
}

static int setup(void **state)
{
	struct scene *s = calloc(1, sizeof *s);

	if (!s || reactor_init(&s->loop, NULL) < 0)
		return -1;
	conn_init(&s->conn);
	child_init(&s->child);
	reactor_timer_set(&s->loop, &s->limit, 10 * NS_PER_S, too_late, s);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct scene *s = *state;

	conn_close(&s->conn);
	reactor_fini(&s->loop);
	free(s);
	return 0;
}

static void note(struct scene *s, char c)
{
	s->order[s->n++] = c;
	s->loop.stop = s->n == 2;
}
static void fire_a(void *ctx)
{
	note(ctx, 'a');
}
static void fire_b(void *ctx)
{
	note(ctx, 'b');
}
static void fire_c(void *ctx)
{
	note(ctx, 'c');
}

static void test_timers_fire_in_order_and_can_be_cleared(void **state)
{
	struct scene *s = *state;

	reactor_timer_set(&s->loop, &s->a, 30 * NS_PER_MS, fire_a, s);
	reactor_timer_set(&s->loop, &s->b, 10 * NS_PER_MS, fire_b, s);
	reactor_timer_set(&s->loop, &s->c, 20 * NS_PER_MS, fire_c, s);
	reactor_timer_clear(&s->loop, &s->c);
	assert_int_equal(reactor_run(&s->loop, NULL), 0);
	assert_string_equal(s->order, "ba");
}

static void test_timer_set_again_moves(void **state)
{
	struct scene *s = *state;

	reactor_timer_set(&s->loop, &s->a, 5 * NS_PER_MS, fire_a, s);
	reactor_timer_set(&s->loop, &s->b, 10 * NS_PER_MS, fire_b, s);
	reactor_timer_set(&s->loop, &s->a, 20 * NS_PER_MS, fire_a, s);
	assert_int_equal(reactor_run(&s->loop, NULL), 0);
	assert_string_equal(s->order, "ba");
}

static void test_timer_far_away_does_not_wrap(void **state)
{
	struct scene *s = *state;

	reactor_timer_set(&s->loop, &s->c, INT64_MAX, fire_c, s);
	reactor_timer_set(&s->loop, &s->a, 0, fire_a, s);
	reactor_timer_set(&s->loop, &s->b, NS_PER_MS, fire_b, s);
	assert_int_equal(reactor_run(&s->loop, NULL), 0);
	assert_string_equal(s->order, "ab");
}

static void child_over(void *ctx, int status)
{
	struct scene *s = ctx;

	s->status = status;
	s->loop.stop = true;
}

static void test_child_group_dies_with_its_leader(void **state)
{
	struct scene *s = *state;
	int ends[2];
	char c;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		(void)setpgid(0, 0);
		(void)close(ends[0]);
		if (fork() == 0)
			(void)pause(); /* what it leaves behind holds the pipe */
		_exit(7);
	}
	(void)setpgid(pid, pid);
	(void)close(ends[1]);
	assert_int_equal(child_watch(&s->child, &s->loop, pid, pidfd_open(pid, 0), true, child_over,
				     s, NULL),
			 0);
	assert_int_equal(reactor_run(&s->loop, NULL), 0);
	assert_true(WIFEXITED(s->status) && WEXITSTATUS(s->status) == 7);
	assert_int_equal(s->child.pid, 0);
	assert_int_equal(read(ends[0], &c, 1), 0); /* all writers are dead */
	(void)close(ends[0]);
	child_kill(&s->child); /* none: nothing */
}

static int take(void *ctx, struct wire_msg *m)
{
	struct scene *s = ctx;

	s->taken++;
	conn_reply_status(&s->conn, m->head.type, m->head.id, -ENOENT,
			  &(struct err){ .code = -ENOENT, .msg = "none" });
	return 0;
}

static void gone(void *ctx)
{
	struct scene *s = ctx;

	s->gone++;
	conn_close(&s->conn);
	s->loop.stop = true;
}

static int peer(struct scene *s)
{
	int pair[2];

	assert_int_equal(fd_seqpair(pair), 0);
	assert_int_equal(conn_open(&s->conn, &s->loop, pair[0], PEER_API, take, gone, s, NULL), 0);
	return pair[1];
}

static void test_conn_answers_and_sees_the_end(void **state)
{
	struct scene *s = *state;
	struct msg_ws_open m = { "w" };
	struct wire_msg *reply = calloc(1, sizeof *reply);
	int fd = peer(s);

	wire_msg_init(reply);
	assert_int_equal(wire_send(fd, MSG_WS_OPEN, 9, bytes_of(&m, sizeof m), bytes_of(NULL, 0),
				   NULL, 0),
			 0);
	(void)shutdown(fd, SHUT_WR);
	assert_int_equal(reactor_run(&s->loop, NULL), 0);
	assert_int_equal(s->taken, 1);
	assert_int_equal(s->gone, 1);
	assert_int_equal(wire_recv(fd, reply), 1);
	assert_int_equal(reply->head.id, 9);
	assert_int_equal(msg_status_of(reply), -ENOENT);
	wire_msg_fini(reply);
	free(reply);
	(void)close(fd);
}

static void test_conn_bad_message_throws_the_peer_out(void **state)
{
	struct scene *s = *state;
	struct msg_stop m = { { 0 } };
	int fd = peer(s);

	/* STOP is the supervisor's, not garth-api's */
	assert_int_equal(
		wire_send(fd, MSG_STOP, 1, bytes_of(&m, sizeof m), bytes_of(NULL, 0), NULL, 0), 0);
	assert_int_equal(reactor_run(&s->loop, NULL), 0);
	assert_int_equal(s->taken, 0);
	assert_int_equal(s->gone, 1);
	(void)close(fd);
}

static void test_conn_slow_peer_is_queued_for_then_gets_all(void **state)
{
	struct scene *s = *state;
	struct wire_msg *m = calloc(1, sizeof *m);
	struct msg_sb_oom note_body = { 5 };
	int fd = peer(s), sent = 0, got = 0, r;

	wire_msg_init(m);
	while (s->conn.queued < 10 && sent < 100000) {
		assert_int_equal(conn_send(&s->conn, MSG_SB_OOM, 0,
					   bytes_of(&note_body, sizeof note_body),
					   bytes_of(NULL, 0), NULL, 0),
				 0);
		sent++;
	}
	assert_int_equal(s->conn.queued, 10);
	while (got < sent) {
		struct epoll_event ev;

		r = wire_recv_timeout(fd, m, 0);
		if (r == 1) {
			got++;
			wire_msg_fini(m);
			wire_msg_init(m);
		} else {
			assert_int_equal(epoll_wait(s->loop.epoll_fd, &ev, 1, 1000), 1);
			s->conn.io.ready(s->conn.io.ctx, ev.events);
		}
	}
	assert_int_equal(s->conn.queued, 0);
	free(m);
	(void)close(fd);
}

static void test_conn_peer_that_never_reads_is_bounded(void **state)
{
	struct scene *s = *state;
	struct msg_sb_oom body = { 5 };
	int fd = peer(s), r = 0;

	for (unsigned i = 0; r == 0 && i < 10 * CONN_QUEUE_MAX; i++)
		r = conn_send(&s->conn, MSG_SB_OOM, 0, bytes_of(&body, sizeof body),
			      bytes_of(NULL, 0), NULL, 0);
	assert_int_equal(r, -ENOBUFS);
	(void)close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_timers_fire_in_order_and_can_be_cleared, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_timer_set_again_moves, setup, teardown),
		cmocka_unit_test_setup_teardown(test_timer_far_away_does_not_wrap, setup, teardown),
		cmocka_unit_test_setup_teardown(test_child_group_dies_with_its_leader, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_conn_answers_and_sees_the_end, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_conn_bad_message_throws_the_peer_out, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_conn_slow_peer_is_queued_for_then_gets_all,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_conn_peer_that_never_reads_is_bounded, setup,
						teardown),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
