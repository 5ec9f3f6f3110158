/* SPDX-License-Identifier: MIT */
/*
 * core/hash.h - SHA-256 and its hexadecimal text, by libcrypto.
 * Not here: the chain (index/chain.h).
 */
#ifndef GARTH_CORE_HASH_H
#define GARTH_CORE_HASH_H

#include <stdint.h>

#include "core/bytes.h"
#include "core/err.h"

#define SHA256_LEN 32
#define SHA256_HEX_LEN 64
#define SHA256_HEX_SIZE 65

struct sha256 {
	uint8_t b[SHA256_LEN];
};

struct sha256_ctx; /* opaque; one thread at a time */

struct sha256_ctx *sha256_new(void); /* NULL: no memory */
void sha256_free(struct sha256_ctx *c);
void sha256_begin(struct sha256_ctx *c);
void sha256_add(struct sha256_ctx *c, struct bytes data);
void sha256_end(struct sha256_ctx *c, struct sha256 *ret);

void sha256_of(struct bytes data, struct sha256 *ret);

/* From offset 0 to the end, by pread in 256 KiB pieces; the offset of fd stays. @ret_len bytes hashed; may be NULL. */
must_check int sha256_fd(int fd, struct sha256 *ret, uint64_t *ret_len);

int hex_digit(char c); /* its value, either case; -1: it is none */
void sha256_hex(const struct sha256 *h, char out[SHA256_HEX_SIZE]); /* lower case */
must_check int sha256_parse(const char *hex,
			    struct sha256 *ret); /* exactly 64 digits, either case; -EINVAL */

#endif
