/* SPDX-License-Identifier: MIT */
/*
 * index/store.h - one batch: events into chain and tables within one transaction, which either becomes all durable or leaves nothing.
 * Not here: when to begin and commit, the ring, threads (index/writer.h).
 * Thread: one.
 */
#ifndef GARTH_INDEX_STORE_H
#define GARTH_INDEX_STORE_H

#include "core/event.h"
#include "index/squash.h"
#include "index/stmt.h"

#define STORE_RING "ring"   /* meta: the next ring position to read */
#define STORE_SYNCS "syncs" /* meta: durable commits */

struct store {
	struct idx_db db; /* owned by who opened it; IDX_G_TX, CHAIN, APPLY, LOAD and READ */
	struct sha256_ctx *sha;
	struct squash *seen;      /* violations of this batch */
	struct squash *rest;      /* those of them that lose their path */
	uint64_t seq, stored_seq; /* last of the chain: now, and committed */
	struct sha256 head, stored_head;
	uint8_t *room; /* RING_EVENT_MAX */
};

/* db is open; read the chain's head. 0, -ENOMEM, the database's error. */
must_check int store_init(struct store *s, struct err *err);
void store_fini(struct store *s); /* not the db; zeroed is fine */

must_check int store_begin(struct store *s, struct err *err);
/* One event as it came through the ring. -EBADMSG: no event. */
must_check int store_event(struct store *s, struct bytes body, struct err *err);
/* What store_event still holds back, then meta, then COMMIT. */
must_check int store_commit(struct store *s, uint64_t ring_pos, struct err *err);
/* All since store_begin never was. */
void store_rollback(struct store *s);

/* Make everything that is committed durable: one more commit, with synchronous=FULL, that writes a row. */
must_check int store_sync(struct store *s, struct err *err);

must_check int store_meta(struct store *s, const char *name, uint64_t *ret, struct err *err);

#endif
