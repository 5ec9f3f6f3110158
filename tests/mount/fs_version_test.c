/* SPDX-License-Identifier: MIT */
/*
 * tests/mount/fs_version_test.c - versions: when they are cut, what they hash, and that sealing is never noticed.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/mount/fs_fixture.h"

/* The sha256 of a version's kept bytes is the one recorded. */
static void check_bytes(struct fixture *f, const struct rig_row *v, const char *want)
{
	struct msg_file_open_reply reply;
	int rc = rig_open(&f->rig, v->path, v->sha, &reply);

	if (rc < 0)
		fail_msg("open %s %s: %d", v->path, v->sha, rc);
	assert_string_equal(f->rig.out, want);
}

static void test_sealed_file_changed_later_keeps_both_versions(void **state)
{
	struct fixture *f = *state;
	struct fs_step s = rig_step(&f->rig, &f->a, true);
	int in;
	pid_t reader;

	sh(f, &s,
	   "printf one >$W/output/x; ln $W/output/x $W/output/y; stat -c %i $W/output/x >ino");
	(void)rig_end(&f->rig, &s, false);
	s = rig_step(&f->rig, &f->b, true);
	/* open, locked and mapped while the other changes it */
	reader = rig_spawn(&f->rig, &s, 1000,
			   "exec python3 -c 'import mmap,os,sys,fcntl\n"
			   "fd=os.open(os.environ[\"W\"]+\"/output/x\",os.O_RDWR)\n"
			   "fcntl.flock(fd,fcntl.LOCK_SH)\n"
			   "m=mmap.mmap(fd,3,prot=mmap.PROT_READ)\n"
			   "open(\"ready\",\"w\").close()\n"
			   "sys.stdin.read()\n"
			   "assert m[:3]==b\"ONE\",m[:3]\n"
			   "assert os.pread(fd,9,0)==b\"ONE\"\n"
			   "assert os.fstat(fd).st_nlink==2,os.fstat(fd)\n'",
			   &in);
	sh(f, &s, "for i in $(seq 200); do [ -e ready ] && exit 0; sleep .05; done; exit 1");
	sh(f, &s, "[ $(stat -c %h $W/output/x) = 2 ]");
	sh(f, &s, "exec 5<>$W/output/y; printf ONE >&5; [ $(stat -c %h $W/output/x) = 2 ]");
	close(in);
	assert_int_equal(rig_wait(reader), 0);
	(void)rig_end(&f->rig, &s, false);
	rig_versions(&f->rig, "output/x", &f->rows);
	assert_int_equal(f->rows.n, 2);
	assert_string_not_equal(f->rows.row[0].sha, f->rows.row[1].sha);
	for (unsigned i = 0; i < 2; i++)
		check_bytes(f, &f->rows.row[i], f->rows.row[i].n == 1 ? "one" : "ONE");
	rig_versions(&f->rig, "output/y", &f->rows);
	assert_int_equal(f->rows.n, 2);
	rig_stop(&f->rig);
	rig_verify(&f->rig);
}

static void test_every_way_of_writing_makes_one_right_version(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *name, *script, *want;
	} rows[] = {
		{ "append 1000 times", "for i in $(seq 1000); do echo $i >>$W/output/f; done",
		  NULL },
		{ "rename over", "printf new >$W/output/t; mv $W/output/t $W/output/f", "new" },
		{ "truncate by path", "truncate -s 1 $W/output/f", "n" },
		{ "in place", "printf Q | dd of=$W/output/f conv=notrunc status=none", "Q" },
		{ "through a mapping",
		  "python3 -c 'import "
		  "mmap,os\nfd=os.open(os.environ[\"W\"]+\"/output/"
		  "f\",os.O_RDWR)\nos.ftruncate(fd,4)\n"
		  "m=mmap.mmap(fd,4)\nm[:]=b\"MAPS\"\n'",
		  "MAPS" },
		{ "O_TMPFILE and link",
		  "rm $W/output/f; python3 -c 'import "
		  "os\nd=os.environ[\"W\"]+\"/output\"\nfd=os.open(d,os.O_TMPFILE|os.O_RDWR)\n"
		  "os.write(fd,b\"tmp\")\nos.link(\"/proc/self/fd/%d\"%fd,d+\"/"
		  "f\",src_dir_fd=fd)\n'",
		  "tmp" },
		{ "copy_file_range",
		  "printf copied >s; cp s $W/output/s; python3 -c 'import "
		  "os\nd=os.environ[\"W\"]+\"/output/\"\n"
		  "a=os.open(d+\"s\",os.O_RDONLY)\nb=os.open(d+\"f\",os.O_RDWR|os.O_TRUNC)\nos."
		  "copy_file_range(a,b,6)\n'",
		  "copied" },
		{ "fallocate",
		  "fallocate -l 3 -o 6 $W/output/f; fallocate -p -o 0 -l 9 $W/output/f", NULL },
		{ "mknod",
		  "rm $W/output/f; python3 -c 'import "
		  "os\nos.mknod(os.environ[\"W\"]+\"/output/f\",0o644)\n'",
		  "" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct fs_step s = rig_step(&f->rig, &f->a, true);
		const struct rig_row *v = NULL;
		unsigned mine = 0;

		sh(f, &s, rows[i].script);
		sh(f, &s, "sha256sum <$W/output/f | cut -c1-64 | tr -d '\\n'");
		(void)rig_end(&f->rig, &s, false);
		rig_versions(&f->rig, "output/f", &f->rows);
		for (unsigned k = 0; k < f->rows.n; k++)
			if (f->rows.row[k].step == s.id) {
				v = &f->rows.row[k];
				mine++;
			}
		if (mine != 1 || !v->has_sha || !v->kept || strcmp(v->sha, f->rig.out) != 0)
			fail_msg("row '%s': %u versions, recorded %s, is %s", rows[i].name, mine,
				 v ? v->sha : "-", f->rig.out);
		if (rows[i].want)
			check_bytes(f, v, rows[i].want);
	}
	rig_stop(&f->rig);
	rig_verify(&f->rig);
}

static void test_opened_and_not_written_is_no_version(void **state)
{
	struct fixture *f = *state;
	struct fs_step s = rig_step(&f->rig, &f->a, true);
	struct msg_step_end_reply end;

	sh(f, &s, "printf 1 >$W/output/f");
	(void)rig_end(&f->rig, &s, false);
	s = rig_step(&f->rig, &f->b, true);
	sh(f, &s,
	   "exec 5<>$W/output/f; touch $W/output/f; chmod 600 $W/output/f 2>/dev/null; cat "
	   "$W/output/f");
	end = rig_end(&f->rig, &s, false);
	assert_int_equal(end.artifacts, 0);
	assert_int_equal(end.reads, 1);
	/* the same bytes written anew are a version: this step made them */
	s = rig_step(&f->rig, &f->b, true);
	sh(f, &s, "printf 1 >$W/output/f");
	end = rig_end(&f->rig, &s, false);
	assert_int_equal(end.artifacts, 1);
}

static void test_another_steps_open_cuts_a_version_first(void **state)
{
	struct fixture *f = *state;
	struct fs_step a = rig_step(&f->rig, &f->a, true), b = rig_step(&f->rig, &f->b, true);

	sh(f, &a, "printf first >$W/output/f");
	sh(f, &b, "[ $(cat $W/output/f) = first ]; printf second >$W/output/f; cat $W/output/f");
	sh(f, &a, "cat $W/output/f");
	(void)rig_end(&f->rig, &a, false);
	(void)rig_end(&f->rig, &b, false);
	rig_versions(&f->rig, "output/f", &f->rows);
	assert_int_equal(f->rows.n, 2);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(f->rows.row[i].step, f->rows.row[i].n == 1 ? a.id : b.id);
		check_bytes(f, &f->rows.row[i], f->rows.row[i].n == 1 ? "first" : "second");
	}
	rig_reads(&f->rig, b.id, &f->rows);
	assert_int_equal(f->rows.n, 1);
	assert_int_equal(f->rows.row[0].n, 1);
	rig_reads(&f->rig, a.id, &f->rows);
	assert_int_equal(f->rows.n, 1);
	assert_int_equal(f->rows.row[0].n, 2);
}

static void test_read_of_a_file_being_written_is_an_open_edge(void **state)
{
	struct fixture *f = *state;
	struct fs_step a = rig_step(&f->rig, &f->a, true), b = rig_step(&f->rig, &f->b, true);
	struct msg_file_open_reply reply;
	pid_t writer;
	int in;

	writer = rig_spawn(
		&f->rig, &a, 1000,
		"exec 5>$W/output/f; printf part >&5; touch ready; cat >/dev/null; printf done >&5",
		&in);
	sh(f, &a, "for i in $(seq 200); do [ -e ready ] && exit 0; sleep .05; done; exit 1");
	sh(f, &b, "[ $(cat $W/output/f) = part ]");
	assert_int_equal(rig_open(&f->rig, "output/f", NULL, &reply), -EBUSY);
	close(in);
	assert_int_equal(rig_wait(writer), 0);
	(void)rig_end(&f->rig, &a, false);
	(void)rig_end(&f->rig, &b, false);
	rig_reads(&f->rig, b.id, &f->rows);
	assert_int_equal(f->rows.n, 1);
	assert_true(f->rows.row[0].open);
	rig_versions(&f->rig, "output/f", &f->rows);
	assert_int_equal(f->rows.n, 1);
	assert_true(f->rows.row[0].has_sha);
	check_bytes(f, &f->rows.row[0], "partdone");
	rig_stop(&f->rig);
	rig_verify(&f->rig);
}

static void test_renames_links_and_removals_follow(void **state)
{
	struct fixture *f = *state;
	struct fs_step s = rig_step(&f->rig, &f->a, true);
	unsigned newest = 0;

	sh(f, &s,
	   "mkdir $W/output/d $W/output/d/e; printf 1 >$W/output/d/e/f; printf 2 >$W/output/g; "
	   "printf 3 >$W/output/h");
	(void)rig_end(&f->rig, &s, false);
	s = rig_step(&f->rig, &f->a, true);
	sh(f, &s,
	   "mv $W/output/d $W/output/D; mv $W/output/g $W/output/G; ln $W/output/G $W/output/L; rm "
	   "$W/output/h;"
	   "mv $W/output/D/e/f $W/agents/ann/f; mv $W/agents/ann/f $W/output/back");
	(void)rig_end(&f->rig, &s, false);
	rig_versions(&f->rig, NULL, &f->rows);
	for (unsigned i = 0; i < f->rows.n; i++) {
		const struct rig_row *v = &f->rows.row[i];

		if (!v->newest)
			continue;
		newest++;
		if (strcmp(v->path, "output/G") != 0 && strcmp(v->path, "output/L") != 0 &&
		    strcmp(v->path, "output/back") != 0)
			fail_msg("'%s' lives", v->path);
		check_bytes(f, v, strcmp(v->path, "output/back") == 0 ? "1" : "2");
	}
	assert_int_equal(newest, 3);
	rig_stop(&f->rig);
	rig_verify(&f->rig);
}

static void test_hash_attribute_is_never_stale(void **state)
{
	struct fixture *f = *state;
	struct fs_step s = rig_step(&f->rig, &f->a, true);

	sh(f, &s,
	   "cat >p <<'E'\nimport os,hashlib\np=os.environ['W']+'/output/h'\n"
	   "for n in (0,1,4096,300000):\n"
	   " d=os.urandom(n); open(p,'wb').write(d)\n"
	   " assert os.getxattr(p,'user.garth.sha256').decode()==hashlib.sha256(d).hexdigest(),n\n"
	   " f=open(p,'ab')\n"
	   " try: os.getxattr(p,'user.garth.sha256'); assert 0,'a writer is there'\n"
	   " except OSError as e: assert e.errno==61,e\n"
	   " f.close()\n"
	   "assert os.getxattr(p,'user.garth.agent')==b'ann'\n"
	   "assert os.getxattr(p,'user.garth.step').startswith(b's_')\n"
	   "os.setxattr(p,'user.mine',b'v'); assert "
	   "os.listxattr(p)==['user.mine'],os.listxattr(p)\n"
	   "try: os.setxattr(p,'user.garth.agent',b'bob'); assert 0\n"
	   "except OSError as e: assert e.errno==13,e\n"
	   "E\npython3 p");
	assert_int_equal(rig_end(&f->rig, &s, false).violations, 1);
}

static void test_mode_that_hides_a_sealed_file_leaves_its_object_readable(void **state)
{
	struct fixture *f = *state;
	struct fs_step s = rig_step(&f->rig, &f->a, true);

	sh(f, &s, "printf seal >$W/output/f");
	(void)rig_end(&f->rig, &s, false);
	s = rig_step(&f->rig, &f->a, true);
	sh(f, &s, "chmod 0 $W/output/f; printf blind >$W/output/w; chmod 200 $W/output/w");
	(void)rig_end(&f->rig, &s, false);
	rig_versions(&f->rig, "output/f", &f->rows);
	assert_int_equal(f->rows.n, 1);
	check_bytes(f, &f->rows.row[0], "seal");
	/* hashed through its writer, since its owner cannot read it */
	rig_versions(&f->rig, "output/w", &f->rows);
	assert_int_equal(f->rows.n, 1);
	assert_true(f->rows.row[0].has_sha);
	check_bytes(f, &f->rows.row[0], "blind");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, fixture_up, fixture_down)
	const struct CMUnitTest tests[] = {
		T(test_sealed_file_changed_later_keeps_both_versions),
		T(test_every_way_of_writing_makes_one_right_version),
		T(test_opened_and_not_written_is_no_version),
		T(test_another_steps_open_cuts_a_version_first),
		T(test_read_of_a_file_being_written_is_an_open_edge),
		T(test_renames_links_and_removals_follow),
		T(test_hash_attribute_is_never_stale),
		T(test_mode_that_hides_a_sealed_file_leaves_its_object_readable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
