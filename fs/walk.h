/* SPDX-License-Identifier: MIT */
/*
 * fs/walk.h - paths and trees in the store, followed part by part as each folder's owner, or as one agent, never through a link. For what garth itself
 * does outside a FUSE request: downloads, listings, the count at its start.
 * Thread: any that may wait.
 */
#ifndef GARTH_FS_WALK_H
#define GARTH_FS_WALK_H

#include <stdbool.h>
#include <sys/stat.h>

#include "core/bytes.h"
#include "core/err.h"
#include "fs/fs.h"

#define WALK_AS_OWNER UINT32_MAX /* each folder as whoever owns it; else all of them as this uid */

/* An O_PATH descriptor of base/path ("" base itself). 0, -ENOENT, -ENOTDIR, -EACCES, errno. */
must_check int walk_open(struct fs *fs, uint32_t as, int base_fd, struct bytes path, int *ret_fd,
			 struct stat *ret_st);

/* @path relative to the top, @fd O_PATH of it; both borrowed. 0 goes on. */
typedef int (*walk_fn)(void *ctx, struct bytes path, int fd, const struct stat *st);

enum walk_how {
	WALK_ONE = 0, /* what is right below */
	WALK_TREE,    /* everything below; a folder whose owner has closed it is passed over */
	WALK_ALL, /* and that too: it is opened for the while (at start, when nobody else is there) */
};
must_check int walk_each(struct fs *fs, uint32_t as, int base_fd, struct bytes top,
			 enum walk_how how, walk_fn fn, void *ctx);

#endif
