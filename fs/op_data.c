/* SPDX-License-Identifier: MIT */
/*
 * fs/op_data.c - the bytes of open files. Policy was asked when they were opened.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/fd.h"
#include "fs/op.h"
#include "fs/quota.h"
#include "fs/rec.h"
#include "fs/task.h"

static struct ofile *file_of(const struct fuse_file_info *fi)
{
	return (struct ofile *)(uintptr_t)fi->fh;
}

void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	struct ofile *f = file_of(fi);
	size_t got = 0;
	int err = 0;
	char *buf = malloc(size ? size : 1);

	(void)ino;
	if (!buf) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	while (got < size) {
		ssize_t n = pread(f->fd, buf + got, size - got, off + (off_t)got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && got == 0)
			err = errno;
		if (n <= 0)
			break;
		got += (size_t)n;
	}
	fs_handover(fuse_req_userdata(req));
	if (err)
		fuse_reply_err(req, err);
	else
		fuse_reply_buf(req, buf, got);
	free(buf);
}

/* What a wipe has put away changes no more. */
static int check_task(struct fs *fs, const struct ofile *f)
{
	struct task *k = node_task(fs->nodes, f->node);
	int r = k && atomic_load(&k->dead) ? -ESTALE : 0;

	task_unref(k);
	return r;
}

/* Bytes that are on disk already need no room: asked only where the limit is near. */
static int check_room(struct fs *fs, struct ofile *f, uint64_t off, uint64_t len)
{
	struct node_look look;
	struct stat st;
	int r;

	node_look(fs->nodes, f->node, &look);
	r = quota_room_bytes(fs, look.uid, len);
	if (r == 0)
		return 0;
	if (fstat(f->fd, &st) == 0 && off + len <= (uint64_t)st.st_size &&
	    st.st_blocks * 512 >= st.st_size)
		return 0;
	return r;
}

static void changed(struct fs *fs, struct ofile *f, bool mapped)
{
	struct stat st;

	if (f->rec && f->by)
		rec_written(fs, f->rec, f->by, mapped);
	if (fstat(f->fd, &st) == 0)
		quota_settle(fs, f->node, &st);
}

void op_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size, off_t off,
	      struct fuse_file_info *fi)
{
	struct fs *fs = fuse_req_userdata(req);
	struct ofile *f = file_of(fi);
	size_t done = 0;
	int r = check_task(fs, f);

	(void)ino;
	if (r == 0)
		r = check_room(fs, f, (uint64_t)off, size);
	while (r == 0 && done < size) {
		ssize_t n = pwrite(f->fd, buf + done, size - done, off + (off_t)done);

		if (n < 0 && errno != EINTR)
			r = -errno;
		else if (n >= 0)
			done += (size_t)n;
	}
	if (done > 0)
		changed(fs, f, fi->writepage);
	fs_handover(fs);
	if (done > 0 || r == 0)
		fuse_reply_write(req, done);
	else
		fuse_reply_err(req, -r);
}

void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	struct ofile *f = file_of(fi);
	int r = (datasync ? fdatasync(f->fd) : fsync(f->fd)) < 0 ? errno : 0;

	(void)ino;
	fs_handover(fuse_req_userdata(req));
	fuse_reply_err(req, r);
}

void op_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t off, off_t len,
		  struct fuse_file_info *fi)
{
	struct fs *fs = fuse_req_userdata(req);
	struct ofile *f = file_of(fi);
	int r = check_task(fs, f);

	(void)ino;
	if (r == 0 && !(mode & FALLOC_FL_PUNCH_HOLE))
		r = check_room(fs, f, (uint64_t)off, (uint64_t)len);
	if (r == 0 && fallocate(f->fd, mode, off, len) < 0)
		r = -errno;
	if (r == 0)
		changed(fs, f, false);
	fs_handover(fs);
	fuse_reply_err(req, -r);
}

void op_lseek(fuse_req_t req, fuse_ino_t ino, off_t off, int whence, struct fuse_file_info *fi)
{
	off_t at = lseek(file_of(fi)->fd, off, whence);
	int err = errno;

	(void)ino;
	fs_handover(fuse_req_userdata(req));
	if (at < 0)
		fuse_reply_err(req, err);
	else
		fuse_reply_lseek(req, at);
}

void op_copy_file_range(fuse_req_t req, fuse_ino_t ino_in, off_t off_in,
			struct fuse_file_info *fi_in, fuse_ino_t ino_out, off_t off_out,
			struct fuse_file_info *fi_out, size_t len, int flags)
{
	struct fs *fs = fuse_req_userdata(req);
	struct ofile *from = file_of(fi_in), *to = file_of(fi_out);
	ssize_t n = -1;
	int r = check_task(fs, to);

	(void)ino_in;
	(void)ino_out;
	if (r == 0)
		r = check_room(fs, to, (uint64_t)off_out, len);
	if (r == 0) {
		n = copy_file_range(from->fd, &off_in, to->fd, &off_out, len, (unsigned)flags);
		r = n < 0 ? -errno : 0;
	}
	if (r == 0)
		changed(fs, to, false);
	fs_handover(fs);
	if (r < 0)
		fuse_reply_err(req, -r);
	else
		fuse_reply_write(req, (size_t)n);
}
