/* SPDX-License-Identifier: MIT */
/*
 * api/link.h - signed addresses: one version of one output, until a time, for people without a key.
 *   HMAC-SHA256(DIR/spool/link.key, "garth.link.v2" 0 workspace 0 its creation in ns 0 path 0 version 0 expires), in
 *   hexadecimal. The creation is in the address: a workspace that is made anew under the name is another.
 * Not here: serving the bytes (api/download.h).
 */
#ifndef GARTH_API_LINK_H
#define GARTH_API_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "api/app.h"
#include "core/bytes.h"
#include "core/hash.h"

#define LINK_KEY_FILE "link.key"
#define LINK_DAYS_MAX 366
#define LINK_SECONDS_DEFAULT (24 * 3600)

/* Read the secret, or make it (0600). 0 or errno with a message. */
must_check int link_key_open(int spool_fd, uint8_t ret[LINK_KEY_LEN], struct err *err);

void link_sign(const uint8_t key[LINK_KEY_LEN], const char *ws, int64_t made_ns, struct bytes path,
	       uint64_t version, int64_t expires_s, char out[SHA256_HEX_SIZE]);

/* In constant time. -EPERM wrong, -ESTALE right but expired. Whether the workspace is still that one is with_ws's to say. */
must_check int link_check(const uint8_t key[LINK_KEY_LEN], const char *ws, int64_t made_ns,
			  struct bytes path, uint64_t version, int64_t expires_s, const char *sig,
			  int64_t now_s);

#endif
