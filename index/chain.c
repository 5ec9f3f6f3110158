/* SPDX-License-Identifier: MIT */
/*
 * index/chain.c - the hash chain over the events.
 * Not here: storing the links (index/writer.c), checking them (index/verify.c).
 */
#include "index/chain.h"

static const char domain[] = "garth.event.v1"; /* with its NUL: the 0x00 of the definition */

void chain_link(struct sha256_ctx *ctx, const struct sha256 *prev, uint64_t seq, struct bytes body,
		struct sha256 *ret)
{
	uint8_t number[8];

	for (unsigned i = 0; i < sizeof number; i++)
		number[i] = (uint8_t)(seq >> (56 - 8 * i));
	sha256_begin(ctx);
	sha256_add(ctx, bytes_of(domain, sizeof domain));
	sha256_add(ctx, bytes_of(prev->b, SHA256_LEN));
	sha256_add(ctx, bytes_of(number, sizeof number));
	sha256_add(ctx, body);
	sha256_end(ctx, ret);
}
