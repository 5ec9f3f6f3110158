/* SPDX-License-Identifier: MIT */
/*
 * fs/op_lookup.c - LOOKUP and FORGET.
 * A name that exists answers everybody: a refusal would tear the dentry, and with it the working directory, from under those who may.
 * Who may not is refused by what he does with the node next.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/op.h"
#include "fs/step.h"
#include "fs/task.h"

#define TASK_PREFIX ".garth.task."

static void reply_known(struct op *o, struct node *n)
{
	struct fuse_entry_param e;

	memset(&e, 0, sizeof e);
	int r = op_stat(o->fs, n, &e.attr);

	if (r < 0) {
		op_fail(o, r);
		return;
	}
	e.ino = n->id;
	e.attr_timeout = op_ttl(o->fs, n);
	e.entry_timeout = TTL_LONG;
	node_looked_up(o->fs->nodes, n);
	if (fuse_reply_entry(o->req, &e) < 0)
		node_forget(o->fs->nodes, n->id, 1);
	op_end(o);
}

/* A sandbox's task/, by name for root of the host alone: that is what builds the sandbox. */
static void task_by_name(struct op *o, const char *number)
{
	unsigned long gid = strtoul(number, NULL, 10);
	struct sandbox *sb = o->who.kind == WHO_HOST && gid <= UINT32_MAX
				     ? sandbox_by_gid(o->fs->steps, (uint32_t)gid)
				     : NULL;

	if (sb && sb->node && sb->gid_base == gid)
		reply_known(o, sb->node);
	else
		op_fail(o, -ENOENT);
	sandbox_put(o->fs->steps, sb);
}

static bool root_shows(struct fs *fs, const char *name)
{
	static const char *const zones[] = { "input", "output", "agents", "logs" };
	struct policy *p;
	bool shared;

	for (size_t i = 0; i < sizeof zones / sizeof zones[0]; i++)
		if (strcmp(name, zones[i]) == 0)
			return true;
	p = steps_policy(fs->steps);
	shared = p->root_shared && strncmp(name, ".garth.", 7) != 0;
	policy_unref(p);
	return shared;
}

/* Handled here: true. */
static bool in_root(struct op *o, const char *name)
{
	if (strcmp(name, "task") == 0) {
		reply_known(o, o->fs->holder);
		return true;
	}
	if (strncmp(name, TASK_PREFIX, strlen(TASK_PREFIX)) == 0) {
		task_by_name(o, name + strlen(TASK_PREFIX));
		return true;
	}
	if (root_shows(o->fs, name))
		return false;
	op_fail(o, -ENOENT);
	return true;
}

/* May it look into that task/ at all? */
static bool foreign_task(struct op *o)
{
	struct task *k = o->who.kind == WHO_AGENT ? node_task(o->fs->nodes, o->node) : NULL;
	bool foreign = k && k->sandbox != o->who.sb->id;

	task_unref(k);
	return foreign;
}

/* There is no such name. It is EACCES, and not cached, for who may not search. */
static void reply_missing(struct op *o)
{
	struct fs *fs = o->fs;
	struct fuse_entry_param e;

	if (o->who.kind == WHO_AGENT &&
	    !node_searchable(fs->nodes, o->node, o->who.uid, who_block(fs, &o->who), true)) {
		op_fail(o, -EACCES);
		return;
	}
	if (o->node->kind != NODE_PLAIN || o->node == fs->logs_node || place_in_logs(fs, o->node) ||
	    node_hidden(fs->nodes, o->node, true)) {
		op_fail(o, -ENOENT);
		return;
	}
	memset(&e, 0, sizeof e);
	e.entry_timeout = TTL_LONG;
	fuse_reply_entry(o->req, &e);
	op_end(o);
}

void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fuse_entry_param e;
	struct op o;
	int r;

	if (!op_begin(&o, req, parent))
		return;
	if (o.node->kind == NODE_ROOT && in_root(&o, name))
		return;
	if (foreign_task(&o)) {
		op_fail(&o, -EACCES);
		return;
	}
	r = op_enter(o.fs, o.node, name, &e, NULL);
	if (r == -ENOENT) {
		reply_missing(&o);
		return;
	}
	if (r < 0) {
		op_fail(&o, r);
		return;
	}
	if (fuse_reply_entry(req, &e) < 0)
		op_unenter(o.fs, &e);
	op_end(&o);
}

void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t n)
{
	struct fs *fs = fuse_req_userdata(req);

	node_forget(fs->nodes, ino, n);
	fuse_reply_none(req);
}

void op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
	struct fs *fs = fuse_req_userdata(req);

	for (size_t i = 0; i < count; i++)
		node_forget(fs->nodes, forgets[i].ino, forgets[i].nlookup);
	fuse_reply_none(req);
}
