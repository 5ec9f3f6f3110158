/* SPDX-License-Identifier: MIT */
/*
 * tests/mount/fs_task_test.c - task/ is private and empties itself; logs are pumped and cut; quotas hold; sandboxes see each other's
 * events.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/clock.h"
#include "core/fd.h"
#include "tests/mount/fs_fixture.h"

static unsigned entries(const struct fixture *f, const char *below)
{
	char path[400];
	unsigned n = 0;
	struct dirent *e;
	DIR *d;

	(void)snprintf(path, sizeof path, "%s/%s", f->rig.store, below);
	d = opendir(path);
	assert_non_null(d);
	while ((e = readdir(d)))
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

static void test_wipe_empties_and_keeps_working_directories(void **state)
{
	struct fixture *f = *state;
	struct fs_step s = rig_step(&f->rig, &f->a, true);
	int64_t begun_ns;
	pid_t daemon;
	int in;

	assert_int_equal(s.wiped_files, 0);
	sh(f, &s,
	   "for i in $(seq 300); do echo $i >f$i; done; mkdir -p d/e/f; chmod 0 d/e; mkdir x; "
	   "chmod 500 x; head -c 100000 /dev/zero >big");
	daemon = rig_spawn(&f->rig, &s, 1000,
			   "read a; pwd -P >$W/output/pwd; ls -a >$W/output/ls; echo new >fresh && "
			   "cat fresh >>$W/output/ls",
			   &in);
	(void)rig_end(&f->rig, &s, true);
	begun_ns = clock_mono_ns();
	s = rig_step(&f->rig, &f->a, true);
	if (clock_mono_ns() - begun_ns > 500 * NS_PER_MS)
		fail_msg("the wipe took %lld ms",
			 (long long)((clock_mono_ns() - begun_ns) / NS_PER_MS));
	assert_int_equal(s.wiped_files, 305);
	assert_true(s.wiped_bytes >= 100000 && s.wiped_bytes < 10000000);
	sh(f, &s, "[ -z \"$(ls -A)\" ] && [ ! -e f1 ] && [ ! -e big ] && echo 2 >f1");
	assert_int_equal(write(in, "go\n", 3), 3);
	close(in);
	assert_int_equal(rig_wait(daemon), 0);
	sh(f, &s,
	   "[ \"$(cat $W/output/pwd)\" = $(pwd -P) ] && [ \"$(tr '\\n' ' ' <$W/output/ls)\" = '. "
	   ".. f1 new ' ] && [ $(cat f1) = 2 ]");
	(void)rig_end(&f->rig, &s, false);
	for (int i = 0; entries(f, "trash") > 0; i++) {
		if (i == 100)
			fail_msg("the trash is not emptied");
		usleep(50000);
	}
}

static void test_what_is_open_in_a_wiped_task_changes_no_more(void **state)
{
	struct fixture *f = *state;
	struct fs_step s = rig_step(&f->rig, &f->a, true);
	pid_t daemon;
	int in;

	daemon = rig_spawn(&f->rig, &s, 1000,
			   "mkdir d; cd d; exec 5>f; : >ready; read a; ! echo x >&5 && ! echo y >g "
			   "&& ! mkdir h && ! rm ready && echo yes >$W/output/yes",
			   &in);
	sh(f, &s, "for i in $(seq 100); do [ -e d/ready ] && exit 0; sleep .05; done; exit 1");
	(void)rig_end(&f->rig, &s, true);
	s = rig_step(&f->rig, &f->a, true);
	assert_int_equal(write(in, "go\n", 3), 3);
	close(in);
	(void)rig_wait(daemon);
	sh(f, &s, "cat $W/output/yes");
	(void)rig_end(&f->rig, &s, false);
}

static void test_task_is_private_and_shared_by_steps_beside(void **state)
{
	struct fixture *f = *state;
	struct fs_step a = rig_step(&f->rig, &f->a, true), b = rig_step(&f->rig, &f->b, true),
		       beside;

	sh(f, &a, "echo ann >f");
	sh(f, &b, "[ ! -e f ] && echo bob >f");
	beside = rig_step(&f->rig, &f->a, true);
	assert_int_equal(beside.wiped_files, 0);
	sh(f, &beside, "[ $(cat f) = ann ]");
	(void)rig_end(&f->rig, &beside, false);
	(void)rig_end(&f->rig, &a, false);
	(void)rig_end(&f->rig, &b, false);
	/* by its name, through root of the host alone */
	rig_box_end(&f->rig, &f->b);
	assert_int_equal(rig_sh_ids(&f->rig, 0, 0, "cat $W/.garth.task.2100000000/f"), 0);
	assert_string_equal(f->rig.out, "ann\n");
}

static void test_logs_are_bounded_and_all_bytes_counted(void **state)
{
	struct fixture *f = *state;
	struct fs_step s = rig_step(&f->rig, &f->a, true);
	char block[4096];
	struct stat st;
	uint8_t reason;
	uint64_t out;
	bool cut;

	memset(block, 'x', sizeof block);
	for (int i = 0; i < 512; i++) /* 2 MiB, of which 1 MiB is kept */
		assert_int_equal(fd_write_full(s.out, block, sizeof block), 0);
	for (int i = 0; i < 200 && (fstat(s.log_out, &st) < 0 || st.st_size < 1 << 20); i++)
		usleep(10000);
	assert_int_equal(st.st_size, 1 << 20);
	(void)rig_end(&f->rig, &s, false);
	assert_true(rig_step_row(&f->rig, s.id, &reason, &out, &cut));
	assert_int_equal(out, 2 << 20);
	assert_true(cut);
}

static void test_quota_of_bytes_and_files(void **state)
{
	struct fixture *f = *state;
	struct fs_step s;

	assert_int_equal(rig_policy(&f->rig, "version: 1\nlimits: { workspace: { bytes: 8MiB, "
					     "files: 60 }, agent: { bytes: 4MiB, files: 30 } }\n"),
			 0);
	s = rig_step(&f->rig, &f->a, true);
	sh(f, &s,
	   "cat >p <<'E'\nimport os,errno\nW=os.environ['W']+'/output/'\n"
	   "def no(f):\n try: f()\n except OSError as e: assert e.errno==errno.EDQUOT,e; return\n "
	   "assert 0\n"
	   "a=os.open(W+'a',os.O_RDWR|os.O_CREAT)\n"
	   "def fill():\n  for i in range(100): os.pwrite(a,b'x'*65536,i*65536)\n"
	   "no(fill)\nn=os.fstat(a).st_size\nassert 3<<20<n<=4<<20,n\n"
	   "os.pwrite(a,b'y'*65536,0)\n" /* in place needs no room */
	   "no(lambda: os.posix_fallocate(a,0,6<<20))\n"
	   "v=os.statvfs(W)\nassert v.f_blocks*v.f_frsize==8<<20,v\nassert "
	   "v.f_bfree*v.f_frsize<5<<20,v\n"
	   "os.unlink(W+'a')\nno(lambda: os.pwrite(a,b'z'*65536,n))\n" /* still open, still counts */
	   "os.close(a)\n"
	   "import time\n"
	   "b=os.open(W+'b',os.O_RDWR|os.O_CREAT)\n"
	   "for i in range(100):\n  try: os.pwrite(b,b'x'*(2<<20),0); break\n  except OSError: "
	   "time.sleep(.02)\n"
	   "assert os.fstat(b).st_size==2<<20\nos.close(b)\nos.unlink(W+'b')\n"
	   "def many():\n for i in range(100): open(W+'n%d'%i,'w').close()\n"
	   "no(many)\nno(lambda: os.mkdir(W+'d'))\nno(lambda: os.symlink('x',W+'s'))\n"
	   "k=len([x for x in os.listdir(W) if x[0]=='n'])\nassert 20<k<=30,k\n"
	   "for i in range(k): os.unlink(W+'n%d'%i)\nmany2=[os.mkdir(W+'d%d'%i) for i in "
	   "range(20)]\n"
	   "E\npython3 p");
	assert_int_equal(rig_end(&f->rig, &s, false).violations, 0);
	/* what a wipe takes away counts no more, however long the trash takes */
	for (int i = 0; i < 4; i++) {
		s = rig_step(&f->rig, &f->b, true);
		sh(f, &s, "head -c 3000000 /dev/zero >big");
		(void)rig_end(&f->rig, &s, false);
	}
	/* kept versions count */
	s = rig_step(&f->rig, &f->b, true);
	for (int i = 0; i < 2; i++) {
		sh(f, &s,
		   "[ -e $W/output/v ] || head -c 1500000 /dev/urandom >$W/output/v || exit 7");
		(void)rig_end(&f->rig, &s, false);
		s = rig_step(&f->rig, &f->b, true);
		sh(f, &s, "rm -f $W/output/v");
	}
	assert_int_equal(rig_sh(&f->rig, &s, 1000, "head -c 1500000 /dev/urandom >$W/output/v"), 1);
	(void)rig_end(&f->rig, &s, false);
}

static void test_inotify_works_between_sandboxes(void **state)
{
	struct fixture *f = *state;
	struct fs_step a = rig_step(&f->rig, &f->a, true), b = rig_step(&f->rig, &f->b, true);
	pid_t watcher;
	int in;

	watcher = rig_spawn(
		&f->rig, &a, 1000,
		": >ready; exec timeout 20 inotifywait -q -m -e create,close_write,moved_to,delete "
		"--format '%e %f' $W/output >ev",
		&in);
	sh(f, &a, "for i in $(seq 100); do [ -e ready ] && exit 0; sleep .05; done; exit 1");
	sh(f, &b, "sleep .5; echo x >$W/output/t; mv $W/output/t $W/output/u; rm $W/output/u");
	sh(f, &a,
	   "for i in $(seq 100); do grep -q 'DELETE u' ev && break; sleep .05; done; cat ev; grep "
	   "-q 'CREATE t' ev && grep -q 'CLOSE_WRITE,CLOSE t' ev && "
	   "grep -q 'MOVED_TO u' ev && grep -q 'DELETE u' ev");
	close(in);
	(void)kill(watcher, SIGTERM); /* which timeout hands on */
	(void)rig_wait(watcher);
	(void)rig_end(&f->rig, &a, true);
	(void)rig_end(&f->rig, &b, false);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, fixture_up, fixture_down)
	const struct CMUnitTest tests[] = {
		T(test_wipe_empties_and_keeps_working_directories),
		T(test_what_is_open_in_a_wiped_task_changes_no_more),
		T(test_task_is_private_and_shared_by_steps_beside),
		T(test_logs_are_bounded_and_all_bytes_counted),
		T(test_quota_of_bytes_and_files),
		T(test_inotify_works_between_sandboxes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
