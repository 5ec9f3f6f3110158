/* SPDX-License-Identifier: MIT */
/*
 * guest/confine.c - giving up rights, inside the sandbox.
 * Not here: the rules (exec/filter.c, exec/landlock.c).
 */
#include "guest/confine.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "core/fd.h"

#define FILTER_LEN_MAX 4096u /* instructions: the kernel's BPF_MAXINSNS */
#define OOM_FIRST "1000"
#define KERNEL_SIGSET_LEN 8ul

int confine_self(struct err *err)
{
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_sys(err, "become non-dumpable");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_sys(err, "set no_new_privs");
	return 0;
}

int confine_seccomp(int fd, struct err *err)
{
	struct sock_filter insns[FILTER_LEN_MAX];
	struct sock_fprog prog = { .filter = insns };
	size_t len;
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0)
		return err_sys(err, "syscall filter: descriptor %d", fd);
	if (st.st_size <= 0 || (size_t)st.st_size > sizeof insns ||
	    (size_t)st.st_size % sizeof insns[0] != 0)
		return err_set(err, -EBADMSG, "syscall filter: %jd bytes are no program",
			       (intmax_t)st.st_size);
	len = (size_t)st.st_size;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return err_sys(err, "syscall filter: seek");
	r = fd_read_full(fd, insns, len);
	if (r < 0)
		return err_errno(err, r, "syscall filter: read");
	prog.len = (unsigned short)(len / sizeof insns[0]);
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0)
		return err_sys(err, "load the syscall filter");
	return 0;
}

int confine_landlock(int fd, struct err *err)
{
	if (syscall(SYS_landlock_restrict_self, fd, 0) < 0)
		return err_sys(err, "apply the Landlock ruleset");
	return 0;
}

int confine_ids(uint32_t uid, uint32_t gid, struct err *err)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

	/* What could come back with an exec as root. Only with CAP_SETPCAP; no_new_privs keeps it away in any case. */
	for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		(void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (setgroups(0, NULL) < 0)
		return err_sys(err, "drop groups");
	if (setresgid(gid, gid, gid) < 0)
		return err_sys(err, "become group %u", gid);
	if (setresuid(uid, uid, uid) < 0)
		return err_sys(err, "become user %u", uid);
	if (syscall(SYS_capset, &head, none) < 0)
		return err_sys(err, "drop capabilities");
	return 0;
}

void confine_oom_first(void)
{
	autofd fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, OOM_FIRST, sizeof OOM_FIRST - 1) < 0)
		return; /* then it is as killable as garth-init */
}

void confine_signals(void)
{
	/* The kernel's struct sigaction, all zero: SIG_DFL. Not libc's call, for that refuses its own
	 * two signals, which posix_spawn of glibc before 2.38 leaves ignored (make starts us by it). */
	static const unsigned long normal[4];
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		(void)syscall(SYS_rt_sigaction, sig, normal, NULL,
			      KERNEL_SIGSET_LEN); /* not KILL, STOP */
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}
