/* SPDX-License-Identifier: MIT */
/*
 * exec/rights.h - giving up rights: ids, capabilities, keyrings, and putting descriptors where the next program expects them.
 * For the processes that garthd and the keeper start, between fork and exec.
 */
#ifndef GARTH_EXEC_RIGHTS_H
#define GARTH_EXEC_RIGHTS_H

#include <stdint.h>
#include <sys/types.h>

#include "core/err.h"

#define RIGHTS_FDS_MAX 8u

/* No supplementary groups, then gid and uid, real, effective, saved and fs. Capabilities survive where `keep`. */
must_check int rights_ids(uid_t uid, gid_t gid, int keep, struct err *err);

/*
 * Sets of capabilities as bits (1ull << CAP_X): `bound` is all that can ever be had again; permitted and effective as given; what is
 * in `ambient` survives an exec by a uid that is not root.
 */
must_check int rights_caps(uint64_t bound, uint64_t permitted, uint64_t effective, uint64_t ambient,
			   struct err *err);

/* A keyring of its own, so that the starter's keys are out of reach; kernels without keyrings are fine. */
void rights_keyring(void);

/*
 * fds[0..n-1] become 3, 4, ... and stay open across exec, /dev/null (null_fd) becomes 0, 1 and, unless keep_stderr, 2; everything
 * above is marked to be closed by exec. -1 leaves a number closed.
 * @keep a descriptor above that is needed until exec (the program's); moved out of the way, and CLOEXEC. -1: none.
 */
must_check int rights_fds(const int *fds, unsigned n, int null_fd, int keep_stderr, int *keep,
			  struct err *err);

#endif
