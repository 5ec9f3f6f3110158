/* SPDX-License-Identifier: MIT */
/*
 * fs/op_dir.c - listing folders. Offsets are the store's own, stable cookies, so telldir and seekdir work.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/fd.h"
#include "fs/act.h"
#include "fs/agent.h"
#include "fs/op.h"
#include "fs/quota.h"
#include "fs/step.h"
#include "policy/decide.h"

#define DIR_BYTES (32u * 1024)

struct odir {
	int fd;
	uint32_t uid;      /* who opened it */
	struct node *node; /* pinned */
	off_t next;        /* the offset of what stands at `at` */
	size_t at, len;    /* in buf */
	char buf[DIR_BYTES] __attribute__((aligned(8)));
};

static struct odir *dir_of(const struct fuse_file_info *fi)
{
	return (struct odir *)(uintptr_t)fi->fh;
}

void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct ask a = { .op = OP_LIST };
	struct held h = { .fd = -1 };
	struct odir *d = NULL;
	struct op o;
	int r;

	if (!op_begin(&o, req, ino))
		return;
	r = place_ask(o.fs, &o.who, &a, o.node, NULL, NULL);
	if (r == 0)
		r = quota_open(o.fs, o.who.uid);
	if (r < 0) {
		op_fail(&o, r);
		return;
	}
	d = malloc(sizeof *d);
	r = d ? op_hold(o.fs, o.node, &h) : -ENOMEM;
	if (r == 0)
		r = act_reopen(o.fs, op_as(o.fs, &o.who, o.node), h.fd, O_RDONLY | O_DIRECTORY,
			       &d->fd);
	op_let(o.fs, &h);
	if (r < 0) {
		free(d);
		quota_closed(o.fs, o.who.uid);
		op_fail(&o, r);
		return;
	}
	d->uid = o.who.uid;
	node_pin(o.fs->nodes, o.node);
	d->node = o.node;
	d->next = 0;
	d->at = d->len = 0;
	fi->fh = (uint64_t)(uintptr_t)d;
	/* The root and logs/ show different things to different callers. */
	fi->cache_readdir = fi->keep_cache =
		o.node->kind == NODE_PLAIN && o.node != o.fs->logs_node;
	fs_handover(o.fs);
	if (fuse_reply_open(req, fi) < 0) {
		fd_closep(&d->fd);
		node_unpin(o.fs->nodes, d->node);
		quota_closed(o.fs, d->uid);
		free(d);
	}
	op_end(&o);
}

static bool in_root(struct fs *fs, const char *name)
{
	static const char *const always[] = {
		".", "..", "input", "task", "output", "agents", "logs"
	};
	struct policy *p;
	bool shared;

	for (size_t i = 0; i < sizeof always / sizeof always[0]; i++)
		if (strcmp(name, always[i]) == 0)
			return true;
	p = steps_policy(fs->steps);
	shared = p->root_shared && strncmp(name, ".garth.", 7) != 0;
	policy_unref(p);
	return shared;
}

/* Foreign logs are not there: whose they are says the owner of their folder. */
static bool in_logs(struct op *o, const struct odir *d, const char *name)
{
	struct place at;
	struct stat st;
	uint32_t block;
	struct verdict v;
	struct question q = { .op = OP_STAT, .agent = o->who.name };

	if (name[0] == '.' || o->who.kind == WHO_HOST)
		return true;
	if (fstatat(d->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    place_of(o->fs, d->node, name, &at) < 0)
		return false;
	q.path = place_bytes(&at);
	q.log_agent = ids_agent_of(o->fs->uid_base, st.st_uid, &block)
			      ? agent_name(o->fs->agents, block)
			      : NULL;
	policy_decide(o->who.policy, &q, &v);
	return v.err == 0;
}

static bool shows(struct op *o, const struct odir *d, const char *name)
{
	if (d->node->kind == NODE_ROOT)
		return in_root(o->fs, name);
	if (d->node == o->fs->logs_node)
		return in_logs(o, d, name);
	return true;
}

/* Bring the buffer to `off`: 1, 0 the end, errno. */
static int fill(struct odir *d, off_t off)
{
	ssize_t n;

	if (off != d->next) {
		if (lseek(d->fd, off, SEEK_SET) < 0)
			return -errno;
		d->next = off;
		d->at = d->len = 0;
	}
	if (d->at < d->len)
		return 1;
	n = getdents64(d->fd, d->buf, sizeof d->buf);
	if (n <= 0)
		return n < 0 ? -errno : 0;
	d->at = 0;
	d->len = (size_t)n;
	return 1;
}

static int list(struct op *o, struct odir *d, off_t off, char *out, size_t size, size_t *ret_len)
{
	size_t used = 0;
	int r;

	while ((r = fill(d, off)) == 1) {
		const struct dirent64 *e = (const struct dirent64 *)(const void *)(d->buf + d->at);
		struct stat st = { .st_ino = e->d_ino, .st_mode = (mode_t)e->d_type << 12 };
		size_t need;

		if (shows(o, d, e->d_name)) {
			need = fuse_add_direntry(o->req, out + used, size - used, e->d_name, &st,
						 e->d_off);
			if (need > size - used)
				break;
			used += need;
		}
		off = e->d_off;
		d->next = off;
		d->at += e->d_reclen;
	}
	*ret_len = used;
	return r < 0 && used == 0 ? r : 0;
}

void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	struct odir *d = dir_of(fi);
	size_t len = 0;
	char *out;
	struct op o;
	int r;

	if (!op_begin(&o, req, ino))
		return;
	out = malloc(size ? size : 1);
	r = out ? list(&o, d, off, out, size, &len) : -ENOMEM;
	fs_handover(o.fs);
	if (r < 0) {
		op_fail(&o, r);
	} else {
		fuse_reply_buf(req, out, len);
		op_end(&o);
	}
	free(out);
}

void op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fuse_req_userdata(req);
	struct odir *d = dir_of(fi);

	(void)ino;
	fuse_reply_err(req, 0);
	fd_closep(&d->fd);
	node_unpin(fs->nodes, d->node);
	quota_closed(fs, d->uid);
	free(d);
}

void op_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	int r = fsync(dir_of(fi)->fd) < 0 ? errno : 0;

	(void)ino;
	(void)datasync;
	fs_handover(fuse_req_userdata(req));
	fuse_reply_err(req, r);
}
