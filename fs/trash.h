/* SPDX-License-Identifier: MIT */
/*
 * fs/trash.h - what a wipe put away, and the thread that removes it: any tree, of any depth, whoever owns its folders.
 */
#ifndef GARTH_FS_TRASH_H
#define GARTH_FS_TRASH_H

#include "core/err.h"

struct fs;

/* Move dir_fd/name into trash/ and have it removed in the background. 0, errno. The caller acts as the server. */
must_check int trash_put(struct fs *fs, int dir_fd, const char *name);

/* Remove what an earlier process left. */
void trash_sweep(struct fs *fs);

#endif
