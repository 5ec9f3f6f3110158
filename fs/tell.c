/* SPDX-License-Identifier: MIT */
/*
 * fs/tell.c - telling the kernel what it must forget.
 */
#include "fs/tell.h"

#include <fuse_lowlevel.h>
#include <stdlib.h>
#include <string.h>

#include "fs/fs.h"
#include "fs/node.h"
#include "fs/work.h"

struct told {
	struct job job;
	uint64_t id;
	int data;
	char name[]; /* "" : the inode */
};

static void run(struct fs *fs, struct job *job)
{
	struct told *t = (struct told *)job;

	/* -ENOENT: the kernel doesn't know it, which is as good */
	if (t->name[0])
		(void)fuse_lowlevel_notify_inval_entry(fs->se, t->id, t->name, strlen(t->name));
	else
		(void)fuse_lowlevel_notify_inval_inode(fs->se, t->id, t->data ? 0 : -1, 0);
	free(t);
}

static void post(struct fs *fs, uint64_t id, const char *name, int data)
{
	size_t len = strlen(name);
	struct told *t = malloc(sizeof *t + len + 1);

	invariant(
		t); /* a kernel that goes on believing what isn't so would be worse than a restart */
	t->job.run = run;
	t->id = id;
	t->data = data;
	memcpy(t->name, name, len + 1);
	work_post(fs->teller, &t->job);
}

void tell_inode(struct fs *fs, uint64_t id, int data)
{
	post(fs, id, "", data);
}

void tell_entry(struct fs *fs, uint64_t parent, const char *name)
{
	post(fs, parent, name, 0);
}

static void each(void *ctx, uint64_t id)
{
	tell_inode(ctx, id, 0);
}

void tell_below(struct fs *fs, const struct node *n)
{
	node_below(fs->nodes, n, each, fs);
}
