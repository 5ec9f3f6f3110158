/* SPDX-License-Identifier: MIT */
/*
 * fs/op.h - what the families of FUSE operations (fs/op_*.c) share.
 * The way of a request: session -> who asks -> the policy and the search bits (fs/place.h) -> the store, as the caller (fs/cred.h) ->
 * events -> the answer.
 * An operation that has to wait for a file to be cut or copied is handed to the mender thread with punt().
 */
#ifndef GARTH_FS_OP_H
#define GARTH_FS_OP_H

#include <fuse_lowlevel.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "core/err.h"
#include "fs/fs.h"
#include "fs/handle.h"
#include "fs/node.h"
#include "fs/place.h"
#include "fs/who.h"

struct rec;

/* An open file. */
struct ofile {
	int fd;
	uint32_t uid; /* who opened it */
	bool writer;
	bool logs;         /* written behind the kernel's back */
	struct node *node; /* pinned */
	struct rec *rec;   /* counted; NULL where no versions are kept */
	struct step *step; /* counted; NULL: none, or several */
	struct who *by;    /* of a recorded file that may be written: who opened it, with counts */
};

/* One request. op_begin answers it itself where it fails. */
struct op {
	struct fs *fs;
	fuse_req_t req;
	struct node *node; /* of the request's first node id */
	struct who who;
};

must_check bool op_begin(struct op *o, fuse_req_t req, fuse_ino_t ino);
void op_end(struct op *o);
void op_fail(struct op *o, int err); /* answers with a negative errno (0: done), and ends */

/* A node's O_PATH descriptor, lent. */
struct held {
	struct hentry *e; /* NULL: fd is ours */
	int fd;
};
must_check int op_hold(struct fs *fs, const struct node *n, struct held *ret);
void op_let(struct fs *fs, struct held *h);

/* Its attributes as the mount shows them, and what the table and the quota then know. */
must_check int op_stat(struct fs *fs, struct node *n, struct stat *ret);
void op_show(struct fs *fs, struct node *n, struct stat *st);
double op_ttl(struct fs *fs, struct node *n);

/* Look dir/name up in the store, as the folder's owner: its node, with one more look-up, and the kernel's entry. */
must_check int op_enter(struct fs *fs, struct node *dir, const char *name,
			struct fuse_entry_param *ret, struct node **ret_node);
/* This request made parent/name, and fd (taken) is an O_PATH descriptor of it: it counts in the quota from now on. */
must_check int op_born(struct fs *fs, struct node *parent, const char *name, int fd,
		       struct fuse_entry_param *ret, struct node **ret_node);
/* The kernel never got that entry. */
void op_unenter(struct fs *fs, const struct fuse_entry_param *e);

/* For nodes_at_end. */
void op_ended(void *ctx, struct node *n);

/* An O_PATH descriptor of dir/name, as the folder's owner. */
must_check int op_peek(struct fs *fs, const struct node *dir, int dir_fd, const char *name,
		       int *ret_fd, struct stat *ret_st);

/* As whom the caller acts on what n is. */
uint32_t op_as(struct fs *fs, const struct who *w, const struct node *n);

/*
 * May one who acts as `as` execute it, by its mode? The store itself cannot be asked: it is mounted noexec. All agents are in the
 * file's group.
 */
bool op_may_execute(const struct node_look *look, uint32_t as);

/* A request that goes on, on a thread that may wait. */
struct punt;
void punt(fuse_req_t req, fuse_ino_t ino, const char *name, const struct fuse_file_info *fi,
	  const struct stat *attr, uint64_t arg, void (*go)(const struct punt *p));
struct punt {
	fuse_req_t req;
	fuse_ino_t ino;
	const char *name;
	struct fuse_file_info fi;
	bool has_fi;
	struct stat attr;
	uint64_t arg;
};

/* rec_write_begin, waiting where `wait`: MUST_WAIT is only given back where not. */
must_check int op_write_begin(struct fs *fs, struct rec *c, const struct who *w, bool wait);
must_check int op_read_begin(struct fs *fs, struct rec *c, const struct who *w, bool wait);

/* ---- the operations, by family ---- */
void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name);
void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t n);
void op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets);

void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
		struct fuse_file_info *fi);
void op_access(fuse_req_t req, fuse_ino_t ino, int mask);
void op_readlink(fuse_req_t req, fuse_ino_t ino);
void op_statfs(fuse_req_t req, fuse_ino_t ino);

void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	       struct fuse_file_info *fi);
void op_tmpfile(fuse_req_t req, fuse_ino_t parent, mode_t mode, struct fuse_file_info *fi);
void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);

void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi);
void op_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size, off_t off,
	      struct fuse_file_info *fi);
void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi);
void op_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t off, off_t len,
		  struct fuse_file_info *fi);
void op_lseek(fuse_req_t req, fuse_ino_t ino, off_t off, int whence, struct fuse_file_info *fi);
void op_copy_file_range(fuse_req_t req, fuse_ino_t ino_in, off_t off_in,
			struct fuse_file_info *fi_in, fuse_ino_t ino_out, off_t off_out,
			struct fuse_file_info *fi_out, size_t len, int flags);

void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi);
void op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi);

void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev);
void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode);
void op_symlink(fuse_req_t req, const char *text, fuse_ino_t parent, const char *name);
void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t newparent, const char *newname);
void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name);
void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name);
void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t newparent,
	       const char *newname, unsigned int flags);

void op_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t size,
		 int flags);
void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size);
void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size);
void op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name);

#endif
