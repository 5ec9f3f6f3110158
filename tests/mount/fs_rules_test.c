/* SPDX-License-Identifier: MIT */
/*
 * tests/mount/fs_rules_test.c - the zones' rules as programs meet them: which errno, and which row in the record.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/ids.h"
#include "tests/mount/fs_fixture.h"

#define SCRIPT_SIZE 2048

static int setup(void **state)
{
	struct fixture *f;
	struct fs_step s;

	(void)fixture_up_op(state);
	f = *state;
	s = rig_step(&f->rig, &f->op, true);
	sh(f, &s, "echo given >$W/input/data; mkdir $W/input/dir; ln -s data $W/input/link");
	(void)rig_end(&f->rig, &s, false);
	s = rig_step(&f->rig, &f->b, true);
	sh(f, &s,
	   "echo his >$W/agents/bob/file; mkdir $W/agents/bob/dir; echo shared "
	   ">$W/output/bobs");
	(void)rig_end(&f->rig, &s, false);
	return 0;
}

/* Try python in the workspace: its errno, 0 where it worked. */
static int attempt(struct fixture *f, const struct fs_step *s, const char *python)
{
	char script[SCRIPT_SIZE];
	int rc;

	(void)snprintf(
		script, sizeof script,
		"exec python3 -c 'import os,sys,stat,socket\nW=os.environ[\"W\"]+\"/\"\ntry:\n %s\n"
		"except OSError as e: sys.exit(e.errno)\n'",
		python);
	rc = rig_sh(&f->rig, s, 1000, script);
	if (strstr(f->rig.out, "Traceback"))
		fail_msg("%s: %s", python, f->rig.out);
	return rc;
}

static const struct {
	const char *python;
	int err;
	uint8_t op;
	const char *path, *rule;
} refusals[] = {
	{ "open(W+\"input/x\",\"w\")", EROFS, OP_CREATE, "input/x", "input.readonly" },
	{ "open(W+\"input/data\",\"r+\")", EROFS, OP_WRITE, "input/data", "input.readonly" },
	{ "os.open(W+\"input/data\",os.O_RDONLY|os.O_TRUNC)", EROFS, OP_TRUNCATE, "input/data",
	  "input.readonly" },
	{ "os.truncate(W+\"input/data\",0)", EROFS, OP_TRUNCATE, "input/data", "input.readonly" },
	{ "os.mkdir(W+\"input/d\")", EROFS, OP_MKDIR, "input/d", "input.readonly" },
	{ "os.rmdir(W+\"input/dir\")", EROFS, OP_RMDIR, "input/dir", "input.readonly" },
	{ "os.unlink(W+\"input/data\")", EROFS, OP_UNLINK, "input/data", "input.readonly" },
	{ "os.rename(W+\"input/data\",W+\"output/d\")", EROFS, OP_RENAME, "input/data",
	  "input.readonly" },
	{ "os.rename(W+\"output/bobs\",W+\"input/d\")", EROFS, OP_RENAME, "input/d",
	  "input.readonly" },
	{ "os.rename(W+\"agents/bob/file\",W+\"input/d\")", EROFS, OP_RENAME, NULL, NULL },
	{ "os.link(W+\"input/data\",W+\"output/d\")", EROFS, OP_LINK, "input/data",
	  "input.readonly" },
	{ "os.symlink(\"x\",W+\"input/s\")", EROFS, OP_SYMLINK, "input/s", "input.readonly" },
	{ "os.chmod(W+\"input/data\",0o777)", EROFS, OP_CHMOD, "input/data", "input.readonly" },
	{ "os.chmod(W+\"input/link\",0o777)", EROFS, OP_CHMOD, "input/data", "input.readonly" },
	{ "os.chown(W+\"input/data\",os.getuid(),-1)", EROFS, OP_CHOWN, "input/data",
	  "input.readonly" },
	{ "os.utime(W+\"input/data\")", EROFS, OP_UTIMES, "input/data", "input.readonly" },
	{ "os.setxattr(W+\"input/data\",\"user.x\",b\"1\")", EROFS, OP_SETXATTR, "input/data",
	  "input.readonly" },
	{ "os.removexattr(W+\"input/data\",\"user.x\")", EROFS, OP_REMOVEXATTR, "input/data",
	  "input.readonly" },
	{ "open(W+\"agents/bob/x\",\"w\")", EACCES, OP_CREATE, "agents/bob/x", "area.foreign" },
	{ "open(W+\"agents/bob/file\",\"a\")", EACCES, OP_WRITE, "agents/bob/file",
	  "area.foreign" },
	{ "os.unlink(W+\"agents/bob/file\")", EACCES, OP_UNLINK, "agents/bob/file",
	  "area.foreign" },
	{ "os.mkdir(W+\"agents/carl\")", EACCES, OP_MKDIR, "agents/carl", NULL },
	{ "os.rename(W+\"agents/ann\",W+\"agents/carl\")", EACCES, OP_RENAME, "agents/ann",
	  "agents.closed" },
	{ "os.mkdir(W+\"mine\")", EACCES, OP_MKDIR, "mine", "root.closed" },
	{ "open(W+\"mine\",\"w\")", EACCES, OP_CREATE, "mine", "root.closed" },
	{ "os.rename(W+\"output\",W+\"out\")", EACCES, OP_RENAME, "output", "root.closed" },
	{ "os.rmdir(W+\"logs\")", EACCES, OP_RMDIR, "logs", NULL },
	{ "open(W+\"logs/x\",\"w\")", EACCES, OP_CREATE, "logs/x", "logs.readonly" },
	{ "os.mkfifo(W+\"output/fifo\")", EACCES, OP_MKNOD, "output/fifo", "special.zone" },
	{ "socket.socket(socket.AF_UNIX).bind(W+\"agents/ann/s\")", EACCES, OP_MKNOD,
	  "agents/ann/s", "special.zone" },
	{ "os.setxattr(W+\"output/bobs\",\"user.garth.step\",b\"1\")", EACCES, OP_SETXATTR,
	  "output/bobs", "xattr.reserved" },
	{ "os.open(W+\"agents\",os.O_TMPFILE|os.O_RDWR)", EACCES, OP_CREATE, NULL, NULL },
};

/* The row of the record that step made, and how many there are. */
static const struct rig_row *row_of(struct fixture *f, uint64_t step, unsigned *ret_n)
{
	const struct rig_row *v = NULL;

	*ret_n = 0;
	rig_violations(&f->rig, &f->rows);
	for (unsigned k = 0; k < f->rows.n; k++)
		if (f->rows.row[k].step == step) {
			v = &f->rows.row[k];
			++*ret_n;
		}
	return v;
}

static void check_refusal(struct fixture *f, size_t i)
{
	struct fs_step s = rig_step(&f->rig, &f->a, true);
	const char *what = refusals[i].python;
	struct msg_step_end_reply end;
	const struct rig_row *v;
	unsigned n;
	int err = attempt(f, &s, what);

	end = rig_end(&f->rig, &s, false);
	if (err != refusals[i].err)
		fail_msg("row '%s': errno %d, not %d", what, err, refusals[i].err);
	v = row_of(f, s.id, &n);
	if (!v || n != 1 || end.violations != 1) {
		fail_msg("row '%s': %u rows, %llu counted", what, n,
			 (unsigned long long)end.violations);
		return;
	}
	if (v->op != refusals[i].op || (int)v->errnum != refusals[i].err || v->agent != f->a.block)
		fail_msg("row '%s': op %u errno %u agent %u", what, v->op, v->errnum, v->agent);
	if ((refusals[i].path && strcmp(v->path, refusals[i].path) != 0) ||
	    (refusals[i].rule && strcmp(v->rule, refusals[i].rule) != 0))
		fail_msg("row '%s': path %s rule %s", what, v->path, v->rule);
}

static void test_each_refusal_has_its_errno_and_one_row(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
		check_refusal(f, i);
	rig_stop(&f->rig);
	rig_verify(&f->rig);
}

static void test_what_is_permitted_or_refused_by_others_is_no_violation(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *python;
		int err;
	} rows[] = {
		{ "open(W+\"input/data\").read()", 0 },
		{ "open(W+\"agents/bob/file\").read()", 0 },
		{ "os.listdir(W), os.listdir(W+\"agents\"), os.listdir(W+\"logs\")", 0 },
		{ "assert not os.access(W+\"input/data\",os.W_OK)", 0 },
		{ "assert not os.access(W+\"agents/bob\",os.W_OK)", 0 },
		{ "assert os.access(W+\"output\",os.R_OK|os.W_OK|os.X_OK)", 0 },
		{ "os.stat(W+\"nothing\")", ENOENT },
		{ "os.stat(W+\"output/nothing\")", ENOENT },
		{ "os.mkfifo(\"fifo\"); os.mknod(\"s\",stat.S_IFSOCK|0o600)", 0 },
		{ "os.rmdir(W+\"task\")", EBUSY },
		{ "os.mkdir(W+\"output\")", EEXIST },
		{ "open(\"t\",\"w\"); os.rename(\"t\",W+\"output/t\")", EXDEV },
		{ "os.chmod(W+\"output\",0o777)", EPERM },
		{ "os.mknod(W+\"output/dev\",stat.S_IFCHR|0o600,os.makedev(1,3))", EPERM },
		{ "open(W+\"agents/ann/mine\",\"w\"); os.chmod(W+\"agents/ann/mine\",0o640)", 0 },
		{ "open(W+\"output/bobs\",\"a\").write(\"x\")",
		  0 }, /* group bits mean all agents */
		{ "os.chown(W+\"agents/ann/mine\",-1,os.getgid())", 0 },
		{ "os.chown(W+\"agents/ann/mine\",-1,12)", EPERM },
		{ "assert os.stat(W+\"agents/ann/mine\").st_gid==os.stat(W+\"input\").st_gid", 0 },
		{ "os.setxattr(W+\"output/bobs\",\"trusted.x\",b\"1\")",
		  EPERM }, /* the kernel asks no server */
	};
	struct fs_step s = rig_step(&f->rig, &f->a, true);

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		int err = attempt(f, &s, rows[i].python);

		if (err != rows[i].err)
			fail_msg("row '%s': errno %d, not %d (%s)", rows[i].python, err,
				 rows[i].err, f->rig.out);
	}
	assert_int_equal(rig_end(&f->rig, &s, false).violations, 0);
}

static void test_root_shows_the_zones_and_nothing_else(void **state)
{
	struct fixture *f = *state;
	struct fs_step s = rig_step(&f->rig, &f->a, true);

	sh(f, &s,
	   "[ \"$(ls -a $W | tr '\\n' ' ')\" = '. .. agents input logs output task ' ] && [ \"$(ls "
	   "$W/agents | tr '\\n' ' ')\" = 'ann bob ' ]");
	sh(f, &s, "! ls -d $W/.garth.task.2100000000 2>/dev/null && ! cat $W/index.db 2>/dev/null");
	(void)rig_end(&f->rig, &s, false);
}

static void test_logs_show_ones_own(void **state)
{
	struct fixture *f = *state;
	struct fs_step a = rig_step(&f->rig, &f->a, true), b = rig_step(&f->rig, &f->b, true);
	char script[SCRIPT_SIZE];

	assert_int_equal(write(a.out, "mine\n", 5), 5);
	sh(f, &a,
	   "for i in $(seq 100); do [ \"$(cat $W/logs/*/stdout)\" = mine ] && exit 0; sleep .05; "
	   "done; cat $W/logs/*/stdout; exit 1");
	sh(f, &a, "[ $(ls $W/logs | wc -l) = 1 ]; ls $W/logs");
	(void)snprintf(script, sizeof script,
		       "x=%.40s; [ ! -e $W/logs/$x ] && ! cat $W/logs/$x/stdout && ! ls $W/logs/$x "
		       "&& [ $(ls $W/logs | wc -l) = 2 ]",
		       strtok_r(f->rig.out, "\n", &(char *){ NULL }));
	sh(f, &b, script);
	assert_int_equal(rig_end(&f->rig, &b, false).violations, 0);
	assert_int_equal(rig_end(&f->rig, &a, false).violations, 0);
}

static void test_folder_closed_by_its_mode_is_closed_to_others(void **state)
{
	struct fixture *f = *state;
	struct fs_step a = rig_step(&f->rig, &f->a, true), b = rig_step(&f->rig, &f->b, true);

	sh(f, &a,
	   "cd $W/output; mkdir p; chmod 700 p; mkdir p/sub; echo secret >p/sub/f; cd p/sub; stat "
	   "f >/dev/null; cat f");
	sh(f, &b,
	   "cd $W/output; ! stat p/sub/f && ! cat p/sub/f && ! ls p/sub && ! cd p/sub && ! ls p && "
	   "! : >p/sub/g && ! rm p/sub/f && "
	   "! stat p/nothing 2>err; grep -q denied err && ! mv p/sub/f x && ! ln p/sub/f x && ! "
	   "chmod 777 p/sub/f && ! python3 -c 'import os; "
	   "os.getxattr(\"p/sub/f\",\"user.garth.agent\")'");
	/* the rightful one's working directory was not torn */
	sh(f, &a, "cd $W/output/p/sub; pwd -P; [ $(cat f) = secret ]; chmod 755 ../../p");
	sh(f, &b,
	   "for i in $(seq 40); do [ \"$(cat $W/output/p/sub/f)\" = secret ] && exit 0; sleep .05; "
	   "done; exit 1");
	assert_int_equal(rig_end(&f->rig, &b, false).violations, 0);
	(void)rig_end(&f->rig, &a, false);
}

static void test_policy_rules_hold_from_the_next_step_on(void **state)
{
	struct fixture *f = *state;
	struct fs_step a = rig_step(&f->rig, &f->a, true), later;

	sh(f, &a,
	   "mkdir $W/output/final; echo 1 >$W/output/final/f; mkdir -p $W/agents/ann/private; echo "
	   "2 >$W/agents/ann/private/f; stat $W/agents/ann/private/f >/dev/null");
	assert_int_equal(
		rig_policy(
			&f->rig,
			"version: 1\nrules: [ { deny: [write], agent: bob, path: 'output/final/**' "
			"}, { deny: [read], agent: '*', path: 'agents/ann/private/**' } ]\n"),
		0);
	assert_int_equal(rig_policy(&f->rig, "version: 1\nruels: []\n"), -EINVAL);
	assert_non_null(memmem(msg_tail(&f->rig.m).p, msg_tail(&f->rig.m).len, "line 2", 6));
	later = rig_step(&f->rig, &f->b, true);
	assert_int_equal(attempt(f, &later, "open(W+\"output/final/f\",\"a\")"), EACCES);
	assert_int_equal(attempt(f, &later, "open(W+\"agents/ann/private/f\")"), EACCES);
	assert_int_equal(attempt(f, &later, "os.stat(W+\"agents/ann/private/f\")"), EACCES);
	assert_int_equal(rig_end(&f->rig, &later, false).violations, 3);
	sh(f, &a, "cat $W/agents/ann/private/f; echo x >>$W/output/final/f");
	assert_int_equal(rig_end(&f->rig, &a, false).violations, 0);
	rig_violations(&f->rig, &f->rows);
	assert_string_equal(f->rows.row[0].rule,
			    f->rows.row[0].op == OP_WRITE ? "rules[0]" : "rules[1]");
	/* and after a restart */
	rig_stop(&f->rig);
	rig_start(&f->rig);
	f->b = rig_box(&f->rig, f->b.block);
	later = rig_step(&f->rig, &f->b, true);
	assert_int_equal(attempt(f, &later, "open(W+\"output/final/f\",\"a\")"), EACCES);
	(void)rig_end(&f->rig, &later, false);
}

static void test_shared_root_may_be_filled(void **state)
{
	struct fixture *f = *state;
	struct fs_step a;

	assert_int_equal(rig_policy(&f->rig, "version: 1\nroot: shared\n"), 0);
	a = rig_step(&f->rig, &f->a, true);
	/* the root's folder is the server's: group bits let agents in only where they are set */
	sh(f, &a,
	   "ls -ld $W; mkdir $W/extra && echo 1 >$W/extra/f && mv $W/extra/f $W/output/moved && ls "
	   "$W | grep extra");
	assert_int_equal(rig_end(&f->rig, &a, false).artifacts, 1);
	rig_versions(&f->rig, "output/moved", &f->rows);
	assert_int_equal(f->rows.n, 1);
}

static void test_identity_of_strangers(void **state)
{
	struct fixture *f = *state;
	static const struct {
		uint32_t uid, gid;
		const char *script;
		int want;
	} rows[] = {
		{ 1000, 1000, "ls $W/output", 2 }, /* a user of the host */
		{ RIG_UID_BASE + IDS_BLOCK + 1000, 1000, "ls $W/output",
		  2 }, /* an agent's uid, no sandbox's gid */
		{ RIG_UID_BASE + IDS_BLOCK + 1000, RIG_GIDS + 2 * IDS_BLOCK + 4031, "ls $W/output",
		  2 }, /* another agent's sandbox */
		{ 0, 0, "cat $W/output/bobs $W/input/data >/dev/null && ls -R $W >/dev/null",
		  0 }, /* root of the host reads */
		{ 0, 0,
		  "! echo x >$W/output/x && ! rm -f $W/output/bobs && ! chmod 777 $W/output && ! "
		  "mkdir $W/output/d",
		  0 },
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		int rc = rig_sh_ids(&f->rig, rows[i].uid, rows[i].gid, rows[i].script);

		if (rc != rows[i].want)
			fail_msg("row %zu '%s': %d, not %d: %s", i, rows[i].script, rc,
				 rows[i].want, f->rig.out);
	}
	rig_flush(&f->rig);
	rig_violations(&f->rig, &f->rows);
	assert_int_equal(f->rows.n, 0);
}

static void test_inner_root_acts_as_the_owner(void **state)
{
	struct fixture *f = *state;
	struct fs_step s = rig_step(&f->rig, &f->a, true);
	char script[SCRIPT_SIZE];
	uint32_t base = ids_agent_uid(RIG_UID_BASE, f->a.block, 0);

	sh(f, &s, "mkdir -m 700 $W/output/own; echo 1 >$W/output/own/f; chmod 600 $W/output/own/f");
	(void)snprintf(script, sizeof script,
		       "cd $W/output && cat own/f && echo 2 >>own/f && touch own/g && touch n && "
		       "chown %u n && [ $(stat -c %%u n) = %u ] && "
		       "chown %u n && ! chown %u n && ! chown %u bobs && ! chmod 600 bobs",
		       base + 1234, base + 1234, base, base + IDS_BLOCK, base + 5);
	sh_as(f, &s, 0, script);
	sh(f, &s, "! chown $(($(id -u)+1)) $W/output/own/f");
	assert_int_equal(rig_end(&f->rig, &s, false).violations, 0);
}

static void test_gid_that_is_no_steps_is_booked_on_the_open_step(void **state)
{
	struct fixture *f = *state;
	struct fs_step s = rig_step(&f->rig, &f->a, true), odd = s, second;

	odd.slot = (uint32_t)-4031 + 7; /* gid 7 of the sandbox */
	sh_as(f, &odd, 0, "cd /; rm -f $W/output/a; echo 1 >$W/output/a");
	second = rig_step(&f->rig, &f->a, true);
	assert_int_equal(attempt(f, &odd, "open(W+\"input/amb\",\"w\")"), EROFS);
	(void)rig_end(&f->rig, &second, false);
	(void)rig_end(&f->rig, &s, false);
	rig_versions(&f->rig, "output/a", &f->rows);
	assert_int_equal(f->rows.n, 1);
	assert_int_equal(f->rows.row[0].step, s.id);
	rig_violations(&f->rig, &f->rows);
	assert_int_equal(f->rows.n, 1);
	assert_int_equal(f->rows.row[0].step, 0); /* never a guess */
	rig_stop(&f->rig);
	rig_verify(&f->rig);
}

static void test_daemon_of_an_ended_step_is_late(void **state)
{
	struct fixture *f = *state;
	struct fs_step s = rig_step(&f->rig, &f->a, true), next;
	pid_t daemon;
	int in;

	daemon = rig_spawn(&f->rig, &s, 1000,
			   "cat >/dev/null; echo late >$W/output/late; ! echo x >$W/input/late",
			   &in);
	(void)rig_end(&f->rig, &s, true);
	next = rig_step(&f->rig, &f->a, true);
	assert_int_not_equal(next.slot, s.slot);
	close(in);
	assert_int_equal(rig_wait(daemon), 0);
	rig_flush(&f->rig);
	rig_versions(&f->rig, "output/late", &f->rows);
	assert_int_equal(f->rows.n, 1);
	assert_int_equal(f->rows.row[0].step, s.id);
	assert_true(f->rows.row[0].late);
	rig_violations(&f->rig, &f->rows);
	assert_int_equal(f->rows.n, 1);
	assert_true(f->rows.row[0].late && f->rows.row[0].step == s.id);
	(void)rig_end(&f->rig, &next, false);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, fixture_down)
	const struct CMUnitTest tests[] = {
		T(test_each_refusal_has_its_errno_and_one_row),
		T(test_what_is_permitted_or_refused_by_others_is_no_violation),
		T(test_root_shows_the_zones_and_nothing_else),
		T(test_logs_show_ones_own),
		T(test_folder_closed_by_its_mode_is_closed_to_others),
		T(test_policy_rules_hold_from_the_next_step_on),
		T(test_shared_root_may_be_filled),
		T(test_identity_of_strangers),
		T(test_inner_root_acts_as_the_owner),
		T(test_gid_that_is_no_steps_is_booked_on_the_open_step),
		T(test_daemon_of_an_ended_step_is_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
