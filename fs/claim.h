/* SPDX-License-Identifier: MIT */
/*
 * fs/claim.h - objects that somebody is about to write a row about, so that retention does not remove them meanwhile.
 * Who finds or makes an object claims its hash first and drops the claim when the row has been put. Retention watches from before it
 * asks the record: what was claimed since then stays, and who claims what it has doomed waits until that is gone.
 * Not here: the objects (fs/object.h), which of them are old (fs/retain.h).
 * Thread: any that may wait; never a FUSE thread. Lock: its own, never held across a system call.
 */
#ifndef GARTH_FS_CLAIM_H
#define GARTH_FS_CLAIM_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "core/hash.h"

struct claims;

must_check int claims_new(struct claims **ret);
void claims_free(struct claims *c); /* NULL is fine */

/* Waits while this object is being removed. 0, -ENOMEM. */
must_check int claim_take(struct claims *c, const struct sha256 *sha);
void claim_drop(struct claims *c, const struct sha256 *sha);

struct doomed {
	uint64_t version;
	struct sha256 sha;
};

/* ---- retention, one thread of it ---- */
void claims_watch(struct claims *c);
/* Sorts, and takes out what is or was claimed since claims_watch: how many are left. They are borrowed until claims_settle. */
size_t claims_doom(struct claims *c, struct doomed *all, size_t n);
void claims_settle(struct claims *c);

#endif
