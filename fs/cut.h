/* SPDX-License-Identifier: MIT */
/*
 * fs/cut.h - cutting a version of a file: its hash, its bytes in objects/ where they are kept, its rows; and giving an object a copy
 * of its own before the live file changes.
 * At a step's end the live inode is linked into objects/; in mid-step it is copied, since a link moves the ctime under a reader.
 * Not here: when it happens (fs/seal.h).
 * Thread: sealer, mender, desk: these may wait; never a FUSE thread.
 */
#ifndef GARTH_FS_CUT_H
#define GARTH_FS_CUT_H

#include <stdbool.h>

#include "core/err.h"
#include "core/hash.h"
#include "fs/rec.h"

enum cut_how { CUT_LINK = 0, CUT_COPY };

/* Cut a version, where it is dirty and nobody is writing it; waits for another cut of it first. */
void cut_version(struct fs *fs, struct rec *c, enum cut_how how);

/* A step ends and somebody is still writing this: a row with state `open`, closed by the next cut. */
void cut_mark_open(struct fs *fs, struct rec *c);

/* Under the lock: the row `open` of this name, made where there is none. Its version. */
uint64_t cut_open_row(struct fs *fs, struct rec *c, struct rname *m);

/*
 * What stands between w and c is removed: a version of another's is cut, its object gets a copy (@write).
 * Afterwards rec_write_begin may still give MUST_WAIT: then again. 0, or why the copy failed (-ENOSPC, -EDQUOT, -EIO).
 */
must_check int cut_mend(struct fs *fs, struct rec *c, const struct who *w, bool write);

/* Bytes (code, policies) into objects/: synced. 0, errno. Where 0: cut_stored when the row that needs them has been put, or none will be. */
must_check int cut_store(struct fs *fs, struct bytes data, struct sha256 *ret);
void cut_stored(struct fs *fs, const struct sha256 *sha);

/* objects/<sha>, read-only. 0, -ENOENT. */
must_check int cut_object_open(struct fs *fs, const struct sha256 *sha, int *ret_fd);

#endif
