/* SPDX-License-Identifier: MIT */
/*
 * fs/op_xattr.c - extended attributes: user.garth.* are the record's, other user.* are the agents' and lie in the store.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "core/id.h"
#include "fs/act.h"
#include "fs/agent.h"
#include "fs/cred.h"
#include "fs/op.h"
#include "fs/quota.h"
#include "fs/rec.h"

#define OURS "user.garth."
#define VALUE_SIZE 80
#define LIST_MAX 65536

enum ours { OURS_AGENT = 0, OURS_STEP, OURS_SHA256, OURS_COUNT };
static const char *const ours[OURS_COUNT] = { "user.garth.agent", "user.garth.step",
					      "user.garth.sha256" };

static bool is_ours(const char *name)
{
	return strncmp(name, OURS, strlen(OURS)) == 0;
}

static bool is_user(const char *name)
{
	return strncmp(name, "user.", 5) == 0;
}

/* The value; -ENODATA. Under the record's lock. */
static int value_of(struct fs *fs, const struct rec *c, enum ours which, char out[VALUE_SIZE])
{
	bool last = c->dirty && c->last;
	uint32_t agent = last ? c->last->agent : c->agent;
	uint64_t step = last ? who_step_id(c->last) : c->step;
	const char *name;

	switch (which) {
	case OURS_AGENT:
		name = agent_name(fs->agents, agent);
		if (!name)
			return -ENODATA;
		(void)snprintf(out, VALUE_SIZE, "%s", name);
		return 0;
	case OURS_STEP:
		if (!step)
			return -ENODATA;
		id_text(ID_STEP, step, out);
		return 0;
	case OURS_SHA256:
		if (c->writers || (c->dirty && rec_has_news(c)) || !c->has_sha)
			return -ENODATA;
		sha256_hex(&c->sha, out);
		return 0;
	case OURS_COUNT: break;
	}
	return -ENODATA;
}

/* A file's hash is asked for: a version is cut, whoever wrote it last, unless somebody is writing it. */
static int want_hash(struct op *o, struct rec *c, bool wait)
{
	struct who nobody = { .kind = WHO_NOBODY, .agent = EV_NOBODY };

	return op_read_begin(o->fs, c, &nobody, wait);
}

static int ours_get(struct op *o, const char *name, bool wait, char out[VALUE_SIZE])
{
	struct rec *c;
	int r = -ENODATA;

	if (!S_ISREG(o->node->mode))
		return -ENODATA;
	c = rec_of(o->fs->recs, &o->node->h);
	if (!c)
		return -ENODATA;
	for (int i = 0; i < OURS_COUNT; i++) {
		if (strcmp(name, ours[i]) != 0)
			continue;
		r = i == OURS_SHA256 ? want_hash(o, c, wait) : 0;
		if (r < 0)
			break;
		recs_lock(o->fs->recs);
		r = value_of(o->fs, c, (enum ours)i, out);
		recs_unlock(o->fs->recs);
	}
	rec_put(o->fs, c);
	return r;
}

static void reply_value(struct op *o, const char *value, size_t len, size_t size)
{
	if (size == 0)
		fuse_reply_xattr(o->req, len);
	else if (len > size)
		fuse_reply_err(o->req, ERANGE);
	else
		fuse_reply_buf(o->req, value, len);
	op_end(o);
}

static void store_get(struct op *o, const char *name, size_t size)
{
	char fd_name[ACT_NAME_SIZE];
	struct held h = { .fd = -1 };
	char *buf = malloc(size ? size : 1);
	ssize_t n = 0;
	int r = buf ? op_hold(o->fs, o->node, &h) : -ENOMEM;

	if (r == 0)
		r = cred_as(o->fs, op_as(o->fs, &o->who, o->node));
	if (r == 0) {
		n = getxattr(act_name(h.fd, fd_name), name, buf, size);
		r = n < 0 ? -errno : 0;
	}
	op_let(o->fs, &h);
	if (r < 0) {
		op_fail(o, r);
	} else if (size == 0) {
		fuse_reply_xattr(o->req, (size_t)n);
		op_end(o);
	} else {
		fuse_reply_buf(o->req, buf, (size_t)n);
		op_end(o);
	}
	free(buf);
}

static int ask_read(struct op *o)
{
	struct ask a = { .op = OP_STAT };

	return o->who.kind == WHO_AGENT && !place_open_to_all(o->fs, o->node)
		       ? place_ask(o->fs, &o->who, &a, o->node, NULL, NULL)
		       : 0;
}

static void getxattr_again(const struct punt *p);

static void do_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size, bool wait)
{
	char value[VALUE_SIZE];
	struct op o;
	int r;

	if (!is_user(
		    name)) { /* security.capability before each write, ACLs with each ls: there are none */
		fuse_reply_err(req, strncmp(name, "system.", 7) == 0 ? EOPNOTSUPP : ENODATA);
		return;
	}
	if (!op_begin(&o, req, ino))
		return;
	r = ask_read(&o);
	if (r == 0 && !is_ours(name)) {
		store_get(&o, name, size);
		return;
	}
	if (r == 0)
		r = ours_get(&o, name, wait, value);
	if (r == MUST_WAIT) {
		op_end(&o);
		punt(req, ino, name, NULL, NULL, size, getxattr_again);
		return;
	}
	if (r < 0)
		op_fail(&o, r);
	else
		reply_value(&o, value, strlen(value), size);
}

static void getxattr_again(const struct punt *p)
{
	do_getxattr(p->req, p->ino, p->name, (size_t)p->arg, true);
}

void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	do_getxattr(req, ino, name, size, false);
}

/*
 * Those of the store that are the agents'. Ours are read by name and not listed: who copies a file with all its attributes (shutil.copy2,
 * cp -a) would be refused when it sets them.
 */
static ssize_t list_all(struct op *o, int fd, char *out)
{
	char fd_name[ACT_NAME_SIZE];
	size_t used = 0;
	ssize_t n = 0;
	char *all;

	if (S_ISLNK(o->node->mode))
		return 0;
	all = malloc(LIST_MAX);
	if (!all)
		return -ENOMEM;
	n = listxattr(act_name(fd, fd_name), all, LIST_MAX);
	if (n < 0)
		n = -errno;
	for (char *p = all; n > 0 && p < all + n; p += strlen(p) + 1) {
		if (!is_user(p) || is_ours(p))
			continue;
		memcpy(out + used, p, strlen(p) + 1);
		used += strlen(p) + 1;
	}
	free(all);
	return n < 0 ? n : (ssize_t)used;
}

void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	struct held h = { .fd = -1 };
	ssize_t n = 0;
	char *out;
	struct op o;
	int r;

	if (!op_begin(&o, req, ino))
		return;
	out = malloc(LIST_MAX);
	r = out ? ask_read(&o) : -ENOMEM;
	if (r == 0)
		r = op_hold(o.fs, o.node, &h);
	if (r == 0)
		r = cred_as(o.fs, op_as(o.fs, &o.who, o.node));
	if (r == 0) {
		n = list_all(&o, h.fd, out);
		r = n < 0 ? (int)n : 0;
	}
	op_let(o.fs, &h);
	if (r < 0)
		op_fail(&o, r);
	else
		reply_value(&o, out, (size_t)n, size);
	free(out);
}

/* An attribute lies in a block of its own beside the file's. */
static int set_user(struct op *o, int fd, const char *name, const char *value, size_t size,
		    int flags)
{
	char fd_name[ACT_NAME_SIZE];
	struct stat st;
	int r = quota_room_bytes(o->fs, o->who.uid, size);

	if (r == 0)
		r = cred_as(o->fs, op_as(o->fs, &o->who, o->node));
	if (r == 0 && setxattr(act_name(fd, fd_name), name, value, size, flags) < 0)
		r = -errno;
	if (r == 0 && fstat(fd, &st) == 0)
		quota_settle(o->fs, o->node, &st);
	return r;
}

static void change(fuse_req_t req, fuse_ino_t ino, enum ev_op op, const char *name,
		   const char *value, size_t size, int flags)
{
	struct ask a = { .op = op, .xattr = name };
	char fd_name[ACT_NAME_SIZE];
	struct held h = { .fd = -1 };
	struct op o;
	int r;

	if (!op_begin(&o, req, ino))
		return;
	r = place_ask(o.fs, &o.who, &a, o.node, NULL, NULL);
	if (r == 0 && !is_user(name))
		r = -EOPNOTSUPP;
	if (r == 0 && !S_ISREG(o.node->mode) && !S_ISDIR(o.node->mode))
		r = -EPERM;
	if (r == 0)
		r = op_hold(o.fs, o.node, &h);
	if (r == 0 && op == OP_SETXATTR)
		r = set_user(&o, h.fd, name, value, size, flags);
	else if (r == 0)
		r = cred_as(o.fs, op_as(o.fs, &o.who, o.node));
	if (r == 0 && op == OP_REMOVEXATTR)
		r = removexattr(act_name(h.fd, fd_name), name) < 0 ? -errno : 0;
	op_let(o.fs, &h);
	op_fail(&o, r);
}

void op_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t size,
		 int flags)
{
	change(req, ino, OP_SETXATTR, name, value, size, flags);
}

void op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	change(req, ino, OP_REMOVEXATTR, name, NULL, 0, 0);
}
