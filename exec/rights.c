/* SPDX-License-Identifier: MIT */
/*
 * exec/rights.c - ids, capabilities and descriptors of a process that is about to become another program.
 */
#include "exec/rights.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ABOVE 32 /* out of the way of the numbers 0..RIGHTS_FDS_MAX+2 */

int rights_ids(uid_t uid, gid_t gid, int keep, struct err *err)
{
	if (setgroups(0, NULL) < 0)
		return err_sys(err, "drop the supplementary groups");
	if (setresgid(gid, gid, gid) < 0)
		return err_sys(err, "become gid %u", (unsigned)gid);
	if (prctl(PR_SET_KEEPCAPS, keep ? 1L : 0L, 0L, 0L, 0L) < 0)
		return err_sys(err, "keep capabilities");
	if (setresuid(uid, uid, uid) < 0)
		return err_sys(err, "become uid %u", (unsigned)uid);
	if (prctl(PR_SET_KEEPCAPS, 0L, 0L, 0L, 0L) < 0)
		return err_sys(err, "keep capabilities");
	return 0;
}

/*
 * A change from root to another uid has left nothing effective; what is permitted is needed for a moment more. What is to be
 * inheritable is set now: once it is out of the bounding set it could not be added.
 */
static int raise_all(uint64_t inheritable, struct err *err)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &head, data) < 0)
		return err_sys(err, "get capabilities");
	data[0].effective = data[0].permitted;
	data[1].effective = data[1].permitted;
	for (unsigned i = 0; i < 2; i++)
		data[i].inheritable |= (uint32_t)(inheritable >> (32 * i));
	return syscall(SYS_capset, &head, data) < 0 ? err_sys(err, "raise capabilities") : 0;
}

static int bounding(uint64_t bound, struct err *err)
{
	for (unsigned long cap = 0; cap < 64; cap++) {
		if (bound & (1ull << cap))
			continue;
		if (prctl(PR_CAPBSET_DROP, cap, 0L, 0L, 0L) == 0)
			continue;
		if (errno == EINVAL)
			break; /* past the last that this kernel knows */
		return err_sys(err, "drop capability %lu", cap);
	}
	return 0;
}

int rights_caps(uint64_t bound, uint64_t permitted, uint64_t effective, uint64_t ambient,
		struct err *err)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];
	int r = raise_all(ambient, err);

	if (r == 0)
		r = bounding(bound, err);
	if (r < 0)
		return r;
	for (unsigned i = 0; i < 2; i++) {
		data[i].permitted = (uint32_t)(permitted >> (32 * i));
		data[i].effective = (uint32_t)(effective >> (32 * i));
		data[i].inheritable = (uint32_t)(ambient >> (32 * i));
	}
	if (syscall(SYS_capset, &head, data) < 0)
		return err_sys(err, "set capabilities");
	if (prctl(PR_CAP_AMBIENT, (long)PR_CAP_AMBIENT_CLEAR_ALL, 0L, 0L, 0L) < 0)
		return err_sys(err, "clear ambient capabilities");
	for (unsigned long cap = 0; cap < 64; cap++)
		if ((ambient & (1ull << cap)) &&
		    prctl(PR_CAP_AMBIENT, (long)PR_CAP_AMBIENT_RAISE, cap, 0L, 0L) < 0)
			return err_sys(err, "hand on capability %lu", cap);
	return 0;
}

void rights_keyring(void)
{
	(void)syscall(SYS_keyctl, (long)KEYCTL_JOIN_SESSION_KEYRING, NULL);
}

int rights_fds(const int *fds, unsigned n, int null_fd, int keep_stderr, int *keep, struct err *err)
{
	int high[RIGHTS_FDS_MAX], null = fcntl(null_fd, F_DUPFD_CLOEXEC, ABOVE);

	invariant(n <= RIGHTS_FDS_MAX);
	if (null < 0)
		return err_sys(err, "move a descriptor");
	for (unsigned i = 0; i < n; i++) {
		high[i] = fds[i] < 0 ? -1 : fcntl(fds[i], F_DUPFD_CLOEXEC, ABOVE);
		if (fds[i] >= 0 && high[i] < 0)
			return err_sys(err, "move a descriptor");
	}
	if (*keep >= 0) {
		*keep = fcntl(*keep, F_DUPFD_CLOEXEC, ABOVE);
		if (*keep < 0)
			return err_sys(err, "move a descriptor");
	}
	for (int i = 0; i < (keep_stderr ? 2 : 3); i++)
		if (dup2(null, i) < 0)
			return err_sys(err, "place descriptor %d", i);
	for (unsigned i = 0; i < n; i++) {
		int to = 3 + (int)i;

		if (high[i] < 0)
			(void)close(to);
		else if (dup2(high[i], to) < 0)
			return err_sys(err, "place descriptor %d", to);
	}
	if (syscall(SYS_close_range, 3u + n, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */) < 0)
		return err_sys(err, "close_range");
	return 0;
}
