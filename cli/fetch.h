/* SPDX-License-Identifier: MIT */
/*
 * cli/fetch.h - one download: the bytes into a descriptor, hashed on the way, the hash compared with what the server says it is.
 * Not here: where the file goes, folders (cli/cmd_get.c).
 */
#ifndef GARTH_CLI_FETCH_H
#define GARTH_CLI_FETCH_H

#include "cli/client.h"
#include "core/hash.h"

struct fetch {
	bool is_folder; /* nothing was written: listing has the answer */
	struct buf listing;
	bool has_sha;      /* the server said a hash, and the bytes have it */
	struct sha256 sha; /* of the bytes */
	uint64_t len;
};

/*
 * GET path into fd. EXIT_OK, or the exit code after a sentence (a hash that differs: EXIT_FAILED; the bytes are written by then, so the caller
 * must not keep them). fetch_fini in any case.
 */
must_check int fetch_file(struct client *c, const char *path, const char *name, int fd,
			  struct fetch *ret);
void fetch_fini(struct fetch *f);

/* The hash in a Repr-Digest (RFC 9530) or an ETag of ours: 0 or -ENOENT. Pure. */
must_check int fetch_said_sha(const char *digest, const char *etag, struct sha256 *ret);

#endif
