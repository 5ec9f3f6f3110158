/* SPDX-License-Identifier: MIT */
/*
 * fs/quota.h - how much the workspace and each agent hold: bytes on disk and files, against the policy's limits.
 * What counts: everything in the zones, sandboxes' task/ too, and kept versions; nothing in logs/ and trash/.
 * A file counts for the agent that owns it.
 * Thread: any. Locks: the quota's own, never held across a system call.
 */
#ifndef GARTH_FS_QUOTA_H
#define GARTH_FS_QUOTA_H

#include <stdint.h>
#include <sys/stat.h>

#include "core/err.h"

struct fs;
struct node;
struct task;

struct quota;

must_check int quota_new(struct quota **ret);
void quota_free(struct quota *q);

/* Charge (or give back) without asking. @uid the owner; @task what it is in, or NULL. */
void quota_add(struct fs *fs, uint32_t uid, struct task *task, int64_t bytes, int64_t files);

/*
 * What is left of the store's disk is garth's own: a step can begin and be recorded, and files can be removed, on a disk that is full for
 * agents. The larger of two, but never more than a quarter of the disk.
 */
#define QUOTA_RESERVE_BYTES (64u << 20)
#define QUOTA_RESERVE_PART 100 /* one in so many */
#define QUOTA_RESERVE_MOST 4   /* one in so many */
#define QUOTA_RESERVE_LOGS 2   /* what stays of it when logs take the rest: one in so many */

/* Would one more file fit? 0, -EDQUOT, -ENOSPC (the disk's reserve). */
must_check int quota_room_file(struct fs *fs, uint32_t uid);

/* Would `bytes` more fit? 0, -EDQUOT, -ENOSPC. */
must_check int quota_room_bytes(struct fs *fs, uint32_t uid, uint64_t bytes);

/* Would they leave the disk its reserve, whoever's they are? 0, -ENOSPC. Looks at the disk now and then: cheap. */
must_check int quota_room_disk(struct fs *fs, uint64_t bytes);

/* The same for a step's last words, which may take half of the reserve. */
must_check int quota_room_log(struct fs *fs, uint64_t bytes);

/* What n holds is now st: charges the difference to what was charged for it before. */
void quota_settle(struct fs *fs, struct node *n, const struct stat *st);

/* n was just made: it and what it holds count from now on. */
void quota_born(struct fs *fs, struct node *n, const struct stat *st);

/* A further name of n came (1) or went (-1): a name counts as a file. */
void quota_name(struct fs *fs, struct node *n, uint32_t uid, int names);

/* The first sight of a file that was counted already. */
void quota_know(struct fs *fs, struct node *n, const struct stat *st);

/* The last name of a file goes: its charge stays until nobody refers to it (quota_gone), which is soon, as a rule. */
void quota_leaves(struct fs *fs, struct node *n);

/* It is gone: gives back what was charged for it, and the file. @keep_bytes its bytes live on as a kept version. */
void quota_gone(struct fs *fs, struct node *n, uint32_t uid, int keep_bytes);

/* A wiped task/ counts no more. */
void quota_drop_task(struct fs *fs, struct task *task, int64_t *ret_bytes, int64_t *ret_files);

/*
 * One more descriptor for something of this uid's agent: 0, or -ENFILE. An agent gets as many as are still free after it, so that
 * none takes the last from the others. Ends with quota_closed.
 */
must_check int quota_open(struct fs *fs, uint32_t uid);
void quota_closed(struct fs *fs, uint32_t uid);

struct quota_now {
	uint64_t bytes, files, bytes_max, files_max;
};
void quota_look(struct fs *fs, struct quota_now *ret);

#endif
