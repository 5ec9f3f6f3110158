/* SPDX-License-Identifier: MIT */
/*
 * fs/object.h - objects/: bytes under the name of their SHA-256.
 * An object is a live file's inode, linked (then its mode is the file's, and its owner reads it), or a copy, 0440, 0400 where only its
 * owner may read the file.
 * What copy, link and store give is claimed (fs/claim.h): the caller drops that when its row has been put.
 * Not here: which file has which (fs/rec.h).
 * Thread: any that may wait for a copy.
 */
#ifndef GARTH_FS_OBJECT_H
#define GARTH_FS_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/bytes.h"
#include "core/err.h"
#include "core/hash.h"
#include "fs/fs.h"
#include "fs/handle.h"

/* Copy what fd holds into objects/ as `uid`'s; ret_sha is the hash of what was stored. */
must_check int object_copy(struct fs *fs, uint32_t uid, int fd, struct sha256 *ret_sha);

/* Link the file into objects/ (or copy, where its owner cannot read it). *ret_linked: its inode is the object now. */
must_check int object_link(struct fs *fs, uint32_t uid, const struct fhandle *h, int fd,
			   bool readable, const struct sha256 *sha, bool *ret_linked);

/* The object is a live file's inode: give it a copy of its own, under the same name. fd is the object. */
must_check int object_replace(struct fs *fs, uint32_t uid, int fd, const struct sha256 *sha);

must_check int object_store(struct fs *fs, struct bytes data, struct sha256 *ret);
must_check int object_open(struct fs *fs, const struct sha256 *sha, int *ret_fd);

#endif
