/* SPDX-License-Identifier: MIT */
/*
 * fs/task.c - a sandbox's task/.
 */
#include "fs/task.h"

#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/fd.h"
#include "fs/cred.h"
#include "fs/fs.h"
#include "fs/node.h"
#include "fs/quota.h"
#include "fs/step.h"
#include "fs/trash.h"

#define TASK_TOP_MODE 0770
#define TASK_MODE 0775

struct task *task_ref(struct task *t)
{
	atomic_fetch_add(&t->refs, 1);
	return t;
}

void task_unref(struct task *t)
{
	if (t && atomic_fetch_sub(&t->refs, 1) == 1)
		free(t);
}

static void top_name(const struct sandbox *sb, char out[TASK_NAME_SIZE])
{
	(void)snprintf(out, TASK_NAME_SIZE, "%u", sb->gid_base);
}

static int open_top(struct fs *fs, const struct sandbox *sb, int *ret_fd, struct err *err)
{
	char name[TASK_NAME_SIZE];

	top_name(sb, name);
	cred_own(fs);
	*ret_fd = openat(fs->task_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *ret_fd < 0 ? err_sys(err, "open task/%s", name) : 0;
}

/* A new folder for one life: owned by the agent's user. */
static int make_folder(struct fs *fs, struct sandbox *sb, int top, struct task **ret, int *ret_fd,
		       struct err *err)
{
	struct task *t = calloc(1, sizeof *t);
	int r;

	if (!t)
		return -ENOMEM;
	atomic_init(&t->refs, 1);
	t->sandbox = sb->id;
	t->gid_base = sb->gid_base;
	t->agent = sb->agent;
	(void)snprintf(t->name, sizeof t->name, "t%u", ++sb->task_seq);
	r = cred_as(fs, ids_agent_uid(fs->uid_base, sb->agent, IDS_UID_USER));
	if (r == 0 && mkdirat(top, t->name, TASK_MODE) < 0)
		r = -errno;
	if (r == 0) {
		*ret_fd = openat(top, t->name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		r = *ret_fd < 0 ? -errno : 0;
	}
	cred_own(fs);
	if (r < 0) {
		free(t);
		return err_errno(err, r, "make the folder of task/");
	}
	*ret = t;
	return 0;
}

static int make_top(struct fs *fs, const struct sandbox *sb, struct err *err)
{
	char name[TASK_NAME_SIZE];

	top_name(sb, name);
	cred_own(fs);
	if (faccessat(fs->task_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
		int r = trash_put(fs, fs->task_fd,
				  name); /* a sandbox of an earlier life had these gids */

		if (r < 0)
			return err_errno(err, r, "clear task/%s", name);
	}
	if (mkdirat(fs->task_fd, name, TASK_TOP_MODE) < 0)
		return err_sys(err, "make task/%s", name);
	return 0;
}

int task_begin(struct fs *fs, struct sandbox *sb, struct err *err)
{
	autofd top = -1, fd = -1;
	struct task *t = NULL;
	struct fhandle h;
	struct stat st;
	char name[TASK_NAME_SIZE];
	int r = make_top(fs, sb, err);

	if (r == 0)
		r = open_top(fs, sb, &top, err);
	if (r == 0)
		r = make_folder(fs, sb, top, &t, &fd, err);
	if (r < 0)
		return r;
	(void)snprintf(name, sizeof name, ".garth.task.%u", sb->gid_base);
	r = fhandle_of(fd, &h);
	if (r == 0 && fstat(fd, &st) < 0)
		r = -errno;
	if (r == 0)
		r = nodes_make(fs->nodes, NODE_TASK, &h, &st, fs->root, name, t, &sb->node);
	if (r == 0)
		hcache_offer(fs->hcache, &h, fd_steal(&fd));
	task_unref(t);
	return r < 0 ? err_errno(err, r, "the node of task/") : 0;
}

int task_wipe(struct fs *fs, struct sandbox *sb, uint64_t *ret_files, uint64_t *ret_bytes,
	      struct err *err)
{
	autofd top = -1, fd = -1;
	struct task *fresh = NULL, *old;
	int64_t bytes = 0, files = 0;
	struct fhandle h;
	struct stat st = { 0 };
	int r = open_top(fs, sb, &top, err);

	if (r == 0)
		r = make_folder(fs, sb, top, &fresh, &fd, err);
	if (r < 0)
		return r;
	r = fhandle_of(fd, &h);
	if (r == 0 && fstat(fd, &st) < 0)
		r = -errno;
	if (r < 0) {
		task_unref(fresh);
		return err_errno(err, r, "the new folder of task/");
	}
	old = node_repoint(fs->nodes, sb->node, &h, st.st_ino, fresh);
	hcache_offer(fs->hcache, &h, fd_steal(&fd));
	quota_drop_task(fs, old, &bytes, &files);
	r = trash_put(fs, top, old->name);
	task_unref(old);
	(void)fuse_lowlevel_notify_inval_inode(fs->se, sb->node->id, 0, 0);
	*ret_bytes = bytes > 0 ? (uint64_t)bytes : 0;
	*ret_files = files > 0 ? (uint64_t)files : 0;
	return r < 0 ? err_errno(err, r, "put the old task/ away") : 0;
}

void task_end(struct fs *fs, struct sandbox *sb)
{
	struct task *t = node_task(fs->nodes, sb->node);
	char name[TASK_NAME_SIZE];
	int64_t bytes, files;

	if (t)
		quota_drop_task(fs, t, &bytes, &files);
	task_unref(t);
	top_name(sb, name);
	(void)trash_put(fs, fs->task_fd,
			name); /* what stays is cleared when these gids come again */
	node_unpin(fs->nodes, sb->node);
	sb->node = NULL;
}
