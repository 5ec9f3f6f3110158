/* SPDX-License-Identifier: MIT */
/*
 * exec/clone.c - starting a sandbox's first process.
 */
#include "exec/clone.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "core/fd.h"
#include "core/ids.h"
#include "exec/landlock.h"
#include "exec/rights.h"

#define CAP_BIT(c) (1ull << (c))
#define INIT_CAPS (CAP_BIT(CAP_SETUID) | CAP_BIT(CAP_SETGID) | CAP_BIT(CAP_KILL))
#define INIT_OOM_SCORE \
	"500" /* steps take 1000: the kernel kills them before their garth-init, and both before the host's programs */
#define SB_HOSTNAME "garth"

/* A child that is not served within garthd's deadlines is killed, so these waits need none of their own. */
static int wait_for(int sync_fd, enum clone_word word, struct err *err)
{
	struct clone_note n;
	int r = clone_hear(sync_fd, &n);

	if (r == 1 && n.word == (uint32_t)word)
		return 0;
	return err_set(err, -EPIPE, "garthd went away");
}

static int network(struct err *err)
{
	autofd fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq req = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	autofd ports = -1;

	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &req) < 0)
		return err_sys(err, "bring up the loopback interface");
	/* A convenience: port 80 inside is nobody else's. */
	ports = open("/proc/sys/net/ipv4/ip_unprivileged_port_start", O_WRONLY | O_CLOEXEC);
	if (ports >= 0)
		(void)!write(ports, "0", 1);
	return 0;
}

static int limits(struct err *err)
{
	struct rlimit none = { 0, 0 };
	autofd oom = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (setrlimit(RLIMIT_CORE, &none) < 0)
		return err_sys(err, "limit core files");
	if (oom < 0 || write(oom, INIT_OOM_SCORE, strlen(INIT_OOM_SCORE)) < 0)
		return err_sys(err, "set oom_score_adj");
	return 0;
}

/* Into a user namespace of its own; as its root, with three capabilities that hold only there. */
static int user(int sync_fd, struct err *err)
{
	struct clone_note n = { .word = CLONE_MAP };
	int r;

	if (unshare(CLONE_NEWUSER) < 0)
		return err_sys(err, "make a user namespace");
	r = fd_write_full(sync_fd, &n, sizeof n);
	if (r == 0)
		r = wait_for(sync_fd, CLONE_MAPPED, err);
	if (r == 0)
		r = rights_ids(IDS_UID_ROOT, 0, 1, err);
	if (r == 0)
		r = rights_caps(0, INIT_CAPS, INIT_CAPS, INIT_CAPS,
				err); /* bounding set empty: so is its steps' */
	if (r == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L) < 0)
		r = err_sys(err, "set no_new_privs");
	/* The change of ids has cleared it. */
	if (r == 0 && prctl(PR_SET_PDEATHSIG, (long)SIGKILL, 0L, 0L, 0L) < 0)
		r = err_sys(err, "die with garthd");
	return r;
}

static int build(const struct clone_request *a, int sync_fd, int *ret_landlock_fd, struct err *err)
{
	int r = wait_for(sync_fd, CLONE_ATTACHED, err);

	if (r < 0)
		return r;
	if (prctl(PR_SET_PDEATHSIG, (long)SIGKILL, 0L, 0L, 0L) < 0 || setsid() < 0)
		return err_sys(err, "start a session");
	if (unshare(CLONE_NEWCGROUP) < 0) /* only now: its root is where the process is */
		return err_sys(err, "make a cgroup namespace");
	(void)umask(0);
	r = network(err);
	if (r == 0)
		r = root_build(a->plan, &a->place, err);
	(void)umask(022);
	if (r == 0 && sethostname(SB_HOSTNAME, strlen(SB_HOSTNAME)) < 0)
		r = err_sys(err, "set the host name");
	if (r == 0) {
		r = landlock_ruleset(a->plan->host_paths, a->plan->host_path_count, ret_landlock_fd,
				     err);
		if (r == -EOPNOTSUPP)
			r = 0;
	}
	return r == 0 ? limits(err) : r;
}

static _Noreturn void child(const struct clone_request *a, int sync_fd)
{
	static const char *const env[] = { "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8",
					   NULL };
	const char *argv[] = { "garth-init", NULL, NULL };
	struct clone_note note = { .word = CLONE_FAILED };
	struct err err = { 0 };
	int landlock_fd = -1, init_fd = a->init_fd;
	int r = build(a, sync_fd, &landlock_fd, &err);

	if (r == 0) {
		int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
		int fds[] = { a->guest_fd, a->filter_fd, landlock_fd };

		rights_keyring();
		/* sync_fd stays where it is: the descriptors of garthd are numerous, it is above the first ones */
		r = null_fd < 0 ? err_sys(&err, "open /dev/null")
				: rights_fds(fds, 3, null_fd, 0, &init_fd, &err);
	}
	if (r == 0)
		r = user(sync_fd, &err);
	if (r == 0) {
		if (landlock_fd < 0)
			argv[1] = "--no-landlock";
		(void)syscall(SYS_execveat, init_fd, "", argv, env, AT_EMPTY_PATH);
		r = err_sys(&err, "execute garth-init");
	}
	note.code = r;
	memcpy(note.msg, err.msg, sizeof note.msg);
	(void)!fd_write_full(sync_fd, &note, sizeof note);
	_exit(1);
}

_Static_assert(sizeof((struct clone_note *)0)->msg == sizeof((struct err *)0)->msg,
	       "the sentence fits");

/* As fork(), with new namespaces, a pidfd, and the v2 cgroup joined from the start. */
static pid_t clone_process(int cgroup_fd, int *ret_pidfd)
{
	struct clone_args c = { .flags = CLONE_PIDFD | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET |
					 CLONE_NEWIPC | CLONE_NEWUTS,
				.pidfd = (uint64_t)(uintptr_t)ret_pidfd,
				.exit_signal = SIGCHLD };

	if (cgroup_fd >= 0) {
		c.flags |= CLONE_INTO_CGROUP;
		c.cgroup = (uint32_t)cgroup_fd;
	}
	return (pid_t)syscall(SYS_clone3, &c, sizeof c);
}

int clone_start(const struct clone_request *a, pid_t *ret_pid, int *ret_pidfd, int *ret_sync_fd,
		struct err *err)
{
	int pair[2], pidfd = -1, r;
	autofd ours = -1, theirs = -1;
	sigset_t none;
	pid_t pid;

	r = fd_seqpair(pair);
	if (r < 0)
		return err_errno(err, r, "make a socket pair");
	ours = pair[0];
	/* Out of the way of the numbers that rights_fds uses. */
	theirs = fcntl(pair[1], F_DUPFD_CLOEXEC, 64);
	(void)close(pair[1]);
	if (theirs < 0)
		return err_sys(err, "move a descriptor");
	pid = clone_process(a->cgroup_fd, &pidfd);
	if (pid < 0)
		return err_sys(err, "clone a sandbox");
	if (pid == 0) {
		(void)close(ours);
		(void)sigemptyset(&none);
		(void)sigprocmask(SIG_SETMASK, &none, NULL);
		child(a, theirs);
	}
	*ret_pid = pid;
	*ret_pidfd = pidfd;
	*ret_sync_fd = fd_steal(&ours);
	return 0;
}

static int write_proc(pid_t pid, const char *file, const char *text)
{
	char path[64];
	autofd fd = -1;

	(void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return write(fd, text, strlen(text)) < 0 ? -errno : 0; /* one write is the whole map */
}

int clone_map(pid_t pid, const char *uid_map, const char *gid_map, struct err *err)
{
	int r = write_proc(pid, "uid_map", uid_map);

	if (r == 0)
		r = write_proc(pid, "gid_map", gid_map);
	return r < 0 ? err_errno(err, r, "write the id maps of a user namespace") : 0;
}

int clone_say(int sync_fd, enum clone_word word)
{
	struct clone_note n = { .word = (uint32_t)word };

	return fd_write_full(sync_fd, &n, sizeof n);
}

int clone_hear(int sync_fd, struct clone_note *ret)
{
	ssize_t n;

	do {
		n = recv(sync_fd, ret, sizeof *ret, 0);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if (n == 0)
		return 0;
	ret->msg[sizeof ret->msg - 1] = '\0';
	return n == (ssize_t)sizeof *ret ? 1 : -EBADMSG;
}
