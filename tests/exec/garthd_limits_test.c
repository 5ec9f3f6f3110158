/* SPDX-License-Identifier: MIT */
/*
 * tests/exec/garthd_limits_test.c - the limits of a sandbox, each reached for.
 * timeout: 180
 */
#include "exec/cgroup.h"
#include "tests/exec/rig.h"

#define MIB (1024ull * 1024)

static struct rig rig;
static int fs = -1;

static int setup(void **state)
{
	(void)state;
	rig_start(&rig);
	fs = rig_ready_ws(&rig, "limits");
	return 0;
}

static int teardown(void **state)
{
	int r;

	(void)state;
	(void)close(fs);
	r = rig_end(&rig);
	r = r == 0 && rig_left(&rig) == 0 ? 0 : -1;
	rig_clean(&rig);
	return r;
}

static void stat_of(uint64_t sandbox, struct msg_sb_stat_reply *ret)
{
	struct msg_sb_stat m = { .sandbox = sandbox };

	assert_int_equal(RIG_ASK(&rig, MSG_SB_STAT, m), 0);
	memcpy(ret, rig.reply.body, sizeof *ret);
}

static void limit(uint64_t sandbox, uint64_t memory, uint32_t pids, uint32_t cpus_milli, int want)
{
	struct msg_sb_limit m = {
		.sandbox = sandbox, .memory = memory, .pids = pids, .cpus_milli = cpus_milli
	};
	int r = RIG_ASK(&rig, MSG_SB_LIMIT, m);

	if (r != want)
		fail_msg("limit: %d %s", r, rig_sentence(&rig));
}

static void end(int guest, uint64_t sandbox)
{
	assert_int_equal(rig_kill(&rig, sandbox), 0);
	(void)close(guest);
}

static void test_memory_kill_is_told_and_counted(void **state)
{
	struct msg_sb_create m = rig_request("limits", 1);
	struct msg_sb_stat_reply s;
	int g;
	const struct rig_result *r;

	(void)state;
	m.memory = 64 * MIB;
	g = rig_need_sandbox(&rig, &m);
	r = rig_step(g, "exec python3 -c 'x = bytearray(200 << 20); print(1)'");
	assert_true(WIFSIGNALED(r->status) && WTERMSIG(r->status) == SIGKILL);
	assert_string_equal(r->out, "");
	assert_true(rig_wait_note(&rig, MSG_SB_OOM));
	stat_of(m.sandbox, &s);
	assert_true(s.oom_kills >= 1);
	assert_true(s.memory_peak > 60 * MIB && s.memory_peak <= 64 * MIB);
	/* the sandbox lives on, and its counts begin again */
	limit(m.sandbox, 64 * MIB, 32, 1000, 0);
	stat_of(m.sandbox, &s);
	assert_int_equal(s.oom_kills, 0);
	r = rig_step(g, "echo on");
	assert_string_equal(r->out, "on\n");
	end(g, m.sandbox);
}

static void test_memory_limit_can_be_raised_and_lowered(void **state)
{
	struct msg_sb_create m = rig_request("limits", 1);
	const struct rig_result *r;
	int g;

	(void)state;
	m.memory = 64 * MIB;
	g = rig_need_sandbox(&rig, &m);
	limit(m.sandbox, 256 * MIB, 32, 1000, 0);
	r = rig_step(g, "exec python3 -c 'x = bytearray(150 << 20); print(1)'");
	assert_string_equal(r->out, "1\n");
	limit(m.sandbox, 32 * MIB, 32, 1000, 0);
	r = rig_step(g, "exec python3 -c 'x = bytearray(150 << 20); print(1)'");
	assert_true(WIFSIGNALED(r->status));
	limit(m.sandbox, 1, 32, 1000, -EINVAL);
	end(g, m.sandbox);
}

static void test_memory_limit_below_what_is_held_is_refused(void **state)
{
	struct msg_sb_create m = rig_request("limits", 1);
	const struct rig_result *r;
	int g;

	(void)state;
	m.memory = 128 * MIB;
	m.tmp = 64 * MIB;
	g = rig_need_sandbox(&rig, &m);
	r = rig_step(g, "head -c 48M /dev/zero >/tmp/held && echo held");
	assert_string_equal(r->out, "held\n");
	limit(m.sandbox, 32 * MIB, 32, 1000, -EBUSY);
	r = rig_step(g, "rm /tmp/held && echo freed"); /* nothing was killed for it */
	assert_string_equal(r->out, "freed\n");
	limit(m.sandbox, 32 * MIB, 32, 1000, 0);
	end(g, m.sandbox);
}

static enum cgroup_peak kernel_peak(void)
{
	enum cgroup_peak peak = CGROUP_PEAK_NONE;
	struct cgroups x;

	assert_int_equal(cgroups_open(&x, "limits-test", NULL), 0);
	peak = cgroups_peak(&x);
	cgroups_close(&x);
	assert_int_equal(cgroups_probe(&x, NULL), 0);
	assert_int_equal(cgroups_sweep(&x, "limits-test", NULL), 0);
	return peak;
}

static void test_memory_peak_is_the_steps_own(void **state)
{
	struct msg_sb_create m = rig_request("limits", 1);
	struct msg_sb_stat_reply st;
	int g;

	(void)state;
	if (kernel_peak() != CGROUP_PEAK_STEP)
		skip();
	m.memory = 256 * MIB;
	g = rig_need_sandbox(&rig, &m);
	for (int pass = 0; pass < 2; pass++) {
		limit(m.sandbox, 256 * MIB, 32, 1000, 0);
		(void)rig_step(g, "exec python3 -c 'x = bytearray(100 << 20)'");
		stat_of(m.sandbox, &st);
		assert_in_range(st.memory_peak, 100 * MIB, 256 * MIB);
		limit(m.sandbox, 256 * MIB, 32, 1000, 0);
		(void)rig_step(g, "echo");
		stat_of(m.sandbox, &st);
		assert_in_range(st.memory_peak, 1, 50 * MIB);
	}
	end(g, m.sandbox);
}

static void test_files_in_tmp_count_as_memory_and_have_a_size(void **state)
{
	struct msg_sb_create m = rig_request("limits", 1);
	const struct rig_result *r;
	int g;

	(void)state;
	m.tmp = 4 * MIB;
	g = rig_need_sandbox(&rig, &m);
	r = rig_step(g, "for d in /tmp /dev/shm /home/user; do head -c 6M /dev/zero > $d/big "
			"2>/dev/null || stat -c %s $d/big; done");
	assert_string_equal(r->out, "4194304\n4194304\n4194304\n");
	end(g, m.sandbox);
}

static void test_pids_are_refused_and_counted(void **state)
{
	struct msg_sb_create m = rig_request("limits", 1);
	struct msg_sb_stat_reply s;
	const struct rig_result *r;
	int g;

	(void)state;
	m.pids = 10;
	g = rig_need_sandbox(&rig, &m);
	r = rig_step(g, "exec python3 -c '\nimport os, time\nn = 0\ntry:\n  while True:\n    if "
			"os.fork() == 0: time.sleep(1); os._exit(0)\n    n += 1\nexcept "
			"BlockingIOError as e: print(n, e.errno)'");
	if (strcmp(r->out, "10 11\n") != 0 && strcmp(r->out, "9 11\n") != 0)
		fail_msg("%s", r->out);
	stat_of(m.sandbox, &s);
	assert_true(s.pids_refused >= 1);
	end(g, m.sandbox);
}

static void test_cpu_time_is_bounded_and_counted(void **state)
{
	struct msg_sb_create m = rig_request("limits", 1);
	struct msg_sb_stat_reply s;
	const struct rig_result *r;
	int64_t t0;
	int g;

	(void)state;
	m.cpus_milli = 200;
	g = rig_need_sandbox(&rig, &m);
	limit(m.sandbox, m.memory, 32, 200, 0);
	t0 = clock_mono_ns();
	r = rig_step(g, "timeout 2 sh -c 'while :; do :; done'; echo $?");
	assert_string_equal(r->out, "124\n");
	stat_of(m.sandbox, &s);
	/* a fifth of two seconds, with room for a busy host */
	if (s.cpu_ns < 50 * NS_PER_MS || s.cpu_ns > (clock_mono_ns() - t0) * 35 / 100)
		fail_msg("%lld ms of cpu", (long long)(s.cpu_ns / NS_PER_MS));
	end(g, m.sandbox);
}

static void test_lifetime_ends_a_sandbox(void **state)
{
	struct msg_sb_create m = rig_request("limits", 1);
	const struct msg_sb_gone *gone;
	struct msg_sb_life more = { 0 };
	int64_t t0 = clock_mono_ns();
	int g;

	(void)state;
	m.lifetime_ns = 300 * NS_PER_MS;
	g = rig_need_sandbox(&rig, &m);
	more = (struct msg_sb_life){ .sandbox = m.sandbox, .lifetime_ns = 600 * NS_PER_MS };
	assert_int_equal(RIG_ASK(&rig, MSG_SB_LIFE, more), 0);
	rig.note.head.type = 0;
	assert_true(rig_wait_note(&rig, MSG_SB_GONE));
	gone = (const void *)rig.note.body;
	assert_int_equal(gone->sandbox, m.sandbox);
	assert_string_equal(gone->why, "lifetime");
	assert_true(clock_mono_ns() - t0 > 500 * NS_PER_MS);
	(void)close(g);
	assert_int_equal(rig_kill(&rig, m.sandbox), -ENOENT);
}

static void test_sandboxes_have_a_number(void **state)
{
	struct msg_sb_create m[9];
	int g[9];

	(void)state;
	for (int i = 0; i < 9; i++) {
		m[i] = rig_request("limits", 1);
		g[i] = rig_sandbox(&rig, &m[i]);
	}
	for (int i = 0; i < 8; i++)
		assert_true(g[i] >= 0);
	assert_int_equal(g[8], -EAGAIN);
	for (int i = 0; i < 8; i++)
		end(g[i], m[i].sandbox);
	g[8] = rig_need_sandbox(&rig, &m[8]); /* room again */
	end(g[8], m[8].sandbox);
}

static void test_fork_bomb_with_daemons_is_dead_when_kill_answers(void **state)
{
	struct msg_sb_create m = rig_request("limits", 1);
	const char *const argv[] = { "/bin/sh", "-c",
				     "bomb() { setsid sleep 100 & bomb & bomb; }; bomb 2>/dev/null",
				     NULL };
	struct msg_sb_stat_reply s = { 0 };
	int64_t t0;
	int g, out;

	(void)state;
	m.pids = 300;
	g = rig_need_sandbox(&rig, &m);
	out = rig_spawn_step(g, 0, 1000, argv);
	assert_true(out >= 0);
	for (int i = 0; i < 200 && s.pids_now < 200; i++) {
		(void)poll(NULL, 0, 20);
		stat_of(m.sandbox, &s);
	}
	assert_true(s.pids_now >= 200);
	t0 = clock_mono_ns();
	end(g, m.sandbox);
	assert_true(clock_mono_ns() - t0 < 5 * NS_PER_S);
	assert_int_equal(rig_find(&rig, "sleep"), 0);
	(void)close(out);
}

static void test_bad_requests_leave_nothing(void **state)
{
	struct msg_sb_create m = rig_request("limits", 1);
	struct msg_sb_create other = rig_request("nowhere", 1);

	(void)state;
	m.memory = 5;
	assert_int_equal(rig_sandbox(&rig, &m), -EINVAL);
	assert_non_null(strstr(rig_sentence(&rig), "memory"));
	assert_int_equal(rig_sandbox(&rig, &other), -ENOENT);
	m = rig_request("limits", 20); /* an agent that is not there: garth-fs says so */
	assert_true(rig_sandbox(&rig, &m) < 0);
	assert_int_equal(rig_kill(&rig, m.sandbox), -ENOENT);
}

static int with_path(struct msg_sb_create *m, const char *path)
{
	m->host_paths = 1;
	return rig_ask(&rig, rig.api, MSG_SB_CREATE, m, sizeof *m, bytes_of(path, strlen(path) + 1),
		       NULL, 0);
}

static void test_host_paths_are_shown_read_only(void **state)
{
	struct msg_sb_create m = rig_request("limits", 1);
	char dir[96], script[256];
	const struct rig_result *r;
	int g;

	(void)state;
	(void)snprintf(dir, sizeof dir, "/opt/garth-test-%d", (int)getpid());
	assert_int_equal(mkdir(dir, 0755), 0);
	(void)snprintf(script, sizeof script, "%s/tool", dir);
	rig_write(script, "tool\n");
	assert_int_equal(with_path(&m, dir), 0);
	g = wire_take_fd(&rig.reply, 0);
	(void)snprintf(script, sizeof script, "cat %s/tool; touch %s/new 2>/dev/null || echo ro",
		       dir, dir);
	r = rig_step(g, script);
	assert_string_equal(r->out, "tool\nro\n");
	end(g, m.sandbox);
	(void)snprintf(script, sizeof script, "%s/tool", dir);
	(void)unlink(script);
	assert_int_equal(rmdir(dir), 0);
	m = rig_request("limits", 1);
	assert_int_equal(with_path(&m, "/opt/garth-is-not-there"), -ENOENT);
	assert_non_null(strstr(rig_sentence(&rig), "/opt/garth-is-not-there"));
}

static void test_host_paths_into_the_data_are_refused(void **state)
{
	struct msg_sb_create m = rig_request("limits", 1);
	char dir[96];

	(void)state;
	/* through a link, so that only where it leads tells */
	(void)snprintf(dir, sizeof dir, "/opt/garth-link-%d", (int)getpid());
	assert_int_equal(symlink(rig.data, dir), 0);
	assert_int_equal(with_path(&m, dir), -EACCES);
	(void)unlink(dir);
	assert_int_equal(symlink("/proc/1", dir), 0);
	m = rig_request("limits", 1);
	assert_int_equal(with_path(&m, dir), -EINVAL);
	(void)unlink(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory_kill_is_told_and_counted),
		cmocka_unit_test(test_memory_limit_can_be_raised_and_lowered),
		cmocka_unit_test(test_memory_limit_below_what_is_held_is_refused),
		cmocka_unit_test(test_memory_peak_is_the_steps_own),
		cmocka_unit_test(test_files_in_tmp_count_as_memory_and_have_a_size),
		cmocka_unit_test(test_pids_are_refused_and_counted),
		cmocka_unit_test(test_cpu_time_is_bounded_and_counted),
		cmocka_unit_test(test_lifetime_ends_a_sandbox),
		cmocka_unit_test(test_sandboxes_have_a_number),
		cmocka_unit_test(test_fork_bomb_with_daemons_is_dead_when_kill_answers),
		cmocka_unit_test(test_bad_requests_leave_nothing),
		cmocka_unit_test(test_host_paths_are_shown_read_only),
		cmocka_unit_test(test_host_paths_into_the_data_are_refused),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
