/* SPDX-License-Identifier: MIT */
/*
 * exec/landlock.c - the Landlock ruleset of sandboxes, by the ABI that the kernel has.
 * Not here: applying it (guest/confine.c).
 */
#include "exec/landlock.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "core/fd.h"

/* The oldest headers that we build with know ABI 2; the kernel may know more. Values from the kernel's uapi. */
#define LL_CREATE_VERSION (1U << 0)
#define LL_RULE_PATH_BENEATH 1

#define FS_EXECUTE (1ULL << 0)
#define FS_WRITE_FILE (1ULL << 1)
#define FS_READ_FILE (1ULL << 2)
#define FS_READ_DIR (1ULL << 3)
#define FS_REMOVE_DIR (1ULL << 4)
#define FS_REMOVE_FILE (1ULL << 5)
#define FS_MAKE_DIR (1ULL << 7)
#define FS_MAKE_REG (1ULL << 8)
#define FS_MAKE_SOCK (1ULL << 9)
#define FS_MAKE_FIFO (1ULL << 10)
#define FS_MAKE_SYM (1ULL << 12)
#define FS_REFER (1ULL << 13)           /* ABI 2 */
#define FS_TRUNCATE (1ULL << 14)        /* ABI 3 */
#define FS_IOCTL_DEV (1ULL << 15)       /* ABI 5 */
#define SCOPE_ABSTRACT_UNIX (1ULL << 0) /* ABI 6 */
#define SCOPE_SIGNAL (1ULL << 1)        /* ABI 6 */

#define ABI_TRUNCATE 3
#define ABI_IOCTL_DEV 5
#define ABI_SCOPE 6
#define ABI_NET_SIZE 4 /* from here on the kernel's struct has handled_access_net */

/* Device nodes (bits 6 and 11) are left to the kernel: without rights it answers EPERM, as everywhere. */
#define LIST FS_READ_DIR
#define READ (FS_READ_DIR | FS_READ_FILE | FS_EXECUTE)
#define CHANGE                                                                        \
	(FS_WRITE_FILE | FS_REMOVE_DIR | FS_REMOVE_FILE | FS_MAKE_DIR | FS_MAKE_REG | \
	 FS_MAKE_SOCK | FS_MAKE_FIFO | FS_MAKE_SYM | FS_REFER | FS_TRUNCATE)
#define FILE_ONLY (FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV)

struct ll_attr {
	uint64_t fs, net, scoped;
};

struct ll_path {
	uint64_t allowed;
	int32_t parent_fd;
} __attribute__((packed));

static const struct {
	const char *path;
	uint64_t allowed;
} rules[] = {
	{ "/", LIST }, /* so that names can be looked at; what is there is a matter of mounts */
	{ "/usr", READ },
	{ "/bin", READ },
	{ "/sbin", READ },
	{ "/lib", READ },
	{ "/lib32", READ },
	{ "/lib64", READ },
	{ "/libx32", READ },
	{ "/opt", READ },
	{ "/etc", READ },
	{ "/sys", READ },
	{ "/proc", READ | FS_WRITE_FILE | FS_TRUNCATE },
	{ "/dev", READ | CHANGE | FS_IOCTL_DEV },
	{ "/tmp", READ | CHANGE },
	{ "/var/tmp", READ | CHANGE },
	{ "/home", READ | CHANGE },
	{ "/run/garth",
	  READ | CHANGE }, /* garth-init places code there; programs are kept out by its owner and mode */
	{ "/workspace", READ | CHANGE },
};

int landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LL_CREATE_VERSION);

	return abi < 0 ? 0 : (int)abi;
}

/* What this ABI can handle of all that is wanted. */
static uint64_t handled(int abi)
{
	uint64_t fs = READ | CHANGE | FS_IOCTL_DEV;

	if (abi < ABI_TRUNCATE)
		fs &= ~FS_TRUNCATE;
	if (abi < ABI_IOCTL_DEV)
		fs &= ~FS_IOCTL_DEV;
	return fs;
}

static int add_path(int ruleset, const char *path, uint64_t allowed, struct err *err)
{
	autofd fd = open(path, O_PATH | O_CLOEXEC);
	struct ll_path rule = { .allowed = allowed, .parent_fd = fd };
	struct stat st;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, "Landlock: open '%s'", path);
	if (!S_ISDIR(st.st_mode))
		rule.allowed &= FILE_ONLY;
	if (syscall(SYS_landlock_add_rule, ruleset, LL_RULE_PATH_BENEATH, &rule, 0) < 0)
		return err_sys(err, "Landlock: rule for '%s'", path);
	return 0;
}

int landlock_ruleset(const char *const *host_paths, size_t n, int *ret_fd, struct err *err)
{
	int abi = landlock_abi(), r = 0;
	struct ll_attr attr = { .fs = handled(abi) };
	size_t size = sizeof attr.fs;
	autofd fd = -1;

	if (abi < LANDLOCK_ABI_MIN)
		return err_set(err, -EOPNOTSUPP, "Landlock: the kernel has ABI %d, needed is %d",
			       abi, LANDLOCK_ABI_MIN);
	if (abi >= ABI_NET_SIZE)
		size += sizeof attr.net;
	if (abi >= ABI_SCOPE) {
		attr.scoped = SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL;
		size += sizeof attr.scoped;
	}
	fd = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
	if (fd < 0)
		return err_sys(err, "Landlock: make a ruleset (ABI %d)", abi);
	for (size_t i = 0; r == 0 && i < sizeof rules / sizeof rules[0]; i++)
		r = add_path(fd, rules[i].path, rules[i].allowed & attr.fs, err);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = add_path(fd, host_paths[i], READ, err);
	if (r < 0)
		return r;
	*ret_fd = fd_steal(&fd);
	return 0;
}
