/* SPDX-License-Identifier: MIT */
/*
 * index/squash.c - a hash table whose keys are the canonical bytes of a violation with time and count 0.
 * Not here: what becomes of them (index/writer.c).
 */
#include "index/squash.h"

#include <stdlib.h>

#include "core/ring.h"
#include "index/writer.h"

#define SQUASH_BUCKETS (IDX_BATCH_EVENTS * 2) /* never more than half full */

struct entry {
	uint8_t *key; /* owned */
	size_t len;
	uint64_t hash;
	int64_t at_ns;
	uint64_t count;
};

struct squash {
	unsigned used;
	struct entry entry[IDX_BATCH_EVENTS];
	uint16_t bucket[SQUASH_BUCKETS]; /* index + 1 into entry; 0 empty */
	uint8_t room[RING_EVENT_MAX];
};
_Static_assert(IDX_BATCH_EVENTS < UINT16_MAX, "squash buckets");

struct squash *squash_new(void)
{
	return calloc(1, sizeof(struct squash));
}

void squash_free(struct squash *q)
{
	if (!q)
		return;
	squash_reset(q);
	free(q);
}

void squash_reset(struct squash *q)
{
	if (q->used == 0)
		return;
	for (unsigned i = 0; i < q->used; i++)
		free(q->entry[i].key);
	q->used = 0;
	memset(q->bucket, 0, sizeof q->bucket);
}

/* FNV-1a: what it must stand against is chance alone, since the keys are compared too and the table is bounded. */
static uint64_t hash_of(struct bytes key)
{
	const uint8_t *p = key.p;
	uint64_t h = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < key.len; i++)
		h = (h ^ p[i]) * 0x100000001b3ull;
	return h ^ h >> 32;
}

/* The bucket that holds this key, or the empty one where it belongs. */
static uint16_t *find(struct squash *q, struct bytes key, uint64_t hash)
{
	for (size_t i = hash % SQUASH_BUCKETS;; i = (i + 1) % SQUASH_BUCKETS) {
		const struct entry *e;

		if (q->bucket[i] == 0)
			return &q->bucket[i];
		e = &q->entry[q->bucket[i] - 1];
		if (e->hash == hash && bytes_equal(bytes_of(e->key, e->len), key))
			return &q->bucket[i];
	}
}

int squash_add(struct squash *q, const struct event *e)
{
	struct event plain = *e;
	struct bytes key;
	struct entry *to;
	uint64_t hash;
	uint16_t *at;
	size_t len = 0;
	int rc;

	plain.at_ns = 0;
	plain.u.violation.count = 0;
	rc = event_pack(&plain, q->room, sizeof q->room, &len);
	if (rc < 0)
		return rc;
	key = bytes_of(q->room, len);
	hash = hash_of(key);
	at = find(q, key, hash);
	if (*at) {
		q->entry[*at - 1].count += e->u.violation.count;
		return 0;
	}
	if (q->used == IDX_BATCH_EVENTS)
		return -EFBIG;
	to = &q->entry[q->used];
	to->key = malloc(len);
	if (!to->key)
		return -ENOMEM;
	memcpy(to->key, key.p, len);
	to->len = len;
	to->hash = hash;
	to->at_ns = e->at_ns;
	to->count = e->u.violation.count;
	*at = (uint16_t)++q->used;
	return 0;
}

int squash_get(const struct squash *q, unsigned i, struct event *ret)
{
	int rc;

	if (i >= q->used)
		return 0;
	rc = event_unpack(bytes_of(q->entry[i].key, q->entry[i].len), ret);
	if (rc < 0)
		return rc;
	ret->at_ns = q->entry[i].at_ns;
	ret->u.violation.count = q->entry[i].count;
	return 1;
}
