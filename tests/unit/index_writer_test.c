/* SPDX-License-Identifier: MIT */
/*
 * index_writer_test.c - from the ring to the database: files, batches, durability, violations, full disks, copies.
 * Not here: killed processes (index_crash_test.c).
 */
#include "tests/unit/index_fixture.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/fd.h"

#define STEP FX_STEP(1)

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

static void test_writer_open_makes_the_file_as_readers_need_it(void **state)
{
	struct fx *x = *state;
	static const char *const files[] = { "index.db", "index.db-wal", "index.db-shm" };
	mode_t mask = umask(0077);
	struct stat st;

	fx_start(x);
	fx_begin(x);
	fx_sync(x);
	fx_stop(x);
	(void)umask(mask);
	for (size_t i = 0; i < 3; i++) {
		if (fstatat(x->dir_fd, files[i], &st, 0) < 0)
			fail_msg("%s is missing after close", files[i]);
		if ((st.st_mode & 07777) != 0640)
			fail_msg("%s has mode %o", files[i], st.st_mode & 07777);
	}
	assert_int_equal(fx_number(x, "PRAGMA application_id"), 0x47525448);
	assert_int_equal(fx_number(x, "PRAGMA user_version"), 1);
	assert_int_equal(fx_number(x, "SELECT count(*) FROM event"), 6);
}

static void test_writer_open_refuses_what_it_must(void **state)
{
	struct fx *x = *state;
	struct idx_writer *w = NULL;
	struct err err = { 0 };
	uint64_t holes;

	fx_start(x);
	assert_int_equal(idx_writer_open(x->dir_fd, x->ring, &w, &holes, &err), -EBUSY);
	fx_stop(x);
	fx_tamper(x, "PRAGMA user_version = 2");
	assert_int_equal(idx_writer_open(x->dir_fd, x->ring, &w, &holes, &err), -EPROTO);
	assert_non_null(strstr(err.msg, "newer garth"));
	fx_tamper(x, "PRAGMA user_version = 1; PRAGMA application_id = 3");
	assert_int_equal(idx_writer_open(x->dir_fd, x->ring, &w, &holes, &err), -EBADMSG);
	{
		autofd fd = openat(x->dir_fd, "index.db", O_WRONLY | O_TRUNC | O_CLOEXEC);

		assert_int_equal(fd_write_full(fd, "this is some text, no database", 30), 0);
	}
	(void)unlinkat(x->dir_fd, "index.db-wal", 0);
	(void)unlinkat(x->dir_fd, "index.db-shm", 0);
	assert_int_equal(idx_writer_open(x->dir_fd, x->ring, &w, &holes, &err), -EBADMSG);
}

static void test_writer_reopen_goes_on_with_chain_and_ring(void **state)
{
	struct fx *x = *state;

	fx_start(x);
	fx_begin(x);
	fx_stop(x);
	fx_start(x);
	fx_step(x, STEP, 1);
	fx_stop(x);
	fx_new_ring(x); /* it is removed after a clean stop: the new one counts from 0 */
	fx_start(x);
	fx_end(x, STEP);
	fx_sync(x);
	fx_stop(x);
	assert_int_equal(fx_number(x, "SELECT count(*) FROM event"), 8);
	assert_int_equal(fx_number(x, "SELECT ended_ns > 0 FROM step"), 1);
	fx_assert_verifies(x);
}

static void test_writer_new_database_ignores_an_old_ring(void **state)
{
	struct fx *x = *state;

	fx_begin(x); /* nobody drains: of a workspace of the same name that was removed */
	fx_start(x);
	assert_int_equal(x->holes, 0);
	fx_agent(x, 3, "new");
	fx_stop(x);
	assert_int_equal(fx_number(x, "SELECT count(*) FROM event"), 1);
	fx_assert_verifies(x);
}

static void test_writer_open_drains_what_was_left(void **state)
{
	struct fx *x = *state;
	uint64_t end;

	fx_start(x);
	fx_begin(x);
	fx_stop(x);
	fx_step(x, STEP, 1);
	(void)fx_seal(x, STEP, "output/a", "1");
	end = x->end;
	/* a slot that was taken and never filled, and a slot of nonsense */
	assert_int_equal(ring_put(x->ring, BYTES_LIT("nonsense"), NULL), 0);
	fx_end(x, STEP);
	fx_start(x);
	assert_int_equal(x->holes, 1);
	assert_int_equal(ring_head(x->ring), x->end);
	assert_true(x->end > end);
	fx_stop(x);
	assert_int_equal(fx_number(x, "SELECT count(*) FROM event"), 9);
	fx_assert_verifies(x);
}

/* The ring was read further than the database knows: what is between was lost with it, and is said. */
static void test_writer_older_database_counts_what_it_lost(void **state)
{
	struct fx *x = *state;

	fx_start(x);
	fx_begin(x);
	fx_stop(x);
	fx_tamper(x, "UPDATE meta SET value = value - 4 WHERE name = 'ring'");
	fx_start(x);
	assert_int_equal(x->holes, 4);
	fx_step(x, STEP, 1);
	fx_stop(x);
	assert_int_equal(fx_number(x, "SELECT count(*) FROM event"), 7);
	fx_assert_verifies(x);
}

/* Our own memory gone wrong: it stops at once, and what was sound is stored by the next one. */
static void test_writer_nonsense_in_the_ring_stops_it(void **state)
{
	struct fx *x = *state;

	fx_start(x);
	fx_begin(x);
	fx_sync(x);
	fx_step(x, STEP, 1);
	assert_int_equal(ring_put(x->ring, BYTES_LIT("nonsense"), &x->end), 0);
	assert_int_equal(idx_writer_sync(x->w, x->end), -EIO);
	(void)pthread_join(x->thread, NULL);
	assert_int_equal(x->run_rc, -EBADMSG);
	idx_writer_close(x->w);
	fx_start(x);
	assert_int_equal(x->holes, 1);
	fx_stop(x);
	assert_int_equal(fx_number(x, "SELECT count(*) FROM event"), 7);
	fx_assert_verifies(x);
}

static void test_writer_sync_is_a_commit_that_writes(void **state)
{
	struct fx *x = *state;

	fx_start(x);
	fx_begin(x);
	fx_sync(x);
	assert_int_equal(fx_number(x, "SELECT value FROM meta WHERE name = 'syncs'"), 1);
	fx_sync(x); /* nothing new: durable already */
	assert_int_equal(fx_number(x, "SELECT value FROM meta WHERE name = 'syncs'"), 1);
	fx_step(x, STEP, 1);
	fx_sync(x);
	assert_int_equal(fx_number(x, "SELECT value FROM meta WHERE name = 'syncs'"), 2);
	assert_int_equal(fx_number(x, "SELECT value FROM meta WHERE name = 'ring'"),
			 (int64_t)x->end);
}

static void test_writer_batch_commits_without_a_sync(void **state)
{
	struct fx *x = *state;
	int64_t until = clock_mono_ns() + 5 * NS_PER_S;
	int64_t n = 0;

	fx_start(x);
	fx_begin(x);
	while (n < 6 && clock_mono_ns() < until) {
		(void)usleep(5000);
		n = fx_number(x, "SELECT count(*) FROM event");
	}
	assert_int_equal(n, 6);
	assert_int_equal(ring_tail(x->ring), x->end);
}

static void *sync_some(void *arg)
{
	struct fx *x = arg;
	uintptr_t failed = 0;

	for (int i = 0; i < 100; i++)
		if (idx_writer_sync(x->w, ring_head(x->ring)) != 0)
			failed++;
	return (void *)failed;
}

static void test_writer_many_threads_sync_at_once(void **state)
{
	struct fx *x = *state;
	pthread_t t[4];

	fx_start(x);
	fx_begin(x);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&t[i], NULL, sync_some, x), 0);
	for (unsigned i = 0; i < 400; i++)
		fx_read(x, STEP, 1, "input/a");
	for (size_t i = 0; i < 4; i++) {
		void *failed = NULL;

		(void)pthread_join(t[i], &failed);
		assert_null(failed);
	}
	fx_sync(x);
	assert_int_equal(fx_number(x, "SELECT count(*) FROM used"), 400);
}

static void test_writer_sync_after_the_end_fails(void **state)
{
	struct fx *x = *state;
	int rc;

	fx_start(x);
	fx_begin(x);
	idx_writer_stop(x->w);
	(void)pthread_join(x->thread, NULL);
	rc = idx_writer_sync(x->w, x->end);
	assert_int_equal(rc, 0); /* all that was put before the stop is durable */
	fx_agent(x, 3, "late");
	rc = idx_writer_sync(x->w, x->end);
	idx_writer_close(x->w);
	x->w = NULL;
	assert_int_equal(rc, -EIO);
}

static void test_writer_more_events_than_the_ring_holds(void **state)
{
	struct fx *x = *state;
	const unsigned n = RING_SLOTS + RING_SLOTS / 2;

	fx_start(x);
	fx_begin(x);
	for (unsigned i = 0; i < n; i++)
		fx_read(x, STEP, 1, "input/a");
	fx_sync(x);
	assert_int_equal(fx_number(x, "SELECT count(*) FROM used"), n);
}

static void test_writer_equal_violations_are_counted(void **state)
{
	struct fx *x = *state;

	fx_start(x);
	fx_begin(x);
	fx_step(x, STEP, 1);
	for (unsigned i = 0; i < 20000; i++)
		fx_violation(x, STEP, i % 2 ? OP_CREATE : OP_UNLINK, "input/x", "input.readonly");
	fx_violation(x, STEP, OP_CREATE, "input/y", "input.readonly");
	fx_end(x, STEP);
	fx_violation(x, STEP, OP_CREATE, "input/x", "input.readonly");
	fx_sync(x);
	assert_int_equal(fx_number(x, "SELECT count(*) FROM violation"), 3);
	assert_int_equal(fx_number(x, "SELECT sum(count) FROM violation"), 20002);
	assert_int_equal(fx_number(x, "SELECT violations FROM total"), 20002);
	assert_int_equal(fx_number(x, "SELECT violations FROM tally WHERE step = 4097"), 20002);
	assert_int_equal(fx_number(x, "SELECT violation_rows FROM tally WHERE step = 4097"), 3);
	assert_int_equal(fx_number(x, "SELECT last_ns > at_ns FROM violation ORDER BY count DESC"),
			 1);
	/* one event a batch and kind, not one an attempt */
	assert_true(fx_number(x, "SELECT count(*) FROM event") < 2000);
	/* what a step was refused stands before its end */
	assert_int_equal(fx_number(x, "SELECT count(*) FROM violation, step"
				      " WHERE violation.event > step.end_event"),
			 0);
	fx_assert_verifies(x);
}

static void test_writer_violations_past_the_limit_lose_their_path(void **state)
{
	struct fx *x = *state;
	char path[64];

	fx_start(x);
	fx_begin(x);
	fx_step(x, STEP, 1);
	fx_step(x, FX_STEP(2), 2);
	for (unsigned i = 0; i < IDX_VIOLATION_ROWS + 500; i++) {
		(void)snprintf(path, sizeof path, "input/%u", i);
		fx_violation(x, STEP, OP_CREATE, path, "input.readonly");
	}
	fx_violation(x, STEP, OP_CREATE, "input/7", "input.readonly"); /* has its row */
	fx_violation(x, FX_STEP(2), OP_CREATE, "input/mine", "input.readonly");
	fx_sync(x);
	assert_int_equal(fx_number(x, "SELECT count(*) FROM violation WHERE step = 4097"),
			 IDX_VIOLATION_ROWS + 1);
	assert_int_equal(fx_number(x, "SELECT count FROM violation WHERE path = x''"), 500);
	assert_int_equal(fx_number(x, "SELECT count FROM violation"
				      " WHERE path = CAST('input/7' AS BLOB)"),
			 2);
	assert_int_equal(fx_number(x, "SELECT count(*) FROM violation WHERE step = 4098"), 1);
	assert_int_equal(fx_number(x, "SELECT violations FROM total"), IDX_VIOLATION_ROWS + 502);
	fx_assert_verifies(x);
}

static void test_writer_snapshot_is_a_whole_record(void **state)
{
	struct fx *x = *state;
	char path[FX_PATH_SIZE];
	struct idx_verify v;
	struct err err = { 0 };
	struct stat st;

	fx_start(x);
	fx_begin(x);
	fx_step(x, STEP, 1);
	if (idx_writer_snapshot(x->w, "copy.db", &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(idx_writer_snapshot(x->w, "a/b", &err), -EINVAL);
	assert_int_equal(idx_writer_snapshot(x->w, "copy.db", &err), -EEXIST);
	fx_end(x, STEP);
	fx_sync(x);
	(void)snprintf(path, sizeof path, "%s/copy.db", x->dir);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0027, 0);
	assert_int_equal(idx_verify(path, x->objects_fd, NULL, NULL, NULL, &v, &err), 0);
	assert_true(v.ok);
	assert_int_equal(v.events, 7);
	fx_assert_verifies(x); /* the live one too, beside its writer */
}

/* ---- garth-fs: no path leads to its folder, there is no /proc, and the current directory moves ---- */

static void writer_without_paths(struct fx *x)
{
	static const char empty[] = "/tmp/garth-index-empty";

	(void)mkdir(empty, 0700);
	if (chroot(empty) < 0 || chdir("/") < 0)
		_exit(2);
	fx_start(x);
	fx_begin(x);
	fx_sync(x);
	if (idx_writer_snapshot(x->w, "copy.db", NULL) < 0)
		_exit(3);
	fx_stop(x);
	_exit(0);
}

static void test_writer_needs_no_path_to_its_folder(void **state)
{
	struct fx *x = *state;
	struct stat st;
	int status = 0;
	pid_t pid;

	if (geteuid() != 0)
		skip();
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		writer_without_paths(x);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(rmdir("/tmp/garth-index-empty"), 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail_msg("the writer ended with %d", status);
	assert_int_equal(fx_number(x, "SELECT count(*) FROM event"), 6);
	assert_int_equal(fstatat(x->dir_fd, "copy.db", &st, 0), 0);
	fx_assert_verifies(x);
}

/* ---- garth-api: another user, who may read the folder by its group ---- */

#define READER_UID 54321
#define READER_GID 54322

static int count_step(void *ctx, const struct idx_step *s)
{
	(void)s;
	++*(unsigned *)ctx;
	return 0;
}

static void reader_child(const char *db, unsigned want)
{
	const struct idx_filter f = { .limit = 0 };
	struct idx_reader *r = NULL;
	struct err err = { 0 };
	unsigned steps = 0;

	if (setgid(READER_GID) < 0 || setuid(READER_UID) < 0)
		_exit(2);
	if (idx_reader_open(db, &r, &err) < 0 || idx_steps(r, &f, count_step, &steps) < 0) {
		print_error("reader: %s\n", err.msg);
		_exit(3);
	}
	idx_reader_close(r);
	_exit(steps == want ? 0 : 4);
}

static void expect_read(const struct fx *x, unsigned want, const char *when)
{
	char db[FX_PATH_SIZE];
	int status = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		reader_child(fx_db(x, db), want);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail_msg("%s: the reader ended with %d", when, status);
}

static void killed_writer(struct fx *x)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		fx_start(x);
		fx_step(x, FX_STEP(2), 1);
		fx_sync(x);
		(void)kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void test_reader_of_another_user_whatever_the_writer_does(void **state)
{
	struct fx *x = *state;

	if (geteuid() != 0)
		skip();
	assert_int_equal(fchown(x->dir_fd, (uid_t)-1, READER_GID), 0);
	assert_int_equal(fchmod(x->dir_fd, 02750), 0);
	fx_start(x);
	fx_begin(x);
	fx_step(x, STEP, 1);
	fx_sync(x);
	expect_read(x, 1, "the writer lives");
	fx_stop(x);
	expect_read(x, 1, "the writer has closed");
	killed_writer(x);
	expect_read(x, 2, "the writer was killed");
	fx_start(x);
	expect_read(x, 2, "a new writer lives");
}

/* ---- a disk that fills up: a small tmpfs in a mount namespace of a child's own ---- */

#define FULL_SKIP 77

static int use_up(int dir_fd)
{
	static const char zeros[4096];
	autofd fd = openat(dir_fd, "ballast", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	while (write(fd, zeros, sizeof zeros) > 0)
		;
	return errno == ENOSPC ? 0 : -errno;
}

static void full_disk_child(void)
{
	struct fx x;
	int64_t begun;

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("garth-test", "/tmp", "tmpfs", 0, "size=3m") < 0)
		_exit(FULL_SKIP);
	fx_open(&x);
	fx_start(&x);
	fx_begin(&x);
	fx_sync(&x);
	assert_int_equal(use_up(x.dir_fd), 0);
	for (unsigned i = 0; i < 20000; i++)
		fx_read(&x, STEP, 1, "input/a");
	begun = clock_mono_ns();
	assert_int_equal(idx_writer_sync(x.w, x.end), -ENOSPC);
	assert_true(clock_mono_ns() - begun < 20 * NS_PER_S);
	assert_int_equal(unlinkat(x.dir_fd, "ballast", 0), 0);
	/* room again: it goes on by itself, and nothing was dropped */
	assert_int_equal(mount(NULL, "/tmp", NULL, MS_REMOUNT, "size=64m"), 0);
	fx_sync(&x);
	assert_int_equal(fx_number(&x, "SELECT count(*) FROM used"), 20000);
	fx_assert_verifies(&x);
	fx_close(&x);
}

static void test_writer_full_disk_waits_and_goes_on(void **state)
{
	pid_t pid;
	int status = 0;

	(void)state;
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		full_disk_child();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == FULL_SKIP)
		skip();
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_writer_open_makes_the_file_as_readers_need_it),
		T(test_writer_open_refuses_what_it_must),
		T(test_writer_reopen_goes_on_with_chain_and_ring),
		T(test_writer_new_database_ignores_an_old_ring),
		T(test_writer_open_drains_what_was_left),
		T(test_writer_older_database_counts_what_it_lost),
		T(test_writer_nonsense_in_the_ring_stops_it),
		T(test_writer_sync_is_a_commit_that_writes),
		T(test_writer_batch_commits_without_a_sync),
		T(test_writer_many_threads_sync_at_once),
		T(test_writer_sync_after_the_end_fails),
		T(test_writer_more_events_than_the_ring_holds),
		T(test_writer_equal_violations_are_counted),
		T(test_writer_violations_past_the_limit_lose_their_path),
		T(test_writer_snapshot_is_a_whole_record),
		T(test_writer_needs_no_path_to_its_folder),
		T(test_reader_of_another_user_whatever_the_writer_does),
		cmocka_unit_test(test_writer_full_disk_waits_and_goes_on),
	};

	return cmocka_run_group_tests_name("index writer", tests, NULL, NULL);
}
