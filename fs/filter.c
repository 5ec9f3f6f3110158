/* SPDX-License-Identifier: MIT */
/*
 * fs/filter.c - what garth-fs can never do once it serves.
 */
#include "fs/filter.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#define X32_FROM 0x40000000u /* the same calls by other numbers */
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#define X32_FROM UINT32_MAX
#else
#error "which architecture is this for seccomp?"
#endif

static const unsigned denied[] = {
	SYS_execve,
	SYS_execveat,
	SYS_clone,
	SYS_clone3,
	SYS_socket,
	SYS_socketpair,
	SYS_connect,
	SYS_bind,
	SYS_listen,
	SYS_accept,
	SYS_accept4,
	SYS_ptrace,
	SYS_process_vm_readv,
	SYS_process_vm_writev,
	SYS_pidfd_open,
	SYS_pidfd_getfd,
	SYS_kcmp,
	SYS_mount,
	SYS_umount2,
	SYS_pivot_root,
	SYS_chroot,
	SYS_unshare,
	SYS_setns,
	SYS_open_tree,
	SYS_move_mount,
	SYS_fsopen,
	SYS_fsmount,
	SYS_fsconfig,
	SYS_fspick,
	SYS_mount_setattr,
	SYS_open_by_handle_at,
	SYS_bpf,
	SYS_perf_event_open,
	SYS_userfaultfd,
	SYS_keyctl,
	SYS_add_key,
	SYS_request_key,
	SYS_io_uring_setup,
	SYS_io_uring_enter,
	SYS_io_uring_register,
	SYS_setuid,
	SYS_setgid,
	SYS_setreuid,
	SYS_setregid,
	SYS_setresuid,
	SYS_setresgid,
	SYS_setfsgid,
	SYS_setgroups,
	SYS_quotactl,
	SYS_reboot,
	SYS_kexec_load,
	SYS_init_module,
	SYS_finit_module,
	SYS_delete_module,
	SYS_acct,
	SYS_swapon,
	SYS_swapoff,
	SYS_personality,
	SYS_syslog,
	SYS_sethostname,
	SYS_setdomainname,
	SYS_settimeofday,
	SYS_clock_settime,
	SYS_adjtimex,
#if defined(__x86_64__)
	SYS_fork,
	SYS_vfork,
#endif
};

#define DENIED (sizeof denied / sizeof denied[0])
#define HEAD 5u /* instructions before the table */

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define GIVE(what) BPF_STMT(BPF_RET | BPF_K, (what))

int filter_on(struct err *err)
{
	struct sock_filter program[HEAD + DENIED + 2] = {
		LOAD(arch),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0),
		GIVE(SECCOMP_RET_KILL_PROCESS),
		LOAD(nr),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_FROM, (uint8_t)(DENIED + 1), 0),
	};
	struct sock_fprog p = { .len = (unsigned short)(sizeof program / sizeof program[0]),
				.filter = program };

	_Static_assert(DENIED < 250, "a jump reaches 255 instructions");
	for (size_t i = 0; i < DENIED; i++)
		program[HEAD + i] =
			(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, denied[i],
						     (uint8_t)(DENIED - i), 0);
	program[HEAD + DENIED] = (struct sock_filter)GIVE(SECCOMP_RET_ALLOW);
	program[HEAD + DENIED + 1] = (struct sock_filter)GIVE(SECCOMP_RET_ERRNO | EPERM);
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &p) != 0)
		return err_sys(err, "load the syscall filter");
	return 0;
}
