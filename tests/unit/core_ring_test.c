/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/core_ring_test.c - core/ring.h: order, many writers, a full ring, and writers that are killed at any moment.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "core/clock.h"
#include "core/fd.h"
#include "core/ring.h"

#define WRITERS 4
#define KILLS 40
#define PER_WRITER 30000u

struct fixture {
	int fd;
	struct ring *r;
	uint8_t *room;
};

static int open_ring(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);

	if (!f)
		return -1;
	*state = f;
	f->room = malloc(RING_EVENT_MAX);
	f->fd = memfd_create("ring", MFD_CLOEXEC);
	return f->room && ring_open(f->fd, &f->r, NULL) == 0 ? 0 : -1;
}

static int close_ring(void **state)
{
	struct fixture *f = *state;

	ring_close(f->r);
	fd_closep(&f->fd);
	free(f->room);
	free(f);
	return 0;
}

/* An event that can be told from all others, with a body that shows tearing. */
struct note {
	uint32_t writer, number, len, sum;
};

static size_t note_make(uint8_t *room, uint32_t writer, uint32_t number)
{
	uint32_t len = (uint32_t)sizeof(struct note) + number * 37 % 900;
	struct note n = { writer, number, len, 0 };

	for (uint32_t i = sizeof n; i < len; i++) {
		room[i] = (uint8_t)(writer * 31 + number * 7 + i);
		n.sum += room[i];
	}
	memcpy(room, &n, sizeof n);
	return len;
}

static bool note_ok(const uint8_t *room, size_t len, struct note *ret)
{
	uint32_t sum = 0;

	if (len < sizeof *ret)
		return false;
	memcpy(ret, room, sizeof *ret);
	for (size_t i = sizeof *ret; i < len; i++)
		sum += room[i];
	return ret->len == len && ret->sum == sum;
}

static void test_ring_events_come_out_as_they_went_in(void **state)
{
	static const size_t lens[] = {
		1, 239, 240, 241, 480, 481, RING_EVENT_MAX - 1, RING_EVENT_MAX
	};
	struct fixture *f = *state;
	uint64_t pos = 0, end = 0;
	uint8_t *event = malloc(RING_EVENT_MAX + 1);
	size_t len = 0;

	assert_non_null(event);
	assert_int_equal(ring_get(f->r, &pos, false, f->room, &len), 0);
	for (size_t i = 0; i < sizeof lens / sizeof lens[0]; i++) {
		for (size_t b = 0; b < lens[i]; b++)
			event[b] = (uint8_t)(b * 13 + i);
		assert_int_equal(ring_put(f->r, bytes_of(event, lens[i]), &end), 0);
		assert_int_equal(ring_get(f->r, &pos, false, f->room, &len), 1);
		if (len != lens[i] || memcmp(event, f->room, len) != 0 || pos != end)
			fail_msg("row %zu: %zu bytes came out", i, len);
		ring_release(f->r, pos);
	}
	assert_int_equal(ring_put(f->r, bytes_of(event, RING_EVENT_MAX + 1), NULL), -EMSGSIZE);
	assert_int_equal(ring_put(f->r, bytes_of(event, 0), NULL), -EMSGSIZE);
	assert_true(ring_head(f->r) == pos && ring_tail(f->r) == pos);
	free(event);
}

static void test_ring_open_takes_up_a_former_life_and_refuses_other_files(void **state)
{
	struct fixture *f = *state;
	struct ring *again = NULL;
	autofd other = memfd_create("other", MFD_CLOEXEC);
	uint64_t pos = 0;
	size_t len = 0;

	assert_int_equal(ring_put(f->r, BYTES_LIT("kept"), NULL), 0);
	assert_int_equal(ring_open(f->fd, &again, NULL), 0);
	assert_int_equal(ring_get(again, &pos, true, f->room, &len), 1);
	assert_memory_equal(f->room, "kept", 4);
	ring_close(again);
	ring_close(NULL);
	assert_int_equal(ftruncate(other, 4096), 0);
	assert_int_equal(ring_open(other, &again, NULL), -EBADMSG);
	assert_int_equal(ftruncate(other, (off_t)RING_FILE_SIZE), 0);
	assert_int_equal(pwrite(other, "something else", 14, 0), 14);
	assert_int_equal(ring_open(other, &again, NULL), -EBADMSG);
	assert_int_equal(ring_open(-1, &again, NULL), -EBADF);
}

struct writer_arg {
	struct ring *r;
	uint32_t writer, count;
};

static void *writer_thread(void *arg)
{
	const struct writer_arg *a = arg;
	uint8_t room[1024];

	for (uint32_t i = 0; i < a->count; i++)
		if (ring_put(a->r, bytes_of(room, note_make(room, a->writer, i)), NULL) != 0)
			return (void *)1;
	return NULL;
}

static void test_ring_many_writers_lose_nothing_though_it_is_often_full(void **state)
{
	struct fixture *f = *state;
	struct writer_arg args[WRITERS];
	pthread_t threads[WRITERS];
	uint32_t next[WRITERS] = { 0 };
	uint64_t pos = 0, seen = 0;

	for (uint32_t i = 0; i < WRITERS; i++) {
		args[i] = (struct writer_arg){ f->r, i, PER_WRITER };
		assert_int_equal(pthread_create(&threads[i], NULL, writer_thread, &args[i]), 0);
	}
	while (seen < (uint64_t)WRITERS * PER_WRITER) {
		struct note n = { 0 }; /* fail_msg comes back as far as gcc knows */
		size_t len = 0;
		int r = ring_get(f->r, &pos, false, f->room, &len);

		if (r == 0) {
			ring_release(f->r, pos);
			ring_wait(f->r, pos, 1000);
			continue;
		}
		if (r < 0 || !note_ok(f->room, len, &n) || n.writer >= WRITERS ||
		    n.number != next[n.writer])
			fail_msg("event %llu makes no sense", (unsigned long long)seen);
		next[n.writer]++;
		if (++seen % 50000 == 0) /* seldom, so that the writers meet a full ring */
			ring_release(f->r, pos);
	}
	for (uint32_t i = 0; i < WRITERS; i++) {
		void *ret;

		assert_int_equal(pthread_join(threads[i], &ret), 0);
		assert_null(ret);
	}
	assert_true(ring_head(f->r) == pos);
}

static void *release_later(void *arg)
{
	struct ring *r = arg;
	struct timespec ts = { .tv_nsec = 30000000 };

	(void)nanosleep(&ts, NULL);
	ring_release(r, 1);
	return NULL;
}

static void test_ring_put_waits_while_the_ring_is_full(void **state)
{
	struct fixture *f = *state;
	int64_t begun;
	pthread_t t;

	for (unsigned i = 0; i < RING_SLOTS; i++)
		assert_int_equal(ring_put(f->r, BYTES_LIT("x"), NULL), 0);
	assert_int_equal(pthread_create(&t, NULL, release_later, f->r), 0);
	begun = clock_mono_ns();
	assert_int_equal(ring_put(f->r, BYTES_LIT("y"), NULL), 0);
	assert_true(clock_mono_ns() - begun >= 20 * NS_PER_MS);
	assert_int_equal(pthread_join(t, NULL), 0);
}

static void *wake_later(void *arg)
{
	struct timespec ts = { .tv_nsec = 20000000 };

	(void)nanosleep(&ts, NULL);
	ring_wake(arg);
	return NULL;
}

static void *put_later(void *arg)
{
	struct timespec ts = { .tv_nsec = 20000000 };

	(void)nanosleep(&ts, NULL);
	return ring_put(arg, BYTES_LIT("x"), NULL) == 0 ? NULL : arg;
}

static void test_ring_wait_ends_by_event_wake_or_time(void **state)
{
	struct fixture *f = *state;
	int64_t begun = clock_mono_ns();
	uint64_t pos = 0;
	pthread_t t;
	size_t len;
	void *ret;

	ring_wait(f->r, 0, 30);
	assert_true(clock_mono_ns() - begun >= 29 * NS_PER_MS);
	begun = clock_mono_ns();
	assert_int_equal(pthread_create(&t, NULL, wake_later, f->r), 0);
	ring_wait(f->r, 0, 20000);
	assert_int_equal(pthread_join(t, NULL), 0);
	assert_int_equal(pthread_create(&t, NULL, put_later, f->r), 0);
	ring_wait(f->r, 0, -1);
	assert_int_equal(pthread_join(t, &ret), 0);
	assert_null(ret);
	ring_wait(f->r, 0, 20000); /* it is there already */
	assert_int_equal(ring_get(f->r, &pos, false, f->room, &len), 1);
	ring_wake(f->r); /* before the wait: not lost */
	ring_wait(f->r, pos, 20000);
	assert_true(clock_mono_ns() - begun < 10 * NS_PER_S);
}

/* What a child reports of itself: written after ring_put came back, so all of it must be found. */
struct board {
	_Atomic uint32_t acknowledged[WRITERS];
};

static _Noreturn void child(int fd, struct board *board, uint32_t writer)
{
	uint8_t room[1024];
	struct ring *r;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* also where the test fails */
	if (ring_open(fd, &r, NULL) < 0)
		_exit(1);
	for (uint32_t i = 0;; i++) {
		if (ring_put(r, bytes_of(room, note_make(room, writer, i)), NULL) != 0)
			_exit(2);
		atomic_store(&board->acknowledged[writer], i + 1);
	}
}

struct count {
	uint32_t next[WRITERS];
	uint64_t pos;
};

/* Everything that is there now. A writer's events come in its order without a gap, none twice. */
static void drain(struct fixture *f, struct count *c, bool recover)
{
	struct note n = { 0 };
	size_t len = 0;
	int r;

	while ((r = ring_get(f->r, &c->pos, recover, f->room, &len)) != 0) {
		if (r < 0)
			fail_msg("slot %llu makes no sense", (unsigned long long)c->pos - 1);
		if (!note_ok(f->room, len, &n) || n.writer >= WRITERS)
			fail_msg("a torn event before %llu", (unsigned long long)c->pos);
		if (n.number != c->next[n.writer])
			fail_msg("writer %u: event %u where %u was due", n.writer, n.number,
				 c->next[n.writer]);
		c->next[n.writer]++;
	}
	ring_release(f->r, c->pos);
}

static void one_life(struct fixture *f, struct board *board, unsigned round, uint64_t *pos)
{
	struct timespec nap = { .tv_nsec = (long)(round * 2654435761u % 6000000u) };
	struct count c = { .pos = *pos };
	pid_t pids[WRITERS];
	int64_t end;

	memset(board, 0, sizeof *board);
	for (uint32_t i = 0; i < WRITERS; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i] == 0)
			child(f->fd, board, i);
	}
	end = clock_mono_ns() + nap.tv_nsec;
	while (clock_mono_ns() < end || atomic_load(&board->acknowledged[0]) == 0) {
		if (round % 2) /* every other life nobody reads: it dies with a full ring */
			drain(f, &c, false);
		else
			(void)nanosleep(&nap, NULL);
	}
	for (uint32_t i = 0; i < WRITERS; i++)
		(void)kill(pids[i], SIGKILL);
	for (uint32_t i = 0; i < WRITERS; i++)
		assert_int_equal(waitpid(pids[i], NULL, 0), pids[i]);
	drain(f, &c, true);
	for (uint32_t i = 0; i < WRITERS; i++) {
		uint32_t sure = atomic_load(&board->acknowledged[i]);

		if (c.next[i] < sure || c.next[i] > sure + 1)
			fail_msg("round %u, writer %u: %u acknowledged, %u found", round, i, sure,
				 c.next[i]);
	}
	assert_true(c.pos >= ring_head(f->r));
	ring_restart(f->r, c.pos);
	*pos = c.pos;
}

static void test_ring_killed_writers_lose_and_double_nothing(void **state)
{
	struct fixture *f = *state;
	struct board *board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t pos = 0;

	assert_true(board != MAP_FAILED);
	for (unsigned round = 0; round < KILLS; round++)
		one_life(f, board, round, &pos);
	(void)munmap(board, sizeof *board);
}

static void test_ring_restart_going_back_shows_nothing_old(void **state)
{
	struct fixture *f = *state;
	uint64_t pos = 0;
	size_t len;

	for (int i = 0; i < 10; i++)
		assert_int_equal(ring_put(f->r, BYTES_LIT("old"), NULL), 0);
	ring_restart(f->r, 0);
	assert_int_equal(ring_get(f->r, &pos, false, f->room, &len), 0);
	ring_restart(f->r, 1000000);
	pos = 1000000;
	assert_int_equal(ring_get(f->r, &pos, true, f->room, &len), 0);
	assert_int_equal(ring_put(f->r, BYTES_LIT("new"), NULL), 0);
	assert_int_equal(ring_get(f->r, &pos, false, f->room, &len), 1);
	assert_true(pos == 1000001);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_ring_events_come_out_as_they_went_in,
						open_ring, close_ring),
		cmocka_unit_test_setup_teardown(
			test_ring_open_takes_up_a_former_life_and_refuses_other_files, open_ring,
			close_ring),
		cmocka_unit_test_setup_teardown(
			test_ring_many_writers_lose_nothing_though_it_is_often_full, open_ring,
			close_ring),
		cmocka_unit_test_setup_teardown(test_ring_put_waits_while_the_ring_is_full,
						open_ring, close_ring),
		cmocka_unit_test_setup_teardown(test_ring_wait_ends_by_event_wake_or_time,
						open_ring, close_ring),
		cmocka_unit_test_setup_teardown(test_ring_killed_writers_lose_and_double_nothing,
						open_ring, close_ring),
		cmocka_unit_test_setup_teardown(test_ring_restart_going_back_shows_nothing_old,
						open_ring, close_ring),
	};

	return cmocka_run_group_tests_name("core_ring", tests, NULL, NULL);
}
