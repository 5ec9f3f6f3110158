/* SPDX-License-Identifier: MIT */
/*
 * tests/exec/garthd_crash_test.c - each program killed or stopped: what follows, and that nothing stays behind.
 * timeout: 300
 */
#include "tests/exec/rig.h"

#define AGAIN_NS (15 * NS_PER_S) /* a workspace is usable again within that */

static int setup(void **state)
{
	struct rig *g = calloc(1, sizeof *g);

	if (!g)
		return -1;
	rig_start(g);
	*state = g;
	return 0;
}

static int teardown(void **state)
{
	struct rig *g = *state;
	bool ran = g->pid != 0;
	int r = rig_end(g);

	if (ran && rig_left(g) != 0)
		r = -1;
	rig_clean(g);
	if (rig_left(g) != 0)
		r = -1;
	free(g);
	return r;
}

static bool is_running(pid_t pid)
{
	return rig_alive(pid) && rig_status_of(pid, "State")[0] != 'Z';
}

/* A workspace that was up serves again, and a sandbox in it runs. */
static void usable_again(struct rig *g, const char *ws)
{
	int64_t until = clock_mono_ns() + AGAIN_NS;
	struct msg_sb_create m = rig_request(ws, 1);
	int fs = -1, guest;

	while (fs < 0 && clock_mono_ns() < until) {
		fs = rig_open_ws(g, ws);
		if (fs < 0)
			(void)poll(NULL, 0, 50);
	}
	assert_true(fs >= 0);
	guest = rig_need_sandbox(g, &m);
	assert_string_equal(rig_step(guest, "echo again; ls /workspace/output")->out,
			    "again\nkept\n");
	assert_int_equal(rig_kill(g, m.sandbox), 0);
	(void)close(guest);
	(void)close(fs);
}

/* Kill one of the workspace's programs while a sandbox lives in it. */
static void kill_program(struct rig *g, const char *program, int sig)
{
	int fs = rig_ready_ws(g, "crash");
	struct msg_sb_create m = rig_request("crash", 1);
	int guest = rig_need_sandbox(g, &m), out;
	const char *const argv[] = { "/bin/sh", "-c",
				     "echo x > /workspace/output/kept; echo started; sleep 100",
				     NULL };
	const struct msg_sb_gone *gone;
	char byte;
	pid_t pid = rig_find(g, program), init = rig_find(g, "garth-init");

	assert_true(pid > 0 && init > 0);
	out = rig_spawn_step(guest, 0, 1000, argv);
	assert_int_equal(read(out, &byte, 1), 1);
	(void)kill(pid, sig);
	assert_true(rig_wait_note(g, MSG_SB_GONE));
	gone = (const void *)g->note.body;
	assert_string_equal(gone->why, "workspace");
	assert_false(rig_alive(init));
	(void)close(out);
	(void)close(guest);
	(void)close(fs);
	usable_again(g, "crash");
}

static void test_garth_fs_killed_workspace_comes_back(void **state)
{
	kill_program(*state, "garth-fs", SIGKILL);
}

static void test_keeper_killed_workspace_comes_back(void **state)
{
	kill_program(*state, "garth-keeper", SIGKILL);
}

static void test_garth_fs_dies_again_and_again(void **state)
{
	struct rig *g = *state;
	int fs = rig_ready_ws(g, "crash");
	struct msg_sb_create m = rig_request("crash", 1);
	int guest = rig_need_sandbox(g, &m);

	assert_string_equal(rig_step(guest, "echo x > /workspace/output/kept")->out, "");
	(void)close(guest);
	(void)close(fs);
	for (int i = 0; i < 5; i++) {
		pid_t pid = rig_find(g, "garth-fs");

		if (pid > 0)
			(void)kill(pid, SIGKILL);
		(void)poll(NULL, 0, 100);
	}
	usable_again(g, "crash");
}

static void test_init_killed_sandbox_is_gone(void **state)
{
	struct rig *g = *state;
	int fs = rig_ready_ws(g, "crash");
	struct msg_sb_create m = rig_request("crash", 1);
	int guest = rig_need_sandbox(g, &m);
	const struct msg_sb_gone *gone;

	(void)kill(rig_find(g, "garth-init"), SIGKILL);
	assert_true(rig_wait_note(g, MSG_SB_GONE));
	gone = (const void *)g->note.body;
	assert_int_equal(gone->sandbox, m.sandbox);
	assert_string_equal(gone->why, "exited");
	assert_int_equal(rig_kill(g, m.sandbox), -ENOENT);
	(void)close(guest);
	(void)close(fs);
}

/* A garth-fs that hangs holds up nobody but its own sandboxes, and not for long. */
static void test_garth_fs_stopped_is_noticed(void **state)
{
	struct rig *g = *state;
	int fs = rig_ready_ws(g, "crash"), other = rig_ready_ws(g, "other");
	struct msg_sb_create m = rig_request("crash", 1), n = rig_request("other", 1);
	int guest = rig_need_sandbox(g, &m);
	pid_t stopped;
	int64_t t0;

	(void)other;
	assert_string_equal(rig_step(guest, "echo x > /workspace/output/kept")->out, "");
	assert_int_equal(rig_kill(g, m.sandbox), 0);
	(void)close(guest);
	(void)close(fs);
	/* the newest garth-fs is "other"'s: stop the other one */
	stopped = rig_find(g, "garth-fs");
	{
		char path[64], args[256] = "";
		FILE *f;

		(void)snprintf(path, sizeof path, "/proc/%d/cmdline", (int)stopped);
		f = fopen(path, "re");
		if (f) {
			(void)!fread(args, 1, sizeof args - 1, f);
			(void)fclose(f);
		}
		/* garth-fs --ws NAME */
		if (strcmp(args + strlen("garth-fs") + 1 + strlen("--ws") + 1, "crash") != 0) {
			struct msg_sb_create tmp = m;

			m = n;
			n = tmp;
		}
	}
	(void)kill(stopped, SIGSTOP);
	/* ask for both without waiting: the stuck one fails in time, the other at once */
	assert_int_equal(wire_send(g->api, MSG_SB_CREATE, 7, bytes_of(&m, sizeof m),
				   bytes_of(NULL, 0), NULL, 0),
			 0);
	t0 = clock_mono_ns();
	guest = rig_need_sandbox(g, &n);
	assert_true(clock_mono_ns() - t0 < 3 * NS_PER_S);
	g->note.head.type = 0;
	assert_true(rig_wait_note(g, MSG_WS_GONE));
	assert_true(clock_mono_ns() - t0 < 15 * NS_PER_S);
	for (int i = 0; i < 200 && is_running(stopped); i++)
		(void)poll(NULL, 0, 10);
	assert_false(is_running(stopped));
	assert_int_equal(rig_kill(g, n.sandbox), 0);
	(void)close(guest);
	(void)close(other);
}

static void test_garthd_killed_nothing_lives_on(void **state)
{
	struct rig *g = *state;
	int fs = rig_ready_ws(g, "crash");
	struct msg_sb_create m = rig_request("crash", 1);
	int guest = rig_need_sandbox(g, &m);
	pid_t all[3] = { rig_find(g, "garth-fs"), rig_find(g, "garth-keeper"),
			 rig_find(g, "garth-init") };

	assert_string_equal(
		rig_step(guest,
			 "echo x > /workspace/output/kept; setsid sleep 1000 >/dev/null 2>&1 &")
			->out,
		"");
	(void)kill(g->pid, SIGKILL);
	(void)waitpid(g->pid, NULL, 0);
	(void)close(guest);
	(void)close(fs);
	(void)close(g->up);
	/* a new one of the same RUNDIR cleans up and goes on */
	rig_begin(g);
	for (unsigned i = 0; i < 3; i++)
		if (all[i] <= 0 || is_running(all[i]))
			fail_msg("process %u (%d) lives on", i, (int)all[i]);
	usable_again(g, "crash");
}

static void test_garthd_killed_sweep_leaves_nothing(void **state)
{
	struct rig *g = *state;
	int fs = rig_ready_ws(g, "crash");
	struct msg_sb_create m = rig_request("crash", 1);
	int guest = rig_need_sandbox(g, &m);

	(void)kill(g->pid, SIGKILL);
	(void)waitpid(g->pid, NULL, 0);
	g->pid = 0;
	(void)close(guest);
	(void)close(fs);
	assert_true(rig_left(g) > 0);
	/* teardown sweeps and counts */
}

static void test_api_new_ends_the_old_ones_sandboxes(void **state)
{
	struct rig *g = *state;
	int fs = rig_ready_ws(g, "crash");
	struct msg_sb_create m = rig_request("crash", 1), n = rig_request("crash", 1);
	int guest = rig_need_sandbox(g, &m), second;
	pid_t init = rig_find(g, "garth-init");

	rig_new_api(g);
	second = rig_need_sandbox(g, &n);
	assert_int_equal(rig_kill(g, m.sandbox), -ENOENT);
	assert_string_equal(rig_step(second, "echo new")->out, "new\n");
	for (int i = 0; i < 200 && rig_alive(init); i++)
		(void)poll(NULL, 0, 10);
	assert_false(rig_alive(init));
	assert_int_equal(rig_kill(g, n.sandbox), 0);
	(void)close(guest);
	(void)close(second);
	(void)close(fs);
}

static void test_supervisor_gone_garthd_ends(void **state)
{
	struct rig *g = *state;
	int fs = rig_ready_ws(g, "crash");

	(void)close(g->up);
	g->up = -1;
	assert_int_equal(rig_wait_exit(g), 0);
	(void)close(fs);
}

static void test_stop_with_running_sandboxes(void **state)
{
	struct rig *g = *state;
	int fs = rig_ready_ws(g, "crash");
	struct msg_sb_create m = rig_request("crash", 1);
	int guest = rig_need_sandbox(g, &m);
	const char *const argv[] = { "/bin/sh", "-c",
				     "while :; do echo x >> /workspace/output/busy; done", NULL };
	int out = rig_spawn_step(guest, 0, 1000, argv);

	assert_true(out >= 0);
	(void)poll(NULL, 0, 200);
	(void)close(guest);
	(void)close(out);
	(void)close(fs); /* teardown stops and counts */
}

static void test_workspace_deleted_and_made_again(void **state)
{
	struct rig *g = *state;
	struct msg_ws_delete m = { "crash" };
	int fs = rig_ready_ws(g, "crash");
	struct msg_sb_create sb = rig_request("crash", 1);
	int guest = rig_need_sandbox(g, &sb);
	char path[160];
	struct stat st;

	assert_int_equal(RIG_ASK(g, MSG_WS_DELETE, m), 0);
	(void)snprintf(path, sizeof path, "%s/workspaces/crash", g->data);
	assert_int_equal(stat(path, &st), -1);
	assert_int_equal(rig_kill(g, sb.sandbox), -ENOENT);
	assert_int_equal(RIG_ASK(g, MSG_WS_DELETE, m), -ENOENT);
	assert_int_equal(rig_open_ws(g, "crash"), -ENOENT);
	(void)close(guest);
	(void)close(fs);
	fs = rig_ready_ws(g, "crash");
	assert_int_equal(rig_make_ws(g, "crash"), -EEXIST);
	(void)close(fs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_garth_fs_killed_workspace_comes_back, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_keeper_killed_workspace_comes_back, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_garth_fs_dies_again_and_again, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_init_killed_sandbox_is_gone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_garth_fs_stopped_is_noticed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_garthd_killed_nothing_lives_on, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_garthd_killed_sweep_leaves_nothing, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_api_new_ends_the_old_ones_sandboxes, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_supervisor_gone_garthd_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stop_with_running_sandboxes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_workspace_deleted_and_made_again, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
