/* SPDX-License-Identifier: MIT */
/*
 * index/verify.h - does a record hold? Offline: needs a copy of the workspace's folder, no server.
 * It recomputes the hash chain, rebuilds every table from the events in a database in memory and compares all rows both ways, and
 * hashes every kept object. Read-only.
 */
#ifndef GARTH_INDEX_VERIFY_H
#define GARTH_INDEX_VERIFY_H

#include "core/event.h"

struct idx_verify {
	bool ok;
	uint64_t events, rows, objects; /* checked */
	uint64_t
		bad_seq; /* the first event that doesn't hold, or the event that a bad row or object belongs to; 0 where ok */
	char what[256];  /* what is wrong, for people; "" where ok */
	struct sha256 head; /* of the chain */
};

/*
 * @db_path index.db; @objects_fd the objects folder, -1: skip the bytes; @open_object where not NULL gives a descriptor for a hash instead.
 * @progress may be NULL. 0 when it could be checked (ret->ok has the result); -ENOENT, -EPROTO newer, -EIO unreadable.
 */
must_check int idx_verify(const char *db_path, int objects_fd,
			  int (*open_object)(void *ctx, const struct sha256 *sha), void *ctx,
			  void (*progress)(void *ctx, uint64_t done, uint64_t all),
			  struct idx_verify *ret, struct err *err);

#endif
