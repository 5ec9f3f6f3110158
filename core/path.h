/* SPDX-License-Identifier: MIT */
/*
 * core/path.h - names, workspace paths, and opening below a directory.
 * A workspace path is relative to the workspace's root, "output/a/b.csv", any bytes but NUL, no empty, "." or ".." part,
 * no slash at either end; "" is the root itself.
 * Not here: which zone a path is in (policy/zone.h).
 */
#ifndef GARTH_CORE_PATH_H
#define GARTH_CORE_PATH_H

#include <stdint.h>

#include "core/bytes.h"
#include "core/err.h"

#define NAME_LEN_MAX 255  /* bytes of one part */
#define PATH_LEN_MAX 4095 /* bytes of a workspace path */
#define IDENT_LEN_MAX 63  /* bytes of a workspace's or agent's name */
#define IDENT_SIZE 64     /* the same with its NUL */

/* One part: 0, -EINVAL empty, ".", "..", has a slash or NUL; -ENAMETOOLONG. */
must_check int name_check(const char *name);
must_check int name_check_bytes(struct bytes name);

/* A workspace path: 0, -EINVAL (message names what is wrong), -ENAMETOOLONG. */
must_check int path_check(struct bytes path, struct err *err);

/* A workspace's or agent's name, [a-z0-9][a-z0-9_-]{0,62}: 0 or -EINVAL with a sentence. @what "workspace", "agent". */
must_check int ident_check(const char *name, const char *what, struct err *err);

/*
 * Open below dir_fd, never through a symlink, never out of it. @flags as open(2); O_CLOEXEC and O_NOFOLLOW are added.
 * @mode for O_CREAT. 0 or the errno of openat2.
 */
must_check int path_open_beneath(int dir_fd, const char *path, uint64_t flags, unsigned mode,
				 int *ret_fd, struct err *err);

/* mkdir -p below dir_fd (each new part with mode, 0 meaning 0755, less the umask). Existing folders are fine. */
must_check int path_mkdirs(int dir_fd, const char *path, unsigned mode, struct err *err);

/* Remove a tree below dir_fd by descriptor, never following links. -ENOENT is no error. Returns 0 or the first errno. */
must_check int path_rm_tree(int dir_fd, const char *name, struct err *err);

#endif
