/* SPDX-License-Identifier: MIT */
/*
 * fs/op_remove.c - names that go or move: UNLINK, RMDIR, RENAME.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/fd.h"
#include "core/ids.h"
#include "fs/cred.h"
#include "fs/op.h"
#include "fs/quota.h"
#include "fs/rec.h"
#include "fs/tell.h"
#include "fs/track.h"

#define RENAME_NOREPLACE_FLAG 1u
#define RENAME_EXCHANGE_FLAG 2u

/* What stands at a name before it is changed. */
struct subject {
	int fd; /* O_PATH; -1: nothing is there */
	struct stat st;
	struct node *node; /* pinned; NULL: the table doesn't know it */
	struct rec *rec;   /* counted; NULL: nothing is recorded of it */
	bool last;         /* it has no other name */
};

static int subject_of(struct fs *fs, const struct node *dir, int dir_fd, const char *name,
		      struct subject *ret)
{
	struct fhandle h;
	int r;

	*ret = (struct subject){ .fd = -1 };
	r = op_peek(fs, dir, dir_fd, name, &ret->fd, &ret->st);
	if (r < 0)
		return r;
	if (fhandle_of(ret->fd, &h) < 0)
		return 0;
	ret->node = nodes_find(fs->nodes, &h);
	ret->rec = S_ISREG(ret->st.st_mode) ? rec_of(fs->recs, &h) : NULL;
	/* not by the count of links: it may just be sealed, and its object is a link or is not yet */
	ret->last = ret->rec ? rec_is_only_name(fs->recs, ret->rec)
			     : S_ISDIR(ret->st.st_mode) || ret->st.st_nlink <= 1;
	return 0;
}

/* A look-up may have told the table of it since. */
static void subject_again(struct fs *fs, struct subject *s)
{
	struct fhandle h;

	if (s->fd >= 0 && !s->node && fhandle_of(s->fd, &h) == 0)
		s->node = nodes_find(fs->nodes, &h);
}

static void subject_fini(struct fs *fs, struct subject *s)
{
	fd_closep(&s->fd);
	if (s->node)
		node_unpin(fs->nodes, s->node);
	s->node = NULL;
	rec_put(fs, s->rec);
	s->rec = NULL;
}

static void keep(struct fs *fs, struct subject *s, int fd)
{
	if (node_keep(fs->nodes, s->node, fd))
		quota_closed(fs, s->st.st_uid);
}

/* Before its last name goes. Where its owner's agent holds too many that have gone, it is not kept: whoever has it is told ESTALE. */
static void name_going(struct fs *fs, struct subject *s)
{
	int fd = s->node && s->last ? fcntl(s->fd, F_DUPFD_CLOEXEC, 0) : -1;

	if (fd >= 0 && quota_open(fs, s->st.st_uid) == 0)
		keep(fs, s, fd);
	else
		fd_closep(&fd);
}

static void name_stays(struct fs *fs, struct subject *s)
{
	if (s->node && s->last)
		keep(fs, s, -1);
}

/*
 * One of its names is gone, and the tables know. If it was the last, what the record knows of it stays with the node: a program may
 * hold it without having it open (O_PATH) and write to it again, and its inode may be an object. So does its charge: its blocks are
 * not free yet.
 */
static void name_gone(struct fs *fs, struct subject *s)
{
	struct fhandle h;

	if (!s->last) {
		if (s->node)
			quota_name(fs, s->node, s->st.st_uid, -1);
		return;
	}
	if (fhandle_of(s->fd, &h) == 0)
		hcache_drop(fs->hcache, &h);
	if (s->node) {
		quota_leaves(fs, s->node);
		s->rec = node_keep_rec(fs->nodes, s->node, s->rec);
	}
}

void op_ended(void *ctx, struct node *n)
{
	struct fs *fs = ctx;

	if (n->gone)
		quota_gone(fs, n, n->uid, n->rec && rec_is_linked(fs->recs, n->rec));
	rec_put(fs, n->rec);
	n->rec = NULL;
	if (n->keep_fd >= 0)
		quota_closed(fs, n->uid);
}

static void do_remove(fuse_req_t req, fuse_ino_t parent, const char *name, enum ev_op op)
{
	struct ask a = { .op = op };
	struct held dir = { .fd = -1 };
	struct subject s = { .fd = -1 };
	struct op o;
	int r;

	if (!op_begin(&o, req, parent))
		return;
	r = place_ask(o.fs, &o.who, &a, o.node, name, NULL);
	if (r == 0)
		r = op_hold(o.fs, o.node, &dir);
	if (r == 0)
		r = subject_of(o.fs, o.node, dir.fd, name, &s);
	if (r == 0)
		r = cred_as(o.fs, op_as(o.fs, &o.who, o.node));
	if (r == 0) {
		name_going(o.fs, &s);
		if (unlinkat(dir.fd, name, op == OP_RMDIR ? AT_REMOVEDIR : 0) < 0) {
			r = -errno;
			name_stays(o.fs, &s);
		}
	}
	if (r == 0) {
		subject_again(o.fs, &s);
		track_removed(o.fs, &o.who, op, o.node, name, s.node, s.last);
		name_gone(o.fs, &s);
	}
	op_let(o.fs, &dir);
	subject_fini(o.fs, &s);
	op_fail(&o, r);
}

void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	do_remove(req, parent, name, OP_UNLINK);
}

void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	do_remove(req, parent, name, OP_RMDIR);
}

/* ---- RENAME ---- */

struct move {
	struct op *o;
	struct node *from_dir, *to_dir;
	const char *from, *to;
	unsigned flags;
	struct held from_held, to_held;
	struct subject what, victim;
	struct place from_at, to_at;
};

/* Of something, and of what is below it where it is a folder. */
static bool owners_may_write(const struct move *m, const struct subject *s,
			     const struct place *from, const struct place *to)
{
	struct fs *fs = m->o->fs;
	const struct who *w = &m->o->who;
	uint64_t owners = 0;

	if (!place_owner_may_write(fs, w, s->st.st_uid, to))
		return false;
	if (S_ISDIR(s->st.st_mode) && m->from_dir != m->to_dir)
		owners = rec_owners_below(fs, place_bytes(from));
	for (uint32_t block = 0; owners >> block != 0 && block < IDS_AGENTS_MAX; block++) {
		uint32_t uid = ids_agent_uid(fs->uid_base, block, IDS_UID_USER);

		if ((owners >> block & 1) && !place_owner_may_write(fs, w, uid, to))
			return false;
	}
	return true;
}

/* EXDEV: `mv` then makes a copy, which is the caller's. */
static int move_owners(const struct move *m)
{
	bool exchange = (m->flags & RENAME_EXCHANGE_FLAG) != 0;

	if (!owners_may_write(m, &m->what, &m->from_at, &m->to_at))
		return -EXDEV;
	if (exchange && m->victim.fd >= 0 &&
	    !owners_may_write(m, &m->victim, &m->to_at, &m->from_at))
		return -EXDEV;
	return 0;
}

static int move_prepare(struct move *m)
{
	struct fs *fs = m->o->fs;
	struct ask a = { .op = OP_RENAME };
	int r;

	if (m->flags & ~(RENAME_NOREPLACE_FLAG | RENAME_EXCHANGE_FLAG))
		return -EINVAL;
	r = place_ask2(fs, &m->o->who, &a, m->from_dir, m->from, m->to_dir, m->to, &m->from_at,
		       &m->to_at);
	if (r == 0 && place_apart(&m->from_at, &m->to_at))
		r = -EXDEV;
	if (r == 0)
		r = op_hold(fs, m->from_dir, &m->from_held);
	if (r == 0)
		r = op_hold(fs, m->to_dir, &m->to_held);
	if (r == 0)
		r = subject_of(fs, m->from_dir, m->from_held.fd, m->from, &m->what);
	if (r < 0)
		return r;
	r = subject_of(fs, m->to_dir, m->to_held.fd, m->to, &m->victim);
	return r == 0 || r == -ENOENT ? move_owners(m) : r;
}

static int move_act(struct move *m)
{
	struct fs *fs = m->o->fs;
	int r = cred_as(fs, op_as(fs, &m->o->who, m->from_dir));

	if (r < 0)
		return r;
	if (m->victim.fd >= 0 && !(m->flags & RENAME_EXCHANGE_FLAG) &&
	    m->victim.node != m->what.node)
		name_going(fs, &m->victim);
	if (syscall(SYS_renameat2, m->from_held.fd, m->from, m->to_held.fd, m->to, m->flags) < 0) {
		r = -errno;
		if (m->victim.fd >= 0)
			name_stays(fs, &m->victim);
	}
	return r;
}

/* The tables follow. Two names of one file: the store did nothing. */
static void move_track(struct move *m)
{
	struct track_move t;

	subject_again(m->o->fs, &m->what);
	subject_again(m->o->fs, &m->victim);
	t = (struct track_move){
		.from_dir = m->from_dir,
		.to_dir = m->to_dir,
		.from = m->from,
		.to = m->to,
		.what = m->what.node,
		.victim = m->victim.node,
		.dir = S_ISDIR(m->what.st.st_mode),
		.exchange = (m->flags & RENAME_EXCHANGE_FLAG) != 0,
		.victim_gone = m->victim.last,
	};

	if (m->victim.fd >= 0 && m->victim.st.st_ino == m->what.st.st_ino)
		return;
	track_moved(m->o->fs, &m->o->who, &t);
	if (m->victim.fd >= 0 && !t.exchange)
		name_gone(m->o->fs, &m->victim);
}

void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t newparent,
	       const char *newname, unsigned int flags)
{
	struct op o;
	struct move m = { .o = &o,
			  .from = name,
			  .to = newname,
			  .flags = flags,
			  .from_held.fd = -1,
			  .to_held.fd = -1,
			  .what.fd = -1,
			  .victim.fd = -1 };
	int r;

	if (!op_begin(&o, req, parent))
		return;
	m.from_dir = o.node;
	m.to_dir = nodes_get(o.fs->nodes, newparent);
	r = m.to_dir ? move_prepare(&m) : -ESTALE;
	if (r == 0)
		r = move_act(&m);
	if (r == 0) {
		move_track(&m);
		if (m.what.node && m.from_dir != m.to_dir && !place_open_to_all(o.fs, m.what.node))
			tell_below(o.fs, m.what.node);
	}
	op_let(o.fs, &m.from_held);
	op_let(o.fs, &m.to_held);
	subject_fini(o.fs, &m.what);
	subject_fini(o.fs, &m.victim);
	op_fail(&o, r);
}
