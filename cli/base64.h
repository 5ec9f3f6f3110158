/* SPDX-License-Identifier: MIT */
/*
 * cli/base64.h - RFC 4648 base 64, strict. Pure.
 */
#ifndef GARTH_CLI_BASE64_H
#define GARTH_CLI_BASE64_H

#include "core/buf.h"

must_check int b64_encode(struct bytes in, struct buf *out);
must_check int b64_decode(struct bytes in, struct buf *out); /* -EINVAL; nothing is appended then */

#endif
