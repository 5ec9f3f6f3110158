/* SPDX-License-Identifier: MIT */
/*
 * fs/op_attr.c - GETATTR, SETATTR, ACCESS, READLINK, STATFS.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/fd.h"
#include "fs/act.h"
#include "fs/cred.h"
#include "fs/op.h"
#include "fs/quota.h"
#include "fs/rec.h"
#include "fs/step.h"
#include "fs/tell.h"
#include "fs/track.h"

#define MODE_BITS 07777
#define STRIPPED (S_ISUID | S_ISGID)
#define SET_TIMES                                                              \
	(FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_ATIME_NOW | \
	 FUSE_SET_ATTR_MTIME_NOW)

static void reply_attr(struct op *o, struct stat *st)
{
	double ttl = op_ttl(o->fs, o->node);

	fs_handover(o->fs); /* it may have used an open file */
	fuse_reply_attr(o->req, st, ttl);
	op_end(o);
}

void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct ask a = { .op = OP_STAT };
	struct stat st;
	struct op o;
	int r = 0;

	if (!op_begin(&o, req, ino))
		return;
	if (!fi && o.who.kind == WHO_AGENT && !place_open_to_all(o.fs, o.node))
		r = place_ask(o.fs, &o.who, &a, o.node, NULL, NULL);
	if (r == 0 && fi && S_ISREG(o.node->mode)) {
		r = fstat(((struct ofile *)(uintptr_t)fi->fh)->fd, &st) < 0 ? -errno : 0;
		if (r == 0)
			op_show(o.fs, o.node, &st);
	} else if (r == 0) {
		r = op_stat(o.fs, o.node, &st);
	}
	if (r < 0)
		op_fail(&o, r);
	else
		reply_attr(&o, &st);
}

/* ---- SETATTR ---- */

struct change {
	struct op *o;
	const struct stat *attr;
	int to_set;
	struct ofile *f; /* NULL: by path */
	bool wait;
	int fd; /* O_PATH, of the node */
	struct node_look was;
};

static int ask_change(struct change *c)
{
	struct ask a = { .op = OP_CHMOD };
	int r = 0;

	if (c->to_set & FUSE_SET_ATTR_MODE)
		r = place_ask(c->o->fs, &c->o->who, &a, c->o->node, NULL, NULL);
	a.op = OP_CHOWN;
	if (r == 0 && (c->to_set & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)))
		r = place_ask(c->o->fs, &c->o->who, &a, c->o->node, NULL, NULL);
	a.op = OP_TRUNCATE;
	if (r == 0 && (c->to_set & FUSE_SET_ATTR_SIZE) && !c->f)
		r = place_ask(c->o->fs, &c->o->who, &a, c->o->node, NULL, NULL);
	a.op = OP_UTIMES;
	if (r == 0 && (c->to_set & SET_TIMES) && !(c->to_set & FUSE_SET_ATTR_SIZE))
		r = place_ask(c->o->fs, &c->o->who, &a, c->o->node, NULL, NULL);
	return r;
}

/* The kernel strips suid and sgid before a write of somebody who may write: it is done as the owner. */
static bool is_strip(const struct change *c)
{
	mode_t had = c->was.mode & MODE_BITS;

	return c->to_set == FUSE_SET_ATTR_MODE && (had & STRIPPED) &&
	       (c->attr->st_mode & MODE_BITS) == (had & (mode_t)~STRIPPED);
}

/*
 * A mode that hides a file from its owner: what was written and closed is cut while it can be read; and a sealed file's object, which
 * is the same inode, gets a copy.
 */
static int keep_readable(struct change *c, struct rec *rec)
{
	struct fs *fs = c->o->fs;
	struct who nobody = { .kind = WHO_NOBODY, .agent = EV_NOBODY };
	int r = op_read_begin(fs, rec, &nobody, c->wait);

	if (r == 0 && rec_is_linked(fs->recs, rec)) {
		r = op_write_begin(fs, rec, &c->o->who, c->wait);
		if (r == 0)
			rec_write_end(fs, rec, -1);
	}
	return r;
}

static int keep_object(struct change *c)
{
	struct rec *rec;
	int r = 0;

	if ((c->attr->st_mode & S_IRUSR) || !S_ISREG(c->was.mode))
		return 0;
	rec = rec_of(c->o->fs->recs, &c->o->node->h);
	if (rec)
		r = keep_readable(c, rec);
	rec_put(c->o->fs, rec);
	return r;
}

static int set_mode(struct change *c)
{
	struct fs *fs = c->o->fs;
	char name[ACT_NAME_SIZE];
	uint32_t as = is_strip(c) ? c->was.uid : who_acts(fs, &c->o->who, c->was.uid);
	int r = keep_object(c);

	if (r == 0)
		r = cred_as(fs, as);
	if (r == 0 && chmod(act_name(c->fd, name), c->attr->st_mode & MODE_BITS) < 0)
		r = -errno;
	return r;
}

/* The gid never reaches the disk: chgrp within the caller's own block succeeds and changes nothing. */
static int check_gid(const struct change *c)
{
	const struct who *w = &c->o->who;
	uint32_t gid = c->attr->st_gid;

	if (!(c->to_set & FUSE_SET_ATTR_GID) || gid == c->o->fs->gid)
		return 0;
	if (!w->sb || gid - w->sb->gid_base >= IDS_BLOCK)
		return -EPERM;
	return w->uid == c->was.uid || w->inner_root ? 0 : -EPERM;
}

static int set_owner(struct change *c)
{
	struct fs *fs = c->o->fs;
	const struct who *w = &c->o->who;
	uint32_t uid = c->attr->st_uid;
	uint32_t had, want;
	struct rec *rec;
	int r = check_gid(c);

	if (r < 0 || !(c->to_set & FUSE_SET_ATTR_UID))
		return r;
	if (uid == c->was.uid)
		return w->uid == uid || w->inner_root ? 0 : -EPERM;
	if (!w->inner_root || !ids_agent_of(fs->uid_base, c->was.uid, &had) ||
	    !ids_agent_of(fs->uid_base, uid, &want) || had != w->agent || want != w->agent)
		return -EPERM;
	r = cred_chown(fs, c->fd, uid);
	rec = r == 0 ? rec_of(fs->recs, &c->o->node->h) : NULL;
	if (rec)
		atomic_store(&rec->uid, uid);
	rec_put(fs, rec);
	return r;
}

static int truncate_it(struct change *c)
{
	struct fs *fs = c->o->fs;
	char name[ACT_NAME_SIZE];
	int r;

	if (c->f)
		return ftruncate(c->f->fd, c->attr->st_size) < 0 ? -errno : 0;
	r = cred_as(fs, who_acts(fs, &c->o->who, c->was.uid));
	if (r == 0 && truncate(act_name(c->fd, name), c->attr->st_size) < 0)
		r = -errno;
	return r;
}

static int set_size(struct change *c)
{
	struct fs *fs = c->o->fs;
	struct rec *rec = NULL;
	struct stat st;
	int r = track_file(fs, c->o->node, &rec);

	if (r == 0 && rec)
		r = op_write_begin(fs, rec, &c->o->who, c->wait);
	if (r < 0) {
		rec_put(fs, rec);
		return r;
	}
	r = truncate_it(c);
	if (r == 0 && rec)
		rec_written(fs, rec, &c->o->who, false);
	if (rec)
		rec_write_end(fs, rec, -1);
	rec_put(fs, rec);
	if (r == 0 && fstat(c->fd, &st) == 0)
		quota_settle(fs, c->o->node, &st);
	return r;
}

static struct timespec time_of(int to_set, int set, int now, struct timespec at)
{
	if (to_set & now)
		at.tv_nsec = UTIME_NOW;
	else if (!(to_set & set))
		at.tv_nsec = UTIME_OMIT;
	return at;
}

static int set_times(struct change *c)
{
	struct fs *fs = c->o->fs;
	struct timespec t[2] = {
		time_of(c->to_set, FUSE_SET_ATTR_ATIME, FUSE_SET_ATTR_ATIME_NOW, c->attr->st_atim),
		time_of(c->to_set, FUSE_SET_ATTR_MTIME, FUSE_SET_ATTR_MTIME_NOW, c->attr->st_mtim),
	};
	int r = cred_as(fs, who_acts(fs, &c->o->who, c->was.uid));

	if (r == 0 && utimensat(c->fd, "", t, AT_EMPTY_PATH) < 0)
		r = -errno;
	return r;
}

/* Mode first: a chown that follows takes the right to it away. */
static int apply(struct change *c)
{
	int r = 0;

	if (c->to_set & FUSE_SET_ATTR_MODE)
		r = set_mode(c);
	if (r == 0 && (c->to_set & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)))
		r = set_owner(c);
	if (r == 0 && (c->to_set & FUSE_SET_ATTR_SIZE))
		r = set_size(c);
	if (r == 0 && (c->to_set & SET_TIMES) && !(c->to_set & FUSE_SET_ATTR_SIZE))
		r = set_times(c);
	return r;
}

static void setattr_again(const struct punt *p);

static void do_setattr(fuse_req_t req, fuse_ino_t ino, const struct stat *attr, int to_set,
		       const struct fuse_file_info *fi, bool wait)
{
	struct op o;
	struct change c = { .o = &o, .attr = attr, .to_set = to_set, .wait = wait };
	struct held h = { .fd = -1 };
	struct stat st;
	int r;

	if (!op_begin(&o, req, ino))
		return;
	if (fi && S_ISREG(o.node->mode))
		c.f = (struct ofile *)(uintptr_t)fi->fh;
	node_look(o.fs->nodes, o.node, &c.was);
	r = ask_change(&c);
	if (r == 0)
		r = op_hold(o.fs, o.node, &h);
	c.fd = h.fd;
	if (r == 0)
		r = apply(&c);
	op_let(o.fs, &h);
	if (r == MUST_WAIT) {
		op_end(&o);
		punt(req, ino, NULL, fi, attr, (uint64_t)to_set, setattr_again);
		return;
	}
	if (r == 0)
		r = op_stat(o.fs, o.node, &st);
	if (r != 0) {
		op_fail(&o, r);
		return;
	}
	node_set(o.fs->nodes, o.node, &st);
	if (S_ISDIR(st.st_mode) && ((st.st_mode ^ c.was.mode) & (S_IXUSR | S_IXGRP)))
		tell_below(o.fs,
			   o.node); /* what was cached for everybody no longer is, or may be */
	reply_attr(&o, &st);
}

static void setattr_again(const struct punt *p)
{
	do_setattr(p->req, p->ino, &p->attr, (int)p->arg, p->has_fi ? &p->fi : NULL, true);
}

void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
		struct fuse_file_info *fi)
{
	do_setattr(req, ino, attr, to_set, fi, false);
}

/* ---- ACCESS and the rest ---- */

/* access(2) is told the truth and is no violation. */
static int ask_access(struct op *o, int mask)
{
	bool dir = S_ISDIR(o->node->mode);
	struct ask a = { .op = OP_STAT, .quiet = true };
	int r = place_ask(o->fs, &o->who, &a, o->node, NULL, NULL);

	a.op = dir ? OP_LIST : OP_READ;
	if (r == 0 && ((mask & R_OK) || (!dir && (mask & X_OK))))
		r = place_ask(o->fs, &o->who, &a, o->node, NULL, NULL);
	a.op = OP_WRITE;
	if (r == 0 && (mask & W_OK))
		r = place_ask(o->fs, &o->who, &a, o->node, NULL, NULL);
	return r;
}

static int access_mode(struct op *o, int mask)
{
	uint32_t as = op_as(o->fs, &o->who, o->node);
	struct held h = { .fd = -1 };
	struct node_look look;
	int r;

	node_look(o->fs->nodes, o->node, &look);
	if (S_ISREG(look.mode) && (mask & X_OK)) {
		if (!op_may_execute(&look, as))
			return -EACCES;
		mask &= ~X_OK;
	}
	r = op_hold(o->fs, o->node, &h);
	if (r == 0)
		r = cred_as(o->fs, as);
	if (r == 0 && syscall(SYS_faccessat2, h.fd, "", mask & (R_OK | W_OK | X_OK),
			      AT_EMPTY_PATH | AT_EACCESS) < 0)
		r = -errno;
	op_let(o->fs, &h);
	return r;
}

void op_access(fuse_req_t req, fuse_ino_t ino, int mask)
{
	struct op o;
	int r;

	if (!op_begin(&o, req, ino))
		return;
	r = ask_access(&o, mask);
	if (r == 0)
		r = access_mode(&o, mask);
	op_fail(&o, r);
}

void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	struct ask a = { .op = OP_STAT };
	char text[PATH_LEN_MAX + 1];
	struct held h = { .fd = -1 };
	ssize_t n = -1;
	struct op o;
	int r;

	if (!op_begin(&o, req, ino))
		return;
	r = place_ask(o.fs, &o.who, &a, o.node, NULL, NULL);
	if (r == 0)
		r = op_hold(o.fs, o.node, &h);
	if (r == 0) {
		n = readlinkat(h.fd, "", text, sizeof text - 1);
		r = n < 0 ? -errno : 0;
	}
	op_let(o.fs, &h);
	if (r < 0) {
		op_fail(&o, r);
		return;
	}
	text[n] = '\0';
	fuse_reply_readlink(req, text);
	op_end(&o);
}

void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct fs *fs = fuse_req_userdata(req);
	struct quota_now q;
	struct statvfs v;
	uint64_t free_bytes;

	(void)ino;
	if (fstatvfs(fs->store_fd, &v) < 0) {
		fuse_reply_err(req, errno);
		return;
	}
	quota_look(fs, &q);
	free_bytes = (uint64_t)v.f_bavail * v.f_frsize;
	v.f_blocks = q.bytes_max / v.f_frsize;
	if (free_bytes > (q.bytes < q.bytes_max ? q.bytes_max - q.bytes : 0))
		free_bytes = q.bytes < q.bytes_max ? q.bytes_max - q.bytes : 0;
	v.f_bfree = v.f_bavail = free_bytes / v.f_frsize;
	v.f_ffree = v.f_favail = q.files < q.files_max ? q.files_max - q.files : 0;
	v.f_files = q.files_max;
	v.f_namemax = NAME_LEN_MAX;
	fuse_reply_statfs(req, &v);
}
