/* SPDX-License-Identifier: MIT */
/*
 * index/seen.h - a set of (kind, a, b) with a number kept for each: what a walk has met.
 * Not here: the walk (index/lineage.c).
 * Thread: one. Memory: owns its table. Limits: the maximum given at birth.
 */
#ifndef GARTH_INDEX_SEEN_H
#define GARTH_INDEX_SEEN_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

struct seen_key {
	uint64_t a, b;
	uint8_t kind;
};
struct seen {
	struct seen_slot *slot; /* NULL until the first is put */
	size_t cap;             /* a power of two, or 0 */
	size_t used;
	size_t max;
};

void seen_init(struct seen *s, size_t max);
void seen_fini(struct seen *s);

/* Put it where it is missing, with the number 0. 1 it is new, 0 it was there, -EFBIG the set is full, -ENOMEM. */
must_check int seen_put(struct seen *s, struct seen_key key);

/* The number of one that is there; NULL: it is not. Valid until the next put. */
uint64_t *seen_number(struct seen *s, struct seen_key key);

#endif
