/* SPDX-License-Identifier: MIT */
/*
 * fs/work.h - one thread with a queue of jobs, and a tick where it has something to do by the clock.
 * Who posts never waits. Jobs run in the order they came.
 */
#ifndef GARTH_FS_WORK_H
#define GARTH_FS_WORK_H

#include <stdint.h>

#include "core/err.h"

struct fs;

/* Embedded as the first member of what a job needs; run frees it. */
struct job {
	void (*run)(struct fs *fs, struct job *job);
	struct job *next;
};

struct work;

#define WORK_NEVER INT64_MAX

/*
 * @name of the thread, at most 15 bytes; kept by pointer, a literal.
 * @tick may be NULL: called when the queue is empty and its time has come or work_wake was called; gives back when it wants to be
 * called next (clock_mono_ns), WORK_NEVER: not by the clock.
 */
must_check int work_new(struct fs *fs, const char *name, int64_t (*tick)(struct fs *fs),
			struct work **ret);

void work_post(struct work *w, struct job *job);
void work_wake(struct work *w); /* call tick soon */

/* Runs what is queued, then ends the thread. NULL is fine. */
void work_free(struct work *w);

#endif
