/* SPDX-License-Identifier: MIT */
/*
 * api/base64.h - RFC 4648 base 64, strict: padded, no blanks, no stray bits. The URL alphabet is read too. Pure.
 */
#ifndef GARTH_API_BASE64_H
#define GARTH_API_BASE64_H

#include "core/buf.h"

/* 0, -EINVAL, -EFBIG, -ENOMEM. */
must_check int base64_decode(struct bytes text, struct buf *out);

/* The text, NUL-terminated, the caller's to free(); NULL: no memory. */
char *base64_encode(struct bytes data);

#endif
