/* SPDX-License-Identifier: MIT */
/*
 * exec/filter_calls.c - which system calls a sandbox may make: the lists.
 * A name that this machine's architecture or libseccomp doesn't know is skipped, so new calls stand here before all hosts have them.
 * A call belongs into the first list only when it acts on the caller alone, on its own processes, or on files and sockets whose
 * permission is asked elsewhere (garth-fs, mount flags, Landlock). What takes a host's code far from what is tested every day
 * (io_uring, bpf, keys, perf) is refused.
 * Not here: rules for arguments (exec/filter.c).
 */
#include "exec/filter_calls.h"

#include <stddef.h>

const char *const filter_calls_allowed[] = {
	/* files by name */
	"access", "chdir", "chmod", "chown", "chown32", "creat", "faccessat", "faccessat2", "fchdir", "fchmod", "fchmodat", "fchmodat2",
	"fchown", "fchown32", "fchownat", "futimesat", "getcwd", "getdents", "getdents64", "lchown", "lchown32", "link", "linkat",
	"lstat", "lstat64", "mkdir", "mkdirat", "mknod", "mknodat", "newfstatat", "fstatat64", "open", "openat", "openat2", "readlink",
	"readlinkat", "rename", "renameat", "renameat2", "rmdir", "stat", "stat64", "statfs", "statfs64", "statx", "symlink",
	"symlinkat", "truncate", "truncate64", "umask", "unlink", "unlinkat", "utime", "utimensat", "utimensat_time64", "utimes",
	"getxattr", "lgetxattr", "fgetxattr", "setxattr", "lsetxattr", "fsetxattr", "listxattr", "llistxattr", "flistxattr",
	"removexattr", "lremovexattr", "fremovexattr", "setxattrat", "getxattrat", "listxattrat", "removexattrat",
	"file_getattr", "file_setattr",
	"inotify_add_watch", "inotify_init", "inotify_init1", "inotify_rm_watch",
	/* descriptors */
	"cachestat", "close", "close_range", "copy_file_range", "dup", "dup2", "dup3", "epoll_create", "epoll_create1", "epoll_ctl",
	"epoll_ctl_old", "epoll_pwait", "epoll_pwait2", "epoll_wait", "epoll_wait_old", "eventfd", "eventfd2", "fadvise64",
	"fadvise64_64", "fallocate", "fcntl", "fcntl64", "fdatasync", "flock", "fstat", "fstat64", "fstatfs", "fstatfs64", "fsync",
	"ftruncate", "ftruncate64", "_llseek", "lseek", "memfd_create", "_newselect", "pipe", "pipe2", "poll", "ppoll",
	"ppoll_time64", "pread64", "preadv", "preadv2", "pselect6", "pselect6_time64", "pwrite64", "pwritev", "pwritev2", "read",
	"readahead", "readv", "select", "sendfile", "sendfile64", "signalfd", "signalfd4", "splice", "sync", "sync_file_range",
	"sync_file_range2", "syncfs", "tee", "timerfd_create", "timerfd_gettime", "timerfd_gettime64", "timerfd_settime",
	"timerfd_settime64", "vmsplice", "write", "writev", "io_setup", "io_destroy", "io_submit", "io_cancel", "io_getevents",
	"io_pgetevents", "io_pgetevents_time64",
	/* sockets that exist: which ones can be made is a matter of arguments */
	"accept", "accept4", "bind", "connect", "getpeername", "getsockname", "getsockopt", "listen", "recv", "recvfrom", "recvmmsg",
	"recvmmsg_time64", "recvmsg", "send", "sendmmsg", "sendmsg", "sendto", "setsockopt", "shutdown",
	/* memory */
	"brk", "get_mempolicy", "madvise", "map_shadow_stack", "mbind", "membarrier", "mincore", "mlock", "mlock2", "mlockall", "mmap",
	"mmap2", "mprotect", "mremap", "mseal", "msync", "munlock", "munlockall", "munmap", "pkey_alloc", "pkey_free",
	"pkey_mprotect", "remap_file_pages", "set_mempolicy", "set_mempolicy_home_node",
	/* processes and threads */
	"arch_prctl", "capget", "capset", "execve", "execveat", "exit", "exit_group", "fork", "futex", "futex_requeue", "futex_time64",
	"futex_wait", "futex_waitv", "futex_wake", "get_robust_list", "get_thread_area", "getegid", "getegid32", "geteuid",
	"geteuid32", "getgid", "getgid32", "getgroups", "getgroups32", "getpgid", "getpgrp", "getpid", "getppid", "getpriority",
	"getresgid", "getresgid32", "getresuid", "getresuid32", "getrlimit", "getrusage", "getsid", "gettid", "getuid", "getuid32",
	"ioprio_get", "ioprio_set", "landlock_add_rule", "landlock_create_ruleset", "landlock_restrict_self", "pause", "pidfd_open",
	"pidfd_send_signal", "prlimit64", "process_mrelease", "restart_syscall", "rseq", "sched_get_priority_max",
	"sched_get_priority_min", "sched_getaffinity", "sched_getattr", "sched_getparam", "sched_getscheduler",
	"sched_rr_get_interval", "sched_rr_get_interval_time64", "sched_setaffinity", "sched_setattr", "sched_setparam",
	"sched_setscheduler", "sched_yield", "seccomp", "set_robust_list", "set_thread_area", "set_tid_address", "setfsgid",
	"setfsgid32", "setfsuid", "setfsuid32", "setgid", "setgid32", "setgroups", "setgroups32", "setpgid", "setpriority",
	"setregid", "setregid32", "setresgid", "setresgid32", "setresuid", "setresuid32", "setreuid", "setreuid32", "setrlimit",
	"setsid", "setuid", "setuid32", "ugetrlimit", "vfork", "wait4", "waitid", "waitpid",
	/* signals */
	"kill", "rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigqueueinfo", "rt_sigreturn", "rt_sigsuspend",
	"rt_sigtimedwait", "rt_sigtimedwait_time64", "rt_tgsigqueueinfo", "sigaltstack", "signal", "sigreturn", "tgkill", "tkill",
	/* time */
	"alarm", "clock_getres", "clock_getres_time64", "clock_gettime", "clock_gettime64", "clock_nanosleep",
	"clock_nanosleep_time64", "getitimer", "gettimeofday", "nanosleep", "setitimer", "time", "timer_create", "timer_delete",
	"timer_getoverrun", "timer_gettime", "timer_gettime64", "timer_settime", "timer_settime64", "times",
	/* System V and POSIX queues: the sandbox has an IPC namespace of its own */
	"ipc", "mq_getsetattr", "mq_notify", "mq_open", "mq_timedreceive", "mq_timedreceive_time64", "mq_timedsend",
	"mq_timedsend_time64", "mq_unlink", "msgctl", "msgget", "msgrcv", "msgsnd", "semctl", "semget", "semop", "semtimedop",
	"semtimedop_time64", "shmat", "shmctl", "shmdt", "shmget",
	/* the machine, as it shows itself */
	"getcpu", "getrandom", "sysinfo", "uname", "arm_fadvise64_64", "arm_sync_file_range", "breakpoint", "cacheflush", "set_tls",
	"riscv_flush_icache", "riscv_hwprobe",
	NULL,
};

const char *const filter_calls_refused[] = {
	/* mounts, roots, namespaces */
	"chroot", "fsconfig", "fsmount", "fsopen", "fspick", "mount", "mount_setattr", "move_mount", "open_tree", "open_tree_attr",
	"pivot_root", "setns", "umount", "umount2", "unshare", "listmount", "statmount", "listns",
	/* other processes, and files past their names */
	"kcmp", "migrate_pages", "move_pages", "name_to_handle_at", "open_by_handle_at", "pidfd_getfd", "process_madvise",
	"process_vm_readv", "process_vm_writev", "ptrace", "fanotify_init", "fanotify_mark", "lookup_dcookie",
	/* kernel machinery with a history */
	"add_key", "bpf", "io_uring_enter", "io_uring_register", "io_uring_setup", "keyctl", "memfd_secret", "modify_ldt",
	"perf_event_open", "request_key", "userfaultfd", "lsm_get_self_attr", "lsm_list_modules", "lsm_set_self_attr", "vm86",
	"vm86old", "uretprobe", "uprobe",
	/* the host */
	"acct", "adjtimex", "clock_adjtime", "clock_adjtime64", "clock_settime", "clock_settime64", "create_module", "delete_module",
	"finit_module", "init_module", "ioperm", "iopl", "kexec_file_load", "kexec_load", "nfsservctl", "pciconfig_iobase",
	"pciconfig_read", "pciconfig_write", "quotactl", "quotactl_fd", "reboot", "sethostname", "setdomainname", "settimeofday",
	"stime", "swapoff", "swapon", "syslog", "vhangup",
	NULL,
};

const char *const filter_calls_args[] = {
	"clone", "ioctl", "personality", "prctl", "socket", "socketpair", NULL,
};

const char *const filter_calls_absent[] = {
	/* its flags are in memory, where no filter sees them; libc falls back to clone */
	"clone3",
	/* gone from Linux, or never there */
	"_sysctl", "afs_syscall", "get_kernel_syms", "getpmsg", "putpmsg", "query_module", "security", "sysfs", "tuxcall", "uselib",
	"ustat", "vserver",
	NULL,
};
