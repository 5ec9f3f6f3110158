/* SPDX-License-Identifier: MIT */
/*
 * fs/desk.c - questions of garth-api that take time, answered on the desk thread: FILE_OPEN, DIR_LIST, OBJECT_OPEN, SNAPSHOT.
 * garth-api opens no path of the workspace: it gets descriptors.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/fd.h"
#include "core/id.h"
#include "core/ids.h"
#include "fs/act.h"
#include "fs/api.h"
#include "fs/cred.h"
#include "fs/cut.h"
#include "fs/place.h"
#include "fs/rec.h"
#include "fs/walk.h"
#include "fs/work.h"

#define LIST_MAX (256u * 1024 * 1024) /* bytes of a listing */
#define NOBODYS UINT32_MAX

/* A request that waits for the desk: a copy of it. */
struct question {
	struct job job;
	struct client *client; /* counted */
	uint16_t type;
	uint64_t id;
	union {
		struct msg_file_open file;
		struct msg_dir_list dir;
	} u;
	size_t path_len;
	char path[];
};

static void post(struct fs *fs, struct client *c, const struct wire_msg *m, uint32_t path_len,
		 size_t body, void (*run)(struct fs *fs, struct job *job))
{
	struct bytes tail = msg_tail(m);
	struct err err = { 0 };
	struct question *q;
	int r = 0;

	if (path_len != tail.len)
		r = err_set(&err, -EINVAL, "the path's length is not what came");
	if (r == 0 && tail.len)
		r = path_check(tail, &err);
	q = r == 0 ? calloc(1, sizeof *q + tail.len + 1) : NULL;
	if (!q) {
		client_status(c, m->head.type, m->head.id, r < 0 ? r : -ENOMEM, &err);
		return;
	}
	q->job.run = run;
	q->client = client_ref(c);
	q->type = m->head.type;
	q->id = m->head.id;
	memcpy(&q->u, msg_body(m), body);
	q->path_len = tail.len;
	if (tail.len)
		memcpy(q->path, tail.p, tail.len);
	work_post(fs->desk, &q->job);
}

static void finish(struct question *q)
{
	client_put(q->client);
	free(q);
}

/* ---- for whom ---- */

static uint32_t asker_uid(const struct fs *fs, uint32_t asker)
{
	if (asker == MSG_ASKER_ALL)
		return WALK_AS_OWNER;
	return ids_agent_uid(fs->uid_base, asker < IDS_AGENTS_MAX ? asker : IDS_AGENTS_MAX,
			     IDS_UID_USER); /* one too high is nobody: -EACCES */
}

/* All files have the workspace's group, and so has every agent. */
static bool mode_lets_read(const struct stat *st, uint32_t uid)
{
	return uid == WALK_AS_OWNER || (st->st_mode & (st->st_uid == uid ? S_IRUSR : S_IRGRP)) != 0;
}

/* By the modes of now: 0, -EACCES, -ENOENT. */
static int may_read_now(struct fs *fs, uint32_t uid, struct bytes path)
{
	autofd fd = -1;
	struct stat st;
	int r = uid == WALK_AS_OWNER ? 0 : walk_open(fs, uid, fs->data_fd, path, &fd, &st);

	if (r < 0 || uid == WALK_AS_OWNER || S_ISDIR(st.st_mode))
		return r;
	return mode_lets_read(&st, uid) ? 0 : -EACCES;
}

/* ---- FILE_OPEN ---- */

/* What the record says of the file now. */
struct known {
	uint64_t version;
	bool held, kept, dirty, has_sha, open;
	struct sha256 sha;
	struct fhandle h;
	uint32_t uid;
};

static bool look_up(struct fs *fs, struct bytes path, struct known *k)
{
	struct rec *c = path.len ? rec_by_path(fs->recs, path) : NULL;
	struct who nobody = { .kind = WHO_NOBODY, .agent = EV_NOBODY };
	struct rname *m;

	memset(k, 0, sizeof *k);
	if (!c)
		return false;
	(void)cut_mend(fs, c, &nobody, false);
	recs_lock(fs->recs);
	m = rname_find(fs->recs, path);
	if (m && m->rec == c) {
		k->version = m->version;
		k->open = m->open_version != 0;
		k->held = c->held;
		k->kept = c->kept;
		k->dirty = c->writers || (c->dirty && rec_has_news(c));
		k->has_sha = c->has_sha;
		k->sha = c->sha;
		k->h = c->h;
		k->uid = c->uid;
	}
	recs_unlock(fs->recs);
	rec_put(fs, c);
	return m != NULL;
}

static int open_live(struct fs *fs, struct bytes path, int *ret_fd)
{
	autofd fd = -1;
	struct stat st;
	int r = walk_open(fs, WALK_AS_OWNER, fs->data_fd, path, &fd, &st);

	if (r < 0)
		return r;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return -ENOENT;
	return act_reopen(fs, st.st_uid, fd, O_RDONLY, ret_fd);
}

/* Recorded: by its handle, since folders above it may be closed even to their owner. */
static int open_now(struct fs *fs, const struct known *k, bool known, struct bytes path,
		    int *ret_fd)
{
	return known ? act_open(fs, k->uid, &k->h, O_RDONLY, ret_fd) : open_live(fs, path, ret_fd);
}

/* A version asked for by its hash: the one of now, or an older one that is kept. */
static int open_by_sha(struct fs *fs, const struct known *k, struct bytes path, const char *hex,
		       int *ret_fd)
{
	struct sha256 sha;
	int r = sha256_parse(hex, &sha);

	if (r < 0)
		return r;
	r = cut_object_open(fs, &sha, ret_fd);
	if (r == -ENOENT && k->has_sha && !k->dirty && memcmp(&sha, &k->sha, sizeof sha) == 0)
		return open_now(fs, k, true, path, ret_fd);
	return r == -ENOENT ? -ESTALE : r;
}

static int open_newest(struct fs *fs, const struct known *k, bool known, struct bytes path,
		       uint64_t version, int *ret_fd)
{
	if (known && version && version != k->version)
		return -ENOENT;
	if (known && k->held)
		return -EAGAIN;
	if (known && k->dirty) /* somebody is writing it: its last version, where there is one */
		return k->kept && k->has_sha && !version ? cut_object_open(fs, &k->sha, ret_fd)
							 : -EBUSY;
	if (known && k->kept && k->has_sha)
		return cut_object_open(fs, &k->sha, ret_fd);
	return open_now(fs, k, known, path, ret_fd);
}

/* The version that was opened, where it is the newest; 0: an older one, or none. */
static void fill_reply(const struct msg_file_open *f, bool known, const struct known *k,
		       const struct stat *st, struct msg_file_open_reply *ret)
{
	char newest[SHA256_HEX_SIZE] = "";

	if (known && k->has_sha)
		sha256_hex(&k->sha, newest);
	ret->size = (uint64_t)st->st_size;
	ret->mtime_ns = st->st_mtim.tv_sec * NS_PER_S + st->st_mtim.tv_nsec;
	memcpy(ret->sha, f->sha[0] ? f->sha : newest, sizeof ret->sha);
	if (known && !k->dirty && strcasecmp(ret->sha, newest) == 0)
		ret->version = k->version;
}

static bool is_newest(bool known, const struct known *k, const char *hex)
{
	struct sha256 sha;

	return known && k->has_sha && sha256_parse(hex, &sha) == 0 &&
	       memcmp(&sha, &k->sha, sizeof sha) == 0;
}

static void file_run(struct fs *fs, struct job *job)
{
	struct question *q = (struct question *)job;
	const struct msg_file_open *f = &q->u.file;
	struct bytes path = bytes_of(q->path, q->path_len);
	uint32_t uid = asker_uid(fs, f->asker);
	struct msg_file_open_reply reply = { 0 };
	autofd fd = -1;
	struct known k;
	struct stat st = { 0 };
	bool known = false;
	int r = may_read_now(fs, uid, path);

	memset(&k, 0, sizeof k);
	if (r == 0 || (r == -ENOENT && f->sha[0])) {
		known = look_up(fs, path, &k);
		r = f->sha[0] ? open_by_sha(fs, &k, path, f->sha, &fd)
			      : open_newest(fs, &k, known, path, f->version, &fd);
	}
	if (r == 0 && fstat(fd, &st) < 0)
		r = -errno;
	if (r == 0 && f->sha[0] && !is_newest(known, &k, f->sha) && !mode_lets_read(&st, uid))
		r = -EACCES; /* an older version has the mode it had */
	if (r != 0) {
		client_status(q->client, q->type, q->id, r, NULL);
	} else {
		fill_reply(f, known, &k, &st, &reply);
		client_reply(q->client, q->type, q->id, bytes_of(&reply, sizeof reply),
			     (struct bytes){ 0 }, &fd, 1);
	}
	finish(q);
}

void api_file_open(struct fs *fs, struct client *c, struct wire_msg *m)
{
	const struct msg_file_open *f = msg_body(m);

	post(fs, c, m, f->path_len, sizeof *f, file_run);
}

/* ---- DIR_LIST ---- */

struct listing {
	struct fs *fs;
	bool root;
	struct buf out;
};

static bool hidden_in_root(struct bytes path)
{
	return path.len >= 7 && memcmp(path.p, ".garth.", 7) == 0;
}

static int list_one(void *ctx, struct bytes path, int fd, const struct stat *st)
{
	struct listing *l = ctx;
	struct msg_dirent e = {
		.size = (uint64_t)st->st_size,
		.mtime_ns = st->st_mtim.tv_sec * NS_PER_S + st->st_mtim.tv_nsec,
		.mode = st->st_mode,
		.uid = st->st_uid,
		.name_len = (uint32_t)path.len,
		.agent_block = NOBODYS,
	};
	static const char pad[8];
	uint32_t block;
	int r;

	(void)fd;
	if (l->root && hidden_in_root(path))
		return 0;
	if (ids_agent_of(l->fs->uid_base, st->st_uid, &block))
		e.agent_block = block;
	r = buf_add(&l->out, &e, sizeof e);
	if (r == 0)
		r = buf_add(&l->out, path.p, path.len);
	if (r == 0 && path.len % 8)
		r = buf_add(&l->out, pad, 8 - path.len % 8);
	return r;
}

static void dir_run(struct fs *fs, struct job *job)
{
	struct question *q = (struct question *)job;
	struct listing l = { .fs = fs, .root = q->path_len == 0 };
	struct msg_status ok = { 0 };
	autofd fd = -1;
	int r;

	buf_init(&l.out, LIST_MAX);
	r = walk_each(fs, asker_uid(fs, q->u.dir.asker), fs->data_fd,
		      bytes_of(q->path, q->path_len), q->u.dir.recursive ? WALK_TREE : WALK_ONE,
		      list_one, &l);
	if (r == 0)
		r = fd_memfd("list", buf_view(&l.out), &fd);
	if (r < 0)
		client_status(q->client, q->type, q->id, r, NULL);
	else
		client_reply(q->client, q->type, q->id, bytes_of(&ok, sizeof ok),
			     (struct bytes){ 0 }, &fd, 1);
	buf_fini(&l.out);
	finish(q);
}

void api_dir_list(struct fs *fs, struct client *c, struct wire_msg *m)
{
	const struct msg_dir_list *d = msg_body(m);

	post(fs, c, m, d->path_len, sizeof *d, dir_run);
}

/* ---- the others ---- */

static void reply_fd(struct client *c, const struct wire_msg *m, int r, int fd,
		     const struct err *err)
{
	struct msg_status ok = { 0 };

	if (r < 0)
		client_status(c, m->head.type, m->head.id, r, err);
	else
		client_reply(c, m->head.type, m->head.id, bytes_of(&ok, sizeof ok),
			     (struct bytes){ 0 }, &fd, 1);
}

void api_object_open(struct fs *fs, struct client *c, struct wire_msg *m)
{
	const struct msg_object_open *q = msg_body(m);
	autofd fd = -1;
	int r = cut_object_open(fs, &q->sha, &fd);

	reply_fd(c, m, r, fd, NULL);
}

void api_snapshot(struct fs *fs, struct client *c, struct wire_msg *m)
{
	char id[ID_TEXT_SIZE], name[40];
	struct err err = { 0 };
	autofd fd = -1;
	int r;

	id_text("", id_make(), id);
	(void)snprintf(name, sizeof name, "snapshot.%s", id);
	cred_own(fs);
	r = idx_writer_snapshot(fs->idx, name, &err);
	if (r == 0) {
		fd = openat(fs->store_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			r = err_sys(&err, "open the copy of the record");
		(void)unlinkat(fs->store_fd, name, 0);
	}
	reply_fd(c, m, r, fd, &err);
}
