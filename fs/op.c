/* SPDX-License-Identifier: MIT */
/*
 * fs/op.c - what the families of FUSE operations share.
 */
#include "fs/op.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/fd.h"
#include "fs/cred.h"
#include "fs/cut.h"
#include "fs/quota.h"
#include "fs/rec.h"
#include "fs/work.h"

#define LOOKUP_TRIES 16 /* while somebody renames it again and again */

bool op_begin(struct op *o, fuse_req_t req, fuse_ino_t ino)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	int r;

	o->fs = fuse_req_userdata(req);
	o->req = req;
	r = who_of(o->fs, ctx->uid, ctx->gid, &o->who);
	if (r < 0) {
		fuse_reply_err(req, -r);
		return false;
	}
	o->node = nodes_get(o->fs->nodes, ino);
	if (!o->node) {
		op_fail(o, -ESTALE);
		return false;
	}
	return true;
}

void op_end(struct op *o)
{
	who_put(o->fs, &o->who);
}

void op_fail(struct op *o, int err)
{
	fuse_reply_err(o->req, -err);
	op_end(o);
}

int op_hold(struct fs *fs, const struct node *n, struct held *ret)
{
	struct fhandle h;
	int r;

	ret->e = NULL;
	ret->fd = -1;
	node_handle(fs->nodes, n, &h);
	r = hcache_get(fs->hcache, &h, &ret->e, &ret->fd);
	if (r == -ESTALE) { /* its last name went while this request was on its way */
		ret->fd = node_kept(fs->nodes, n);
		r = ret->fd < 0 ? -ESTALE : 0;
	}
	return r;
}

void op_let(struct fs *fs, struct held *h)
{
	if (h->e)
		hcache_put(fs->hcache, h->e);
	else
		fd_closep(&h->fd);
	h->e = NULL;
	h->fd = -1;
}

uint32_t op_as(struct fs *fs, const struct who *w, const struct node *n)
{
	struct node_look look;

	node_look(fs->nodes, n, &look);
	return who_acts(fs, w, look.uid);
}

bool op_may_execute(const struct node_look *look, uint32_t as)
{
	return (look->mode & (look->uid == as ? S_IXUSR : S_IXGRP)) != 0;
}

static unsigned links_of(struct fs *fs, const struct node *n)
{
	struct rec *c = S_ISREG(n->mode) ? rec_of(fs->recs, &n->h) : NULL;
	unsigned linked = c && rec_is_linked(fs->recs, c);

	rec_put(fs, c);
	return linked;
}

void op_show(struct fs *fs, struct node *n, struct stat *st)
{
	unsigned objects = links_of(fs, n);

	quota_know(fs, n, st);
	if (st->st_nlink >= objects)
		st->st_nlink -= objects;
	if (st->st_nlink == 0 && !n->gone)
		st->st_nlink = 1; /* its object is just being taken apart from it */
	st->st_gid = fs->gid;
}

int op_stat(struct fs *fs, struct node *n, struct stat *ret)
{
	struct held h = { .fd = -1 };
	int r = op_hold(fs, n, &h);

	if (r == 0 && fstat(h.fd, ret) < 0)
		r = -errno;
	op_let(fs, &h);
	if (r == 0)
		op_show(fs, n, ret);
	return r;
}

double op_ttl(struct fs *fs, struct node *n)
{
	return place_open_to_all(fs, n) ? TTL_LONG : 0.0;
}

static double entry_ttl(struct fs *fs, const struct node *parent)
{
	if (parent->kind == NODE_TASK || parent == fs->logs_node || place_in_logs(fs, parent))
		return 0.0;
	return TTL_LONG;
}

int op_peek(struct fs *fs, const struct node *dir, int dir_fd, const char *name, int *ret_fd,
	    struct stat *ret_st)
{
	struct node_look look;
	autofd fd = -1;
	int r;

	node_look(fs->nodes, dir, &look);
	r = cred_as(fs, look.uid);
	if (r < 0)
		return r;
	fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (ret_st && fstat(fd, ret_st) < 0)
		return -errno;
	*ret_fd = fd_steal(&fd);
	return 0;
}

static void fill_entry(struct fs *fs, struct node *parent, struct node *n, struct stat *st,
		       struct fuse_entry_param *ret)
{
	memset(ret, 0, sizeof *ret);
	ret->ino = n->id;
	op_show(fs, n, st);
	ret->attr = *st;
	ret->attr_timeout = op_ttl(fs, n);
	ret->entry_timeout = entry_ttl(fs, parent);
}

static int enter(struct fs *fs, struct node *parent, const char *name, int fd, struct stat *st,
		 struct node **ret, bool *ret_named)
{
	autofd mine = fd;
	struct fhandle h;
	int r;

	if (fstat(fd, st) < 0)
		return -errno;
	r = fhandle_of(fd, &h);
	if (r == 0)
		r = nodes_enter(fs->nodes, parent, name, &h, st, ret, ret_named);
	if (r == 0)
		hcache_offer(fs->hcache, &h, fd_steal(&mine));
	return r;
}

/* Look dir/name up, once. *ret_stale: it was renamed or removed meanwhile, and the table may have been told before us. */
static int look_up(struct fs *fs, struct node *dir, int dir_fd, const char *name, struct stat *st,
		   struct node **ret, bool *ret_stale)
{
	struct stat now;
	bool named = false;
	int fd = -1;
	int r = op_peek(fs, dir, dir_fd, name, &fd, NULL);

	*ret_stale = false;
	if (r == 0)
		r = enter(fs, dir, name, fd, st, ret, &named);
	if (r < 0 || !named)
		return r;
	if (fstatat(dir_fd, name, &now, AT_SYMLINK_NOFOLLOW) == 0 && now.st_ino == st->st_ino)
		return 0;
	node_unlink(fs->nodes, *ret, dir, name, false);
	node_forget(fs->nodes, (*ret)->id, 1);
	*ret_stale = true;
	return 0;
}

int op_enter(struct fs *fs, struct node *dir, const char *name, struct fuse_entry_param *ret,
	     struct node **ret_node)
{
	struct held h = { .fd = -1 };
	struct node *n = NULL;
	struct stat st;
	bool stale = true;
	int r = op_hold(fs, dir, &h);

	for (int i = 0; r == 0 && stale; i++)
		r = i < LOOKUP_TRIES ? look_up(fs, dir, h.fd, name, &st, &n, &stale) : -ENOENT;
	op_let(fs, &h);
	if (r != 0)
		return r;
	invariant(n);
	fill_entry(fs, dir, n, &st, ret);
	if (ret_node)
		*ret_node = n;
	return 0;
}

int op_born(struct fs *fs, struct node *parent, const char *name, int fd,
	    struct fuse_entry_param *ret, struct node **ret_node)
{
	struct node *n = NULL;
	struct stat st;
	bool named;
	int r = enter(fs, parent, name, fd, &st, &n, &named);

	if (r != 0)
		return r;
	invariant(n);
	quota_born(fs, n, &st);
	fill_entry(fs, parent, n, &st, ret);
	*ret_node = n;
	return 0;
}

void op_unenter(struct fs *fs, const struct fuse_entry_param *e)
{
	node_forget(fs->nodes, e->ino, 1);
}

struct punted {
	struct job job;
	struct punt p;
	void (*go)(const struct punt *p);
	char name[];
};

static void run(struct fs *fs, struct job *job)
{
	struct punted *j = (struct punted *)job;

	(void)fs;
	j->go(&j->p);
	free(j);
}

void punt(fuse_req_t req, fuse_ino_t ino, const char *name, const struct fuse_file_info *fi,
	  const struct stat *attr, uint64_t arg, void (*go)(const struct punt *p))
{
	struct fs *fs = fuse_req_userdata(req);
	size_t len = name ? strlen(name) : 0;
	struct punted *j = calloc(1, sizeof *j + len + 1);

	if (!j) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	j->job.run = run;
	j->go = go;
	j->p.req = req;
	j->p.ino = ino;
	if (name)
		memcpy(j->name, name, len);
	j->p.name = name ? j->name : NULL;
	j->p.has_fi = fi != NULL;
	if (fi)
		j->p.fi = *fi;
	if (attr)
		j->p.attr = *attr;
	j->p.arg = arg;
	work_post(fs->mender, &j->job);
}

int op_write_begin(struct fs *fs, struct rec *c, const struct who *w, bool wait)
{
	int r = rec_write_begin(fs, c, w);

	while (r == MUST_WAIT && wait) {
		r = cut_mend(fs, c, w, true);
		if (r == 0)
			r = rec_write_begin(fs, c, w);
	}
	return r;
}

int op_read_begin(struct fs *fs, struct rec *c, const struct who *w, bool wait)
{
	if (wait)
		return cut_mend(fs, c, w, false);
	return rec_read_wants_cut(fs->recs, c, w) || rec_has_other_writer(fs->recs, c, w)
		       ? MUST_WAIT
		       : 0;
}
