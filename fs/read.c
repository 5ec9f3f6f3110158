/* SPDX-License-Identifier: MIT */
/*
 * fs/read.c - what a step has read.
 */
#include "fs/read.h"

#include <stdlib.h>

#include "fs/cut.h"
#include "fs/emit.h"
#include "fs/place.h"
#include "fs/rec.h"
#include "fs/rec_own.h"
#include "fs/step.h"

struct readset {
	uint64_t *key; /* open addressing; 0: free */
	uint32_t cap, used;
};

void readset_free(struct readset *s)
{
	if (!s)
		return;
	free(s->key);
	free(s);
}

static uint32_t place_for(const struct readset *s, uint64_t key)
{
	uint32_t i = (uint32_t)((key * 11400714819323198485u) >> 32) & (s->cap - 1);

	while (s->key[i] && s->key[i] != key)
		i = (i + 1) & (s->cap - 1);
	return i;
}

static bool widen(struct readset *s)
{
	struct readset wide = { .cap = s->cap ? s->cap * 2 : 64, .used = s->used };

	if (wide.cap > READSET_MAX * 2)
		return false;
	wide.key = calloc(wide.cap, sizeof *wide.key);
	if (!wide.key)
		return false;
	for (uint32_t i = 0; i < s->cap; i++)
		if (s->key[i])
			wide.key[place_for(&wide, s->key[i])] = s->key[i];
	free(s->key);
	*s = wide;
	return true;
}

bool readset_add(struct readset **set, uint64_t key)
{
	struct readset *s = *set;
	uint32_t i;

	if (!s)
		s = *set = calloc(1, sizeof *s);
	if (!s || (s->used * 2 >= s->cap && !widen(s)))
		return true;
	i = place_for(s, key);
	if (s->key[i])
		return false;
	s->key[i] = key;
	s->used++;
	return true;
}

/* Which version that is. Under the lock. false: its own, not cut yet, which is no reading of anything. */
static bool version_of(struct fs *fs, const struct who *w, struct rec *c, struct bytes path,
		       uint64_t *ret, bool *ret_open)
{
	struct rname *m = rname_find(fs->recs, path);

	*ret = 0;
	*ret_open = false;
	if (!m || m->rec != c)
		return true;
	*ret = m->version;
	if (!c->dirty || !c->last)
		return true;
	if (c->last->step == w->step && c->last->agent == w->agent)
		return !c->written;
	if (c->writers) {
		*ret = cut_open_row(fs, c, m);
		*ret_open = true;
	}
	return true;
}

/* Not told before in this step? */
static bool is_fresh(const struct who *w, uint64_t version, struct bytes path)
{
	bool fresh;

	if (!w->step)
		return true;
	pthread_mutex_lock(&w->step->lock);
	fresh = readset_add(&w->step->seen,
			    version ? version : (uint64_t)path_hash(path) | 1ull << 63);
	pthread_mutex_unlock(&w->step->lock);
	return fresh;
}

void read_note(struct fs *fs, const struct who *w, struct rec *c, const struct node *n)
{
	struct event e = { .kind = EV_READ };
	struct place at;
	uint64_t version = 0;
	bool open = false;

	if (!c || w->kind != WHO_AGENT || (!w->step && w->nsteps == 0))
		return;
	recs_lock(fs->recs);
	if (place_of(fs, n, NULL, &at) == 0 &&
	    version_of(fs, w, c, place_bytes(&at), &version, &open) &&
	    is_fresh(w, version, place_bytes(&at))) {
		if (w->step)
			atomic_fetch_add(&w->step->reads, 1);
		e.u.read = (struct ev_read){ .who = who_event(w),
					     .version = version,
					     .path = place_bytes(&at),
					     .open = open };
		emit(fs, &e);
	}
	recs_unlock(fs->recs);
}
