/* SPDX-License-Identifier: MIT */
/*
 * fs/step.c - the sandboxes that live, the steps that are open in them, and the policy they run under.
 */
#include "fs/step.h"

#include <stdlib.h>

#include "fs/read.h"

#define BATCH 64u

struct steps {
	pthread_mutex_t lock;
	struct sandbox *sandboxes; /* few: 16 by default */
	struct step *open;         /* and those that are ending */
	struct policy *policy;
};

int steps_new(struct policy *policy, struct steps **ret)
{
	struct steps *s = calloc(1, sizeof *s);

	if (!s)
		return -ENOMEM;
	pthread_mutex_init(&s->lock, NULL);
	s->policy = policy;
	*ret = s;
	return 0;
}

void steps_free(struct steps *s)
{
	if (!s)
		return;
	while (s->sandboxes) {
		struct sandbox *sb = s->sandboxes;

		sandbox_end(s, sb);
	}
	policy_unref(s->policy);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

struct policy *steps_policy(struct steps *s)
{
	struct policy *p;

	pthread_mutex_lock(&s->lock);
	p = policy_ref(s->policy);
	pthread_mutex_unlock(&s->lock);
	return p;
}

void steps_set_policy(struct steps *s, struct policy *policy)
{
	struct policy *old;

	pthread_mutex_lock(&s->lock);
	old = s->policy;
	s->policy = policy;
	pthread_mutex_unlock(&s->lock);
	policy_unref(old);
}

static bool gids_overlap(uint32_t a, uint32_t b)
{
	return a - b < IDS_BLOCK || b - a < IDS_BLOCK;
}

int sandbox_add(struct steps *s, uint64_t id, uint32_t gid_base, uint32_t agent, bool live,
		struct sandbox **ret)
{
	struct sandbox *sb = calloc(1, sizeof *sb);
	bool taken = false;

	if (!sb)
		return -ENOMEM;
	sb->id = id;
	sb->gid_base = gid_base;
	sb->agent = agent;
	sb->live = live;
	sb->refs = 2;
	pthread_mutex_lock(&s->lock);
	for (struct sandbox *o = s->sandboxes; o; o = o->next)
		taken = taken || o->id == id || gids_overlap(o->gid_base, gid_base);
	if (!taken) {
		sb->next = s->sandboxes;
		s->sandboxes = sb;
	}
	pthread_mutex_unlock(&s->lock);
	if (taken) {
		free(sb);
		return -EEXIST;
	}
	*ret = sb;
	return 0;
}

struct sandbox *sandbox_by_id(struct steps *s, uint64_t id)
{
	struct sandbox *sb;

	pthread_mutex_lock(&s->lock);
	for (sb = s->sandboxes; sb && sb->id != id; sb = sb->next)
		;
	if (sb)
		sb->refs++;
	pthread_mutex_unlock(&s->lock);
	return sb;
}

struct sandbox *sandbox_by_gid(struct steps *s, uint32_t gid)
{
	struct sandbox *sb;

	pthread_mutex_lock(&s->lock);
	for (sb = s->sandboxes; sb && gid - sb->gid_base >= IDS_BLOCK; sb = sb->next)
		;
	if (sb)
		sb->refs++;
	pthread_mutex_unlock(&s->lock);
	return sb;
}

struct sandbox *sandbox_ref(struct steps *s, struct sandbox *sb)
{
	if (!sb)
		return NULL;
	pthread_mutex_lock(&s->lock);
	sb->refs++;
	pthread_mutex_unlock(&s->lock);
	return sb;
}

void sandbox_put(struct steps *s, struct sandbox *sb)
{
	bool last;

	if (!sb)
		return;
	pthread_mutex_lock(&s->lock);
	last = --sb->refs == 0;
	pthread_mutex_unlock(&s->lock);
	if (last)
		free(sb);
}

void sandbox_end(struct steps *s, struct sandbox *sb)
{
	struct step *free_them[IDS_STEPS_MAX];
	struct sandbox **p;

	pthread_mutex_lock(&s->lock);
	for (p = &s->sandboxes; *p && *p != sb; p = &(*p)->next)
		;
	if (*p)
		*p = sb->next;
	sb->ended = true;
	for (unsigned i = 0; i < IDS_STEPS_MAX; i++) {
		free_them[i] = sb->slot[i];
		sb->slot[i] = NULL;
	}
	pthread_mutex_unlock(&s->lock);
	for (unsigned i = 0; i < IDS_STEPS_MAX; i++)
		step_put(s, free_them[i]);
	sandbox_put(s, sb);
}

int step_add(struct steps *s, struct sandbox *sb, uint64_t id, struct client *client,
	     struct step **ret)
{
	struct step *st = calloc(1, sizeof *st);
	unsigned k = 0;

	if (!st)
		return -ENOMEM;
	st->id = id;
	st->agent = sb->agent;
	st->client = client;
	st->refs = 3; /* the caller, the slot, the list */
	st->sb = sb;
	pthread_mutex_init(&st->lock, NULL);
	pthread_mutex_lock(&s->lock);
	while (k < IDS_STEPS_MAX && sb->slot[k])
		k++;
	if (k < IDS_STEPS_MAX && !sb->ended) {
		st->slot = k;
		st->policy = policy_ref(s->policy);
		sb->refs++;
		sb->slot[k] = st;
		st->next = s->open;
		s->open = st;
	} else {
		k = IDS_STEPS_MAX;
	}
	pthread_mutex_unlock(&s->lock);
	if (k == IDS_STEPS_MAX) {
		pthread_mutex_destroy(&st->lock);
		free(st);
		return -EAGAIN;
	}
	*ret = st;
	return 0;
}

struct step *step_by_id(struct steps *s, uint64_t id)
{
	struct step *st;

	pthread_mutex_lock(&s->lock);
	for (st = s->open; st && st->id != id; st = st->next)
		;
	if (st)
		st->refs++;
	pthread_mutex_unlock(&s->lock);
	return st;
}

struct step *step_ref(struct steps *s, struct step *st)
{
	if (!st)
		return NULL;
	pthread_mutex_lock(&s->lock);
	st->refs++;
	pthread_mutex_unlock(&s->lock);
	return st;
}

/* Give back count references. */
static void put(struct steps *s, struct step *st, unsigned count)
{
	bool last;

	if (!st || count == 0)
		return;
	pthread_mutex_lock(&s->lock);
	st->refs -= count;
	last = st->refs == 0;
	pthread_mutex_unlock(&s->lock);
	if (!last)
		return;
	sandbox_put(s, st->sb);
	policy_unref(st->policy);
	readset_free(st->seen);
	pthread_mutex_destroy(&st->lock);
	free(st);
}

void step_put(struct steps *s, struct step *st)
{
	put(s, st, 1);
}

bool step_set_ending(struct steps *s, struct step *st)
{
	bool mine;

	pthread_mutex_lock(&s->lock);
	mine = st->state == STEP_OPEN;
	if (mine)
		st->state = STEP_ENDING;
	pthread_mutex_unlock(&s->lock);
	return mine;
}

/* Free the slot of a step that is over: how many references (0 or 1) it held. Called without the lock. */
static unsigned slot_free_if_over(struct steps *s, struct step *st)
{
	unsigned freed = 0;

	pthread_mutex_lock(&s->lock);
	if (st->state == STEP_ENDED && !st->alive && atomic_load(&st->files) == 0 &&
	    st->sb->slot[st->slot] == st) {
		st->sb->slot[st->slot] = NULL;
		freed = 1;
	}
	pthread_mutex_unlock(&s->lock);
	return freed;
}

void step_set_ended(struct steps *s, struct step *st, bool alive)
{
	struct step **p;

	pthread_mutex_lock(&s->lock);
	st->state = STEP_ENDED;
	st->alive = alive;
	for (p = &s->open; *p && *p != st; p = &(*p)->next)
		;
	if (*p)
		*p = st->next;
	pthread_mutex_unlock(&s->lock);
	put(s, st, 1 + slot_free_if_over(s, st));
}

void step_file_closed(struct steps *s, struct step *st)
{
	put(s, st, slot_free_if_over(s, st));
}

enum step_state step_state(struct steps *s, struct step *st)
{
	enum step_state state;

	pthread_mutex_lock(&s->lock);
	state = st->state;
	pthread_mutex_unlock(&s->lock);
	return state;
}

struct step *step_in_slot(struct steps *s, struct sandbox *sb, int slot, bool *ret_late)
{
	struct step *st = NULL;

	if (slot < 0 || slot >= (int)IDS_STEPS_MAX)
		return NULL;
	pthread_mutex_lock(&s->lock);
	st = sb->slot[slot];
	if (st) {
		st->refs++;
		*ret_late = st->state == STEP_ENDED;
	}
	pthread_mutex_unlock(&s->lock);
	return st;
}

unsigned steps_open_in(struct steps *s, struct sandbox *sb, uint64_t *ids, unsigned max,
		       struct step **ret_only)
{
	struct step *only = NULL;
	unsigned n = 0;

	pthread_mutex_lock(&s->lock);
	for (unsigned k = 0; k < IDS_STEPS_MAX && n < max; k++) {
		if (!sb->slot[k] || sb->slot[k]->state == STEP_ENDED)
			continue;
		only = sb->slot[k];
		ids[n++] = only->id;
	}
	if (ret_only) {
		*ret_only = n == 1 ? only : NULL;
		if (*ret_only)
			only->refs++;
	}
	pthread_mutex_unlock(&s->lock);
	return n;
}

void steps_each_open(struct steps *s, const struct client *client,
		     void (*fn)(void *ctx, struct step *st), void *ctx)
{
	struct step *some[BATCH];
	unsigned n;

	do {
		n = 0;
		pthread_mutex_lock(&s->lock);
		for (struct step *st = s->open; st && n < BATCH; st = st->next) {
			if (st->state != STEP_OPEN || (client && st->client != client))
				continue;
			st->refs++;
			some[n++] = st;
		}
		pthread_mutex_unlock(&s->lock);
		for (unsigned i = 0; i < n; i++) {
			fn(ctx, some[i]);
			step_put(s, some[i]);
		}
	} while (n == BATCH); /* fn ends them, so they don't come again */
}
