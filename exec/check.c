/* SPDX-License-Identifier: MIT */
/*
 * exec/check.c - trying what garthd needs.
 */
#include "exec/check.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "core/fd.h"
#include "exec/cgroup.h"
#include "exec/filter.h"
#include "exec/landlock.h"

#define CHECK_SERVER "check"

static void line(FILE *out, const char *name, const char *state, const char *found,
		 const char *todo)
{
	(void)fprintf(out, "%s\t%s\t%s\t%s\n", name, state, found, todo);
}

static void cgroups(FILE *out)
{
	static const struct {
		unsigned use;
		const char *name;
	} uses[] = { { CGROUP_MEMORY, "memory" },
		     { CGROUP_PIDS, "pids" },
		     { CGROUP_CPU, "cpu" },
		     { CGROUP_KILL, "kill" } };
	struct cgroups x;
	struct err err = { 0 };
	char found[256] = "";
	size_t len = 0;
	enum cgroup_peak peak;

	if (cgroups_open(&x, CHECK_SERVER, &err) < 0) {
		line(out, "cgroups", "fail", err.msg, "");
		return;
	}
	for (unsigned i = 0; i < sizeof uses / sizeof uses[0]; i++)
		for (unsigned k = 0; k < x.n && len < sizeof found; k++)
			if (x.h[k].use & uses[i].use)
				len += (size_t)snprintf(found + len, sizeof found - len,
							"%s%s (v%d)", len ? ", " : "", uses[i].name,
							x.h[k].v2 ? 2 : 1);
	peak = cgroups_peak(&x);
	cgroups_close(&x);
	if (cgroups_probe(&x, NULL) == 0)
		(void)!cgroups_sweep(&x, CHECK_SERVER, NULL);
	line(out, "cgroups", "ok", found, "");
	if (peak == CGROUP_PEAK_NONE)
		line(out, "memory peaks", "warn", "no memory.peak",
		     "what steps report as their peak is not exact; use Linux 5.19 or newer");
	if (peak == CGROUP_PEAK_LIFE)
		line(out, "memory peaks", "warn", "memory.peak can't be reset",
		     "steps in a live sandbox report the peak of its whole life; use Linux 6.12 or "
		     "newer");
}

static void namespaces(FILE *out)
{
	static const struct {
		int flag;
		const char *name;
	} rows[] = { { CLONE_NEWNS, "mount" },    { CLONE_NEWPID, "pid" },
		     { CLONE_NEWNET, "network" }, { CLONE_NEWIPC, "ipc" },
		     { CLONE_NEWUTS, "uts" },     { CLONE_NEWCGROUP, "cgroup" },
		     { CLONE_NEWUSER, "user" } };
	char found[160];

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		pid_t pid = fork();
		int status = 0;

		if (pid == 0)
			_exit(unshare(rows[i].flag) == 0 ? 0 : errno & 0x7f);
		if (pid < 0 || waitpid(pid, &status, 0) < 0 || status == 0)
			continue;
		(void)snprintf(found, sizeof found, "no %s namespace: %s", rows[i].name,
			       strerrordesc_np(WEXITSTATUS(status)));
		line(out, "namespaces", "fail", found,
		     "run garth as root of the host, or in a container that may make namespaces");
		return;
	}
	line(out, "namespaces", "ok", "user, mount, pid, network, ipc, uts, cgroup", "");
}

/* Calls that came with Linux 5.2 to 5.12; asked in a way that does nothing. */
static void mounts(FILE *out)
{
	struct mount_attr none = { 0 };
	autofd fd = fsopen("fuse", FSOPEN_CLOEXEC);

	if (fd < 0 && errno == ENODEV)
		line(out, "fuse filesystem", "fail",
		     "the kernel does not know the filesystem type fuse", "modprobe fuse");
	else if (fd < 0)
		line(out, "fuse filesystem", "fail", strerrordesc_np(errno),
		     errno == ENOSYS ? "use Linux 5.15 or newer" : "run garth as root");
	else
		line(out, "fuse filesystem", "ok", "fsopen works", "");
	if (mount_setattr(-1, "", AT_EMPTY_PATH, &none, sizeof none) < 0 && errno == ENOSYS)
		line(out, "mount calls", "fail", "no mount_setattr", "use Linux 5.15 or newer");
	else
		line(out, "mount calls", "ok", "open_tree, move_mount, mount_setattr", "");
}

static void landlock(FILE *out)
{
	char found[64];
	int abi = landlock_abi();

	(void)snprintf(found, sizeof found, "ABI %d", abi);
	if (abi >= LANDLOCK_ABI_MIN)
		line(out, "landlock", "ok", found, "");
	else
		line(out, "landlock", "warn", abi ? found : "not there",
		     "sandboxes have one wall less; boot with lsm=landlock,... on Linux 5.19 or "
		     "newer");
}

static void seccomp(FILE *out)
{
	struct err err = { 0 };
	autofd fd = -1;

	if (filter_compile(&fd, &err) < 0)
		line(out, "seccomp", "fail", err.msg,
		     "use a kernel with CONFIG_SECCOMP_FILTER, and libseccomp 2.5 or newer");
	else
		line(out, "seccomp", "ok", "the filter compiles", "");
}

void check_all(FILE *out)
{
	namespaces(out);
	mounts(out);
	cgroups(out);
	landlock(out);
	seccomp(out);
}
