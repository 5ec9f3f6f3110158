/* SPDX-License-Identifier: MIT */
/*
 * fs/session.c - the FUSE connection and the two threads that serve it.
 */
#include "fs/session.h"

#include <fuse_lowlevel.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "fs/cred.h"
#include "fs/op.h"

#define BACKGROUND_MAX 64

static void init(void *userdata, struct fuse_conn_info *conn)
{
	static const uint64_t on[] = {
		FUSE_CAP_ASYNC_READ,          FUSE_CAP_ATOMIC_O_TRUNC, FUSE_CAP_PARALLEL_DIROPS,
		FUSE_CAP_EXPLICIT_INVAL_DATA, /* the page cache is ours to keep: all writes come through it */
		FUSE_CAP_HANDLE_KILLPRIV_V2, /* the store strips suid as we write without rights; else the kernel asks for
					       * security.capability before each write */
		FUSE_CAP_CACHE_SYMLINKS,
	};
	static const uint64_t off[] = {
		FUSE_CAP_SPLICE_READ,     FUSE_CAP_SPLICE_WRITE,    FUSE_CAP_SPLICE_MOVE,
		FUSE_CAP_AUTO_INVAL_DATA, FUSE_CAP_WRITEBACK_CACHE, FUSE_CAP_POSIX_ACL,
		FUSE_CAP_HANDLE_KILLPRIV, FUSE_CAP_PASSTHROUGH,     FUSE_CAP_POSIX_LOCKS,
		FUSE_CAP_FLOCK_LOCKS, /* one superblock: the kernel's own locks are right */
		FUSE_CAP_IOCTL_DIR,
	};

	(void)userdata;
	for (size_t i = 0; i < sizeof off / sizeof off[0]; i++)
		fuse_unset_feature_flag(conn, off[i]);
	for (size_t i = 0; i < sizeof on / sizeof on[0]; i++)
		(void)fuse_set_feature_flag(conn,
					    on[i]); /* what the kernel has not is done without */
	conn->max_background = BACKGROUND_MAX;
	conn->congestion_threshold = BACKGROUND_MAX * 3 / 4;
	conn->time_gran = 1;
	conn->no_interrupt = 1;
}

static const struct fuse_lowlevel_ops ops = {
	.init = init,
	.lookup = op_lookup,
	.forget = op_forget,
	.forget_multi = op_forget_multi,
	.getattr = op_getattr,
	.setattr = op_setattr,
	.access = op_access,
	.readlink = op_readlink,
	.statfs = op_statfs,
	.open = op_open,
	.create = op_create,
	.tmpfile = op_tmpfile,
	.release = op_release,
	.read = op_read,
	.write = op_write,
	.fsync = op_fsync,
	.fallocate = op_fallocate,
	.lseek = op_lseek,
	.copy_file_range = op_copy_file_range,
	.opendir = op_opendir,
	.readdir = op_readdir,
	.releasedir = op_releasedir,
	.fsyncdir = op_fsyncdir,
	.mknod = op_mknod,
	.mkdir = op_mkdir,
	.symlink = op_symlink,
	.link = op_link,
	.unlink = op_unlink,
	.rmdir = op_rmdir,
	.rename = op_rename,
	.setxattr = op_setxattr,
	.getxattr = op_getxattr,
	.listxattr = op_listxattr,
	.removexattr = op_removexattr,
};

int session_open(struct fs *fs, struct err *err)
{
	char name[] = "garth-fs";
	char *argv[] = { name, NULL };
	struct fuse_args args = { .argc = 1, .argv = argv };
	char where[32];

	fs->se = fuse_session_new(&args, &ops, sizeof ops, fs);
	if (!fs->se)
		return err_set(err, -ENOMEM, "libfuse makes no session");
	(void)snprintf(where, sizeof where, "/dev/fd/%d", FD_FUSE);
	if (fuse_session_mount(fs->se, where) != 0)
		return err_set(err, -EINVAL, "libfuse does not take descriptor %d", FD_FUSE);
	return 0;
}

/* A RELEASE that has come and isn't done is counted: who waits for a last close then waits longer (fs/cut.c). */
static void process(struct fs *fs, struct fuse_buf *buf)
{
	struct fuse_in_header head = { 0 };
	bool release;

	if (buf->size >= sizeof head)
		memcpy(&head, buf->mem, sizeof head);
	release = head.opcode == FUSE_RELEASE;
	if (release)
		(void)atomic_fetch_add(&fs->releasing, 1);
	fuse_session_process_buf(fs->se, buf);
	if (release)
		(void)atomic_fetch_sub(&fs->releasing, 1);
}

static void *serve(void *arg)
{
	struct fs *fs = arg;
	struct fuse_buf buf = { 0 };
	int r;

	(void)prctl(PR_SET_NAME, "fuse", 0L, 0L, 0L); /* pthread_setname_np would need /proc */
	cred_own(fs);
	while (!fuse_session_exited(fs->se)) {
		r = fuse_session_receive_buf(fs->se, &buf);
		if (r == -EINTR)
			continue;
		if (r <= 0)
			break;
		fs_handover(fs);
		process(fs, &buf);
	}
	free(buf.mem);
	return NULL;
}

int session_start(struct fs *fs, struct err *err)
{
	sigset_t all, old;
	pthread_t t;
	int r = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	for (int i = 0; i < SESSION_THREADS && r == 0; i++) {
		r = pthread_create(&t, NULL, serve, fs);
		if (r == 0) {
			(void)pthread_detach(
				t); /* it ends with the process: a stop does not wait for who still uses the mount */
		}
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return r == 0 ? 0 : err_errno(err, -r, "start the FUSE threads");
}
