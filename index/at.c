/* SPDX-License-Identifier: MIT */
/*
 * index/at.c - SQLite's own hook for system calls, for paths that begin with "/@fd/". All others go to the system as they are.
 * Not here: opening a database (index/db.c).
 */
#include "index/at.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define AT_PREFIX "/@fd/"

/* The folder and the name in it; AT_FDCWD and the path itself for every other path. */
static const char *split(const char *path, int *ret_fd)
{
	char *end;
	long fd;

	*ret_fd = AT_FDCWD;
	if (strncmp(path, AT_PREFIX, sizeof AT_PREFIX - 1) != 0)
		return path;
	fd = strtol(path + sizeof AT_PREFIX - 1, &end, 10);
	if (fd < 0 || fd > INT32_MAX || end == path + sizeof AT_PREFIX - 1)
		return path;
	*ret_fd = (int)fd;
	if (*end == '\0')
		return "."; /* SQLite opens the folder to sync it */
	return *end == '/' && end[1] ? end + 1 : path;
}

static int at_open(const char *path, int flags, int mode)
{
	int dir;
	const char *name = split(path, &dir);

	return openat(dir, name, flags | O_CLOEXEC, mode);
}

static int at_access(const char *path, int mode)
{
	int dir;
	const char *name = split(path, &dir);

	return faccessat(dir, name, mode, 0);
}

static int at_stat(const char *path, struct stat *st)
{
	int dir;
	const char *name = split(path, &dir);

	return fstatat(dir, name, st, 0);
}

static int at_lstat(const char *path, struct stat *st)
{
	int dir;
	const char *name = split(path, &dir);

	return fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW);
}

static int at_unlink(const char *path)
{
	int dir;
	const char *name = split(path, &dir);

	return unlinkat(dir, name, 0);
}

int at_install(struct err *err)
{
	static const struct {
		const char *name;
		sqlite3_syscall_ptr fn;
	} calls[] = {
		{ "open", (sqlite3_syscall_ptr)at_open },
		{ "access", (sqlite3_syscall_ptr)at_access },
		{ "stat", (sqlite3_syscall_ptr)at_stat },
		{ "lstat", (sqlite3_syscall_ptr)at_lstat },
		{ "unlink", (sqlite3_syscall_ptr)at_unlink },
	};
	sqlite3_vfs *vfs;

	if (sqlite3_initialize() != SQLITE_OK)
		return err_set(err, -ENOMEM, "index.db: SQLite does not start");
	vfs = sqlite3_vfs_find("unix");
	if (!vfs || vfs->iVersion < 3 || !vfs->xSetSystemCall)
		return err_set(err, -ENOSYS, "index.db: SQLite's VFS has no hooks");
	for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
		/* setting what is set already would be a write under the feet of other threads */
		if (vfs->xGetSystemCall(vfs, calls[i].name) == calls[i].fn)
			continue;
		if (vfs->xSetSystemCall(vfs, calls[i].name, calls[i].fn) != SQLITE_OK)
			return err_set(err, -ENOSYS, "index.db: SQLite does not hook %s",
				       calls[i].name);
	}
	return 0;
}

int at_path(int dir_fd, const char *name, char out[AT_PATH_SIZE])
{
	int n = snprintf(out, AT_PATH_SIZE, AT_PREFIX "%d/%s", dir_fd, name);

	return n > 0 && n < AT_PATH_SIZE ? 0 : -ENAMETOOLONG;
}
