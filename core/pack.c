/* SPDX-License-Identifier: MIT */
/*
 * core/pack.c - the canonical bytes of a record.
 * Not here: which fields an event has (core/event.c), the hash chain (index/chain.c).
 */
#include "core/pack.h"

static uint8_t *room_for(struct pack *k, size_t n)
{
	uint8_t *at;

	if (k->failed || n > k->cap - k->len) {
		k->failed = 1;
		return NULL;
	}
	at = k->p + k->len;
	k->len += n;
	return at;
}

static void put_big(struct pack *k, uint64_t v, unsigned n)
{
	uint8_t *at = room_for(k, n);

	for (unsigned i = 0; at && i < n; i++)
		at[i] = (uint8_t)(v >> (8 * (n - 1 - i)));
}

void pack_begin(struct pack *k, void *room, size_t cap)
{
	*k = (struct pack){ .p = room, .cap = cap };
}

void pack_u8(struct pack *k, uint8_t v)
{
	put_big(k, v, 1);
}

void pack_u32(struct pack *k, uint32_t v)
{
	put_big(k, v, 4);
}

void pack_u64(struct pack *k, uint64_t v)
{
	put_big(k, v, 8);
}

void pack_i64(struct pack *k, int64_t v)
{
	put_big(k, (uint64_t)v, 8);
}

void pack_bytes(struct pack *k, struct bytes v)
{
	uint8_t *at;

	if (v.len > UINT32_MAX) {
		k->failed = 1;
		return;
	}
	pack_u32(k, (uint32_t)v.len);
	at = room_for(k, v.len);
	if (at && v.len)
		memcpy(at, v.p, v.len);
}

int pack_end(const struct pack *k, size_t *ret_len)
{
	if (k->failed)
		return -EMSGSIZE;
	*ret_len = k->len;
	return 0;
}

static const uint8_t *take(struct unpack *u, size_t n)
{
	const uint8_t *at = u->p;

	if (u->failed || n > u->len) {
		u->failed = 1;
		return NULL;
	}
	u->p += n;
	u->len -= n;
	return at;
}

static uint64_t get_big(struct unpack *u, unsigned n)
{
	const uint8_t *at = take(u, n);
	uint64_t v = 0;

	for (unsigned i = 0; at && i < n; i++)
		v = v << 8 | at[i];
	return v;
}

void unpack_begin(struct unpack *u, struct bytes from)
{
	*u = (struct unpack){ .p = from.len ? from.p : (const void *)"", .len = from.len };
}

uint8_t unpack_u8(struct unpack *u)
{
	return (uint8_t)get_big(u, 1);
}

uint32_t unpack_u32(struct unpack *u)
{
	return (uint32_t)get_big(u, 4);
}

uint64_t unpack_u64(struct unpack *u)
{
	return get_big(u, 8);
}

int64_t unpack_i64(struct unpack *u)
{
	return (int64_t)get_big(u, 8);
}

struct bytes unpack_bytes(struct unpack *u)
{
	uint32_t len = unpack_u32(u);
	const uint8_t *at = take(u, len);

	return at ? bytes_of(at, len) : bytes_of(NULL, 0);
}

int unpack_end(const struct unpack *u)
{
	return u->failed || u->len ? -EBADMSG : 0;
}
