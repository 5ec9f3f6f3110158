/* SPDX-License-Identifier: MIT */
/*
 * exec/store.c - making and removing a workspace's folders.
 */
#include "exec/store.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "core/fd.h"
#include "core/id.h"
#include "core/ids.h"
#include "core/path.h"

#define ASIDE ".gone."

/* A folder with exactly this owner and mode, whatever the umask or the parent's setgid bit would make of it. */
static int folder(int dir_fd, const char *name, uint32_t uid, uint32_t gid, unsigned mode,
		  int *ret_fd, struct err *err)
{
	autofd fd = -1;

	if (mkdirat(dir_fd, name, 0700) < 0)
		return err_sys(err, "make the folder %s", name);
	fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fchown(fd, uid, gid) < 0 || fchmod(fd, mode) < 0)
		return err_sys(err, "set the owner of the folder %s", name);
	if (ret_fd)
		*ret_fd = fd_steal(&fd);
	return 0;
}

static int top(int data_fd, const char *name, gid_t gid, unsigned mode, struct err *err)
{
	autofd fd = -1;

	if (mkdirat(data_fd, name, mode) < 0 && errno != EEXIST)
		return err_sys(err, "make the folder %s", name);
	fd = openat(data_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fchown(fd, 0, gid) < 0 || fchmod(fd, mode) < 0)
		return err_sys(err, "set the owner of the folder %s", name);
	return 0;
}

int store_open(int data_fd, uint32_t api_gid, struct err *err)
{
	int r = top(data_fd, "mnt", 0, 0755, err);

	return r < 0 ? r : top(data_fd, "workspaces", api_gid, 0750, err);
}

static int zones(int ws_fd, uint32_t uid_base, struct err *err)
{
	uint32_t fs = ids_fs_uid(uid_base), gid = ids_ws_gid(uid_base);
	const struct {
		const char *name;
		uint32_t uid;
		unsigned mode;
	} rows[] = { { "input", ids_agent_uid(uid_base, 0, IDS_UID_ROOT), 0775 },
		     { "output", fs, 0775 },
		     { "agents", fs, 0755 },
		     { "logs", fs, 0755 } };
	autofd data = -1;
	int r = folder(ws_fd, "data", fs, gid, 0775, &data, err);

	for (size_t i = 0; r == 0 && i < sizeof rows / sizeof rows[0]; i++)
		r = folder(data, rows[i].name, rows[i].uid, gid, rows[i].mode, NULL, err);
	if (r == 0 && fsync(data) < 0)
		r = err_sys(err, "sync the folder data");
	return r;
}

static int fill(int all_fd, const char *name, uint32_t uid_base, uint32_t api_gid, struct err *err)
{
	uint32_t fs = ids_fs_uid(uid_base), gid = ids_ws_gid(uid_base);
	autofd ws = -1;
	int r = folder(all_fd, name, fs, api_gid, 02750, &ws, err);

	if (r == 0)
		r = zones(ws, uid_base, err);
	if (r == 0)
		r = folder(ws, "objects", fs, gid, 0770, NULL, err);
	if (r == 0)
		r = folder(ws, "task", fs, gid, 0755, NULL, err);
	if (r == 0)
		r = folder(ws, "trash", fs, gid, 0755, NULL, err);
	if (r == 0 && (fsync(ws) < 0 || fsync(all_fd) < 0))
		r = err_sys(err, "sync the folders of %s", name);
	return r;
}

int store_make(int data_fd, const char *name, uint32_t uid_base, uint32_t api_gid, struct err *err)
{
	autofd all = openat(data_fd, "workspaces", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;
	int r;

	if (all < 0)
		return err_sys(err, "open the folder workspaces");
	if (fstatat(all, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return err_set(err, -EEXIST, "a folder workspaces/%s stands there already", name);
	r = fill(all, name, uid_base, api_gid, err);
	if (r < 0)
		(void)!path_rm_tree(all, name, NULL);
	return r;
}

int store_aside(int data_fd, const char *name, char ret_aside[64], struct err *err)
{
	autofd all = openat(data_fd, "workspaces", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (all < 0)
		return err_sys(err, "open the folder workspaces");
	(void)snprintf(ret_aside, 64, ASIDE "%016" PRIx64, id_make());
	if (renameat(all, name, all, ret_aside) == 0)
		return fsync(all) < 0 ? err_sys(err, "sync the folder workspaces") : 0;
	ret_aside[0] = '\0';
	return errno == ENOENT ? 0 : err_sys(err, "put workspaces/%s aside", name);
}

int store_burn(int data_fd, const char *aside, struct err *err)
{
	autofd all = openat(data_fd, "workspaces", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	autofd list = -1;
	const struct dirent *e;
	DIR *d;
	int r = 0;

	if (all < 0)
		return err_sys(err, "open the folder workspaces");
	if (aside)
		return path_rm_tree(all, aside, err);
	list = openat(all, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = list < 0 ? NULL : fdopendir(list);
	if (!d)
		return err_sys(err, "read the folder workspaces");
	(void)fd_steal(&list);
	while (r == 0 && (e = readdir(d)) != NULL)
		if (strncmp(e->d_name, ASIDE, strlen(ASIDE)) == 0)
			r = path_rm_tree(all, e->d_name, err);
	(void)closedir(d);
	return r;
}
