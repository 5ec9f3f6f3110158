/* SPDX-License-Identifier: MIT */
/*
 * fs/cred.c - as whom a thread acts on the store: its fsuid.
 */
#include "fs/cred.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/ids.h"
#include "fs/fs.h"

/* What the kernel holds for this thread; 0: not asked yet. It is the kernel's state, remembered, so no state of ours. */
static _Thread_local uint32_t current_fsuid;

static bool may_become(const struct fs *fs, uint32_t uid)
{
	uint32_t block;

	return uid == fs->uid || ids_agent_of(fs->uid_base, uid, &block);
}

int cred_as(const struct fs *fs, uint32_t uid)
{
	if (uid == current_fsuid)
		return 0;
	if (!may_become(fs, uid))
		return -EACCES;
	(void)setfsuid(uid);
	current_fsuid = uid;
	return 0;
}

void cred_own(const struct fs *fs)
{
	invariant(cred_as(fs, fs->uid) == 0);
}

/* Exactly two: CAP_SETUID in effect, CAP_CHOWN at hand. Before there is a second thread. */
static int cap_set(struct err *err)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = {
		{ .effective = 1u << CAP_SETUID, .permitted = 1u << CAP_SETUID | 1u << CAP_CHOWN },
	};

	if (prctl(PR_CAP_AMBIENT, (long)PR_CAP_AMBIENT_CLEAR_ALL, 0L, 0L, 0L) < 0 ||
	    syscall(SYS_capset, &head, data) < 0)
		return err_sys(err, "drop the capabilities that are not needed");
	return 0;
}

int cred_check(const struct fs *fs, struct err *err)
{
	uint32_t probe = ids_agent_uid(fs->uid_base, 0, IDS_UID_USER);
	int r = cap_set(err);

	if (r < 0)
		return r;

	(void)umask(0); /* the callers' came with their requests */
	(void)setfsuid(probe);
	if ((uint32_t)setfsuid((uid_t)-1) != probe)
		return err_set(err, -EPERM,
			       "setfsuid to %u has no effect: the user namespace does not map it, "
			       "or CAP_SETUID is missing",
			       probe);
	(void)setfsuid(fs->uid);
	current_fsuid = fs->uid;
	return 0;
}

static int cap_chown(bool on)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &head, data) < 0)
		return -errno;
	if (on)
		data[0].effective |= 1u << CAP_CHOWN;
	else
		data[0].effective &= ~(1u << CAP_CHOWN);
	return syscall(SYS_capset, &head, data) < 0 ? -errno : 0;
}

int cred_chown(const struct fs *fs, int fd, uint32_t uid)
{
	int r;

	if (!may_become(fs, uid))
		return -EPERM;
	r = cap_chown(true);
	if (r < 0)
		return r;
	r = fchownat(fd, "", uid, (gid_t)-1, AT_EMPTY_PATH) < 0 ? -errno : 0;
	invariant(cap_chown(false) == 0);
	return r;
}
