/* SPDX-License-Identifier: MIT */
/*
 * index/seen.c - open addressing, at most half full.
 * Not here: the walk (index/lineage.c).
 */
#include "index/seen.h"

#include <stdbool.h>
#include <stdlib.h>

#define SEEN_FIRST 256u

struct seen_slot {
	struct seen_key key;
	uint64_t number;
	bool full;
};

void seen_init(struct seen *s, size_t max)
{
	*s = (struct seen){ .max = max };
}

void seen_fini(struct seen *s)
{
	free(s->slot);
	*s = (struct seen){ 0 };
}

/* splitmix64's mixing: ids that count up must not sit side by side. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static struct seen_slot *find(const struct seen *s, struct seen_key key)
{
	uint64_t hash = mix(key.a + mix(key.b + key.kind));

	for (size_t i = hash & (s->cap - 1);; i = (i + 1) & (s->cap - 1)) {
		struct seen_slot *slot = &s->slot[i];

		if (!slot->full ||
		    (slot->key.a == key.a && slot->key.b == key.b && slot->key.kind == key.kind))
			return slot;
	}
}

static int grow(struct seen *s)
{
	struct seen bigger = *s;

	bigger.cap = s->cap ? s->cap * 2 : SEEN_FIRST;
	bigger.slot = calloc(bigger.cap, sizeof *bigger.slot);
	if (!bigger.slot)
		return -ENOMEM;
	for (size_t i = 0; i < s->cap; i++)
		if (s->slot[i].full)
			*find(&bigger, s->slot[i].key) = s->slot[i];
	free(s->slot);
	*s = bigger;
	return 0;
}

int seen_put(struct seen *s, struct seen_key key)
{
	struct seen_slot *slot;

	if ((s->used + 1) * 2 > s->cap && grow(s) < 0)
		return -ENOMEM;
	slot = find(s, key);
	if (slot->full)
		return 0;
	if (s->used >= s->max)
		return -EFBIG;
	*slot = (struct seen_slot){ .key = key, .full = true };
	s->used++;
	return 1;
}

uint64_t *seen_number(struct seen *s, struct seen_key key)
{
	struct seen_slot *slot = s->cap ? find(s, key) : NULL;

	return slot && slot->full ? &slot->number : NULL;
}
