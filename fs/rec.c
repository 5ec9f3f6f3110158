/* SPDX-License-Identifier: MIT */
/*
 * fs/rec.c - what the record knows of each live file: the table, and who is writing.
 * Not here: names (fs/recname.c).
 */
#include "fs/rec.h"

#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/fd.h"
#include "fs/cut.h"
#include "fs/rec_own.h"
#include "fs/step.h"
#include "fs/work.h"

int recs_new(struct recs **ret)
{
	struct recs *r = calloc(1, sizeof *r);

	if (!r)
		return -ENOMEM;
	r->handle_buckets = r->path_buckets = REC_BUCKETS;
	r->by_handle = calloc(REC_BUCKETS, sizeof(struct rec *));
	r->by_path = calloc(REC_BUCKETS, sizeof(struct rname *));
	if (!r->by_handle || !r->by_path) {
		free(r->by_handle);
		free(r->by_path);
		free(r);
		return -ENOMEM;
	}
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->freed, NULL);
	r->dirty.dprev = r->dirty.dnext = &r->dirty;
	*ret = r;
	return 0;
}

void recs_lock(struct recs *r)
{
	pthread_mutex_lock(&r->lock);
}

void recs_unlock(struct recs *r)
{
	pthread_mutex_unlock(&r->lock);
}

void recs_wait(struct recs *r)
{
	pthread_cond_wait(&r->freed, &r->lock);
}

void recs_freed(struct recs *r)
{
	pthread_cond_broadcast(&r->freed);
}

static struct rec **find(struct recs *r, const struct fhandle *h)
{
	struct rec **p = &r->by_handle[fhandle_hash(h) & (r->handle_buckets - 1)];

	while (*p && !fhandle_equal(&(*p)->h, h))
		p = &(*p)->chain;
	return p;
}

/* Best effort: without memory the chains only grow longer. */
static void grow(struct recs *r)
{
	struct rec **old = r->by_handle;
	uint32_t had = r->handle_buckets;
	struct rec **wide;

	if (r->handle_count < had)
		return;
	wide = calloc((size_t)had * 4, sizeof *wide);
	if (!wide)
		return;
	r->by_handle = wide;
	r->handle_buckets = had * 4;
	for (uint32_t i = 0; i < had; i++) {
		while (old[i]) {
			struct rec *c = old[i];
			struct rec **p = &wide[fhandle_hash(&c->h) & (had * 4 - 1)];

			old[i] = c->chain;
			c->chain = *p;
			*p = c;
		}
	}
	free(old);
}

/* Off the list of the dirty; who wrote last is given back. */
static void dirty_remove(struct rec *c)
{
	if (!c->dprev)
		return;
	c->dprev->dnext = c->dnext;
	c->dnext->dprev = c->dprev;
	c->dprev = c->dnext = NULL;
}

static void dirty_append(struct recs *r, struct rec *c)
{
	dirty_remove(c);
	c->dprev = r->dirty.dprev;
	c->dnext = &r->dirty;
	c->dprev->dnext = c;
	r->dirty.dprev = c;
}

void rec_clean(struct fs *fs, struct recs *r, struct rec *c)
{
	(void)r;
	dirty_remove(c);
	c->dirty = c->written = false;
	c->handovers = 0;
	fd_closep(&c->spare_fd);
	if (c->last) {
		who_put(fs, c->last);
		free(c->last);
		c->last = NULL;
	}
}

void rec_put_locked(struct fs *fs, struct recs *r, struct rec *c)
{
	struct rec **p;

	if (--c->refs > 0)
		return;
	p = find(r, &c->h);
	if (*p == c) {
		*p = c->chain;
		r->handle_count--;
	}
	rec_clean(fs, r, c);
	free(c);
}

void rec_put(struct fs *fs, struct rec *c)
{
	if (!c)
		return;
	recs_lock(fs->recs);
	rec_put_locked(fs, fs->recs, c);
	recs_unlock(fs->recs);
}

void recs_free(struct fs *fs, struct recs *r)
{
	if (!r)
		return;
	for (uint32_t i = 0; i < r->path_buckets; i++) {
		while (r->by_path[i]) {
			struct rname *m = r->by_path[i];
			struct rec *c = m->rec;

			rname_drop(r, m);
			rec_put_locked(fs, r, c);
		}
	}
	pthread_cond_destroy(&r->freed);
	pthread_mutex_destroy(&r->lock);
	free(r->by_handle);
	free(r->by_path);
	free(r);
}

struct rec *rec_of(struct recs *r, const struct fhandle *h)
{
	struct rec *c;

	recs_lock(r);
	c = *find(r, h);
	if (c)
		c->refs++;
	recs_unlock(r);
	return c;
}

struct rec *rec_by_path(struct recs *r, struct bytes path)
{
	struct rname *m;
	struct rec *c = NULL;

	recs_lock(r);
	m = rname_find(r, path);
	if (m) {
		c = m->rec;
		c->refs++;
	}
	recs_unlock(r);
	return c;
}

/* Under the lock; counted. */
static int enter(struct recs *r, const struct fhandle *h, uint64_t ino, uint32_t uid,
		 struct rec **ret)
{
	struct rec *c = *find(r, h);
	struct rec **p;

	if (!c) {
		c = calloc(1, sizeof *c);
		if (!c)
			return -ENOMEM;
		c->h = *h;
		c->ino = ino;
		c->spare_fd = -1;
		c->agent = EV_NOBODY;
		grow(r);
		p = find(r, h);
		c->chain = *p;
		*p = c;
		r->handle_count++;
	}
	c->uid = uid;
	c->refs++;
	*ret = c;
	return 0;
}

int rec_enter_locked(struct fs *fs, const struct fhandle *h, uint64_t ino, uint32_t uid,
		     struct bytes path, struct rec **ret)
{
	struct recs *r = fs->recs;
	struct rec *c = NULL;
	struct rname *m;
	int e = enter(r, h, ino, uid, &c);

	m = path.len ? rname_find(r, path) : NULL;
	if (e == 0 && path.len && !(m && m->rec == c))
		e = rname_add(fs, c, path, &m);
	if (e == 0)
		*ret = c;
	else if (c)
		rec_put_locked(fs, r, c);
	return e;
}

int rec_load(struct fs *fs, const struct fhandle *h, uint32_t uid, const struct idx_load_file *f,
	     bool linked, struct rec **ret)
{
	struct recs *r = fs->recs;
	struct rec *c = NULL;
	struct rname *m;
	int e;

	recs_lock(r);
	e = enter(r, h, f->ino, uid, &c);
	if (e == 0)
		e = rname_add(fs, c, f->path, &m);
	if (e == 0) {
		m->version = f->version;
		c->state = f->state == STATE_HELD ? STATE_SEALED : f->state;
		c->held = f->state == STATE_HELD;
		c->kept = f->kept;
		c->has_sha = f->has_sha;
		c->sha = f->sha;
		c->size = f->size;
		c->gen = f->gen;
		c->agent = f->agent;
		c->step = f->step;
		c->linked = linked;
		*ret = c;
	}
	recs_unlock(r);
	return e;
}

/* The same step; or, where there is none, the same agent in the same sandbox. */
static bool same_author(const struct who *a, const struct who *b)
{
	if (a->kind != b->kind)
		return false;
	return who_step_id(a) == who_step_id(b) && a->agent == b->agent && a->sb == b->sb;
}

bool rec_has_news(const struct rec *c)
{
	if (c->written)
		return true;
	for (const struct rname *m = c->names; m; m = m->next)
		if (m->version == 0 || m->open_version)
			return true;
	return false;
}

static bool wants_cut(const struct rec *c, const struct who *w)
{
	return c->dirty && c->writers == 0 && c->names && c->last && !same_author(c->last, w) &&
	       rec_has_news(c);
}

static int set_last(struct fs *fs, struct rec *c, const struct who *w)
{
	if (c->last && same_author(c->last, w) && c->last->late == w->late)
		return 0;
	if (!c->last)
		c->last = calloc(1, sizeof *c->last);
	else
		who_put(fs, c->last);
	if (!c->last)
		return -ENOMEM;
	who_copy(fs, w, c->last);
	return 0;
}

int rec_touch(struct fs *fs, struct rec *c, const struct who *w)
{
	int r = set_last(fs, c, w);

	if (r < 0)
		return r;
	c->dirty = c->written = true;
	c->quiet_ns = c->writers ? 0 : clock_mono_ns() + REC_QUIET_NS;
	dirty_append(fs->recs, c);
	return 0;
}

int rec_write_begin(struct fs *fs, struct rec *c, const struct who *w)
{
	int r = 0;

	recs_lock(fs->recs);
	if (c->busy || c->linked || wants_cut(c, w))
		r = MUST_WAIT;
	if (r == 0 && !c->written) /* to open makes nobody the author of what another one wrote */
		r = set_last(fs, c, w);
	if (r == 0) {
		c->dirty = true;
		c->writers++;
		c->quiet_ns = 0;
		dirty_append(fs->recs, c);
	}
	recs_unlock(fs->recs);
	return r;
}

void rec_write_end(struct fs *fs, struct rec *c, int spare_fd)
{
	recs_lock(fs->recs);
	if (spare_fd >= 0) {
		fd_closep(&c->spare_fd);
		c->spare_fd = spare_fd;
	}
	if (--c->writers == 0 && c->dirty) {
		c->quiet_ns = clock_mono_ns() + REC_QUIET_NS;
		dirty_append(fs->recs, c);
	}
	recs_unlock(fs->recs);
}

/* Another author goes on with what c->last wrote. */
static void hand_over(struct fs *fs, struct rec *c)
{
	for (struct rname *m = c->names; m; m = m->next) {
		if (c->handovers < REC_HANDOVERS_MAX)
			(void)cut_open_row(fs, c, m);
		m->open_version = 0;
	}
	c->handovers++;
}

void rec_written(struct fs *fs, struct rec *c, struct who *w, bool mapped)
{
	recs_lock(fs->recs);
	w->late = w->step && step_state(fs->steps, w->step) == STEP_ENDED;
	if (!mapped || c->writers <= 1) {
		if (c->written && c->last && !same_author(c->last, w))
			hand_over(fs, c);
		(void)set_last(fs, c, w); /* without memory it is the former author's */
	}
	c->written = true;
	recs_unlock(fs->recs);
}

bool rec_has_other_writer(struct recs *r, struct rec *c, const struct who *w)
{
	bool other;

	recs_lock(r);
	other = c->dirty && c->writers > 0 && c->last && !same_author(c->last, w);
	recs_unlock(r);
	return other;
}

bool rec_read_wants_cut(struct recs *r, struct rec *c, const struct who *w)
{
	bool wants;

	recs_lock(r);
	wants = wants_cut(c, w);
	recs_unlock(r);
	return wants;
}

bool rec_is_linked(struct recs *r, struct rec *c)
{
	bool linked;

	recs_lock(r);
	linked = c->linked;
	recs_unlock(r);
	return linked;
}

bool rec_is_only_name(struct recs *r, struct rec *c)
{
	bool only;

	recs_lock(r);
	only = !c->names || !c->names->next;
	recs_unlock(r);
	return only;
}

int recs_dirty(struct recs *r, uint64_t step, bool writers, struct rec ***ret, size_t *ret_n)
{
	struct rec **all = NULL;
	size_t n = 0, cap = 0;
	int e = 0;

	recs_lock(r);
	for (struct rec *c = r->dirty.dnext; c != &r->dirty && e == 0; c = c->dnext) {
		if ((step && (!c->last || who_step_id(c->last) != step)) ||
		    (!writers && c->writers))
			continue;
		if (n == cap) {
			struct rec **more = realloc(all, sizeof(*all) * (cap ? cap * 2 : 64));

			if (!more) {
				e = -ENOMEM;
				break;
			}
			all = more;
			cap = cap ? cap * 2 : 64;
		}
		c->refs++;
		all[n++] = c;
	}
	recs_unlock(r);
	*ret = all;
	*ret_n = n;
	return e;
}

struct rec *recs_quiet(struct recs *r, int64_t now_ns, int64_t *ret_next_ns)
{
	struct rec *found = NULL;

	*ret_next_ns = WORK_NEVER;
	recs_lock(r);
	for (struct rec *c = r->dirty.dnext; c != &r->dirty; c = c->dnext) {
		if (c->writers || c->busy || c->quiet_ns == 0)
			continue;
		if (c->quiet_ns <= now_ns) {
			c->quiet_ns = 0; /* asked once; whoever closes it next sets it again */
			c->refs++;
			found = c;
		} else {
			*ret_next_ns = c->quiet_ns;
		}
		break; /* in the order of their closing */
	}
	recs_unlock(r);
	return found;
}
