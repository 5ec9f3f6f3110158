/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/exec_plan_test.c - requests for sandboxes: exec/sandbox.h; which hierarchies a host has: exec/cgroup.h; file handles:
 * exec/keeper.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/clock.h"
#include "core/ids.h"
#include "exec/keeper.h"
#include "exec/sandbox.h"

#define UID_BASE 1879052288u

static struct msg_sb_create good(void)
{
	struct msg_sb_create m = { .sandbox = 77,
				   .ws = "w",
				   .agent = "a",
				   .agent_block = 3,
				   .live = 1,
				   .memory = 1u << 30,
				   .pids = 256,
				   .cpus_milli = 2000,
				   .tmp = 1u << 28,
				   .open_files = 1024,
				   .lifetime_ns = NS_PER_S };

	return m;
}

static void test_plan_of_a_good_request(void **state)
{
	struct msg_sb_create m = good();
	static const char tail[] = "/opt/venv\0/srv/data";
	struct err err = { 0 };
	struct sb_plan p;

	(void)state;
	m.host_paths = 2;
	assert_int_equal(sb_plan_make(&m, bytes_of(tail, sizeof tail), UID_BASE, &p, &err), 0);
	assert_int_equal(p.host_path_count, 2);
	assert_string_equal(p.host_paths[1], "/srv/data");
	assert_int_equal(p.limits.pids, 256 + SB_PIDS_OWN);
	sb_plan_gids(&p, 1881501696u);
	assert_string_equal(p.uid_map, "0 1879064576 4095\n65534 1879068671 1\n");
	assert_string_equal(
		p.gid_map,
		"0 1881501696 4031\n60000 1881505727 64\n65534 1881505791 1\n70000 1879187458 1\n");
	assert_string_equal(p.task, ".garth.task.1881501696");
	sb_plan_fini(&p);
	sb_plan_fini(&p);
}

static void test_plan_bad_requests_are_refused(void **state)
{
	/* what to spoil, and the word that the sentence must have */
	static const struct {
		int what;
		const char *word;
	} rows[] = { { 0, "sandbox" },    { 1, "agent_block" }, { 2, "live" },
		     { 3, "memory" },     { 4, "memory" },      { 5, "pids" },
		     { 6, "cpus" },       { 7, "tmp" },         { 8, "open_files" },
		     { 9, "lifetime" },   { 10, "host_paths" }, { 11, "text" },
		     { 12, "workspace" }, { 13, "agent" },      { 14, "host_paths" },
		     { 15, "lifetime" },  { 16, "pids" } };

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct msg_sb_create m = good();
		struct bytes tail = bytes_of(NULL, 0);
		struct err err = { 0 };
		struct sb_plan p;

		switch (rows[i].what) {
		case 0: m.sandbox = 0; break;
		case 1: m.agent_block = IDS_AGENTS_MAX; break;
		case 2: m.live = 2; break;
		case 3: m.memory = 1; break;
		case 4: m.memory = UINT64_MAX; break;
		case 5: m.pids = 0; break;
		case 6: m.cpus_milli = 0; break;
		case 7: m.tmp = 0; break;
		case 8: m.open_files = 0; break;
		case 9: m.lifetime_ns = -1; break;
		case 10: m.host_paths = 1; break; /* and no tail */
		case 11: memset(m.ws, 'a', sizeof m.ws); break;
		case 12: memcpy(m.ws, "../x", 5); break;
		case 13: memcpy(m.agent, "A", 2); break;
		case 14: tail = bytes_str("/opt"); break; /* and none announced */
		case 15: m.lifetime_ns = INT64_MAX; break;
		case 16: m.pids = UINT32_MAX; break;
		}
		if (sb_plan_make(&m, tail, UID_BASE, &p, &err) != -EINVAL)
			fail_msg("row %zu: accepted", i);
		if (!strstr(err.msg, rows[i].word))
			fail_msg("row %zu: '%s' does not name %s", i, err.msg, rows[i].word);
	}
}

static void test_host_path_check(void **state)
{
	static const struct {
		const char *path;
		int want;
	} rows[] = {
		{ "/opt/venv", 0 },
		{ "/srv", 0 },
		{ "/home/alice/venv", 0 },
		{ "/usr/local/lib/x", 0 },
		{ "/procs", 0 },
		{ "/", -EINVAL },
		{ "", -EINVAL },
		{ "opt", -EINVAL },
		{ "/opt/../etc", -EINVAL },
		{ "/opt//x", -EINVAL },
		{ "/opt/", -EINVAL },
		{ "/proc", -EINVAL },
		{ "/proc/1", -EINVAL },
		{ "/sys", -EINVAL },
		{ "/dev/shm", -EINVAL },
		{ "/run/garth", -EINVAL },
		{ "/workspace", -EINVAL },
		{ "/home/user", -EINVAL },
		{ "/home", -EINVAL },
		{ "/usr", -EINVAL },
		{ "/etc/ssh", -EINVAL },
		{ "/tmp/x", -EINVAL },
		{ "/root", -EINVAL },
		{ "/./opt", -EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (sb_host_path_check(rows[i].path, NULL) != rows[i].want)
			fail_msg("row %zu: '%s' is not %d", i, rows[i].path, rows[i].want);
}

static void test_cgroups_parse(void **state)
{
	static const char v1[] =
		"30 24 0:26 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
		"31 24 0:27 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct\n"
		"33 24 0:29 / /sys/fs/cgroup/memory rw,relatime shared:5 - cgroup cgroup "
		"rw,memory\n"
		"36 24 0:32 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids\n"
		"38 24 0:34 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
	static const char joined[] =
		"30 24 0:26 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n";
	static const char v2[] = "1 2 0:26 / /mnt/a\\040b rw - cgroup2 none rw,nsdelegate\n1 2 "
				 "0:26 / /twice rw - cgroup2 none rw\n";
	static const char other[] = "1 2 0:3 / /proc rw - proc proc rw\n30 24 0:26 / /c rw - "
				    "cgroup cgroup rw,cpuset\nnonsense\n\n - \n";
	struct cgroups x;

	(void)state;
	cgroups_parse(&x, v1);
	assert_int_equal(x.n, 5);
	assert_int_equal(x.h[0].use, CGROUP_CPU);
	assert_int_equal(x.h[1].use, CGROUP_CPUACCT);
	assert_string_equal(x.h[2].root, "/sys/fs/cgroup/memory");
	assert_true(x.h[4].v2);
	assert_int_equal(x.h[4].use, CGROUP_KILL);
	cgroups_parse(&x, joined);
	assert_int_equal(x.n, 1);
	assert_int_equal(x.h[0].use, CGROUP_CPU | CGROUP_CPUACCT);
	cgroups_parse(&x, v2);
	assert_int_equal(x.n, 1);
	assert_string_equal(x.h[0].root, "/mnt/a b");
	cgroups_parse(&x, other);
	assert_int_equal(x.n, 0);
}

static void test_handle_check(void **state)
{
	static const struct {
		uint32_t type, len;
		int want;
	} rows[] = { { 1, 8, 0 },          { 1, 128, 0 },        { 1, 0, -EBADMSG },
		     { 1, 129, -EBADMSG }, { 256, 8, -EBADMSG }, { 255, 1, 0 } };

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct msg_handle_open m = { .handle_type = rows[i].type,
					     .handle_len = rows[i].len };

		if (keeper_handle_check(&m) != rows[i].want)
			fail_msg("row %zu", i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plan_of_a_good_request),
		cmocka_unit_test(test_plan_bad_requests_are_refused),
		cmocka_unit_test(test_host_path_check),
		cmocka_unit_test(test_cgroups_parse),
		cmocka_unit_test(test_handle_check),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
