/* SPDX-License-Identifier: MIT */
/*
 * index/verify_in.h - what the files of the verifier share: verify.c, verify_rows.c, verify_objects.c.
 * Not here: the contract (index/verify.h).
 */
#ifndef GARTH_INDEX_VERIFY_IN_H
#define GARTH_INDEX_VERIFY_IN_H

#include "index/stmt.h"
#include "index/verify.h"

struct verify {
	struct idx_db src; /* the record */
	struct idx_db own; /* rebuilt from its events */
	struct idx_verify *ret;
	uint64_t last; /* seq of the last event */
	int objects_fd;
	int (*open_object)(void *ctx, const struct sha256 *sha);
	void (*progress)(void *ctx, uint64_t done, uint64_t all);
	void *ctx;
	struct err *err;
};

/* The finding that ends it. Gives 1. */
__attribute__((format(printf, 3, 4))) int verify_bad(struct verify *v, uint64_t seq,
						     const char *fmt, ...);

/* All: 0 it holds, 1 it doesn't (verify_bad was called), or a negative errno. */
must_check int verify_schema(struct verify *v);
must_check int verify_rows(struct verify *v);
must_check int verify_objects(struct verify *v);

#endif
