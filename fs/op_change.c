/* SPDX-License-Identifier: MIT */
/*
 * fs/op_change.c - names that come: MKNOD, MKDIR, SYMLINK, LINK. Those that go or move: fs/op_remove.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/ids.h"
#include "fs/act.h"
#include "fs/agent.h"
#include "fs/cred.h"
#include "fs/op.h"
#include "fs/quota.h"
#include "fs/track.h"
#include "policy/decide.h"

#define BLOCK 4096u    /* what a folder or a long symlink takes at once */
#define LINKS_MAX 256u /* names of one file: each is asked with each operation */

struct making {
	enum ev_op op;
	const char *name;
	const char *text; /* of a symlink */
	mode_t mode;
	dev_t rdev;
};

static int make(struct op *o, const struct making *m, int dir_fd)
{
	int r = cred_as(o->fs, op_as(o->fs, &o->who, o->node));

	if (r < 0)
		return r;
	switch ((int)m->op) {
	case OP_MKDIR: r = mkdirat(dir_fd, m->name, m->mode); break;
	case OP_SYMLINK: r = symlinkat(m->text, dir_fd, m->name); break;
	default: r = mknodat(dir_fd, m->name, m->mode, m->rdev); break;
	}
	return r < 0 ? -errno : 0;
}

static void do_make(fuse_req_t req, fuse_ino_t parent, const struct making *m)
{
	struct ask a = { .op = m->op, .special = m->op == OP_MKNOD && !S_ISREG(m->mode) };
	struct fuse_entry_param e;
	struct node *n = NULL;
	struct held h = { .fd = -1 };
	struct op o;
	int fd = -1;
	int r;

	if (!op_begin(&o, req, parent))
		return;
	r = place_ask(o.fs, &o.who, &a, o.node, m->name, NULL);
	if (r == 0)
		r = quota_room_file(o.fs, o.who.uid);
	if (r == 0 && (m->op == OP_SYMLINK || m->op == OP_MKDIR))
		r = quota_room_bytes(o.fs, o.who.uid, BLOCK);
	if (r == 0)
		r = op_hold(o.fs, o.node, &h);
	if (r == 0)
		r = make(&o, m, h.fd);
	if (r == 0)
		r = op_peek(o.fs, o.node, h.fd, m->name, &fd, NULL);
	op_let(o.fs, &h);
	if (r == 0)
		r = op_born(o.fs, o.node, m->name, fd, &e, &n);
	if (r == 0)
		r = track_made(o.fs, &o.who, m->op, n, m->text);
	if (r < 0) {
		op_fail(&o, r);
		return;
	}
	if (fuse_reply_entry(req, &e) < 0)
		op_unenter(o.fs, &e);
	op_end(&o);
}

void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev)
{
	do_make(req, parent,
		&(struct making){ .op = S_ISREG(mode) ? OP_CREATE : OP_MKNOD,
				  .name = name,
				  .mode = mode,
				  .rdev = rdev });
}

void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	do_make(req, parent, &(struct making){ .op = OP_MKDIR, .name = name, .mode = mode });
}

void op_symlink(fuse_req_t req, const char *text, fuse_ino_t parent, const char *name)
{
	do_make(req, parent, &(struct making){ .op = OP_SYMLINK, .name = name, .text = text });
}

/* ---- LINK ---- */

/*
 * A file with several names is asked by each of them. So a link to another agent's file, put where its owner may not write, would
 * take the file from its owner, and book the refusals on the owner.
 */
static int ask_link(struct op *o, const struct place *from, const struct place *to)
{
	struct node_look look;

	if (place_apart(from, to))
		return -EXDEV;
	node_look(o->fs->nodes, o->node, &look);
	if (!place_owner_may_write(o->fs, &o->who, look.uid, to))
		return -EPERM;
	return quota_room_file(o->fs, o->who.uid);
}

/* As the caller: the kernel's protected_hardlinks has its say too. */
static int link_it(struct op *o, struct node *to, const char *name, struct stat *ret_st)
{
	struct held from = { .fd = -1 }, dir = { .fd = -1 };
	char fd_name[ACT_NAME_SIZE];
	int r = op_hold(o->fs, o->node, &from);

	if (r == 0 && fstat(from.fd, ret_st) < 0)
		r = -errno;
	if (r == 0 && ret_st->st_nlink >= LINKS_MAX)
		r = -EMLINK;
	if (r == 0)
		r = op_hold(o->fs, to, &dir);
	if (r == 0)
		r = cred_as(o->fs, op_as(o->fs, &o->who, o->node));
	if (r == 0 &&
	    linkat(AT_FDCWD, act_name(from.fd, fd_name), dir.fd, name, AT_SYMLINK_FOLLOW) < 0)
		r = -errno;
	if (r == 0 && fstat(from.fd, ret_st) < 0)
		r = -errno;
	op_let(o->fs, &from);
	op_let(o->fs, &dir);
	return r;
}

void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t newparent, const char *newname)
{
	struct ask a = { .op = OP_LINK };
	struct fuse_entry_param e = { 0 };
	struct place from, to;
	struct node *dir;
	struct op o;
	int r;

	if (!op_begin(&o, req, ino))
		return;
	dir = nodes_get(o.fs->nodes, newparent);
	r = dir ? place_ask2(o.fs, &o.who, &a, o.node, NULL, dir, newname, &from, &to) : -ESTALE;
	if (r == 0)
		r = ask_link(&o, &from, &to);
	if (r == 0)
		r = link_it(&o, dir, newname, &e.attr);
	if (r == 0)
		r = track_linked(o.fs, &o.who, o.node, dir, newname);
	if (r < 0) {
		op_fail(&o, r);
		return;
	}
	quota_name(o.fs, o.node, e.attr.st_uid, 1);
	op_show(o.fs, o.node, &e.attr);
	e.ino = o.node->id;
	e.attr_timeout = op_ttl(o.fs, o.node);
	e.entry_timeout = dir->kind == NODE_TASK ? 0.0 : TTL_LONG;
	node_looked_up(o.fs->nodes, o.node);
	if (fuse_reply_entry(req, &e) < 0)
		op_unenter(o.fs, &e);
	op_end(&o);
}
