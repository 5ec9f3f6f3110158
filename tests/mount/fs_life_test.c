/* SPDX-License-Identifier: MIT */
/*
 * tests/mount/fs_life_test.c - the life of a workspace: restarts, killed servers, a client that goes away; and what garth-api asks.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/fd.h"
#include "tests/mount/fs_fixture.h"

static const struct rig_row *newest(struct fixture *f, const char *path)
{
	rig_versions(&f->rig, path, &f->rows);
	for (unsigned i = 0; i < f->rows.n; i++)
		if (f->rows.row[i].newest)
			return &f->rows.row[i];
	fail_msg("no version of %s lives", path);
	abort(); /* fail_msg does not return, which the compiler isn't told */
}

static void test_restart_loses_nothing_and_doubts_nothing(void **state)
{
	struct fixture *f = *state;
	struct fs_step s = rig_step(&f->rig, &f->a, true);
	struct msg_file_open_reply reply;
	const struct rig_row *v;
	uint64_t first;

	sh(f, &s,
	   "mkdir $W/output/d; printf 1 >$W/output/d/f; ln $W/output/d/f $W/output/g; printf 2 "
	   ">$W/agents/ann/h; mv $W/output/d $W/output/e");
	(void)rig_end(&f->rig, &s, false);
	first = newest(f, "output/e/f")->id;
	rig_stop(&f->rig);
	rig_verify(&f->rig);
	rig_start(&f->rig);
	assert_int_equal(newest(f, "output/e/f")->id, first);
	assert_int_equal(rig_open(&f->rig, "output/g", NULL, &reply), 0);
	assert_string_equal(f->rig.out, "1");
	f->a = rig_box(&f->rig, f->a.block);
	s = rig_step(&f->rig, &f->a, true);
	/* the object is the live inode still: it gets its copy first, and both names their versions */
	sh(f, &s,
	   "[ $(stat -c %h $W/output/g) = 2 ] && printf 22 >$W/output/g && [ $(cat $W/output/e/f) "
	   "= 22 ]");
	(void)rig_end(&f->rig, &s, false);
	v = newest(f, "output/e/f");
	assert_true(v->has_sha && v->kept && v->n == 2);
	assert_int_equal(newest(f, "output/g")->n, 2);
	rig_stop(&f->rig);
	rig_verify(&f->rig);
}

static void test_killed_server_names_what_is_in_doubt(void **state)
{
	struct fixture *f = *state;
	struct fs_step s = rig_step(&f->rig, &f->a, true);
	const struct rig_row *v;
	uint8_t reason;
	uint64_t out;
	bool cut;

	sh(f, &s,
	   "printf 1 >$W/output/sealed; printf 1 >$W/output/changed; printf 1 >$W/output/same");
	(void)rig_end(&f->rig, &s, false);
	s = rig_step(&f->rig, &f->a, true);
	sh(f, &s,
	   "printf new >$W/output/created; printf 2 >$W/output/changed; printf 1 >$W/output/same; "
	   "rm $W/output/sealed; ! : >$W/input/x");
	rig_kill(&f->rig);
	rig_start(&f->rig);
	rig_flush(&f->rig);
	assert_true(rig_step_row(&f->rig, s.id, &reason, &out, &cut));
	assert_int_equal(reason, REASON_LOST);
	v = newest(f, "output/created");
	assert_int_equal(v->state, STATE_DOUBT);
	v = newest(f, "output/changed");
	assert_int_equal(v->state, STATE_DOUBT);
	assert_int_equal(v->n, 2);
	v = newest(f, "output/same");
	assert_int_equal(v->state, STATE_SEALED);
	rig_versions(&f->rig, "output/sealed", &f->rows);
	assert_int_equal(f->rows.n, 1);
	assert_false(f->rows.row[0].newest);
	rig_violations(&f->rig, &f->rows);
	assert_int_equal(f->rows.n, 1); /* it was acknowledged, so it is there */
	/* and it goes on */
	f->a = rig_box(&f->rig, f->a.block);
	s = rig_step(&f->rig, &f->a, true);
	sh(f, &s, "[ $(cat $W/output/created) = new ]; printf 3 >$W/output/changed");
	(void)rig_end(&f->rig, &s, false);
	v = newest(f, "output/changed");
	assert_true(v->n == 3 && v->has_sha && v->step == s.id);
	rig_stop(&f->rig);
	rig_verify(&f->rig);
}

static void test_killed_at_any_moment_the_record_holds(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 6; i++) {
		struct fs_step s = rig_step(&f->rig, &f->a, true);
		int in;
		pid_t p = rig_spawn(&f->rig, &s, 1000,
				    "i=0; while :; do i=$((i+1)); echo $i >$W/output/k$((i%20)); "
				    "mv $W/output/k$((i%7)) $W/output/m$((i%3)); "
				    "ln -f $W/output/m0 $W/output/l; cat $W/output/m1 >/dev/null; "
				    "rm -f $W/output/k$((i%11)); : >$W/input/no; done 2>/dev/null",
				    &in);
		struct fs_step two = rig_step(&f->rig, &f->b, true);

		close(in);
		usleep((useconds_t)(100000 + i * 37000));
		(void)two;
		rig_kill(&f->rig);
		(void)kill(p, 9);
		(void)rig_wait(p);
		fd_closep(&s.out);
		fd_closep(&s.err);
		rig_start(&f->rig);
		f->a = rig_box(&f->rig, f->a.block);
		f->b = rig_box(&f->rig, f->b.block);
	}
	rig_stop(&f->rig);
	rig_verify(&f->rig);
}

static void test_client_that_goes_loses_its_steps(void **state)
{
	struct fixture *f = *state;
	struct fs_step s = rig_step(&f->rig, &f->a, true);
	uint8_t reason;
	uint64_t out;
	bool cut;

	sh(f, &s, "printf 1 >$W/output/f");
	rig_reconnect(&f->rig);
	for (int i = 0; i < 100; i++) {
		assert_true(rig_step_row(&f->rig, s.id, &reason, &out, &cut));
		if (reason == REASON_LOST)
			break;
		usleep(50000);
	}
	assert_int_equal(reason, REASON_LOST);
	assert_true(newest(f, "output/f")->has_sha);
}

static void test_sandbox_may_end_before_its_step(void **state)
{
	struct fixture *f = *state;
	struct fs_step s = rig_step(&f->rig, &f->a, true);
	uint8_t reason;
	uint64_t out;
	bool cut;

	sh(f, &s, "printf 1 >$W/output/f; echo x >t");
	rig_box_end(&f->rig, &f->a);
	assert_int_equal(rig_end(&f->rig, &s, false).artifacts, 1);
	assert_true(rig_step_row(&f->rig, s.id, &reason, &out, &cut));
	assert_int_equal(reason, REASON_EXITED);
	assert_int_equal(rig_sh_ids(&f->rig, RIG_UID_BASE + f->a.block * 4096 + 1000,
				    f->a.gid_base + 4031, "cat $W/output/f"),
			 1);
}

static void test_quiet_file_is_cut_in_mid_step(void **state)
{
	struct fixture *f = *state;
	struct fs_step s = rig_step(&f->rig, &f->a, true);

	sh(f, &s, "printf 1 >$W/output/f");
	rig_versions(&f->rig, "output/f", &f->rows);
	assert_int_equal(f->rows.n, 0);
	for (int i = 0; i < 140 && f->rows.n == 0; i++) {
		usleep(100000);
		rig_versions(&f->rig, "output/f", &f->rows);
	}
	assert_int_equal(f->rows.n, 1);
	sh(f, &s, "printf 2 >>$W/output/f");
	(void)rig_end(&f->rig, &s, false);
	assert_int_equal(newest(f, "output/f")->n, 2);
}

static void list_has(struct fixture *f, const char *path, bool recursive, const char *want)
{
	struct msg_dir_list q = { .path_len = (uint32_t)strlen(path),
				  .recursive = recursive,
				  .asker = MSG_ASKER_ALL };
	autobuf all;
	char names[1024] = "";
	int fd;

	buf_init(&all, 1 << 20);
	assert_int_equal(rig_ask(&f->rig, MSG_DIR_LIST, &q, sizeof q, bytes_str(path), NULL, 0), 0);
	fd = wire_take_fd(&f->rig.m, 0);
	assert_int_equal(fd_memfd_read(fd, &all), 0);
	close(fd);
	for (size_t at = 0; at < all.len;) {
		struct msg_dirent e;

		memcpy(&e, all.p + at, sizeof e);
		(void)snprintf(names + strlen(names), sizeof names - strlen(names), "[%.*s]",
			       (int)e.name_len, all.p + at + sizeof e);
		at += sizeof e + (e.name_len + 7) / 8 * 8;
	}
	if (!strstr(names, want))
		fail_msg("%s lists %s, not %s", path, names, want);
}

static void check_paths(struct fixture *f)
{
	static const struct {
		const char *path;
		int want;
	} rows[] = { { "output/d", -EISDIR },
		     { "output/none", -ENOENT },
		     { "output/evil", -ENOENT },
		     { "output/dl/e/f", -ENOTDIR },
		     { "output/../index.db", -EINVAL } };
	struct msg_file_open_reply reply;

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (rig_open(&f->rig, rows[i].path, NULL, &reply) != rows[i].want)
			fail_msg("row %zu: '%s' is not %d", i, rows[i].path, rows[i].want);
}

static void test_what_garth_api_asks(void **state)
{
	struct fixture *f = *state;
	struct fs_step s = rig_step(&f->rig, &f->a, true);
	struct msg_file_open_reply reply;
	struct msg_snapshot snap = { { 0, 0 } };
	struct msg_verdict v = { .hold = 1 };
	struct msg_object_open object;
	const struct rig_row *row;
	char sha[SHA256_HEX_SIZE];
	int fd;

	sh(f, &s,
	   "mkdir -p $W/output/d/e; printf 1 >$W/output/d/e/f; printf old >$W/output/v; ln -s "
	   "/etc/passwd $W/output/evil; ln -s d $W/output/dl");
	(void)rig_end(&f->rig, &s, false);
	row = newest(f, "output/v");
	memcpy(sha, row->sha, sizeof sha);
	v.version = row->id;
	s = rig_step(&f->rig, &f->a, true);
	list_has(f, "", false, "[output]");
	list_has(f, "output/d", true, "[e/f]");
	list_has(f, "output/d/e", false, "[f]");
	check_paths(f);
	/* held back */
	assert_int_equal(rig_ask(&f->rig, MSG_VERDICT, &v, sizeof v, (struct bytes){ 0 }, NULL, 0),
			 0);
	assert_int_equal(rig_open(&f->rig, "output/v", NULL, &reply), -EAGAIN);
	assert_int_equal(newest(f, "output/v")->state, STATE_HELD);
	v.hold = 0;
	v.pass = 1;
	assert_int_equal(rig_ask(&f->rig, MSG_VERDICT, &v, sizeof v, (struct bytes){ 0 }, NULL, 0),
			 0);
	assert_int_equal(rig_open(&f->rig, "output/v", NULL, &reply), 0);
	assert_int_equal(newest(f, "output/v")->state, STATE_SEALED);
	/* an older version by its hash, an object, a copy of the record */
	sh(f, &s, "printf new >$W/output/v");
	assert_int_equal(rig_open(&f->rig, "output/v", NULL, &reply), 0);
	assert_string_equal(f->rig.out, "new");
	assert_int_equal(rig_open(&f->rig, "output/v", sha, &reply), 0);
	assert_string_equal(f->rig.out, "old");
	assert_int_equal(sha256_parse(sha, &object.sha), 0);
	assert_int_equal(rig_ask(&f->rig, MSG_OBJECT_OPEN, &object, sizeof object,
				 (struct bytes){ 0 }, NULL, 0),
			 0);
	object.sha.b[0] ^= 1;
	assert_int_equal(rig_ask(&f->rig, MSG_OBJECT_OPEN, &object, sizeof object,
				 (struct bytes){ 0 }, NULL, 0),
			 -ENOENT);
	assert_int_equal(rig_ask(&f->rig, MSG_SNAPSHOT, &snap, sizeof snap, (struct bytes){ 0 },
				 NULL, 0),
			 0);
	fd = wire_take_fd(&f->rig.m, 0);
	assert_true(lseek(fd, 0, SEEK_END) > 4096);
	close(fd);
	(void)rig_end(&f->rig, &s, false);
}

static void test_retention_lets_old_bytes_go_and_keeps_their_rows(void **state)
{
	struct fixture *f = *state;
	struct msg_file_open_reply reply;
	char first[SHA256_HEX_SIZE];
	struct sha256 sha;

	sha256_of(BYTES_LIT("0"), &sha);
	sha256_hex(&sha, first);
	for (int i = 0; i < 4; i++) {
		struct fs_step s = rig_step(&f->rig, &f->a, true);
		char script[64];

		(void)snprintf(script, sizeof script, "printf %d >$W/output/f", i);
		sh(f, &s, script);
		(void)rig_end(&f->rig, &s, false);
	}
	assert_int_equal(rig_policy(&f->rig, "version: 1\nretention: { versions: 2 }\n"), 0);
	rig_stop(&f->rig);
	rig_start(&f->rig);
	for (int i = 0; i < 100 && rig_open(&f->rig, "output/f", first, &reply) == 0; i++)
		(void)usleep(20000); /* it goes in the background */
	rig_flush(&f->rig);
	rig_versions(&f->rig, "output/f", &f->rows);
	assert_int_equal(f->rows.n, 4);
	for (unsigned i = 0; i < 4; i++) {
		const struct rig_row *v = &f->rows.row[i];

		assert_int_equal(v->state, v->n <= 2 ? STATE_PRUNED : STATE_SEALED);
		assert_true(v->has_sha);
	}
	assert_int_equal(rig_open(&f->rig, "output/f", first, &reply), -ESTALE);
	assert_int_equal(rig_open(&f->rig, "output/f", NULL, &reply), 0);
	assert_string_equal(f->rig.out, "3");
	rig_stop(&f->rig);
	rig_verify(&f->rig);
}

/* Every line "Name: value" of each thread of garth-fs. */
static void check_threads(const struct fs_rig *r, const char *name, const char *want)
{
	char cmd[256], line[256];
	unsigned n = 0;
	FILE *p;

	(void)snprintf(cmd, sizeof cmd, "sed -n 's/^%s:[[:space:]]*//p' /proc/%d/task/*/status",
		       name, (int)rig_fs_pid(r));
	p = popen(cmd, "r");
	assert_non_null(p);
	while (fgets(line, sizeof line, p)) {
		line[strcspn(line, "\n")] = '\0';
		if (strcmp(line, want) != 0)
			fail_msg("%s is '%s' in a thread, not '%s'", name, line, want);
		n++;
	}
	(void)pclose(p);
	assert_true(n >= 8);
}

static void test_server_has_two_rights_and_a_filter(void **state)
{
	struct fixture *f = *state;

	check_threads(&f->rig, "CapEff", "0000000000000080"); /* CAP_SETUID, in its own namespace */
	check_threads(&f->rig, "CapPrm", "0000000000000081"); /* and CAP_CHOWN, for one call */
	check_threads(&f->rig, "CapInh", "0000000000000000");
	check_threads(&f->rig, "CapAmb", "0000000000000000");
	check_threads(&f->rig, "NoNewPrivs", "1");
	check_threads(&f->rig, "Seccomp", "2");
	check_threads(&f->rig, "Groups", "");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, fixture_up, fixture_down)
	const struct CMUnitTest tests[] = {
		T(test_restart_loses_nothing_and_doubts_nothing),
		T(test_killed_server_names_what_is_in_doubt),
		T(test_killed_at_any_moment_the_record_holds),
		T(test_client_that_goes_loses_its_steps),
		T(test_sandbox_may_end_before_its_step),
		T(test_quiet_file_is_cut_in_mid_step),
		T(test_what_garth_api_asks),
		T(test_retention_lets_old_bytes_go_and_keeps_their_rows),
		T(test_server_has_two_rights_and_a_filter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
