/* SPDX-License-Identifier: MIT */
/*
 * fs/op_open.c - OPEN, CREATE, TMPFILE, RELEASE: identity is bound to an open file here; RELEASE carries none.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/fd.h"
#include "fs/act.h"
#include "fs/cred.h"
#include "fs/op.h"
#include "fs/quota.h"
#include "fs/read.h"
#include "fs/rec.h"
#include "fs/seal.h"
#include "fs/step.h"
#include "fs/tell.h"
#include "fs/track.h"

#define FMODE_EXEC_FLAG 0x20 /* the kernel's __FMODE_EXEC: it opens to execute */

static bool wants_write(int flags)
{
	return (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC);
}

static bool wants_read(int flags)
{
	return (flags & O_ACCMODE) != O_WRONLY;
}

/* What the store's own open gets. O_APPEND: the kernel gives the offsets. O_DIRECT: our buffers are not aligned. */
static int store_flags(int flags)
{
	return flags & ~(O_APPEND | O_DIRECT | O_NONBLOCK | O_CREAT | O_EXCL | O_NOCTTY |
			 O_NOFOLLOW | FMODE_EXEC_FLAG);
}

static int ofile_new(struct op *o, struct node *n, struct ofile **ret)
{
	int r = quota_open(o->fs, o->who.uid);
	struct ofile *f;

	if (r < 0)
		return r;
	f = calloc(1, sizeof *f);
	if (!f) {
		quota_closed(o->fs, o->who.uid);
		return -ENOMEM;
	}
	f->fd = -1;
	f->uid = o->who.uid;
	node_pin(o->fs->nodes, n);
	f->node = n;
	atomic_fetch_add(&n->opens, 1);
	f->step = step_ref(o->fs->steps, o->who.step);
	if (f->step)
		atomic_fetch_add(&f->step->files, 1);
	*ret = f;
	return 0;
}

static void writer_closed(struct fs *fs, struct ofile *f)
{
	int spare = -1;

	if (f->rec) {
		/* a file that its owner cannot read is hashed through its writer's descriptor */
		if (!(f->node->mode & S_IRUSR) && (fcntl(f->fd, F_GETFL) & O_ACCMODE) == O_RDWR)
			spare = fd_steal(&f->fd);
		rec_write_end(fs, f->rec, spare);
	}
	if (f->step && atomic_fetch_sub(&f->step->writable, 1) == 1 &&
	    step_state(fs->steps, f->step) == STEP_ENDING)
		seal_hint(fs);
}

static void ofile_free(struct fs *fs, struct ofile *f)
{
	if (f->writer)
		writer_closed(fs, f);
	fd_closep(&f->fd);
	if (f->by)
		who_put(fs, f->by);
	free(f->by);
	rec_put(fs, f->rec);
	if (f->step) {
		atomic_fetch_sub(&f->step->files, 1);
		step_file_closed(fs->steps, f->step);
		step_put(fs->steps, f->step);
	}
	atomic_fetch_sub(&f->node->opens, 1);
	node_unpin(fs->nodes, f->node);
	quota_closed(fs, f->uid);
	free(f);
}

/* It will be written: the record and the step know. MUST_WAIT as of rec_write_begin. */
static int become_writer(struct op *o, struct ofile *f, bool wait)
{
	int r = 0;

	if (f->rec && !f->by) {
		f->by = calloc(1, sizeof *f->by);
		if (!f->by)
			return -ENOMEM;
		who_copy(o->fs, &o->who, f->by);
	}
	if (f->rec)
		r = op_write_begin(o->fs, f->rec, &o->who, wait);
	if (r < 0)
		return r;
	f->writer = true;
	if (f->step)
		atomic_fetch_add(&f->step->writable, 1);
	return 0;
}

/* Executable and not readable: the kernel may open it all the same. */
static int open_to_execute(struct op *o, int path_fd, uint32_t as, int *ret_fd)
{
	struct node_look look;

	node_look(o->fs->nodes, o->node, &look);
	if (!op_may_execute(&look, as))
		return -EACCES;
	return act_reopen(o->fs, look.uid, path_fd, O_RDONLY, ret_fd);
}

static int open_store(struct op *o, int flags, int *ret_fd)
{
	uint32_t as = op_as(o->fs, &o->who, o->node);
	int want = store_flags(flags);
	struct held h = { .fd = -1 };
	int r = op_hold(o->fs, o->node, &h);

	if (r < 0)
		return r;
	if (flags & FMODE_EXEC_FLAG) {
		r = open_to_execute(o, h.fd, as, ret_fd);
	} else if ((flags & O_ACCMODE) == O_WRONLY) {
		r = act_reopen(o->fs, as, h.fd, (want & ~O_ACCMODE) | O_RDWR,
			       ret_fd); /* readable, so that it can be hashed */
		if (r == -EACCES)
			r = act_reopen(o->fs, as, h.fd, want, ret_fd);
	} else {
		r = act_reopen(o->fs, as, h.fd, want, ret_fd);
	}
	op_let(o->fs, &h);
	return r;
}

static int ask_open(struct op *o, int flags)
{
	struct ask a = { .op = OP_READ };
	int r = 0;

	if (wants_read(flags) || !wants_write(flags))
		r = place_ask(o->fs, &o->who, &a, o->node, NULL, NULL);
	if (r == 0 && wants_write(flags)) {
		a.op = (flags & O_ACCMODE) == O_RDONLY ? OP_TRUNCATE : OP_WRITE;
		r = place_ask(o->fs, &o->who, &a, o->node, NULL, NULL);
	}
	return r;
}

static void truncated(struct op *o, struct ofile *f)
{
	struct stat st;

	if (f->rec)
		rec_written(o->fs, f->rec, &o->who, false);
	if (fstat(f->fd, &st) == 0)
		quota_settle(o->fs, f->node, &st);
}

/* What has to be true before the store is asked. MUST_WAIT where not `wait`. */
static int open_begin(struct op *o, struct ofile *f, int flags, bool wait)
{
	int r = track_file(o->fs, f->node, &f->rec);

	if (r == 0 && wants_write(flags))
		return become_writer(o, f, wait);
	if (r == 0 && f->rec && wants_read(flags))
		r = op_read_begin(o->fs, f->rec, &o->who, wait);
	return r;
}

static void opened(struct op *o, struct ofile *f, int flags)
{
	if (flags & O_TRUNC)
		truncated(o, f);
	else if (f->rec && wants_read(flags))
		read_note(o->fs, &o->who, f->rec, o->node);
}

/* Open the node: f stands ready. MUST_WAIT where not `wait`. */
static int open_node(struct op *o, int flags, bool wait, struct ofile **ret)
{
	struct ofile *f = NULL;
	int r = ask_open(o, flags);

	if (r == 0)
		r = ofile_new(o, o->node, &f);
	if (r != 0)
		return r;
	f->logs = place_in_logs(o->fs, o->node);
	r = open_begin(o, f, flags, wait);
	if (r == 0)
		r = open_store(o, flags, &f->fd);
	if (r != 0) {
		ofile_free(o->fs, f);
		return r;
	}
	opened(o, f, flags);
	*ret = f;
	return 0;
}

static void fill_fi(const struct ofile *f, struct fuse_file_info *fi)
{
	invariant(f);
	fi->fh = (uint64_t)(uintptr_t)f;
	fi->direct_io = f->logs;
	fi->keep_cache = !f->logs;
}

static void open_again(const struct punt *p);

static void do_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, bool wait)
{
	struct ofile *f = NULL;
	struct op o;
	int r;

	if (!op_begin(&o, req, ino))
		return;
	r = open_node(&o, fi->flags, wait, &f);
	if (r == MUST_WAIT) {
		op_end(&o);
		punt(req, ino, NULL, fi, NULL, 0, open_again);
		return;
	}
	if (r != 0) {
		op_fail(&o, r);
		return;
	}
	fill_fi(f, fi);
	fs_handover(o.fs);
	if (fuse_reply_open(req, fi) < 0)
		ofile_free(o.fs, f);
	op_end(&o);
}

static void open_again(const struct punt *p)
{
	struct fuse_file_info fi = p->fi;

	do_open(p->req, p->ino, &fi, true);
}

void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	do_open(req, ino, fi, false);
}

/* A new file in a folder (name NULL: without a name). */
static int make_file(struct op *o, int dir_fd, const char *name, int flags, mode_t mode,
		     int *ret_fd)
{
	int r = cred_as(o->fs, op_as(o->fs, &o->who, o->node));

	if (r < 0)
		return r;
	flags = (store_flags(flags) & ~(O_ACCMODE | O_TRUNC)) | O_RDWR | O_CLOEXEC;
	*ret_fd = openat(dir_fd, name ? name : ".",
			 flags | (name ? O_CREAT | O_EXCL | O_NOFOLLOW : O_TMPFILE), mode);
	return *ret_fd < 0 ? -errno : 0;
}

/* The file that this request made is open at fd (taken). */
static int made(struct op *o, const char *name, int fd, struct fuse_entry_param *e,
		struct ofile **ret)
{
	autofd mine = fd;
	char pname[ACT_NAME_SIZE];
	int path_fd = open(act_name(fd, pname), O_PATH | O_CLOEXEC);
	struct node *n = NULL;
	struct ofile *f = NULL;
	int r;

	if (path_fd < 0)
		return -errno;
	r = op_born(o->fs, o->node, name, path_fd, e, &n);
	if (r < 0)
		return r;
	r = ofile_new(o, n, &f);
	if (r == 0) {
		f->fd = fd_steal(&mine);
		r = track_file(o->fs, f->node, &f->rec);
	}
	if (r == 0)
		r = become_writer(o, f,
				  true); /* nobody else knows it: there is nothing to wait for */
	if (r < 0) {
		if (f)
			ofile_free(o->fs, f);
		op_unenter(o->fs, e);
		return r;
	}
	*ret = f;
	return 0;
}

static void reply_create(struct op *o, const struct fuse_entry_param *e, struct ofile *f,
			 struct fuse_file_info *fi)
{
	fill_fi(f, fi);
	fs_handover(o->fs);
	if (fuse_reply_create(o->req, e, fi) < 0) {
		ofile_free(o->fs, f);
		op_unenter(o->fs, e);
	}
	op_end(o);
}

static void create_again(const struct punt *p);

/* It exists by now (somebody was faster): then it is an open. */
static void create_existing(struct op *o, const char *name, mode_t mode, struct fuse_file_info *fi,
			    bool wait)
{
	struct fuse_entry_param e;
	struct ofile *f = NULL;
	struct node *dir = o->node, *n = NULL;
	int r = op_enter(o->fs, dir, name, &e, &n);

	if (r < 0) {
		op_fail(o, r);
		return;
	}
	o->node = n;
	r = open_node(o, fi->flags, wait, &f);
	o->node = dir;
	if (r != 0)
		op_unenter(o->fs, &e);
	if (r == MUST_WAIT) {
		fuse_ino_t parent = dir->id;
		fuse_req_t req = o->req;

		op_end(o);
		punt(req, parent, name, fi, NULL, mode, create_again);
		return;
	}
	if (r != 0) {
		op_fail(o, r);
		return;
	}
	reply_create(o, &e, f, fi);
}

static void do_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
		      struct fuse_file_info *fi, bool wait)
{
	struct ask a = { .op = OP_CREATE };
	struct fuse_entry_param e;
	struct ofile *f = NULL;
	struct held h = { .fd = -1 };
	struct op o;
	int fd = -1;
	int r;

	if (!op_begin(&o, req, parent))
		return;
	/* a file without a name is asked for as one in the folder, not as the folder */
	r = place_ask(o.fs, &o.who, &a, o.node, name ? name : NODE_NAMELESS, NULL);
	if (r == 0)
		r = quota_room_file(o.fs, o.who.uid);
	if (r < 0) {
		op_fail(&o, r);
		return;
	}
	r = op_hold(o.fs, o.node, &h);
	if (r == 0)
		r = make_file(&o, h.fd, name, fi->flags, mode, &fd);
	op_let(o.fs, &h);
	if (r == -EEXIST && name && !(fi->flags & O_EXCL)) {
		create_existing(&o, name, mode, fi, wait);
		return;
	}
	if (r == 0)
		r = made(&o, name, fd, &e, &f);
	if (r != 0)
		op_fail(&o, r);
	else
		reply_create(&o, &e, f, fi);
}

static void create_again(const struct punt *p)
{
	struct fuse_file_info fi = p->fi;

	do_create(p->req, p->ino, p->name, (mode_t)p->arg, &fi, true);
}

void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	       struct fuse_file_info *fi)
{
	do_create(req, parent, name, mode, fi, false);
}

void op_tmpfile(fuse_req_t req, fuse_ino_t parent, mode_t mode, struct fuse_file_info *fi)
{
	do_create(req, parent, NULL, mode, fi, false);
}

void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fuse_req_userdata(req);
	struct ofile *f = (struct ofile *)(uintptr_t)fi->fh;

	if (f->writer && (fi->flags & O_ACCMODE) == O_RDWR)
		tell_inode(fs, ino,
			   0); /* what was written through a mapping moved its times unseen */
	fuse_reply_err(req, 0);
	ofile_free(fs, f);
}
