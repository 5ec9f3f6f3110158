/* SPDX-License-Identifier: MIT */
/*
 * fs/cut.c - cutting a version of a file. Not here: the objects themselves (fs/object.c).
 */
#include "fs/cut.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/fd.h"
#include "fs/act.h"
#include "fs/claim.h"
#include "fs/cred.h"
#include "fs/emit.h"
#include "fs/object.h"
#include "fs/place.h"
#include "fs/rec_own.h"
#include "fs/retain.h"

#define CUT_PAUSE_NS 1000000 /* of a wait for a RELEASE that is on its way */
#define CUT_PAUSES 4
#define CUT_PAUSES_MAX 100 /* where one is known to be on its way */

/* What a cut found out about the file, before it is written down. */
struct found {
	bool has_sha, kept, linked;
	struct sha256 sha;
	uint64_t size, gen;
};

static bool in_output(const struct rec *c)
{
	struct zone_place at;

	for (const struct rname *m = c->names; m; m = m->next) {
		zone_of(bytes_of(m->path, m->len), &at);
		if (at.zone == ZONE_OUTPUT)
			return true;
	}
	return false;
}

static int open_live(struct fs *fs, struct rec *c, int spare_fd, int *ret_fd)
{
	int r = act_open(fs, c->uid, &c->h, O_RDONLY, ret_fd);

	if (r == -EACCES && spare_fd >= 0) {
		*ret_fd = fcntl(spare_fd, F_DUPFD_CLOEXEC, 0);
		r = *ret_fd < 0 ? -errno : 0;
	}
	return r;
}

/* The hash, and the object where the bytes are kept. c is busy, so nobody begins to write. */
static void examine(struct fs *fs, struct rec *c, enum cut_how how, bool keep, int spare_fd,
		    struct found *f)
{
	autofd fd = -1;
	struct stat st;

	if (open_live(fs, c, spare_fd, &fd) < 0) {
		if (act_stat(fs, &c->h, &st) == 0)
			f->size = (uint64_t)st.st_size;
		return;
	}
	if (fstat(fd, &st) < 0)
		return;
	f->size = (uint64_t)st.st_size;
	f->gen = act_birth(fd);
	if (keep && how == CUT_COPY) {
		f->kept = object_copy(fs, c->uid, fd, &f->sha) == 0;
		f->has_sha = f->kept;
	}
	if (!f->has_sha)
		f->has_sha = sha256_fd(fd, &f->sha, &f->size) == 0;
	if (f->has_sha && keep && how == CUT_LINK)
		f->kept = object_link(fs, c->uid, &c->h, fd, (st.st_mode & S_IRUSR) != 0, &f->sha,
				      &f->linked) == 0;
}

static void emit_state(struct fs *fs, const struct rec *c, struct rname *m)
{
	struct event e = { .kind = EV_VERSION_STATE };

	e.u.version_state = (struct ev_version_state){
		.version = m->open_version,
		.state = c->state,
		.has_sha = c->has_sha,
		.sha = c->sha,
		.size = c->size,
		.kept = c->kept,
	};
	m->open_version = 0;
	emit(fs, &e);
	if (c->kept)
		retain_mark(fs);
}

static enum ev_action action_of(const struct rname *m)
{
	return m->version || m->existed ? ACTION_MODIFIED : ACTION_CREATED;
}

static void write_down(struct fs *fs, struct rec *c, const struct found *f)
{
	c->has_sha = f->has_sha;
	c->sha = f->sha;
	c->size = f->size;
	c->gen = f->gen;
	c->kept = f->kept;
	c->linked = f->linked;
	c->held = false;
	c->state = f->has_sha ? STATE_SEALED : STATE_UNHASHED;
	for (struct rname *m = c->names; m; m = m->next) {
		if (m->open_version)
			emit_state(fs, c, m);
		else
			rec_emit_version(fs, c, m, c->last, action_of(m), (enum ev_state)c->state,
					 0);
	}
}

void cut_version(struct fs *fs, struct rec *c, enum cut_how how)
{
	struct recs *r = fs->recs;
	struct found f;
	bool keep, news;
	int spare_fd;

	memset(&f, 0, sizeof f);
	recs_lock(r);
	while (c->busy)
		recs_wait(r);
	if (!c->dirty || c->writers || !c->names) {
		recs_unlock(r);
		return;
	}
	c->busy = true;
	news = rec_has_news(c); /* else it was opened for writing, and is what it was */
	keep = in_output(c);
	spare_fd = c->spare_fd; /* stays: it ends when c is clean, and that is ours to say */
	recs_unlock(r);
	if (news)
		examine(fs, c, how, keep, spare_fd, &f);
	recs_lock(r);
	if (news)
		write_down(fs, c, &f);
	rec_clean(fs, r, c);
	c->busy = false;
	recs_freed(r);
	recs_unlock(r);
	if (f.kept)
		claim_drop(fs->claims, &f.sha);
}

uint64_t cut_open_row(struct fs *fs, struct rec *c, struct rname *m)
{
	if (!m->open_version)
		rec_emit_version(fs, c, m, c->last, action_of(m), STATE_OPEN, 0);
	return m->open_version;
}

void cut_mark_open(struct fs *fs, struct rec *c)
{
	recs_lock(fs->recs);
	for (struct rname *m = c->names; m && c->dirty && c->last; m = m->next)
		(void)cut_open_row(fs, c, m);
	recs_unlock(fs->recs);
}

static int replace(struct fs *fs, uint32_t uid, const struct sha256 *sha)
{
	autofd fd = -1;
	int r = claim_take(fs->claims, sha);

	if (r < 0)
		return r;
	r = object_open(fs, sha, &fd);
	if (r == 0)
		r = object_replace(fs, uid, fd, sha);
	claim_drop(fs->claims, sha);
	return r == -ENOENT ? 0 : r; /* pruned meanwhile: nothing to keep */
}

static int detach(struct fs *fs, struct rec *c)
{
	struct sha256 sha;
	int r;

	recs_lock(fs->recs);
	while (c->busy)
		recs_wait(fs->recs);
	if (!c->linked) {
		recs_unlock(fs->recs);
		return 0;
	}
	c->busy = true;
	sha = c->sha;
	recs_unlock(fs->recs);
	r = replace(fs, c->uid, &sha);
	recs_lock(fs->recs);
	if (r == 0)
		c->linked = false;
	c->busy = false;
	recs_freed(fs->recs);
	recs_unlock(fs->recs);
	return r;
}

/* A close is answered before its RELEASE comes: whoever opens right after it waits a moment. */
static void wait_for_release(struct fs *fs, struct rec *c, const struct who *w)
{
	static const struct timespec pause = { .tv_nsec = CUT_PAUSE_NS };

	for (int i = 0; i < (atomic_load(&fs->releasing) ? CUT_PAUSES_MAX : CUT_PAUSES) &&
			rec_has_other_writer(fs->recs, c, w);
	     i++)
		(void)nanosleep(&pause, NULL);
}

int cut_mend(struct fs *fs, struct rec *c, const struct who *w, bool write)
{
	if (!write)
		wait_for_release(fs, c, w);
	if (rec_read_wants_cut(fs->recs, c, w))
		cut_version(fs, c, CUT_COPY);
	return write ? detach(fs, c) : 0;
}

int cut_store(struct fs *fs, struct bytes data, struct sha256 *ret)
{
	return object_store(fs, data, ret);
}

void cut_stored(struct fs *fs, const struct sha256 *sha)
{
	claim_drop(fs->claims, sha);
}

int cut_object_open(struct fs *fs, const struct sha256 *sha, int *ret_fd)
{
	return object_open(fs, sha, ret_fd);
}
