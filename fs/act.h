/* SPDX-License-Identifier: MIT */
/*
 * fs/act.h - system calls on what a node or a handle refers to, as somebody.
 * An O_PATH descriptor is reopened, chmod'ed, truncated or linked through its name in the clone of /proc/self/fd that the process
 * has as its working directory: "17" is descriptor 17.
 * Not here: may they (fs/place.h).
 * Thread: any. The thread goes on acting as whom it acted last.
 */
#ifndef GARTH_FS_ACT_H
#define GARTH_FS_ACT_H

#include <stdint.h>
#include <sys/stat.h>

#include "core/err.h"
#include "fs/fs.h"
#include "fs/handle.h"

#define ACT_NAME_SIZE 12

/* The name of a descriptor in the working directory. */
const char *act_name(int fd, char room[ACT_NAME_SIZE]);

/* A new descriptor of what an O_PATH one refers to. 0, errno. */
must_check int act_reopen(const struct fs *fs, uint32_t as, int path_fd, int flags, int *ret_fd);

/* The same by handle. */
must_check int act_open(struct fs *fs, uint32_t as, const struct fhandle *h, int flags,
			int *ret_fd);

must_check int act_stat(struct fs *fs, const struct fhandle *h, struct stat *ret);

/* When the inode was born, in ns: tells the reuse of its number. 0 where the store doesn't say. */
uint64_t act_birth(int fd);

#endif
