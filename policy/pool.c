/* SPDX-License-Identifier: MIT */
/*
 * policy/pool.c - blocks in a list; the last one is filled from its start.
 */
#include "policy/pool.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>

#define POOL_BLOCK_LEN \
	4096u /* bytes of an ordinary block; a longer piece gets a block of its own */

struct pool_block {
	struct pool_block *before;
	size_t used, cap;
	alignas(max_align_t) unsigned char room[];
};

static struct pool_block *block_add(struct pool *p, size_t len)
{
	size_t cap = len > POOL_BLOCK_LEN ? len : POOL_BLOCK_LEN;
	struct pool_block *b;

	if (cap > SIZE_MAX - sizeof(*b))
		return NULL;
	b = calloc(1, sizeof(*b) + cap);
	if (b == NULL)
		return NULL;
	b->cap = cap;
	b->before = p->last;
	p->last = b;
	return b;
}

void *pool_get(struct pool *p, size_t len)
{
	const size_t step = alignof(max_align_t);
	struct pool_block *b = p->last;
	void *out;

	if (len > SIZE_MAX - step)
		return NULL;
	len = (len + step - 1) / step * step;
	if (b == NULL || b->cap - b->used < len)
		b = block_add(p, len);
	if (b == NULL)
		return NULL;
	out = b->room + b->used;
	b->used += len;
	return out;
}

char *pool_text(struct pool *p, struct bytes text)
{
	char *out;

	if (text.len == SIZE_MAX)
		return NULL;
	out = pool_get(p, text.len + 1);
	if (out != NULL && text.len > 0)
		memcpy(out, text.p, text.len);
	return out;
}

void pool_fini(struct pool *p)
{
	struct pool_block *b = p->last;

	while (b != NULL) {
		struct pool_block *before = b->before;

		free(b);
		b = before;
	}
	p->last = NULL;
}
