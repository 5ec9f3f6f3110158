/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/api_peer_test.c - the loop's timers, and calls to a peer that answers, is late, answers nonsense, is stuck, or dies.
 * The peer is the other end of a socket pair, played by the test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "api/peer.h"
#include "core/clock.h"
#include "core/fd.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define CALLS 8u

struct rig;

struct slot {
	struct rig *r;
	unsigned i;
};

struct rig {
	struct loop *loop;
	struct peer *peer;
	int far; /* the peer's end */
	struct timer end, step;
	struct call call[CALLS];
	struct slot slot[CALLS];
	int status[CALLS];
	unsigned answers, told, gone;
	char why[256];
	int fd; /* that came with an answer */
	struct wire_msg msg;
};

static void stop(void *ctx)
{
	loop_stop(((struct rig *)ctx)->loop);
}

static void run(struct rig *r, int64_t ms)
{
	struct err err;

	timer_set(r->loop, &r->end, ms, stop, r);
	assert_int_equal(loop_run(r->loop, &err), 0);
}

static void on_told(void *ctx, struct wire_msg *m)
{
	struct rig *r = ctx;

	r->told += m->head.type == MSG_SB_GONE;
}

static void on_gone(void *ctx, const char *why)
{
	struct rig *r = ctx;

	r->gone++;
	(void)snprintf(r->why, sizeof r->why, "%s", why);
}

static const struct peer_ops ops = { .told = on_told, .gone = on_gone };

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof *r);
	struct err err;
	int fds[2];

	if (r == NULL || loop_new(&r->loop, &err) < 0 || fd_seqpair(fds) < 0)
		return -1;
	r->far = fds[1];
	r->fd = -1;
	wire_msg_init(&r->msg);
	for (unsigned i = 0; i < CALLS; i++)
		r->status[i] = 1;
	*state = r;
	return peer_new(r->loop, fds[0], PEER_D, &ops, r, &r->peer);
}

static int teardown(void **state)
{
	struct rig *r = *state;

	for (unsigned i = 0; i < CALLS; i++)
		call_cancel(&r->call[i]);
	peer_free(r->peer);
	fd_closep(&r->far);
	fd_closep(&r->fd);
	loop_free(r->loop);
	free(r);
	return 0;
}

static void answered(void *ctx, int status, struct wire_msg *reply, const char *why)
{
	struct slot *s = ctx;

	s->r->status[s->i] = status;
	s->r->answers++;
	(void)snprintf(s->r->why, sizeof s->r->why, "%s", why);
	if (status == 0 && reply->fd[0] >= 0)
		s->r->fd = wire_take_fd(reply, 0);
}

static void ask(struct rig *r, unsigned i, int64_t timeout_ms)
{
	struct msg_ws_open q = { .name = "w" };

	r->slot[i] = (struct slot){ r, i };
	peer_call(r->peer, &r->call[i], MSG_WS_OPEN, bytes_of(&q, sizeof q), bytes_of(NULL, 0),
		  NULL, 0, timeout_ms, answered, &r->slot[i]);
}

/* The far end takes one request; its id. */
static uint64_t take(struct rig *r)
{
	wire_msg_fini(&r->msg);
	assert_int_equal(wire_recv_timeout(r->far, &r->msg, 1000), 1);
	return r->msg.head.id;
}

static void reply(struct rig *r, uint16_t type, uint64_t id, int status, const char *tail, int fd)
{
	struct msg_status s = { .status = status };

	assert_int_equal(wire_send(r->far, type | WIRE_REPLY, id, bytes_of(&s, sizeof s),
				   bytes_str(tail), &fd, fd >= 0),
			 0);
}

static void test_call_gets_its_answer_in_any_order(void **state)
{
	struct rig *r = *state;
	uint64_t a, b;
	autofd null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	ask(r, 0, 5000);
	ask(r, 1, 5000);
	a = take(r);
	b = take(r);
	assert_int_not_equal(a, b);
	reply(r, MSG_WS_OPEN, b, -ENOENT, "no such workspace", -1);
	reply(r, MSG_WS_OPEN, a, 0, "", null);
	run(r, 20);
	assert_int_equal(r->answers, 2);
	assert_int_equal(r->status[0], 0);
	assert_int_equal(r->status[1], -ENOENT);
	assert_true(r->fd >= 0);
	assert_false(call_is_open(&r->call[0]));
}

static void test_call_failure_comes_with_its_sentence(void **state)
{
	struct rig *r = *state;

	ask(r, 0, 5000);
	reply(r, MSG_WS_OPEN, take(r), -EIO, "the disk is broken", -1);
	run(r, 20);
	assert_int_equal(r->status[0], -EIO);
	assert_string_equal(r->why, "the disk is broken");
}

static void test_call_deadline_passes_and_the_late_answer_is_dropped(void **state)
{
	struct rig *r = *state;
	autofd null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	uint64_t id;

	ask(r, 0, 30);
	ask(r, 1, 5000);
	id = take(r);
	(void)take(r);
	run(r, 60);
	assert_int_equal(r->status[0], -ETIMEDOUT);
	assert_int_equal(r->answers, 1);
	reply(r, MSG_WS_OPEN, id, 0, "", null);
	run(r, 20);
	assert_int_equal(r->answers, 1);
	assert_true(peer_is_open(r->peer));
	assert_int_equal(r->fd, -1);
}

static void test_call_cancelled_is_not_called_back(void **state)
{
	struct rig *r = *state;

	ask(r, 0, 10);
	call_cancel(&r->call[0]);
	call_cancel(&r->call[0]);
	run(r, 30);
	assert_int_equal(r->answers, 0);
}

static void test_peer_death_fails_all_calls_once(void **state)
{
	struct rig *r = *state;

	ask(r, 0, 5000);
	ask(r, 1, 5000);
	fd_closep(&r->far);
	run(r, 20);
	assert_int_equal(r->gone, 1);
	assert_int_equal(r->status[0], -EPIPE);
	assert_int_equal(r->status[1], -EPIPE);
	ask(r, 2, 5000); /* later ones too, and never from within peer_call */
	assert_int_equal(r->answers, 2);
	run(r, 20);
	assert_int_equal(r->status[2], -EPIPE);
}

static void test_peer_that_answers_nonsense_is_left(void **state)
{
	static const struct {
		const char *what;
		uint16_t type;
		size_t len;
	} rows[] = {
		{ "a reply of another type", MSG_WS_CREATE | WIRE_REPLY,
		  sizeof(struct msg_status) },
		{ "a body that is too short", MSG_WS_OPEN | WIRE_REPLY, 2 },
		{ "a message that is not its to send", MSG_WS_OPEN, sizeof(struct msg_ws_open) },
		{ "an unknown type", 4095, 8 },
	};
	static const uint8_t zero[256];

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct rig *r;
		uint64_t id;

		if (i > 0)
			assert_int_equal(setup(state), 0);
		r = *state;
		ask(r, 0, 5000);
		id = take(r);
		assert_int_equal(wire_send(r->far, rows[i].type, id, bytes_of(zero, rows[i].len),
					   bytes_of(NULL, 0), NULL, 0),
				 0);
		run(r, 30);
		if (r->gone != 1 || r->status[0] != -EPIPE || r->answers != 1)
			fail_msg("row %zu: %s", i, rows[i].what);
		if (i + 1 < COUNT(rows))
			(void)teardown(state);
	}
}

static void test_unasked_messages_are_told(void **state)
{
	struct rig *r = *state;
	struct msg_sb_gone g = { .sandbox = 7, .why = "killed" };

	assert_int_equal(wire_send(r->far, MSG_SB_GONE, 0, bytes_of(&g, sizeof g),
				   bytes_of(NULL, 0), NULL, 0),
			 0);
	run(r, 20);
	assert_int_equal(r->told, 1);
	memset(g.why, 'x', sizeof g.why); /* a text without an end */
	assert_int_equal(wire_send(r->far, MSG_SB_GONE, 0, bytes_of(&g, sizeof g),
				   bytes_of(NULL, 0), NULL, 0),
			 0);
	run(r, 20);
	assert_int_equal(r->told, 1);
	assert_int_equal(r->gone, 1);
}

/* A peer that takes nothing: calls wait in a bounded queue, then fail; nothing blocks; what fitted arrives in order. */
static void test_stuck_peer_stalls_nobody(void **state)
{
	struct rig *r = *state;
	struct call *calls = calloc(4096, sizeof *calls);
	struct slot *s = calloc(4096, sizeof *s);
	struct msg_ws_open q = { .name = "w" };
	int64_t start = clock_mono_ns();
	uint64_t last = 0;
	unsigned got = 0;

	assert_non_null(calls);
	assert_non_null(s);
	for (unsigned i = 0; i < 4096; i++) {
		s[i] = (struct slot){ r, i % CALLS };
		peer_call(r->peer, &calls[i], MSG_WS_OPEN, bytes_of(&q, sizeof q),
			  bytes_of(NULL, 0), NULL, 0, 60000, answered, &s[i]);
	}
	assert_int_equal(r->answers, 0);
	run(r, 20);
	assert_true(clock_mono_ns() - start < 5 * NS_PER_S);
	assert_true(r->answers > 0 && r->answers < 4096); /* those that found no room */
	assert_true(peer_is_open(r->peer));
	for (;;) {
		wire_msg_fini(&r->msg);
		if (wire_recv_timeout(r->far, &r->msg, 0) != 1) {
			run(r, 5); /* the queue moves on */
			if (wire_recv_timeout(r->far, &r->msg, 0) != 1)
				break;
		}
		assert_true(r->msg.head.id > last);
		last = r->msg.head.id;
		got++;
	}
	assert_int_equal(got + r->answers, 4096);
	for (unsigned i = 0; i < 4096; i++)
		call_cancel(&calls[i]);
	free(calls);
	free(s);
}

struct tick {
	struct rig *r;
	unsigned *order, at;
};

static void tock(void *ctx)
{
	struct tick *t = ctx;

	t->at = (*t->order)++;
}

static void test_timers_come_in_order_and_stop(void **state)
{
	struct rig *r = *state;
	static const int64_t ms[] = { 30, 10, 20, 0, 5, 15, 25, 40 };
	struct timer t[COUNT(ms)] = { 0 };
	struct tick k[COUNT(ms)];
	unsigned order = 1;

	for (size_t i = 0; i < COUNT(ms); i++) {
		k[i] = (struct tick){ r, &order, 0 };
		timer_set(r->loop, &t[i], ms[i], tock, &k[i]);
	}
	timer_stop(r->loop, &t[2]);
	timer_stop(r->loop, &t[2]);
	timer_set(r->loop, &t[7], 12, tock, &k[7]); /* another time */
	run(r, 60);
	assert_int_equal(k[2].at, 0);
	for (size_t i = 0; i < COUNT(ms); i++)
		for (size_t j = 0; j < COUNT(ms); j++)
			if (i != 2 && j != 2 && i != 7 && j != 7 && ms[i] < ms[j] &&
			    k[i].at > k[j].at)
				fail_msg("the timer of %lld ms came after that of %lld ms",
					 (long long)ms[i], (long long)ms[j]);
	assert_true(k[1].at < k[7].at && k[7].at < k[5].at);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_call_gets_its_answer_in_any_order),
		TEST(test_call_failure_comes_with_its_sentence),
		TEST(test_call_deadline_passes_and_the_late_answer_is_dropped),
		TEST(test_call_cancelled_is_not_called_back),
		TEST(test_peer_death_fails_all_calls_once),
		TEST(test_peer_that_answers_nonsense_is_left),
		TEST(test_unasked_messages_are_told),
		TEST(test_stuck_peer_stalls_nobody),
		TEST(test_timers_come_in_order_and_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
