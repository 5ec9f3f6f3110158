/* SPDX-License-Identifier: MIT */
/*
 * tests/exec/guest_programs_test.c - programs that people use work under the syscall filter and Landlock, and both are in force.
 * Not here: single calls (tests/unit/filter_test.c), garth's own mounts (tests/e2e).
 */
/* timeout: 240 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "exec/landlock.h"
#include "tests/exec/guest_box.h"

#define STEP_OK "fine\n"

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

struct program {
	const char *name;
	const char *needs; /* a shell test that says whether it is installed */
	const char *text;  /* prints "fine" as its last line */
};

static const struct program programs[] = {
	{ "python", "command -v python3",
	  "python3 -c 'import multiprocessing as m, subprocess, asyncio, threading, tempfile, "
	  "sqlite3, ssl, ctypes, mmap, os\n"
	  "print(m.Pool(2).map(abs, [-1, -2]))\n"
	  "t = threading.Thread(target=print, args=(1,)); t.start(); t.join()\n"
	  "async def f():\n p = await asyncio.create_subprocess_exec(\"true\"); await p.wait()\n"
	  " s = await asyncio.start_server(lambda r, w: w.close(), \"127.0.0.1\", 0); s.close()\n"
	  "asyncio.run(f())\n"
	  "os.pidfd_open(os.getpid()); os.memfd_create(\"x\"); os.sched_getaffinity(0)\n"
	  "tempfile.TemporaryFile().write(b\"x\")' && echo fine" },
	{ "numpy", "python3 -c 'import numpy'",
	  "python3 -c 'import numpy as n; print(n.linalg.inv(n.eye(200)).sum())' && echo fine" },
	{ "pandas", "python3 -c 'import pandas'",
	  "printf 'a,b\\n1,2\\n3,4\\n' >x.csv; python3 -c 'import pandas as p; "
	  "print(p.read_csv(\"x.csv\").groupby(\"a\").sum())' && echo fine" },
	{ "matplotlib", "python3 -c 'import matplotlib'",
	  "python3 -c 'import matplotlib.pyplot as p; p.plot([1, 2]); p.savefig(\"x.png\")' && [ "
	  "-s "
	  "x.png ] && echo fine" },
	{ "node", "command -v node",
	  "node -e 'const {Worker} = require(\"worker_threads\"); const c = "
	  "require(\"child_process\"); c.execSync(\"true\");"
	  "new Worker(\"require(\\\"fs\\\").readdirSync(\\\"/\\\")\", {eval: true}).on(\"exit\", "
	  "() "
	  "=> require(\"http\").createServer().listen(0, function() "
	  "{ this.close(() => console.log(\"fine\")) }))'" },
	{ "gcc", "command -v gcc && command -v make",
	  "printf 'int main(void){return 0;}' >x.c; printf 'x: x.c\\n\\tgcc -o x x.c\\n' "
	  ">Makefile; "
	  "make -j2 && ./x && echo fine" },
	{ "git", "command -v git",
	  "mkdir g && cd g && git init -q . && echo x >f && git add f && git -c user.name=n -c "
	  "user.email=e@x commit -qm m && git clone -q . ../h && "
	  "git gc -q && echo fine" },
	{ "tar", "command -v tar",
	  "mkdir tt; cd tt; mkdir t; echo x >t/x; ln t/x t/y; tar czf t.tgz t && rm -r t && tar xf "
	  "t.tgz && cat t/y "
	  "&& echo fine" },
	{ "sqlite", "command -v sqlite3",
	  "sqlite3 d.db 'pragma journal_mode=wal; create table t(a); insert into t values (1); "
	  "select * from t' && echo fine" },
	{ "perl", "command -v perl",
	  "perl -e 'my $p = fork; if (!$p) { exit 0 } waitpid $p, 0; print \"fine\\n\"'" },
	{ "coreutils", "true",
	  "mkdir c && cd c && cp /usr/bin/env e && cp -a e f && mv f g && ln -s g h && touch -d "
	  "yesterday g && sort -T "
	  ". e >/dev/null; timeout 5 true; nice true; "
	  "mkfifo p && (echo x >p &) && cat p && find . | xargs -P2 ls >/dev/null && df . && nproc "
	  "&& id -u && stat g && echo fine" },
};

static const struct program *program_of(const char *name)
{
	const struct program *p = programs;

	while (strcmp(p->name, name) != 0)
		p++;
	return p;
}

static void run_program(void **state, const char *name)
{
	const struct program *p = program_of(name);
	const char *ask[] = { "bash", "-c", p->needs, NULL },
		   *argv[] = { "bash", "-c", p->text, NULL };
	const char *env[] = { "HOME=/home/user", "PATH=/usr/local/bin:/usr/bin:/bin",
			      "MPLBACKEND=Agg",  "OMP_NUM_THREADS=2",
			      "LANG=C.UTF-8",    NULL };
	struct box_step s = { .step = 1, .argv = ask, .env = env };
	struct box_end e;
	size_t len;

	assert_int_equal(box_run(*state, &s, &e), 0);
	if (e.status != 0 || e.wait != 0) {
		box_end_fini(&e);
		skip();
	}
	box_end_fini(&e);
	s.argv = argv;
	assert_int_equal(box_run(*state, &s, &e), 0);
	len = e.out.len;
	if (e.status != 0 || e.wait != 0 || len < strlen(STEP_OK) ||
	    strcmp(buf_str(&e.out) + len - strlen(STEP_OK), STEP_OK) != 0)
		fail_msg("status %d wait %#x\n%s\n%s", e.status, e.wait, buf_str(&e.out),
			 buf_str(&e.err));
	box_end_fini(&e);
}

static void test_program_python_works(void **state)
{
	run_program(state, "python");
}

static void test_program_numpy_works(void **state)
{
	run_program(state, "numpy");
}

static void test_program_pandas_works(void **state)
{
	run_program(state, "pandas");
}

static void test_program_matplotlib_works(void **state)
{
	run_program(state, "matplotlib");
}

static void test_program_node_works(void **state)
{
	run_program(state, "node");
}

static void test_program_gcc_works(void **state)
{
	run_program(state, "gcc");
}

static void test_program_git_works(void **state)
{
	run_program(state, "git");
}

static void test_program_tar_works(void **state)
{
	run_program(state, "tar");
}

static void test_program_sqlite_works(void **state)
{
	run_program(state, "sqlite");
}

static void test_program_perl_works(void **state)
{
	run_program(state, "perl");
}

static void test_program_coreutils_works(void **state)
{
	run_program(state, "coreutils");
}

static void test_landlock_and_mounts_hold(void **state)
{
	const char *argv[] = { "bash", "-c",
			       "for d in / /etc /usr /usr/bin /run /home /dev; do (echo >$d/x) "
			       "2>/dev/null; echo $?; done; "
			       "for d in /tmp /workspace/task /home/user /dev/shm; do (echo >$d/x) "
			       "2>/dev/null; echo $?; done; "
			       "echo x >/dev/null; echo $?; ls / >/dev/null; echo $?; unshare -U "
			       "true 2>/dev/null; echo $?",
			       NULL };
	struct box_step s = { .step = 1, .argv = argv };
	struct box_end e;

	assert_int_equal(box_run(*state, &s, &e), 0);
	assert_string_equal(buf_str(&e.out), "1\n1\n1\n1\n1\n1\n1\n0\n0\n0\n0\n0\n0\n1\n");
	box_end_fini(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_program_python_works),
		cmocka_unit_test(test_program_numpy_works),
		cmocka_unit_test(test_program_pandas_works),
		cmocka_unit_test(test_program_matplotlib_works),
		cmocka_unit_test(test_program_node_works),
		cmocka_unit_test(test_program_gcc_works),
		cmocka_unit_test(test_program_git_works),
		cmocka_unit_test(test_program_tar_works),
		cmocka_unit_test(test_program_sqlite_works),
		cmocka_unit_test(test_program_perl_works),
		cmocka_unit_test(test_program_coreutils_works),
		cmocka_unit_test(test_landlock_and_mounts_hold),
	};

	return cmocka_run_group_tests(tests, open_box, close_box);
}
