/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/guest_parts_test.c - parts of garth-init by themselves: /proc's text, the table of jobs, code and reports, PUT on a plain
 * filesystem, the Landlock ruleset in a child.
 * Not here: garth-init as a whole (tests/exec/guest_init_test.c).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cmocka.h>

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>

#include "core/clock.h"
#include "core/fd.h"
#include "core/path.h"
#include "exec/landlock.h"
#include "guest/confine.h"
#include "guest/job.h"
#include "guest/place.h"
#include "guest/proc.h"
#include "guest/put.h"

struct dir {
	char path[64];
	int fd;
};

static int make_dir(void **state)
{
	static struct dir d;

	(void)snprintf(d.path, sizeof d.path, "/tmp/garth-guest-XXXXXX");
	if (!mkdtemp(d.path))
		return -1;
	d.fd = open(d.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = &d;
	return d.fd < 0 ? -1 : 0;
}

static int remove_dir(void **state)
{
	struct dir *d = *state;
	autofd tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	fd_closep(&d->fd);
	return path_rm_tree(tmp, d->path + strlen("/tmp/"), NULL);
}

static void read_file(int dir_fd, const char *name, char *text, size_t size)
{
	autofd fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, text, size - 1);

	if (n < 0)
		fail_msg("read %s: %d", name, errno);
	text[n] = '\0';
}

static void test_proc_status_names_the_living_of_a_gid(void **state)
{
	static const struct {
		const char *text;
		bool want;
	} rows[] = {
		{ "Name:\tsh\nUmask:\t0022\nState:\tS "
		  "(sleeping)\nUid:\t1\t1\t1\t1\nGid:\t5\t5\t5\t5\n",
		  true },
		{ "Name:\tsh\nState:\tR (running)\nGid:\t1\t5\t1\t1\n", true },
		{ "Name:\tsh\nState:\tT (stopped)\nGid:\t1\t1\t5\t1\n", true },
		{ "Name:\tsh\nState:\tZ (zombie)\nGid:\t5\t5\t5\t5\n", false },
		{ "Name:\tsh\nState:\tX (dead)\nGid:\t5\t5\t5\t5\n", false },
		{ "Name:\tsh\nState:\tS (sleeping)\nGid:\t50\t51\t52\t53\n", false },
		{ "Name:\tsh\nState:\tS (sleeping)\nUid:\t5\t5\t5\t5\nGid:\t6\t6\t6\t6\n", false },
		{ "Name:\tGid:\t5\nState:\tS\nGid:\t6\t6\t6\t6\n", false },
		{ "Gid:\t5\t5\t5\t5\n", false },
		{ "State:\tS\n", false },
		{ "State:\tS\nGid:\t6\t6", false },
		{ "", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (proc_status_is(bytes_str(rows[i].text), 5) != rows[i].want)
			fail_msg("row %zu", i);
}

static void test_job_table_is_full_at_its_limit(void **state)
{
	struct jobs *jobs = calloc(1, sizeof *jobs);

	(void)state;
	assert_non_null(jobs);
	for (unsigned i = 0; i < GUEST_JOBS_MAX; i++) {
		struct job *job = job_new(jobs);

		assert_non_null(job);
		job->kind = JOB_SPAWN;
		job->pid = (pid_t)i + 10;
		job->step = i;
	}
	assert_null(job_new(jobs));
	assert_ptr_equal(job_by_pid(jobs, 12), &jobs->at[2]);
	assert_ptr_equal(job_by_step(jobs, 5), &jobs->at[5]);
	job_free(&jobs->at[5]);
	assert_null(job_by_step(jobs, 5));
	assert_ptr_equal(job_new(jobs), &jobs->at[5]);
	free(jobs);
}

static void test_job_deadlines_are_of_unanswered_jobs(void **state)
{
	struct jobs *jobs = calloc(1, sizeof *jobs);
	struct job *job;

	(void)state;
	assert_non_null(jobs);
	job = job_new(jobs);
	assert_int_equal(job_next_ms(jobs, 0), -1);
	job->kind = JOB_PUT;
	job->deadline_ns = 5 * NS_PER_MS;
	assert_int_equal(job_next_ms(jobs, 0), -1); /* answered: no pipe */
	job->pipe_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(job_next_ms(jobs, 0), 5);
	assert_int_equal(job_next_ms(jobs, 5 * NS_PER_MS - 1), 1);
	assert_int_equal(job_next_ms(jobs, 9 * NS_PER_MS), 0);
	job_free(job);
	assert_int_equal(job_next_ms(jobs, 0), -1);
	free(jobs);
}

static void test_place_code_replaces_and_removes_the_other(void **state)
{
	struct dir *d = *state;
	autofd code = -1, report = -1, old = -1;
	char text[64];
	struct stat st;

	assert_int_equal(place_init(d->fd, &code, &report, NULL), 0);
	assert_int_equal(fstatat(d->fd, "runner.py", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0444);
	assert_int_equal(fstatat(d->fd, "hints.py", &st, 0), 0);
	assert_true(st.st_size > 1000);
	assert_int_equal(place_code(code, "main.py", BYTES_LIT("one"), NULL), 0);
	old = openat(code, "main.py", O_RDONLY | O_CLOEXEC);
	assert_int_equal(place_code(code, "main.py", BYTES_LIT("second"), NULL), 0);
	assert_int_equal(read(old, text, sizeof text), 3); /* who had it open keeps it whole */
	read_file(code, "main.py", text, sizeof text);
	assert_string_equal(text, "second");
	assert_int_equal(place_code(code, "main.sh", BYTES_LIT("third"), NULL), 0);
	assert_int_equal(faccessat(code, "main.py", F_OK, 0), -1);
	assert_int_equal(faccessat(code, ".new", F_OK, 0), -1);
}

static void test_place_report_is_bounded_and_its_own_file(void **state)
{
	struct dir *d = *state;
	autofd code = -1, report = -1, fd = -1;
	char name[PLACE_REPORT_SIZE], path[PLACE_REPORT_SIZE];
	struct stat st;
	autobuf b;

	buf_init(&b, 8);
	assert_int_equal(place_init(d->fd, &code, &report, NULL), 0);
	place_report_name(7, name, path);
	assert_string_equal(path, "/run/garth/report/0000000000000007");
	assert_int_equal(place_report_make(report, name, getuid(), &fd, NULL), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(place_report_read(fd, &b), 0);
	assert_int_equal(b.len, 0);
	assert_int_equal(write(fd, "12345678", 8), 8);
	assert_int_equal(unlinkat(report, name, 0), 0);
	assert_int_equal(place_report_read(fd, &b), 0);
	assert_int_equal(b.len, 8);
	buf_reset(&b);
	assert_int_equal(write(fd, "9", 1), 1);
	assert_int_equal(place_report_read(fd, &b), -EFBIG);
}

static void test_put_file_is_whole_or_not_there(void **state)
{
	static const struct {
		const char *path;
		bool replace;
		const char *if_sha;
		int want;
		bool created;
	} rows[] = {
		{ "a", false, "", 0, true },
		{ "a", false, "", -EEXIST, false },
		{ "a", true, "", 0, false },
		{ "b/c/d", true, "", 0, true },
		{ "b/c", true, "", -EISDIR, false },
		{ "a/x", true, "", -ENOTDIR, false },
		{ "new", true, "0123", -ESTALE, false },
		{ "a", true, "0123", -ESTALE, false },
	};
	struct dir *d = *state;
	autofd content = -1;
	char text[64];

	assert_int_equal(fd_memfd("content", BYTES_LIT("bytes"), &content), 0);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct put w = { rows[i].path, rows[i].replace, rows[i].if_sha };
		bool created = false;
		int r = put_file(d->fd, &w, content, &created, NULL);

		if (r != rows[i].want || (r == 0 && created != rows[i].created))
			fail_msg("row %zu: %d, created %d", i, r, created);
	}
	read_file(d->fd, "b/c/d", text, sizeof text);
	assert_string_equal(text, "bytes");
	assert_int_equal(faccessat(d->fd, "new", F_OK, 0), -1);
}

/* In a child that may write only where the ruleset says: 0, or the row that went wrong, from 1. */
static int under_landlock(void)
{
	static const struct {
		const char *path;
		int flags, want;
	} rows[] = {
		{ "/root/garth-landlock-test", O_WRONLY | O_CREAT, EACCES },
		{ "/usr/garth-landlock-test", O_WRONLY | O_CREAT, EACCES },
		{ "/etc/passwd", O_RDONLY, 0 },
		{ "/", O_RDONLY | O_DIRECTORY, 0 },
		{ "/tmp", O_TMPFILE | O_WRONLY, 0 },
		{ "/dev/null", O_RDWR, 0 },
	};
	struct err err = { 0 };
	int rules = -1;

	if (landlock_ruleset(NULL, 0, &rules, &err) < 0 || confine_self(&err) < 0 ||
	    confine_landlock(rules, &err) < 0)
		return 100;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		int fd = open(rows[i].path, rows[i].flags | O_CLOEXEC, 0600);

		if ((fd < 0 ? errno : 0) != rows[i].want)
			return (int)i + 1;
	}
	if (landlock_abi() >= 6 && (kill(getppid(), 0) == 0 || errno != EPERM))
		return 101;
	return 0;
}

static void test_landlock_ruleset_bounds_a_child(void **state)
{
	int status = 0;
	pid_t pid;

	(void)state;
	if (landlock_abi() < 2) {
		int fd = -1;

		assert_int_equal(landlock_ruleset(NULL, 0, &fd, NULL), -EOPNOTSUPP);
		skip();
	}
	pid = fork();
	if (pid == 0)
		_exit(under_landlock());
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (status != 0)
		fail_msg("%d", WEXITSTATUS(status));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_proc_status_names_the_living_of_a_gid),
		cmocka_unit_test(test_job_table_is_full_at_its_limit),
		cmocka_unit_test(test_job_deadlines_are_of_unanswered_jobs),
		cmocka_unit_test_setup_teardown(test_place_code_replaces_and_removes_the_other,
						make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_place_report_is_bounded_and_its_own_file,
						make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_put_file_is_whole_or_not_there, make_dir,
						remove_dir),
		cmocka_unit_test(test_landlock_ruleset_bounds_a_child),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
