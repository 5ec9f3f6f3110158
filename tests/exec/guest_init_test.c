/* SPDX-License-Identifier: MIT */
/*
 * tests/exec/guest_init_test.c - garth-init starts programs as the contract says: ids, limits, environment, descriptors, code, errors.
 * Not here: killing and writing (tests/exec/guest_kill_test.c, guest_put_test.c).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "guest/body.h"
#include "tests/exec/guest_box.h"

static struct box *box_of(void **state)
{
	return *state;
}

static int open_box(void **state)
{
	static struct box box;

	*state = &box;
	return box_open(&box, true);
}

static int close_box(void **state)
{
	box_close(*state);
	return 0;
}

static void run(void **state, const struct box_step *s, struct box_end *e)
{
	if (box_run(box_of(state), s, e) < 0)
		fail_msg("step %llu: no answer", (unsigned long long)s->step);
	if (e->status != 0)
		fail_msg("step %llu: %d %s", (unsigned long long)s->step, e->status, e->why);
}

/* Run a shell text; its standard output. */
static void run_sh(void **state, uint64_t step, const char *text, struct box_end *e)
{
	const char *argv[] = { "bash", "-c", text, NULL };
	struct box_step s = { .step = step, .argv = argv };

	run(state, &s, e);
}

static void has(const struct buf *b, const char *what)
{
	if (!strstr(buf_str(b), what))
		fail_msg("'%s' is not in:\n%s", what, buf_str(b));
}

static void test_spawn_program_streams_and_status_are_its_own(void **state)
{
	struct box_end e;

	run_sh(state, 1, "echo out; echo err >&2; exit 7", &e);
	assert_string_equal(buf_str(&e.out), "out\n");
	assert_string_equal(buf_str(&e.err), "err\n");
	assert_true(WIFEXITED(e.wait));
	assert_int_equal(WEXITSTATUS(e.wait), 7);
	assert_int_equal(e.alive, 0);
	assert_int_equal(e.report.len, 0);
	assert_true(e.maxrss > 100000);
	box_end_fini(&e);
	run_sh(state, 2, "kill -SEGV $$", &e);
	assert_true(WIFSIGNALED(e.wait));
	assert_int_equal(WTERMSIG(e.wait), 11);
	box_end_fini(&e);
}

static void test_spawn_environment_is_given_plus_defaults(void **state)
{
	const char *argv[] = { "env", NULL }, *env[] = { "A=1", "HOME=/tmp", "EMPTY=", NULL };
	struct box_step s = { .step = 3, .argv = argv, .env = env };
	struct box_end e;

	run(state, &s, &e);
	assert_string_equal(
		buf_str(&e.out),
		"A=1\nHOME=/tmp\nEMPTY=\nPATH=/usr/local/bin:/usr/bin:/bin\nLANG=C.UTF-8\n");
	box_end_fini(&e);
}

static void test_spawn_rights_are_none(void **state)
{
	const char *argv[] = { "cat", "/proc/self/status", NULL };
	struct box_step s = { .step = 4, .argv = argv, .gid = 60005 };
	struct box_end e;

	run(state, &s, &e);
	has(&e.out, "\nUid:\t1000\t1000\t1000\t1000\n");
	has(&e.out, "\nGid:\t60005\t60005\t60005\t60005\n");
	has(&e.out, "\nGroups:\t \n");
	has(&e.out,
	    "\nCapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n"
	    "CapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n");
	has(&e.out, "\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
	box_end_fini(&e);
}

static void test_spawn_descriptors_are_three(void **state)
{
	struct box_end e;

	run_sh(state, 5, "cd /proc/self/fd && echo *", &e);
	/* 255 is bash's own, the next free one its reading of the folder */
	assert_string_equal(buf_str(&e.out), "0 1 2 3\n");
	box_end_fini(&e);
}

static void test_spawn_limits_and_session_hold(void **state)
{
	const char *argv[] = {
		"bash", "-c",
		"ulimit -n; ulimit -f; ulimit -c; ulimit -Hn; ulimit -Hr; ulimit -He; umask; cat "
		"/proc/self/oom_score_adj; "
		"read -r _ _ _ _ pgrp sid tty _ < /proc/self/stat; [ $sid = $$ ] && echo session "
		"$tty; "
		"head -c 20000 /dev/zero >big; echo $?",
		NULL
	};
	struct box_step s = { .step = 6, .argv = argv, .open_files = 77, .file_max = 10240 };
	struct box_end e;

	run(state, &s, &e);
	assert_string_equal(buf_str(&e.out), "77\n10\n0\n77\n0\n0\n0002\n1000\nsession 0\n153\n");
	box_end_fini(&e);
}

static void test_spawn_files_stand_in_task(void **state)
{
	const char *argv[] = { "bash", "-c", "cat a.txt d/e/b.txt; stat -c %u:%g:%a a.txt d/e",
			       NULL };
	const char *files[] = { "a.txt", "first\n", "d/e/b.txt", "second\n", NULL };
	struct box_step s = { .step = 7, .argv = argv, .files = files };
	struct box_end e;

	run(state, &s, &e);
	assert_string_equal(buf_str(&e.out), "first\nsecond\n1000:60000:664\n1000:60000:775\n");
	box_end_fini(&e);
}

static void test_spawn_what_cannot_start_says_why(void **state)
{
	static const struct {
		const char *argv0, *cwd, *file;
		int want;
		const char *why;
	} rows[] = {
		{ "no-such-program", NULL, NULL, -ENOENT,
		  "program 'no-such-program' is not in PATH" },
		{ "/no/such", NULL, NULL, -ENOENT, "program '/no/such'" },
		{ "/etc/passwd", NULL, NULL, -EACCES, "program '/etc/passwd'" },
		{ "true", "/workspace/nowhere", NULL, -ENOENT, "cwd '/workspace/nowhere'" },
		{ "true", "/etc/passwd", NULL, -ENOTDIR, "cwd '/etc/passwd'" },
		{ "true", "relative", NULL, -EINVAL, "cwd must be absolute" },
		{ "true", NULL, "../out.txt", -EINVAL, "file 1: path has a '..' part" },
		{ "true", NULL, "/etc/x", -EINVAL, "file 1: path begins with a slash" },
		{ "true", NULL, "", -EINVAL, "file 1 has no name" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const char *argv[] = { rows[i].argv0, NULL },
			   *files[] = { rows[i].file, "x", NULL };
		struct box_step s = { .step = 100 + i,
				      .argv = argv,
				      .cwd = rows[i].cwd,
				      .files = rows[i].file ? files : NULL };
		struct box_end e;

		if (box_run(box_of(state), &s, &e) < 0)
			fail_msg("row %zu: no answer", i);
		if (e.status != rows[i].want || !strstr(e.why, rows[i].why))
			fail_msg("row %zu (%s): %d '%s'", i, rows[i].argv0, e.status, e.why);
		box_end_fini(&e);
	}
}

static void test_spawn_missing_interpreter_is_told_apart(void **state)
{
	const char *files[] = { "s", "#!/no/interpreter\n", NULL },
		   *argv[] = { "bash", "-c", "chmod +x s; cp s /tmp/s", NULL };
	const char *again[] = { "/tmp/s", NULL };
	struct box_step s = { .step = 8, .argv = argv, .files = files },
			t = { .step = 9, .argv = again };
	struct box_end e;

	run(state, &s, &e);
	box_end_fini(&e);
	assert_int_equal(box_run(box_of(state), &t, &e), 0);
	assert_int_equal(e.status, -ENOENT);
	if (!strstr(e.why, "interpreter"))
		fail_msg("'%s'", e.why);
	box_end_fini(&e);
}

static void test_spawn_ids_of_no_step_are_refused(void **state)
{
	static const struct {
		uint32_t uid, gid;
	} rows[] = { { 1000, 1000 },   { 1000, 60064 }, { 1000, 59999 },
		     { 65534, 60000 }, { 4095, 60000 }, { 1000, 70000 } };
	const char *argv[] = { "true", NULL };

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct box_step s = {
			.step = 10, .argv = argv, .uid = rows[i].uid, .gid = rows[i].gid
		};
		struct box_end e;

		if (box_run(box_of(state), &s, &e) < 0 || e.status != -EINVAL)
			fail_msg("row %zu: %d", i, e.status);
		box_end_fini(&e);
	}
}

static void test_python_code_is_the_main_program(void **state)
{
	const char *code = "import sys\nprint(__name__, __file__, sys.argv, repr(sys.path[0]))\n"
			   "import os\nprint(os.getcwd(), sys.stdin.read())\nsys.exit(3)\n";
	const char *argv[] = { "x", "y z", NULL };
	struct box_step s = { .step = 11,
			      .language = BODY_LANG_PYTHON,
			      .code = code,
			      .argv = argv,
			      .stdin_text = "in" };
	struct box_end e;

	run(state, &s, &e);
	assert_string_equal(buf_str(&e.out),
			    "__main__ /run/garth/code/main.py ['/run/garth/code/main.py', 'x', 'y "
			    "z'] ''\n/workspace/task in\n");
	assert_int_equal(WEXITSTATUS(e.wait), 3);
	assert_int_equal(e.report.len, 0);
	box_end_fini(&e);
}

static void test_python_error_is_reported_with_a_hint(void **state)
{
	const char *code = "def f():\n    return np.zeros(3)\n\nopen('data.csv', "
			   "'w').close()\nopen('dta.csv')\n";
	struct box_step s = { .step = 12, .language = BODY_LANG_PYTHON, .code = code };
	struct box_end e;

	run(state, &s, &e);
	assert_int_equal(WEXITSTATUS(e.wait), 1);
	/* Python 3.13 underlines the call between the two */
	has(&e.err,
	    "Traceback (most recent call last):\n  File \"/run/garth/code/main.py\", line 5, "
	    "in <module>\n    open('dta.csv')\n");
	has(&e.err, "\nFileNotFoundError: [Errno 2] No such file or directory: 'dta.csv'\n");
	assert_null(strstr(buf_str(&e.err), "runner.py"));
	has(&e.report, "{\"name\": \"FileNotFoundError\", \"value\": \"[Errno 2] No such file or "
		       "directory: 'dta.csv'\", \"traceback\": ");
	has(&e.report, "\"code\": \"file.missing\"");
	has(&e.report, "\"near\": [\"/workspace/task/data.csv\"]");
	box_end_fini(&e);
}

static void test_bash_code_runs_with_arguments(void **state)
{
	const char *argv[] = { "one", "two", NULL };
	struct box_step s = { .step = 13,
			      .language = BODY_LANG_BASH,
			      .code = "echo $0 $# $2; exit 4\n",
			      .argv = argv };
	struct box_end e;

	run(state, &s, &e);
	assert_string_equal(buf_str(&e.out), "/run/garth/code/main.sh 2 two\n");
	assert_int_equal(WEXITSTATUS(e.wait), 4);
	box_end_fini(&e);
}

static void test_code_takes_the_place_of_the_one_before(void **state)
{
	struct box_end e;

	run_sh(state, 14,
	       "ls -l /run/garth/code | tail -n +2 | cut -c1-10; ls /run/garth/code; ls "
	       "/run/garth/report 2>&1",
	       &e);
	assert_string_equal(buf_str(&e.out), "-r--r--r--\nmain.sh\nls: cannot open directory "
					     "'/run/garth/report': Permission denied\n");
	box_end_fini(&e);
}

static void test_code_of_16_mib_fits(void **state)
{
	size_t len = 15u << 20;
	char *code = malloc(len + 64);
	struct box_step s = { .step = 15, .language = BODY_LANG_BASH, .code = code };
	struct box_end e;

	assert_non_null(code);
	(void)snprintf(code, 64, "echo first; exit 0\n");
	memset(code + strlen(code), '#', len);
	code[len] = '\0';
	for (int i = 0; i < 3; i++) { /* the folder has room for less than three of them */
		s.step = 15 + (uint64_t)i;
		run(state, &s, &e);
		assert_string_equal(buf_str(&e.out), "first\n");
		box_end_fini(&e);
	}
	free(code);
}

static void test_step_cannot_touch_init_or_what_it_keeps(void **state)
{
	struct box_end e;

	run_sh(state, 20,
	       "kill -9 1 2>/dev/null; echo kill $?; cat /proc/1/environ 2>/dev/null; echo environ "
	       "$?; "
	       "ls /proc/1/fd 2>/dev/null; echo fd $?; for f in /run/garth/x /run/garth/code/x "
	       "/run/garth/report/x; do "
	       "(echo >$f) 2>/dev/null; echo write $?; done; rm -f /run/garth/runner.py "
	       "2>/dev/null; echo rm $?",
	       &e);
	assert_string_equal(buf_str(&e.out),
			    "kill 1\nenviron 1\nfd 2\nwrite 1\nwrite 1\nwrite 1\nrm 1\n");
	box_end_fini(&e);
}

static void test_orphans_are_reaped(void **state)
{
	struct box_end e;

	run_sh(state, 21,
	       "(sleep 0.05 & sleep 0.05 & ) ; (setsid sh -c 'sleep 0.1' &) ; sleep 0.4; grep -l "
	       "'State:.Z' /proc/[0-9]*/status; echo none",
	       &e);
	assert_string_equal(buf_str(&e.out), "none\n");
	box_end_fini(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spawn_program_streams_and_status_are_its_own),
		cmocka_unit_test(test_spawn_environment_is_given_plus_defaults),
		cmocka_unit_test(test_spawn_rights_are_none),
		cmocka_unit_test(test_spawn_descriptors_are_three),
		cmocka_unit_test(test_spawn_limits_and_session_hold),
		cmocka_unit_test(test_spawn_files_stand_in_task),
		cmocka_unit_test(test_spawn_what_cannot_start_says_why),
		cmocka_unit_test(test_spawn_missing_interpreter_is_told_apart),
		cmocka_unit_test(test_spawn_ids_of_no_step_are_refused),
		cmocka_unit_test(test_python_code_is_the_main_program),
		cmocka_unit_test(test_python_error_is_reported_with_a_hint),
		cmocka_unit_test(test_bash_code_runs_with_arguments),
		cmocka_unit_test(test_code_takes_the_place_of_the_one_before),
		cmocka_unit_test(test_code_of_16_mib_fits),
		cmocka_unit_test(test_step_cannot_touch_init_or_what_it_keeps),
		cmocka_unit_test(test_orphans_are_reaped),
	};

	return cmocka_run_group_tests(tests, open_box, close_box);
}
