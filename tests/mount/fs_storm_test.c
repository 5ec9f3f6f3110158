/* SPDX-License-Identifier: MIT */
/*
 * tests/mount/fs_storm_test.c - agents that do everything to the same few names at once; afterwards the record says exactly what is there.
 * timeout: 300
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/mount/fs_rig.h"

#define STEPS 4
#define ROUNDS 3

static int setup(void **state)
{
	struct fs_rig *r = calloc(1, sizeof *r);

	*state = r;
	rig_up(r);
	return 0;
}

static int teardown(void **state)
{
	if (*state)
		rig_down(*state);
	free(*state);
	return 0;
}

static const char storm[] =
	"cat >p <<'E'\nimport os,random,sys,time\n"
	"random.seed(os.getpid()); W=os.environ['W']+'/output/'; end=time.time()+3; n=0\n"
	"os.umask(2)\n"
	"def name(): return W+random.choice(['','d/','d/e/','D/'])+random.choice('abcdefg')\n"
	"def write(): "
	"open(name(),random.choice(['w','a','r+'])).write('x'*random.choice([0,1,100,5000]))\n"
	"def hold():\n f=open(name(),'a'); f.write('h'); f.flush(); other(); f.write('i'); "
	"f.close()\n"
	"def read(): open(name()).read()\n"
	"def move(): os.rename(name(),name())\n"
	"def swap():\n  import ctypes\n  "
	"ctypes.CDLL(None).renameat2(-100,name().encode(),-100,name().encode(),2)\n"
	"def link(): os.link(name(),name())\n"
	"def gone(): os.unlink(name())\n"
	"def cut(): os.truncate(name(),random.choice([0,10,3000]))\n"
	"def mode(): os.chmod(name(),random.choice([0o664,0o660,0o400]))\n"
	"def hash_(): os.getxattr(name(),'user.garth.sha256')\n"
	"def dirs(): os.mkdir(W+random.choice(['d','d/e','D']))\n"
	"def rdir(): os.rmdir(W+random.choice(['d','d/e','D']))\n"
	"def mdir(): os.rename(W+random.choice(['d','D','d/e']),W+random.choice(['d','D','d/e']))\n"
	"def tmp():\n  fd=os.open(W,os.O_TMPFILE|os.O_RDWR,0o664); os.write(fd,b't'); "
	"os.link('/proc/self/fd/%d'%fd,name(),src_dir_fd=fd); os.close(fd)\n"
	"ops=[write]*6+[hold,read,read,move,move,swap,link,link,gone,gone,cut,mode,hash_,dirs,dirs,"
	"rdir,mdir,mdir,tmp]\n"
	"def other(): go(random.choice(ops[-13:]))\n"
	"def go(o):\n"
	" try: o()\n"
	" except OSError as e:\n"
	"  if e.errno not in (1,2,13,17,18,20,21,22,39,40,61,95): print(o.__name__,e); "
	"sys.exit(1)\n"
	"while time.time()<end:\n n+=1; go(random.choice(ops))\n"
	"print(n)\nE\nexec python3 p";

/* "sha path" of each file in output/: seen in the store itself, whatever modes the agents have set. */
static void look(struct fs_rig *r)
{
	int rc = rig_sh_ids(
		r, 0, 0,
		"cd $W/../store/data && find output -type f -print0 | xargs -0r sha256sum");

	if (rc != 0)
		fail_msg("look: %d %s", rc, r->out);
}

static void compare(struct fs_rig *r)
{
	struct rig_rows *rows = calloc(1, sizeof *rows);
	unsigned lines = 0;

	for (char *save = NULL, *line = strtok_r(r->out, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save), lines++) {
		const char *path = strchr(line, ' ') + 2;

		rig_newest(r, path, rows);
		if (rows->n == 0)
			fail_msg("%s is there and no version of it lives", path);
		/* A folder that went and came back brings a version twice into the path's history. */
		for (unsigned i = 0; i < rows->n; i++)
			if (rows->row[i].id != rows->row[0].id ||
			    strncmp(rows->row[i].sha, line, 64) != 0)
				fail_msg("%s: recorded %s (state %u, version %llu), is %.64s", path,
					 rows->row[i].sha, rows->row[i].state,
					 (unsigned long long)rows->row[i].id, line);
	}
	if (rig_live(r, "output") != lines)
		fail_msg("%u files are there, the record has %u", lines, rig_live(r, "output"));
	free(rows);
}

static void test_record_is_what_is_there_after_a_storm(void **state)
{
	struct fs_rig *r = *state;
	struct fs_box box[STEPS];
	uint32_t agents[2] = { rig_agent(r, "ann"), rig_agent(r, "bob") };

	for (int i = 0; i < STEPS; i++)
		box[i] = rig_box(r, agents[i % 2]);
	for (int round = 0; round < ROUNDS; round++) {
		struct fs_step s[STEPS];
		pid_t p[STEPS];
		int in;

		for (int i = 0; i < STEPS; i++) {
			s[i] = rig_step(r, &box[i], true);
			p[i] = rig_spawn(r, &s[i], 1000, storm, &in);
			close(in);
		}
		for (int i = 0; i < STEPS; i++)
			assert_int_equal(rig_wait(p[i]), 0);
		for (int i = 0; i < STEPS; i++)
			(void)rig_end(r, &s[i], false);
		rig_flush(r);
		look(r);
		compare(r);
		if (round == 1) {
			rig_stop(r);
			rig_verify(r);
			rig_start(r);
			for (int i = 0; i < STEPS; i++)
				box[i] = rig_box(r, agents[i % 2]);
		}
	}
	rig_stop(r);
	rig_verify(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_record_is_what_is_there_after_a_storm, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
