/* SPDX-License-Identifier: MIT */
/*
 * fs/task.h - a sandbox's task/: one struct task is one life of it, from one wipe to the next, in a backing folder of its own.
 * A wipe points the sandbox's node at a new empty folder; the old one goes to trash/ (fs/trash.h), and what is still open in it
 * refuses changes.
 * Not here: the nodes (fs/node.h), sandboxes (fs/step.h).
 * Thread: any.
 */
#ifndef GARTH_FS_TASK_H
#define GARTH_FS_TASK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"

#define TASK_NAME_SIZE 48

struct fs;
struct sandbox;

struct task {
	atomic_uint refs;
	uint64_t sandbox;
	uint32_t gid_base;
	uint32_t agent;
	atomic_bool dead;             /* wiped: no change any more */
	_Atomic int64_t bytes, files; /* what it holds now */
	char name[TASK_NAME_SIZE];    /* of its folder below task/<gid_base>/ */
};

struct task *task_ref(struct task *t);
void task_unref(struct task *t); /* NULL is fine */

/* Make the sandbox's node and its first folder. Thread: control. */
must_check int task_begin(struct fs *fs, struct sandbox *sb, struct err *err);

/*
 * Empty it: 0 and how many files and bytes went (folders count as files). Costs the same for any number of files.
 * Thread: control (never a FUSE thread: it invalidates the node in the kernel).
 */
must_check int task_wipe(struct fs *fs, struct sandbox *sb, uint64_t *ret_files,
			 uint64_t *ret_bytes, struct err *err);

/* The sandbox has ended: all of it goes to the trash. */
void task_end(struct fs *fs, struct sandbox *sb);

#endif
