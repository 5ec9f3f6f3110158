/* SPDX-License-Identifier: MIT */
/*
 * core/pack.h - the canonical bytes of a record: fixed order, big-endian numbers, every variable field led by its length.
 *   u8, u32, u64, i64   big-endian
 *   bytes               u32 length, then the bytes
 * One value has exactly one encoding, so a hash over it is a hash of the value. docs/PROTOCOL.md has test vectors.
 * Not here: which fields an event has (core/event.h), the hash chain (index/chain.h).
 */
#ifndef GARTH_CORE_PACK_H
#define GARTH_CORE_PACK_H

#include <stdint.h>

#include "core/bytes.h"
#include "core/err.h"

/* Writes into the caller's room; after the first that does not fit, nothing more is written and pack_end gives -EMSGSIZE. */
struct pack {
	uint8_t *p;
	size_t cap;
	size_t len;
	int failed;
};

void pack_begin(struct pack *k, void *room, size_t cap);
void pack_u8(struct pack *k, uint8_t v);
void pack_u32(struct pack *k, uint32_t v);
void pack_u64(struct pack *k, uint64_t v);
void pack_i64(struct pack *k, int64_t v);
void pack_bytes(struct pack *k, struct bytes v);
must_check int pack_end(const struct pack *k, size_t *ret_len);

/* Reads; past the end every getter gives 0 or an empty view, and unpack_end gives -EBADMSG; so it does where bytes are left. */
struct unpack {
	const uint8_t *p;
	size_t len;
	int failed;
};

void unpack_begin(struct unpack *u, struct bytes from);
uint8_t unpack_u8(struct unpack *u);
uint32_t unpack_u32(struct unpack *u);
uint64_t unpack_u64(struct unpack *u);
int64_t unpack_i64(struct unpack *u);
struct bytes unpack_bytes(struct unpack *u); /* borrows from what is read */
must_check int unpack_end(const struct unpack *u);

#endif
