/* SPDX-License-Identifier: MIT */
/*
 * exec/keeper_room.c - the mount namespace of a keeper and its garth-fs.
 */
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "core/fd.h"
#include "exec/keeper.h"

#define READ_ONLY (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define ROOM "/tmp" /* any folder: covered in this namespace alone */

/* What a dynamically linked program needs until it runs. */
static const char *const loaded[] = { "usr", "lib", "lib64", "etc/ld.so.cache" };

static int show(int tree_fd, const char *to, bool is_file, struct err *err)
{
	autofd file = is_file ? open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0444) : -1;

	if (is_file ? file < 0 : mkdir(to, 0755) < 0)
		return err_sys(err, "make %s", to);
	if (move_mount(tree_fd, "", AT_FDCWD, to, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return err_sys(err, "mount %s", to);
	return 0;
}

static int show_host(const char *name, struct err *err)
{
	struct mount_attr a = { .attr_set = READ_ONLY };
	char from[32], target[PATH_MAX];
	struct stat st;
	autofd tree = -1;
	ssize_t n;

	(void)snprintf(from, sizeof from, "/%s", name);
	if (lstat(from, &st) < 0)
		return 0;
	if (S_ISLNK(st.st_mode)) {
		n = readlink(from, target, sizeof target - 1);
		if (n < 0)
			return err_sys(err, "read %s", from);
		target[n] = '\0';
		return symlink(target, name) < 0 ? err_sys(err, "make %s", name) : 0;
	}
	tree = open_tree(AT_FDCWD, from, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	if (tree < 0 || mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &a, sizeof a) < 0)
		return err_sys(err, "show %s", from);
	return show(tree, name, S_ISREG(st.st_mode), err);
}

/* Before ROOM is covered: the store may lie below it. */
static int store_tree(const struct keeper *k, int *ret_fd, struct err *err)
{
	struct mount_attr a = { .attr_set =
					MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC };
	autofd tree = open_tree(AT_FDCWD, k->cfg.store,
				OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);

	if (tree < 0 || mount_setattr(tree, "", AT_EMPTY_PATH, &a, sizeof a) < 0)
		return err_sys(err, "show %s", k->cfg.store);
	*ret_fd = fd_steal(&tree);
	return 0;
}

/* What the room holds, put together below the present folder. */
static int furnish(int store_fd, struct err *err)
{
	int r;

	if (mkdir("etc", 0755) < 0 || mkdir("proc", 0755) < 0)
		return err_sys(err, "make folders for the keeper");
	r = show(store_fd, "store", false, err);
	for (size_t i = 0; r == 0 && i < sizeof loaded / sizeof loaded[0]; i++)
		r = show_host(loaded[i], err);
	if (r == 0 && mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		r = err_sys(err, "mount /proc for the keeper");
	return r;
}

static int enter(struct err *err)
{
	struct mount_attr fixed = { .attr_set = MOUNT_ATTR_RDONLY };

	if (syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		return err_sys(err, "let go of the host's root");
	if (mount_setattr(AT_FDCWD, "/", 0, &fixed, sizeof fixed) < 0)
		return err_sys(err, "make the keeper's root read-only");
	return 0;
}

int keeper_room(struct keeper *k, struct err *err)
{
	autofd tree = -1;
	int r;

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return err_sys(err, "make a mount namespace");
	r = store_tree(k, &tree, err);
	if (r < 0)
		return r;
	if (mount("tmpfs", ROOM, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=64k") < 0 ||
	    chdir(ROOM) < 0)
		return err_sys(err, "mount a root for the keeper");
	r = furnish(tree, err);
	if (r == 0)
		r = enter(err);
	if (r < 0)
		return r;
	k->store_fd = open("/store", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return k->store_fd < 0 ? err_sys(err, "open the store") : 0;
}

void keeper_room_proc_gone(void)
{
	(void)umount2("/proc", MNT_DETACH);
}

void keeper_room_shut(struct keeper *k)
{
	if (k->shut)
		return;
	k->shut = true;
	for (size_t i = 0; i < sizeof loaded / sizeof loaded[0]; i++) {
		char path[32];

		(void)snprintf(path, sizeof path, "/%s", loaded[i]);
		(void)umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW); /* links are no mounts: EINVAL */
	}
}
