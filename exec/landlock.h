/* SPDX-License-Identifier: MIT */
/*
 * exec/landlock.h - the second wall of a sandbox: what may be read, executed and written, and no signals or abstract sockets
 * across the sandbox's edge. The mounts are the first wall; this one holds where a mount is wrong.
 * Not here: applying it (guest/confine.h), the mounts (exec/root.h).
 * Thread: any. Memory: nothing is kept.
 */
#ifndef GARTH_EXEC_LANDLOCK_H
#define GARTH_EXEC_LANDLOCK_H

#include <stddef.h>

#include "core/err.h"

#define LANDLOCK_ABI_MIN 2 /* ABI 1 would refuse every rename between folders */

/* The kernel's Landlock ABI; 0 where it has none (or it is switched off at boot). */
int landlock_abi(void);

/*
 * Make the ruleset. Called in the child that builds a sandbox, when its root is "/" and everything is mounted: rules are bound to the
 * inodes that the paths lead to now. Paths of the fixed list that don't exist are left out.
 *
 * @host_paths  n absolute paths that the policy shows read-only (read and execute); NULL where n is 0.
 * @ret_fd      the ruleset, CLOEXEC; the caller closes it.
 *
 * 0, -EOPNOTSUPP where the kernel's ABI is below LANDLOCK_ABI_MIN, else an errno.
 */
must_check int landlock_ruleset(const char *const *host_paths, size_t n, int *ret_fd,
				struct err *err);

#endif
