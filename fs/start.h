/* SPDX-License-Identifier: MIT */
/*
 * fs/start.h - from descriptors to a workspace that can be served: folders, ring, record, policy, agents, what lies in the store; and
 * what an earlier life of it left undone.
 * Not here: threads (fs/main.c).
 */
#ifndef GARTH_FS_START_H
#define GARTH_FS_START_H

#include <stdbool.h>

#include "core/err.h"
#include "fs/fs.h"

/* What the record said before this life began. */
struct left_file {
	struct idx_load_file f; /* f.path is owned */
	bool seen;
};
struct left {
	bool crashed; /* the life before did not end well */
	uint64_t holes;
	struct left_file *file; /* by path */
	size_t files, files_cap;
	struct idx_load_step *step; /* begun and not ended */
	size_t steps, steps_cap;
};
void left_fini(struct left *l);

/* Folders, tables, the root's nodes: all but the record. */
must_check int start_parts(struct fs *fs, struct err *err);

/* The ring and index.db, and what is loaded from it: policy, agents, *ret. Before the index thread runs. */
must_check int start_record(struct fs *fs, struct left *ret, struct err *err);

/* EV_START and what comes before anything else. The index thread runs, so that the ring has room. */
void start_events(struct fs *fs, struct left *l);

/* Compare the store with the record, count it, name what is in doubt; fills fs->recs. fs/check.c. */
must_check int start_check(struct fs *fs, struct left *l, struct err *err);

#endif
