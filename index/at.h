/* SPDX-License-Identifier: MIT */
/*
 * index/at.h - SQLite opens files by path, garth by directory descriptor: a path "/@fd/N/name" means `name` in the folder that
 * descriptor N holds, whatever the mount namespace, the current directory or /proc are.
 * Not here: opening a database (index/db.h).
 */
#ifndef GARTH_INDEX_AT_H
#define GARTH_INDEX_AT_H

#include "core/err.h"

#define AT_PATH_SIZE 320

/* Teach SQLite such paths; again is harmless. -ENOSYS where its VFS can't be taught. Thread: any, before others use SQLite. */
must_check int at_install(struct err *err);

/* The path for `name` (one name, not checked) in dir_fd, which stays open as long as the path is used. -ENAMETOOLONG. */
must_check int at_path(int dir_fd, const char *name, char out[AT_PATH_SIZE]);

#endif
