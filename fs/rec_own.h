/* SPDX-License-Identifier: MIT */
/*
 * fs/rec_own.h - the table of records from inside. For fs/rec.c, fs/recname.c and fs/cut.c alone.
 */
#ifndef GARTH_FS_REC_OWN_H
#define GARTH_FS_REC_OWN_H

#include "fs/rec.h"

#define REC_BUCKETS 8192u /* at first; a power of two; of each table */

struct recs {
	pthread_mutex_t lock;
	pthread_cond_t freed;
	struct rec **by_handle;
	struct rname **by_path;
	uint32_t handle_buckets, path_buckets, handle_count, path_count;
	struct rec dirty; /* head of the list */
};

uint32_t path_hash(struct bytes path);
void rname_hash_in(struct recs *r, struct rname *m);
void rname_hash_out(struct recs *r, struct rname *m);

/* Under the lock. */
must_check int rname_add(struct fs *fs, struct rec *c, struct bytes path, struct rname **ret);
void rname_drop(struct recs *r,
		struct rname *m); /* its count of the rec too; rec_put_locked after */
void rec_put_locked(struct fs *fs, struct recs *r, struct rec *c);

/* A row for this name: a new version. Under the lock. */
void rec_emit_version(struct fs *fs, struct rec *c, struct rname *m, const struct who *w,
		      enum ev_action action, enum ev_state state, uint64_t source);

#endif
