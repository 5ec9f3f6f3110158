/* SPDX-License-Identifier: MIT */
/*
 * fs/retain.h - what the policy's `retention` lets go: bytes of old versions, folders of old logs.
 * Rows stay: a pruned version has its hash and the state `pruned`. Versions are looked for at start and a moment after a version of
 * something that had one was cut; logs at start and once an hour.
 * Not here: which versions are old (idx_load_prunable), what must stay for another row (fs/claim.h), task/ (fs/task.h).
 * Thread: one of its own; mark and hint from any.
 */
#ifndef GARTH_FS_RETAIN_H
#define GARTH_FS_RETAIN_H

#include "core/err.h"

#define RETAIN_PAUSE_NS 1000000000LL   /* between two looks through the record, at least */
#define RETAIN_SHARE 20                /* and as many times what the last look took */
#define RETAIN_LOGS_NS 3600000000000LL /* between two looks through logs/ */
#define RETAIN_BATCH 4096u             /* versions that go in one look; more: another look */

struct fs;
struct retain;

must_check int retain_new(struct fs *fs, struct retain **ret);
void retain_begin(struct retain *r); /* the store has been looked through: from now on */
void retain_mark(struct fs *fs);     /* there may be something: waits for no lock */
void retain_hint(struct fs *fs);     /* where it was marked: look soon */
void retain_stop(struct retain *r);  /* ends the thread; to mark is harmless afterwards */

#endif
