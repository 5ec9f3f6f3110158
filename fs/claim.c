/* SPDX-License-Identifier: MIT */
/*
 * fs/claim.c - objects that somebody is about to write a row about.
 */
#include "fs/claim.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct claim {
	struct sha256 sha;
	bool dropped; /* its row is put, and retention may not have seen it */
	struct claim *next;
};

struct claims {
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t settled;
	struct claim *list;
	bool watched;
	const struct doomed *doomed; /* by sha */
	size_t doomed_n;
};

int claims_new(struct claims **ret)
{
	struct claims *c = calloc(1, sizeof *c);

	if (!c)
		return -ENOMEM;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->settled, NULL);
	*ret = c;
	return 0;
}

static void forget(struct claims *c, bool dropped_only)
{
	struct claim **p = &c->list;

	while (*p) {
		struct claim *m = *p;

		if (dropped_only && !m->dropped) {
			p = &m->next;
			continue;
		}
		*p = m->next;
		free(m);
	}
}

void claims_free(struct claims *c)
{
	if (!c)
		return;
	forget(c, false);
	pthread_cond_destroy(&c->settled);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static int by_sha(const void *a, const void *b)
{
	const struct doomed *x = a, *y = b;

	return memcmp(&x->sha, &y->sha, sizeof x->sha);
}

/* Under the lock. */
static bool is_doomed(const struct claims *c, const struct sha256 *sha)
{
	struct doomed key = { .sha = *sha };

	return c->doomed_n && bsearch(&key, c->doomed, c->doomed_n, sizeof key, by_sha) != NULL;
}

int claim_take(struct claims *c, const struct sha256 *sha)
{
	struct claim *m = calloc(1, sizeof *m);

	if (!m)
		return -ENOMEM;
	m->sha = *sha;
	pthread_mutex_lock(&c->lock);
	while (is_doomed(c, sha))
		pthread_cond_wait(&c->settled, &c->lock);
	m->next = c->list;
	c->list = m;
	pthread_mutex_unlock(&c->lock);
	return 0;
}

void claim_drop(struct claims *c, const struct sha256 *sha)
{
	struct claim **p;
	struct claim *m;

	pthread_mutex_lock(&c->lock);
	for (p = &c->list; (m = *p); p = &m->next)
		if (!m->dropped && memcmp(&m->sha, sha, sizeof m->sha) == 0)
			break;
	if (m && c->watched) {
		m->dropped = true;
	} else if (m) {
		*p = m->next;
		free(m);
	}
	pthread_mutex_unlock(&c->lock);
}

void claims_watch(struct claims *c)
{
	pthread_mutex_lock(&c->lock);
	c->watched = true;
	pthread_mutex_unlock(&c->lock);
}

/* Several versions may have these bytes: all of them are out. */
static void spare(struct doomed *all, size_t n, const struct sha256 *sha)
{
	struct doomed key = { .sha = *sha };
	struct doomed *hit = n ? bsearch(&key, all, n, sizeof key, by_sha) : NULL;

	if (!hit)
		return;
	for (struct doomed *d = hit; d < all + n && by_sha(d, &key) == 0; d++)
		d->version = 0;
	for (struct doomed *d = hit; d-- > all && by_sha(d, &key) == 0;)
		d->version = 0;
}

size_t claims_doom(struct claims *c, struct doomed *all, size_t n)
{
	size_t left = 0;

	if (n)
		qsort(all, n, sizeof *all, by_sha);
	pthread_mutex_lock(&c->lock);
	for (const struct claim *m = c->list; m; m = m->next)
		spare(all, n, &m->sha);
	for (size_t i = 0; i < n; i++)
		if (all[i].version != 0)
			all[left++] = all[i];
	c->doomed = all;
	c->doomed_n = left;
	pthread_mutex_unlock(&c->lock);
	return left;
}

void claims_settle(struct claims *c)
{
	pthread_mutex_lock(&c->lock);
	c->watched = false;
	c->doomed = NULL;
	c->doomed_n = 0;
	forget(c, true);
	pthread_cond_broadcast(&c->settled);
	pthread_mutex_unlock(&c->lock);
}
