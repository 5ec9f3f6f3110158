/* SPDX-License-Identifier: MIT */
/*
 * tests/exec/guest_box.c - a small sandbox around garth-init: namespaces, root, the last steps before exec.
 * Not here: talking to it (tests/exec/guest_talk.c).
 */
#include "tests/exec/guest_box.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <grp.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "core/fd.h"
#include "core/ids.h"
#include "exec/filter.h"
#include "exec/landlock.h"

#define INIT_CAPS ((1U << CAP_SETUID) | (1U << CAP_SETGID) | (1U << CAP_KILL))
#define HIGH_FD 64 /* the numbers below are set one by one */

#define TRY(what)                                    \
	do {                                         \
		if ((what) < 0) {                    \
			perror("guest_box: " #what); \
			_exit(2);                    \
		}                                    \
	} while (0)

static void make_dir(const char *path, mode_t mode, uid_t uid, gid_t gid)
{
	TRY(mkdir(path, mode));
	TRY(chmod(path, mode));
	TRY(chown(path, uid, gid));
}

static void bind_ro(const char *from, const char *to)
{
	if (access(from, F_OK) < 0)
		return;
	(void)mkdir(to, 0755);
	TRY(mount(from, to, NULL, MS_BIND | MS_REC, NULL));
}

static void make_dev(void)
{
	static const struct {
		const char *path;
		unsigned minor;
	} nodes[] = { { "dev/null", 3 },
		      { "dev/zero", 5 },
		      { "dev/full", 7 },
		      { "dev/random", 8 },
		      { "dev/urandom", 9 } };

	make_dir("dev", 0755, 0, 0);
	for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++) {
		TRY(mknod(nodes[i].path, S_IFCHR | 0666, makedev(1, nodes[i].minor)));
		TRY(chmod(nodes[i].path, 0666));
	}
	TRY(symlink("/proc/self/fd", "dev/fd"));
	make_dir("dev/shm", 01777, 0, 0);
	make_dir("dev/pts", 0755, 0, 0);
	TRY(mount("devpts", "dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
		  "newinstance,ptmxmode=0666,mode=0620"));
	TRY(symlink("pts/ptmx", "dev/ptmx"));
}

/* The root is built in /proc's own place: any folder that is there will do, nobody else sees what is mounted on it. */
static void make_root(void)
{
	static const char *const links[] = { "bin", "sbin", "lib", "lib64", "lib32" };
	uid_t user = BOX_UID_BASE + IDS_UID_USER;
	FILE *f;

	TRY(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	TRY(mount("tmpfs", "/mnt", "tmpfs", 0, "mode=0755"));
	TRY(chdir("/mnt"));
	bind_ro("/usr", "usr");
	for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) {
		char target[64], from[32];
		ssize_t n;

		(void)snprintf(from, sizeof from, "/%s", links[i]);
		n = readlink(from, target, sizeof target - 1);
		if (n > 0) {
			target[n] = '\0';
			TRY(symlink(target, links[i]));
		} else {
			bind_ro(from, links[i]);
		}
	}
	make_dir("etc", 0755, 0, 0);
	bind_ro("/etc/alternatives", "etc/alternatives");
	bind_ro("/etc/fonts", "etc/fonts");
	if (access("/etc/matplotlibrc", F_OK) ==
	    0) { /* Debian's matplotlib does not start without */
		TRY(mknod("etc/matplotlibrc", S_IFREG | 0644, 0));
		bind_ro("/etc/matplotlibrc", "etc/matplotlibrc");
	}
	f = fopen("etc/passwd", "we");
	if (f) {
		(void)fputs("root:x:0:0::/:/bin/sh\nuser:x:1000:1000::/home/user:/bin/bash\n", f);
		(void)fclose(f);
	}
	make_dev();
	make_dir("tmp", 01777, 0, 0);
	make_dir("home", 0755, 0, 0);
	make_dir("home/user", 0755, user, BOX_GID_BASE);
	make_dir("run", 0755, 0, 0);
	make_dir("run/garth", 0755, BOX_UID_BASE, BOX_GID_BASE);
	make_dir("workspace", 0755, BOX_UID_BASE, BOX_GID_BASE);
	make_dir("workspace/task", 0777, user, BOX_GID_BASE);
	make_dir("workspace/output", 0777, user, BOX_GID_BASE);
	make_dir("workspace/input", 0755, BOX_UID_BASE, BOX_GID_BASE);
	make_dir("proc", 0555, 0, 0);
	TRY(mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL));
	TRY(syscall(SYS_pivot_root, ".", "."));
	TRY(umount2(".", MNT_DETACH));
	TRY(chdir("/"));
}

static void write_text(const char *path, const char *text)
{
	autofd fd = open(path, O_WRONLY | O_CLOEXEC);

	TRY(fd);
	TRY(write(fd, text, strlen(text)));
}

static void write_maps(pid_t pid)
{
	char path[64], text[128];

	(void)snprintf(path, sizeof path, "/proc/%d/uid_map", pid);
	(void)snprintf(text, sizeof text, IDS_UID_MAP_FMT, BOX_UID_BASE, BOX_UID_BASE + 4095);
	write_text(path, text);
	(void)snprintf(path, sizeof path, "/proc/%d/gid_map", pid);
	(void)snprintf(text, sizeof text, IDS_GID_MAP_FMT, BOX_GID_BASE, BOX_GID_BASE + 4031,
		       BOX_GID_BASE + 4095, BOX_UID_BASE + 1);
	write_text(path, text);
}

/* Three capabilities, which survive the exec of inside root, and none that could come back. */
static void drop_caps(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = { { INIT_CAPS, INIT_CAPS,
									   INIT_CAPS } };
	uint32_t drop = 1U << CAP_SETPCAP;

	/* inheritable first: what is out of the bounding set can't be added there */
	caps[0].effective |= drop;
	caps[0].permitted |= drop;
	TRY(syscall(SYS_capset, &head, caps));
	caps[0].effective &= ~drop;
	caps[0].permitted &= ~drop;
	for (unsigned long c = 0; prctl(PR_CAPBSET_READ, c, 0, 0, 0) >= 0; c++)
		TRY(prctl(PR_CAPBSET_DROP, c, 0, 0, 0));
	TRY(syscall(SYS_capset, &head, caps));
}

/* Pid 1 of the new namespace, up to exec. @sync a socket to the helper, which writes the maps. */
static _Noreturn void become_init(int sock, int init_fd, int sync, bool landlock)
{
	const char *argv[] = { "garth-init", NULL, NULL }, *env[] = { NULL };
	int filter = -1, rules = -1, null_fd;
	struct err err = { 0 };
	char byte = 'm';

	TRY(unshare(CLONE_NEWNS)); /* not shared with the helper, whose /proc must stay */
	make_root();
	if (filter_compile(&filter, &err) < 0 ||
	    (landlock && landlock_ruleset(NULL, 0, &rules, &err) == -EINVAL)) {
		fprintf(stderr, "guest_box: %s\n", err.msg);
		_exit(2);
	}
	if (rules < 0)
		argv[1] = "--no-landlock";
	TRY(unshare(CLONE_NEWUSER));
	TRY(write(sync, &byte, 1));
	TRY(read(sync, &byte, 1));
	TRY(setgroups(0, NULL));
	TRY(setresgid(0, 0, 0));
	TRY(setresuid(0, 0, 0));
	drop_caps();
	TRY(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	TRY(null_fd);
	filter = fcntl(filter, F_DUPFD_CLOEXEC, HIGH_FD);
	TRY(filter);
	if (rules >= 0)
		rules = fcntl(rules, F_DUPFD_CLOEXEC, HIGH_FD);
	for (int i = 0; i < 3 && !getenv("GUEST_BOX_STDERR"); i++)
		TRY(dup2(null_fd, i));
	TRY(dup2(sock, 3));
	TRY(dup2(filter, 4));
	if (rules >= 0)
		TRY(dup2(rules, 5));
	(void)syscall(SYS_execveat, init_fd, "", argv, env, AT_EMPTY_PATH);
	_exit(3);
}

/* Between the test and pid 1: makes the namespaces, writes the maps, and dies with either. */
static _Noreturn void helper(int sock, int init_fd, bool landlock)
{
	int sync[2], status = 0;
	char byte;
	pid_t pid;

	TRY(prctl(PR_SET_PDEATHSIG, (long)SIGKILL, 0, 0, 0));
	TRY(unshare(CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS));
	TRY(fd_seqpair(sync));
	pid = fork();
	TRY(pid);
	if (pid == 0) {
		(void)close(sync[0]);
		TRY(prctl(PR_SET_PDEATHSIG, (long)SIGKILL, 0, 0, 0));
		become_init(fcntl(sock, F_DUPFD_CLOEXEC, HIGH_FD),
			    fcntl(init_fd, F_DUPFD_CLOEXEC, HIGH_FD),
			    fcntl(sync[1], F_DUPFD_CLOEXEC, HIGH_FD), landlock);
	}
	(void)close(sync[1]);
	(void)close(sock);
	if (read(sync[0], &byte, 1) == 1) {
		write_maps(pid);
		TRY(write(sync[0], &byte, 1));
	}
	(void)waitpid(pid, &status, 0);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

static int open_init(void)
{
	char path[4096];
	const char *dir = getenv("GARTH_BIN");

	(void)snprintf(path, sizeof path, "%s/garth-init", dir ? dir : "build/bin");
	return open(path, O_PATH | O_CLOEXEC);
}

int box_open(struct box *b, bool landlock)
{
	autofd init = open_init();
	int pair[2];

	*b = (struct box){ .sock = -1, .dead_fd = -1 };
	wire_msg_init(&b->msg);
	if (init < 0 || fd_seqpair(pair) < 0) {
		perror("guest_box: garth-init");
		return -1;
	}
	b->pid = fork();
	if (b->pid == 0) {
		(void)close(pair[0]);
		helper(pair[1], init, landlock);
	}
	(void)close(pair[1]);
	b->sock = pair[0];
	b->dead_fd = b->pid > 0 ? (int)syscall(SYS_pidfd_open, b->pid, 0) : -1;
	return b->pid > 0 ? 0 : -1;
}

void box_close(struct box *b)
{
	struct pollfd p = { .fd = b->dead_fd, .events = POLLIN };

	wire_msg_fini(&b->msg);
	fd_closep(&b->sock); /* garth-init ends by itself */
	if (b->pid > 0) {
		if (poll(&p, 1, 3000) != 1)
			(void)kill(b->pid, SIGKILL);
		(void)waitpid(b->pid, NULL, 0);
	}
	fd_closep(&b->dead_fd);
	b->pid = 0;
}
