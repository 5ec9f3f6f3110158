/* SPDX-License-Identifier: MIT */
/*
 * tests/exec/guest_kill_test.c - KILL reaches every process of a step, and no other; EXITED counts who lives on; nonsense ends garth-init.
 * Not here: starting programs (tests/exec/guest_init_test.c).
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/fd.h"
#include "guest/body.h"
#include "tests/exec/guest_box.h"

#define GID 60003u

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

/* Start a shell text and wait for its first line. */
static void start(struct box *b, uint64_t step, uint32_t gid, const char *text, int out[2])
{
	const char *argv[] = { "bash", "-c", text, NULL };
	struct box_step s = { .step = step, .gid = gid, .argv = argv };
	struct box_end e = { 0 };
	char line[16];

	if (box_spawn(b, &s, out, &e) < 0 || e.status != 0)
		fail_msg("step %llu: %d %s", (unsigned long long)step, e.status, e.why);
	if (read(out[0], line, sizeof line) <= 0)
		fail_msg("step %llu said nothing", (unsigned long long)step);
	box_end_fini(&e);
}

static void close_out(int out[2])
{
	fd_closep(&out[0]);
	fd_closep(&out[1]);
}

/* How many processes of this gid another step sees. */
static long living(struct box *b, uint32_t gid)
{
	char text[160];
	const char *argv[] = { "bash", "-c", text, NULL };
	struct box_step s = { .step = 900, .argv = argv, .gid = 60060 };
	struct box_end e;
	long n;

	(void)snprintf(text, sizeof text,
		       "grep -l 'Gid:.%u' /proc/[0-9]*/status 2>/dev/null | wc -l", gid);
	assert_int_equal(box_run(b, &s, &e), 0);
	n = strtol(buf_str(&e.out), NULL, 10);
	box_end_fini(&e);
	return n;
}

static void test_kill_tree_with_new_sessions_is_gone(void **state)
{
	int out[2], n;

	start(*state, 1, GID,
	      "sleep 100 & setsid sleep 100 & (setsid bash -c 'trap \"\" TERM HUP INT; sleep 100; "
	      "sleep 100' &) ; echo up; sleep 0.2; wait",
	      out);
	(void)usleep(100000);
	n = box_kill(*state, 1, GID, SIGKILL);
	if (n < 4)
		fail_msg("%d processes were killed", n);
	assert_int_equal(living(*state, GID), 0);
	close_out(out);
}

static void test_kill_moving_fork_bomb_dies(void **state)
{
	int out[2], n;

	/* thirty processes; each lives as long as it takes to fork the next */
	start(*state, 2, GID,
	      "exec python3 -c '\nimport os\nfor i in range(30):\n if os.fork() == 0:\n  while "
	      "True:\n   if os.fork(): os._exit(0)\nprint(1, flush=True)\nimport "
	      "time\ntime.sleep(100)'",
	      out);
	n = box_kill(*state, 2, GID, SIGKILL);
	if (n < 10)
		fail_msg("%d", n);
	assert_int_equal(living(*state, GID), 0);
	close_out(out);
}

static void test_kill_other_steps_live_on(void **state)
{
	int one[2], two[2];

	start(*state, 3, GID, "echo up; sleep 100", one);
	start(*state, 4, GID + 1, "echo up; sleep 100", two);
	assert_true(box_kill(*state, 3, GID, SIGKILL) >= 1);
	assert_int_equal(living(*state, GID), 0);
	assert_true(living(*state, GID + 1) >= 1);
	assert_true(box_kill(*state, 4, GID + 1, SIGKILL) >= 1);
	assert_int_equal(living(*state, GID + 1), 0);
	close_out(one);
	close_out(two);
}

static void test_kill_with_another_signal_is_sent_once(void **state)
{
	struct box_end e = { 0 };
	char line[16] = "";
	int out[2];

	start(*state, 5, GID, "trap 'echo got; exit 9' TERM; echo up; while :; do sleep 0.05; done",
	      out);
	assert_true(box_kill(*state, 5, GID, SIGTERM) >= 1);
	assert_true(read(out[0], line, sizeof line) > 0);
	assert_string_equal(line, "got\n");
	assert_int_equal(box_exited(*state, 5, &e), 0);
	assert_int_equal(WEXITSTATUS(e.wait), 9);
	close_out(out);
}

static void test_kill_of_nobody_counts_none(void **state)
{
	assert_int_equal(box_kill(*state, 77, GID + 9, SIGKILL), 0);
	assert_int_equal(box_kill(*state, 77, GID + 9, SIGTERM), 0);
}

static void test_kill_bad_arguments_are_refused(void **state)
{
	assert_int_equal(box_kill(*state, 1, 0, SIGKILL), -EINVAL);
	assert_int_equal(box_kill(*state, 1, 1000, SIGKILL), -EINVAL);
	assert_int_equal(box_kill(*state, 1, GID, 0), -EINVAL);
	assert_int_equal(box_kill(*state, 1, GID, 200), -EINVAL);
}

static void test_exited_daemons_are_counted(void **state)
{
	const char *argv[] = {
		"bash", "-c",
		"setsid sleep 100 >/dev/null 2>&1 & setsid sleep 100 >/dev/null 2>&1 & exit 0", NULL
	};
	struct box_step s = { .step = 6, .gid = GID, .argv = argv };
	struct box_end e;

	assert_int_equal(box_run(*state, &s, &e), 0);
	assert_int_equal(e.alive, 2);
	box_end_fini(&e);
	assert_int_equal(box_kill(*state, 6, GID, SIGKILL), 2);
	assert_int_equal(living(*state, GID), 0);
}

static void test_kill_stopped_process_dies(void **state)
{
	int out[2];

	start(*state, 7, GID, "echo up; kill -STOP $$; sleep 100", out);
	assert_true(box_kill(*state, 7, GID, SIGKILL) >= 1);
	assert_int_equal(living(*state, GID), 0);
	close_out(out);
}

/* ---- nonsense ---- */

static void provoke(const char *what, uint16_t type, const void *body, size_t len, const int *fds,
		    unsigned nfds)
{
	struct box b;

	if (box_open(&b, false) < 0)
		fail_msg("no box");
	if (box_kill(&b, 1, GID, SIGKILL) != 0)
		fail_msg("%s: it does not serve", what);
	if (box_provoke(&b, type, body, len, fds, nfds) != 1)
		fail_msg("%s: garth-init lives on", what);
	box_close(&b);
}

static void test_nonsense_ends_garth_init(void **state)
{
	struct msg_spawn spawn = { .step = 1, .uid = 1000, .gid = GID, .argc = 1 };
	struct msg_put put = { .step = 1, .uid = 1000, .gid = GID, .path_len = 5 };
	static const char cut[] = { 4, 0, 0,   0, '/', 't', 'm', 'p', 9, 0,
				    0, 0, 't', 0, 0,   0,   0,   0,   0, 0 };
	autofd open_fd = memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING), sealed = -1;
	int fds[4] = { 0, 1, 2, open_fd };

	(void)state;
	assert_int_equal(fd_memfd("sealed", bytes_of(cut, sizeof cut), &sealed), 0);
	assert_int_equal(write(open_fd, cut, sizeof cut), sizeof cut);
	provoke("unknown type", 999, "x", 1, NULL, 0);
	provoke("not for it", MSG_STOP, &put, sizeof(struct msg_stop), NULL, 0);
	provoke("short", MSG_KILL, &put, 4, NULL, 0);
	provoke("no descriptors", MSG_SPAWN, &spawn, sizeof spawn, NULL, 0);
	provoke("a body that is not sealed", MSG_SPAWN, &spawn, sizeof spawn, fds, 4);
	fds[3] = sealed;
	provoke("a body that is cut short", MSG_SPAWN, &spawn, sizeof spawn, fds, 4);
	provoke("a path that is not there", MSG_PUT, &put, sizeof put, &sealed, 1);
	provoke("an answer", MSG_KILL | WIRE_REPLY, &put, sizeof(struct msg_status), NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kill_tree_with_new_sessions_is_gone),
		cmocka_unit_test(test_kill_moving_fork_bomb_dies),
		cmocka_unit_test(test_kill_other_steps_live_on),
		cmocka_unit_test(test_kill_with_another_signal_is_sent_once),
		cmocka_unit_test(test_kill_of_nobody_counts_none),
		cmocka_unit_test(test_kill_bad_arguments_are_refused),
		cmocka_unit_test(test_exited_daemons_are_counted),
		cmocka_unit_test(test_kill_stopped_process_dies),
		cmocka_unit_test(test_nonsense_ends_garth_init),
	};

	return cmocka_run_group_tests(tests, open_box, close_box);
}
