/* SPDX-License-Identifier: MIT */
/*
 * tests/exec/garthd_walls_test.c - what a program in a sandbox sees, and what it can't do: each wall is tried.
 * timeout: 180
 */
#include "tests/exec/rig.h"

static struct rig rig;
static int guest = -1, fs = -1;
static struct msg_sb_create request;

static int setup(void **state)
{
	(void)state;
	rig_start(&rig);
	fs = rig_ready_ws(&rig, "walls");
	request = rig_request("walls", 1);
	guest = rig_need_sandbox(&rig, &request);
	return 0;
}

static int teardown(void **state)
{
	int r;

	(void)state;
	(void)close(guest);
	(void)close(fs);
	r = rig_end(&rig);
	r = r == 0 && rig_left(&rig) == 0 ? 0 : -1;
	rig_clean(&rig);
	return r;
}

static void test_sandbox_has_what_programs_need(void **state)
{
	static const struct {
		const char *script, *want; /* what it must print, exactly */
	} rows[] = {
		{ "id -u; id -g; id -un; id -gn", "1000\n60000\nuser\nstep0\n" },
		{ "pwd", "/workspace/task\n" },
		{ "hostname; uname -n", "garth\ngarth\n" },
		{ "echo a > /tmp/f && echo b > /dev/shm/f && echo c > /home/user/f && cat /tmp/f "
		  "/dev/shm/f /home/user/f",
		  "a\nb\nc\n" },
		{ "echo gone > /dev/null; head -c 4 /dev/zero | wc -c; head -c 4 /dev/urandom | wc "
		  "-c",
		  "4\n4\n" },
		{ "echo x | cat /dev/stdin; echo y > /dev/stdout; ls /dev/fd/ > /dev/null && echo "
		  "fd",
		  "x\ny\nfd\n" },
		{ "python3 -c 'import pty; m, s = pty.openpty(); print(\"pty\")'", "pty\n" },
		{ "python3 -c 'import socket; s = socket.create_server((\"127.0.0.1\", 0)); "
		  "socket.create_connection(s.getsockname()); print(\"loop\")'",
		  "loop\n" },
		{ "python3 -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [-1, -2]))'",
		  "[1, 2]\n" },
		{ "test -r /etc/ssl/certs/ca-certificates.crt -o ! -d /usr/share/ca-certificates "
		  "&& echo certs",
		  "certs\n" },
		{ "git config --system --get safe.directory || echo '*'", "*\n" },
		{ "ls -d /bin/sh /usr/bin/env /lib/. > /dev/null && echo system", "system\n" },
		{ "stat -c %a /tmp /dev/null /home/user", "1777\n666\n755\n" },
		{ "cat /proc/self/cgroup | cut -d: -f3 | sort -u", "/\n" },
		{ "ulimit -c", "0\n" },
		{ "ls /workspace | tr '\\n' ' '", "agents input logs output task " },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct rig_result *r = rig_step(guest, rows[i].script);

		if (strcmp(r->out, rows[i].want) != 0)
			fail_msg("row %zu: %s gives '%s' (status %d)", i, rows[i].script, r->out,
				 r->status);
	}
}

/* each prints "held" where the wall holds */
static const char *const walls[] = {
	"touch /usr/x /etc/x /x /bin/x /dev/x /run/x /var/x /root/x 2>/dev/null; ls /usr/x "
	"/etc/x /x /run/x /dev/x /var/x 2>/dev/null | wc -l | grep -qx 0 && echo held",
	"touch /run/garth/x 2>/dev/null || echo held",
	"mount -t tmpfs x /tmp 2>/dev/null || echo held",
	"umount /proc/keys 2>/dev/null || umount /workspace/task 2>/dev/null || echo held",
	"unshare -Ur true 2>/dev/null || echo held",
	"unshare -n true 2>/dev/null || echo held",
	"chroot / true 2>/dev/null || echo held",
	"mknod /tmp/d b 254 0 2>/dev/null || echo held",
	"(echo 1 > /proc/sys/kernel/panic) 2>/dev/null || echo held",
	"test ! -e /proc/sysrq-trigger || (echo b > /proc/sysrq-trigger) 2>/dev/null; "
	"sleep 0.1; echo held",
	"test ! -s /proc/keys && test ! -s /proc/cmdline && test ! -s /proc/kallsyms && "
	"echo held",
	"test ! -e /sys && test ! -e /boot && test ! -e /var/lib && test ! -e /home/root "
	"&& echo held",
	"cat /etc/shadow /etc/hostid /etc/machine-id 2>/dev/null || echo held",
	"test -z \"$(cat /etc/resolv.conf)\" && echo held",
	"cat /proc/1/environ /proc/1/mem 2>/dev/null || echo held",
	"ls /proc/1/fd /proc/1/root/ 2>/dev/null || echo held",
	"kill -9 1 2>/dev/null || echo held",
	"ls /proc | grep -c '^[0-9]*$' | { read n; test $n -lt 10 && echo held; }",
	"grep -q '^CapEff:.0000000000000000$' /proc/self/status && grep -q "
	"'^CapPrm:.0000000000000000$' /proc/self/status && echo held",
	"grep -q '^NoNewPrivs:.1$' /proc/self/status && grep -q '^Seccomp:.2$' "
	"/proc/self/status && echo held",
	"ls /proc/self/fd | wc -l | grep -qx 4 && echo held",      /* 0 1 2 and ls's own */
	"cat /proc/net/dev | grep -c : | grep -qx 1 && echo held", /* lo alone */
	"python3 -c 'import socket; socket.create_connection((\"1.1.1.1\", 53), 1)' "
	"2>/dev/null || echo held",
	"python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); "
	"s.connect(\"\\0/org/freedesktop/systemd1\")' 2>/dev/null || echo held",
	"python3 -c 'import ctypes, os; c = ctypes.CDLL(None, use_errno=True); "
	"exit(c.ptrace(16, os.getppid(), 0, 0) == 0)' && echo held",
	"su -c true 2>/dev/null || sudo true 2>/dev/null || echo held",
	"cp /bin/true /tmp/t && chmod u+s /tmp/t && /tmp/t && cp /usr/bin/id /tmp/i && "
	"chmod 4755 /tmp/i && test $(/tmp/i -u) = 1000 && echo held",
	"chgrp 70000 /tmp 2>/dev/null || echo held",
	"setpriv --reuid 0 --clear-groups true 2>/dev/null || echo held",
	"ls -a /workspace | grep -q garth.task && echo seen || echo held",
	"stat /workspace/.garth.task.1 2>/dev/null || echo held",
	"env | grep -v -E '^(PATH|HOME|LANG|PWD|_|SHLVL|OLDPWD)=' || echo held",
	"ps -o stat= -p $$ | grep -q s && tty | grep -q 'not a tty' && echo held",
	"(exec 3</dev/tty) 2>/dev/null || echo held",
	"dmesg 2>/dev/null || echo held",
	"python3 -c 'import os; os.setpriority(0, 0, -5)' 2>/dev/null || echo held",
	"(echo -1000 > /proc/self/oom_score_adj) 2>/dev/null || echo held",
};

static void test_sandbox_walls_hold(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof walls / sizeof walls[0]; i++) {
		const struct rig_result *r = rig_step(guest, walls[i]);

		if (strcmp(r->out, "held\n") != 0)
			fail_msg("row %zu: %s gives '%s' (status %d)", i, walls[i], r->out,
				 r->status);
	}
}

static void test_sandbox_root_inside_is_nobody_outside(void **state)
{
	struct msg_sb_create m = rig_request("walls", 0);
	const char *const argv[] = { "/bin/sh", "-c",
				     "id -u; mount -t tmpfs x /tmp 2>/dev/null || echo m; touch "
				     "/usr/x 2>/dev/null || echo u; "
				     "grep CapEff /proc/self/status; (echo 1 > "
				     "/proc/sys/kernel/panic) 2>/dev/null || echo p",
				     NULL };
	int g = rig_need_sandbox(&rig, &m), out;
	const struct rig_result *r;

	(void)state;
	out = rig_spawn_step(g, 0, 0, argv);
	assert_true(out >= 0);
	r = rig_finish(g, out);
	assert_string_equal(r->out, "0\nm\nu\nCapEff:\t0000000000000000\np\n");
	assert_int_equal(rig_kill(&rig, m.sandbox), 0);
	(void)close(g);
}

static void test_sandbox_files_belong_to_agent_and_workspace(void **state)
{
	char path[200];
	uint32_t base = RIG_FIRST + IDS_BLOCK;
	const struct rig_result *r = rig_step(guest, "echo x > /workspace/output/owned");
	struct stat st;

	(void)state;
	assert_string_equal(r->out, "");
	(void)snprintf(path, sizeof path, "%s/workspaces/walls/data/output/owned", rig.data);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_uid, ids_agent_uid(base, 1, 1000));
	assert_int_equal(st.st_gid, ids_ws_gid(base));
}

static void test_two_sandboxes_do_not_see_each_other(void **state)
{
	struct msg_sb_create m = rig_request("walls", 1);
	int g = rig_need_sandbox(&rig, &m);
	const struct rig_result *r;

	(void)state;
	r = rig_step(guest, "echo mine > /tmp/secret; echo mine > /dev/shm/secret; echo mine > "
			    "/workspace/task/secret; echo mine > /home/user/secret");
	assert_string_equal(r->out, "");
	r = rig_step(g, "ls /tmp/secret /dev/shm/secret /workspace/task/secret /home/user/secret "
			"2>/dev/null; ls /workspace/task");
	assert_string_equal(r->out, "");
	assert_int_equal(rig_kill(&rig, m.sandbox), 0);
	(void)close(g);
}

static void test_garth_init_holds_no_descriptor_of_the_host(void **state)
{
	pid_t pid = rig_find(&rig, "garth-init");
	char path[64];
	const struct dirent *e;
	DIR *d;
	unsigned n = 0;

	(void)state;
	assert_true(pid > 0);
	(void)snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
	d = opendir(path);
	assert_non_null(d);
	while ((e = readdir(d)) != NULL) {
		char link[96], to[256] = "";

		if (e->d_name[0] == '.')
			continue;
		(void)snprintf(link, sizeof link, "%s/%.20s", path, e->d_name);
		assert_true(readlink(link, to, sizeof to - 1) > 0);
		if (strcmp(to, "/dev/null") != 0 && strncmp(to, "socket:", 7) != 0 &&
		    strncmp(to, "anon_inode:", 11) != 0 &&
		    strncmp(to, "/run/garth", 10) != 0) /* its own folder inside */
			fail_msg("descriptor %s is %s", e->d_name, to);
		n += strncmp(to, "socket:", 7) == 0;
	}
	(void)closedir(d);
	assert_int_equal(n, 1);
	assert_string_equal(rig_status_of(pid, "CapEff"), "00000000000000e0");
	assert_string_equal(rig_status_of(pid, "CapBnd"), "0000000000000000");
	assert_string_equal(rig_status_of(pid, "Seccomp"), "2");
}

static void test_garth_fs_and_keeper_have_few_rights(void **state)
{
	pid_t f = rig_find(&rig, "garth-fs"), k = rig_find(&rig, "garth-keeper");
	uint32_t base = RIG_FIRST + IDS_BLOCK;
	char want[64], path[64], line[1024];
	unsigned hosts = 0;
	FILE *mounts;

	(void)state;
	assert_true(f > 0 && k > 0);
	(void)snprintf(want, sizeof want, "%u\t%u\t%u\t%u", ids_fs_uid(base), ids_fs_uid(base),
		       ids_fs_uid(base), ids_fs_uid(base));
	assert_string_equal(rig_status_of(f, "Uid"), want);
	assert_string_equal(rig_status_of(f, "CapEff"), "0000000000000080"); /* SETUID */
	assert_string_equal(rig_status_of(f, "CapPrm"), "0000000000000081"); /* and CHOWN */
	assert_string_equal(rig_status_of(f, "NoNewPrivs"), "1");
	assert_string_equal(rig_status_of(f, "Groups"), "");
	(void)snprintf(want, sizeof want, "%u\t%u\t%u\t%u", ids_keeper_uid(base),
		       ids_keeper_uid(base), ids_keeper_uid(base), ids_keeper_uid(base));
	assert_string_equal(rig_status_of(k, "Uid"), want);
	assert_string_equal(rig_status_of(k, "CapEff"),
			    "0000000000200004"); /* SYS_ADMIN, DAC_READ_SEARCH */
	assert_string_equal(rig_status_of(k, "CapBnd"), "0000000000200004");
	(void)snprintf(path, sizeof path, "/proc/%d/mountinfo", (int)k);
	mounts = fopen(path, "re");
	assert_non_null(mounts);
	while (fgets(line, sizeof line, mounts))
		hosts += !strstr(line, " /store ") && !strstr(line, " / / ");
	(void)fclose(mounts);
	assert_int_equal(hosts, 0); /* the store, and an empty root */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sandbox_has_what_programs_need),
		cmocka_unit_test(test_sandbox_walls_hold),
		cmocka_unit_test(test_sandbox_root_inside_is_nobody_outside),
		cmocka_unit_test(test_sandbox_files_belong_to_agent_and_workspace),
		cmocka_unit_test(test_two_sandboxes_do_not_see_each_other),
		cmocka_unit_test(test_garth_init_holds_no_descriptor_of_the_host),
		cmocka_unit_test(test_garth_fs_and_keeper_have_few_rights),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
