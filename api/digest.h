/* SPDX-License-Identifier: MIT */
/*
 * api/digest.h - hashes that a client sends along: Content-Digest and Repr-Digest (RFC 9530), X-Content-SHA256, entity tags. Pure.
 */
#ifndef GARTH_API_DIGEST_H
#define GARTH_API_DIGEST_H

#include <stdbool.h>

#include "core/bytes.h"
#include "core/err.h"
#include "core/hash.h"

/* 'sha-256=:BASE64:' within a list. 1 found, 0 it names other algorithms only, -EINVAL. NULL: 0. */
int digest_parse(const char *header, struct sha256 *ret);

/* '"sha256:HEX"', 'sha256:HEX' or 'HEX'; a list: `at`, from 0. 1 found, 0 no more, -EINVAL. "*" sets ret_any. */
int etag_parse(const char *header, unsigned at, struct sha256 *ret, bool *ret_any);

#endif
