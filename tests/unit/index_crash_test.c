/* SPDX-License-Identifier: MIT */
/*
 * index_crash_test.c - a process that records is killed at random moments, again and again: every event whose ring_put returned stands in
 * the record exactly once, one that was being put at most once, and the chain holds.
 * Not here: loss of power (nothing but a machine of its own can try that).
 */
#include "tests/unit/index_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 60
#define PUTTERS 2
#define LIFE_MAX_US 25000
#define REFUSED_EACH 5 /* every fifth event is a violation */

/* What was acknowledged: outlives the child. */
struct acked {
	_Atomic uint32_t reads[ROUNDS][PUTTERS];
	_Atomic uint32_t violations[ROUNDS][PUTTERS];
};

struct putter {
	struct ring *ring;
	struct acked *acked;
	unsigned round, number;
};

static void put_one(struct ring *ring, const struct event *e)
{
	uint8_t room[1024];
	size_t len = 0;

	if (event_pack(e, room, sizeof room, &len) < 0 ||
	    ring_put(ring, bytes_of(room, len), NULL) < 0)
		_exit(3);
}

static void *put_events(void *arg)
{
	const struct putter *p = arg;

	for (uint32_t i = 1;; i++) {
		struct event e = { .kind = EV_READ, .at_ns = i };
		char text[600];

		/* some take several slots */
		(void)snprintf(text, sizeof text, "%u/%u/%u%s", p->round, p->number,
			       atomic_load(&p->acked->reads[p->round][p->number]) + 1,
			       i % 7 == 0 ? "#" : "");
		if (i % 7 == 0) {
			size_t n = strlen(text);

			memset(text + n, '#', sizeof text - n - 1);
			text[sizeof text - 1] = '\0';
		}
		if (i % REFUSED_EACH) {
			e.u.read = (struct ev_read){ .who = fx_who(FX_STEP(1)),
						     .path = bytes_str(text) };
			put_one(p->ring, &e);
			(void)atomic_fetch_add(&p->acked->reads[p->round][p->number], 1);
			continue;
		}
		(void)snprintf(text, sizeof text, "%u/%u", p->round, p->number);
		e.kind = EV_VIOLATION;
		e.u.violation = (struct ev_violation){ .who = fx_who(FX_STEP(1)),
						       .op = OP_CREATE,
						       .path = bytes_str(text),
						       .errnum = EROFS,
						       .rule = BYTES_LIT("input.readonly"),
						       .count = 1 };
		put_one(p->ring, &e);
		(void)atomic_fetch_add(&p->acked->violations[p->round][p->number], 1);
	}
	return NULL;
}

/* As garth-fs: recover, then record from several threads until killed. */
static void live(struct fx *x, struct acked *acked, unsigned round)
{
	struct putter putter[PUTTERS];
	pthread_t t;

	if (idx_writer_open(x->dir_fd, x->ring, &x->w, &x->holes, NULL) < 0)
		_exit(2);
	for (unsigned i = 0; i < PUTTERS; i++) {
		putter[i] = (struct putter){ x->ring, acked, round, i };
		if (pthread_create(&t, NULL, put_events, &putter[i]) != 0)
			_exit(2);
	}
	_exit(idx_writer_run(x->w, NULL) == 0 ? 0 : 4);
}

static void kill_after(struct fx *x, struct acked *acked, unsigned round, useconds_t us)
{
	int status = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		live(x, acked, round);
	(void)usleep(us);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFSIGNALED(status))
		fail_msg("round %u: the child ended by itself: %d", round, WEXITSTATUS(status));
}

static int64_t ask(sqlite3_stmt *s, const char *path)
{
	int64_t n;

	(void)sqlite3_bind_blob(s, 1, path, (int)strlen(path), SQLITE_STATIC);
	assert_int_equal(sqlite3_step(s), SQLITE_ROW);
	n = sqlite3_column_int64(s, 0);
	(void)sqlite3_reset(s);
	return n;
}

/* Everything that one putter acknowledged in one round, and nothing twice. */
static void check_round(sqlite3_stmt *reads, sqlite3_stmt *violations, struct acked *acked,
			unsigned round, unsigned putter)
{
	uint32_t last = atomic_load(&acked->reads[round][putter]);
	uint32_t refused = atomic_load(&acked->violations[round][putter]);
	char path[64];
	int64_t n;

	for (uint32_t i = 1; i <= last + 2; i++) {
		(void)snprintf(path, sizeof path, "%u/%u/%u", round, putter, i);
		n = ask(reads, path);
		if (i <= last ? n != 1 : i == last + 1 ? n > 1 : n != 0)
			fail_msg("%s of %u acknowledged: %lld times", path, last, (long long)n);
	}
	(void)snprintf(path, sizeof path, "%u/%u", round, putter);
	n = ask(violations, path);
	if (n < refused || n > refused + 1)
		fail_msg("violations of %s: %lld, acknowledged %u", path, (long long)n, refused);
}

static void check_all(struct fx *x, struct acked *acked)
{
	char path[FX_PATH_SIZE];
	sqlite3 *h = NULL;
	sqlite3_stmt *reads = NULL;
	sqlite3_stmt *violations = NULL;

	assert_int_equal(sqlite3_open_v2(fx_db(x, path), &h, SQLITE_OPEN_READWRITE, NULL), 0);
	assert_int_equal(sqlite3_exec(h,
				      "CREATE TEMP TABLE got AS SELECT"
				      " CAST(rtrim(CAST(path AS TEXT), '#') AS BLOB) AS path"
				      " FROM used; CREATE INDEX temp.got_path ON got(path)",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(h, "SELECT count(*) FROM got WHERE path = ?1", -1,
					    &reads, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(
				 h, "SELECT coalesce(sum(count), 0) FROM violation WHERE path = ?1",
				 -1, &violations, NULL),
			 SQLITE_OK);
	for (unsigned r = 0; r < ROUNDS; r++)
		for (unsigned i = 0; i < PUTTERS; i++)
			check_round(reads, violations, acked, r, i);
	(void)sqlite3_finalize(reads);
	(void)sqlite3_finalize(violations);
	(void)sqlite3_close(h);
}

static void test_crash_at_any_moment_loses_and_doubles_nothing(void **state)
{
	struct fx *x = *state;
	struct acked *acked = mmap(NULL, sizeof *acked, PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t seen = 0;

	assert_ptr_not_equal(acked, MAP_FAILED);
	fx_start(x); /* a new database would not look at the ring */
	fx_stop(x);
	srandom(11);
	for (unsigned r = 0; r < ROUNDS; r++)
		kill_after(x, acked, r, (useconds_t)(random() % LIFE_MAX_US));
	fx_start(x);
	fx_stop(x);
	check_all(x, acked);
	fx_assert_verifies(x);
	for (unsigned r = 0; r < ROUNDS; r++)
		seen += acked->reads[r][0] + acked->violations[r][0];
	assert_true(seen > ROUNDS); /* they did live for a while */
	(void)munmap(acked, sizeof *acked);
}

static int setup(void **state)
{
	static struct fx x;

	fx_open(&x);
	*state = &x;
	return 0;
}

static int teardown(void **state)
{
	fx_close(*state);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_crash_at_any_moment_loses_and_doubles_nothing,
						setup, teardown),
	};

	return cmocka_run_group_tests_name("index crash", tests, NULL, NULL);
}
