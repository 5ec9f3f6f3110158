/* SPDX-License-Identifier: MIT */
/*
 * index/chain.h - the hash chain over the events.
 *   hash(seq) = SHA-256("garth.event.v1" || 0x00 || hash(seq - 1) || seq, u64 big-endian || body)
 * The body is core/event.h's canonical bytes; hash(0) is 32 zero bytes.
 * tests/unit/index_plan_test.c has vectors.
 * Not here: storing the links (index/writer.h), checking them (index/verify.h).
 */
#ifndef GARTH_INDEX_CHAIN_H
#define GARTH_INDEX_CHAIN_H

#include "core/hash.h"

/* Reuses ctx, so that a link costs one hash and no allocation. */
void chain_link(struct sha256_ctx *ctx, const struct sha256 *prev, uint64_t seq, struct bytes body,
		struct sha256 *ret);

#endif
