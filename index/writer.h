/* SPDX-License-Identifier: MIT */
/*
 * index/writer.h - the only writer of index.db: drains the event ring into the chain and the tables, in batches.
 *
 * Batches commit with synchronous=NORMAL; idx_writer_sync commits with FULL and always writes a row, which makes all earlier frames
 * durable. The ring's next position is kept in the same transaction as the rows, so an event is stored exactly once whatever dies.
 * Violations of equal (step, op, path, rule) in one batch become one chain event with their count; past IDX_VIOLATION_ROWS rows a step
 * counts on without paths (path empty).
 * Not here: reading (index/query.h), what rows an event makes (index/apply.h), hashing (index/chain.h).
 * Thread: idx_writer_run on one thread of garth-fs; sync and stop from any; open, load and close before and after.
 */
#ifndef GARTH_INDEX_WRITER_H
#define GARTH_INDEX_WRITER_H

#include "core/event.h"
#include "core/ring.h"

#define IDX_VIOLATION_ROWS 10000u
#define IDX_BATCH_EVENTS 4096u
#define IDX_BATCH_MS 20

struct idx_writer;

/*
 * Open DIR/index.db (made where it is missing, 0640), bring it to the newest schema, then store what a dead process left in the ring
 * (ring_recover, ring_restart). @dir_fd the workspace's folder, borrowed. @ret_holes slots that were
 * never committed, or that an older copy of the database has lost.
 * 0, -EPROTO the database is of a newer garth (message says which), -EBADMSG it is damaged, -EBUSY another writer, -EIO, -ENOSPC.
 */
must_check int idx_writer_open(int dir_fd, struct ring *ring, struct idx_writer **ret,
			       uint64_t *ret_holes, struct err *err);

/* Drain until idx_writer_stop; then everything is stored, checkpointed. 0 or the error that stopped it (the ring then stays full). */
int idx_writer_run(struct idx_writer *w, struct err *err);

/* Wait until every event before ring position `pos` is durable (FULL). 0, or -EIO, -ENOSPC where the
 * writer has failed for good, or for 5 s. */
must_check int idx_writer_sync(struct idx_writer *w, uint64_t pos);

void idx_writer_stop(struct idx_writer *w);
void idx_writer_close(struct idx_writer *w); /* NULL is fine; keeps -wal and -shm for readers */

/* A consistent copy of the database into a new file at dir_fd/name (VACUUM INTO). Thread: any, waits for the writer. */
must_check int idx_writer_snapshot(struct idx_writer *w, const char *name, struct err *err);

/* ---- what garth-fs asks before idx_writer_run ---- */

struct idx_load_file { /* the newest version of each live path in the record */
	struct bytes path;
	uint64_t version, step, size, ino, gen;
	uint32_t agent;
	uint8_t state, kept, has_sha;
	struct sha256 sha;
};
struct idx_load_step {
	uint64_t step, sandbox;
	uint32_t agent;
}; /* begun and not ended */
struct idx_load {
	uint64_t next_version; /* 1 for a new workspace */
	uint32_t next_agent;   /* the first free block */
	bool has_workspace, has_policy;
	struct sha256 policy;
};

must_check int idx_load_state(struct idx_writer *w, struct idx_load *ret);
must_check int idx_load_files(struct idx_writer *w,
			      int (*fn)(void *ctx, const struct idx_load_file *f), void *ctx);
must_check int idx_load_agents(struct idx_writer *w,
			       int (*fn)(void *ctx, uint32_t agent, struct bytes name), void *ctx);
must_check int idx_load_open_steps(struct idx_writer *w,
				   int (*fn)(void *ctx, const struct idx_load_step *s), void *ctx);

/*
 * Versions of a path beyond the newest `keep` whose bytes are kept and nothing else needs; for retention. Of what is committed, through a
 * connection of its own: the writer goes on meanwhile. fn as in the others: 0 goes on, more ends it well. Thread: any.
 */
must_check int idx_load_prunable(struct idx_writer *w, uint32_t keep,
				 int (*fn)(void *ctx, uint64_t version, const struct sha256 *sha),
				 void *ctx);

#endif
