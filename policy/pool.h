/* SPDX-License-Identifier: MIT */
/*
 * policy/pool.h - memory that lives and dies with one document: given out in pieces, freed at once.
 * Not here: what is kept in it (policy/yaml.h, policy/policy.h).
 * Thread: the owner's. Memory: owns its blocks; pool_fini frees them all, and every pointer into them is dead.
 */
#ifndef GARTH_POLICY_POOL_H
#define GARTH_POLICY_POOL_H

#include "core/bytes.h"

struct pool_block;

struct pool {
	struct pool_block *last; /* NULL: nothing given out yet */
};

void *pool_get(struct pool *p, size_t len); /* zeroed, aligned for any type; NULL: no memory */
char *pool_text(struct pool *p,
		struct bytes text); /* a copy with a NUL behind it; NULL: no memory */
void pool_fini(struct pool *p);     /* zeroed is fine */

#endif
