/* SPDX-License-Identifier: MIT */
/*
 * fs/quota.c - how much the workspace and each agent hold, against the policy's limits.
 */
#include "fs/quota.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/ids.h"
#include "fs/agent.h"
#include "fs/fs.h"
#include "fs/node.h"
#include "fs/step.h"
#include "fs/task.h"

#define BLOCK_BYTES 512 /* of st_blocks */
#define OPENS_UNKNOWN 4096
#define DISK_LOOK_NS (100 * NS_PER_MS)
#define FILE_DISK_BYTES 8192 /* what a new file may take: its inode, its name's block */
#define LEAVING_US 1000 /* how long one that finds no room waits for what is about to be freed */

struct use {
	int64_t bytes, files;
	unsigned opens;
};

struct quota {
	pthread_mutex_t lock;
	struct use all;
	struct use agent[IDS_AGENTS_MAX];
	uint64_t disk_free; /* at the last look, less what was let in since */
	uint64_t disk_reserve;
	int64_t disk_ns;    /* of that look */
	unsigned opens_max; /* what RLIMIT_NOFILE leaves beside the cache and garth-fs's own */
	_Atomic unsigned leaving; /* files without a name that still count */
};

static unsigned opens_max(void)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_NOFILE, &lim) < 0 || lim.rlim_cur > UINT32_MAX)
		return OPENS_UNKNOWN;
	return (unsigned)(lim.rlim_cur - lim.rlim_cur / 4 - lim.rlim_cur / 8);
}

int quota_new(struct quota **ret)
{
	struct quota *q = calloc(1, sizeof *q);

	if (!q)
		return -ENOMEM;
	pthread_mutex_init(&q->lock, NULL);
	q->opens_max = opens_max();
	*ret = q;
	return 0;
}

void quota_free(struct quota *q)
{
	if (!q)
		return;
	pthread_mutex_destroy(&q->lock);
	free(q);
}

/* Called under the lock. */
static void add(struct fs *fs, uint32_t uid, struct task *task, int64_t bytes, int64_t files)
{
	struct quota *q = fs->quota;
	uint32_t block;

	if (task && atomic_load(&task->dead))
		return; /* the trash counts no more */
	q->all.bytes += bytes;
	q->all.files += files;
	if (ids_agent_of(fs->uid_base, uid, &block)) {
		q->agent[block].bytes += bytes;
		q->agent[block].files += files;
	}
	if (task) {
		atomic_fetch_add(&task->bytes, bytes);
		atomic_fetch_add(&task->files, files);
	}
}

void quota_add(struct fs *fs, uint32_t uid, struct task *task, int64_t bytes, int64_t files)
{
	pthread_mutex_lock(&fs->quota->lock);
	add(fs, uid, task, bytes, files);
	pthread_mutex_unlock(&fs->quota->lock);
}

static bool past(int64_t had, uint64_t more, uint64_t max)
{
	return (had > 0 ? (uint64_t)had : 0) + more > max;
}

static int room_now(struct fs *fs, uint32_t uid, uint64_t bytes, uint64_t files)
{
	struct quota *q = fs->quota;
	struct policy *p = steps_policy(fs->steps);
	uint64_t max_bytes = UINT64_MAX, max_files = UINT64_MAX;
	uint32_t block = 0;
	bool over;
	bool has_agent = ids_agent_of(fs->uid_base, uid, &block);
	const char *name = has_agent ? agent_name(fs->agents, block) : NULL;

	if (name)
		policy_agent_quota(p, name, &max_bytes, &max_files);
	pthread_mutex_lock(&q->lock);
	over = (bytes && past(q->all.bytes, bytes, p->limits.ws_bytes)) ||
	       (files && past(q->all.files, files, p->limits.ws_files));
	if (name && block != 0)
		over = over || (bytes && past(q->agent[block].bytes, bytes, max_bytes)) ||
		       (files && past(q->agent[block].files, files, max_files));
	pthread_mutex_unlock(&q->lock);
	policy_unref(p);
	return over ? -EDQUOT : 0;
}

static void disk_look(const struct fs *fs, uint64_t *ret_free, uint64_t *ret_reserve)
{
	uint64_t all, reserve;
	struct statvfs s;

	*ret_free = UINT64_MAX; /* where it can't be seen the disk itself says it */
	*ret_reserve = 0;
	if (fstatvfs(fs->store_fd, &s) < 0)
		return;
	all = (uint64_t)s.f_blocks * s.f_frsize;
	reserve = all / QUOTA_RESERVE_PART;
	if (reserve < QUOTA_RESERVE_BYTES)
		reserve = QUOTA_RESERVE_BYTES;
	if (reserve > all / QUOTA_RESERVE_MOST)
		reserve = all / QUOTA_RESERVE_MOST;
	*ret_free = (uint64_t)s.f_bavail * s.f_frsize;
	*ret_reserve = reserve;
}

/* @part of the reserve that must stay: one in so many. */
static int room_disk(struct fs *fs, uint64_t bytes, unsigned part)
{
	struct quota *q = fs->quota;
	int64_t now_ns = clock_mono_ns();
	uint64_t left = 0, reserve = 0;
	bool look;
	int r = 0;

	pthread_mutex_lock(&q->lock);
	look = past((int64_t)(q->disk_reserve / part), bytes, q->disk_free) ||
	       now_ns - q->disk_ns > DISK_LOOK_NS;
	pthread_mutex_unlock(&q->lock);
	if (look)
		disk_look(fs, &left, &reserve);
	pthread_mutex_lock(&q->lock);
	if (look) {
		q->disk_free = left;
		q->disk_reserve = reserve;
		q->disk_ns = now_ns;
	}
	if (past((int64_t)(q->disk_reserve / part), bytes, q->disk_free))
		r = -ENOSPC;
	else
		q->disk_free -= bytes;
	pthread_mutex_unlock(&q->lock);
	return r;
}

int quota_room_disk(struct fs *fs, uint64_t bytes)
{
	return room_disk(fs, bytes, 1);
}

int quota_room_log(struct fs *fs, uint64_t bytes)
{
	return room_disk(fs, bytes, QUOTA_RESERVE_LOGS);
}

/* What was just removed is given back when the kernel has forgotten it, which it tells a moment after. */
static int room(struct fs *fs, uint32_t uid, uint64_t bytes, uint64_t files)
{
	int r = room_now(fs, uid, bytes, files);

	if (r == 0 || atomic_load(&fs->quota->leaving) == 0)
		return r;
	(void)usleep(LEAVING_US);
	return room_now(fs, uid, bytes, files);
}

void quota_leaves(struct fs *fs, struct node *n)
{
	pthread_mutex_lock(&fs->quota->lock);
	if (!n->leaving)
		fs->quota->leaving++;
	n->leaving = true;
	pthread_mutex_unlock(&fs->quota->lock);
}

int quota_room_file(struct fs *fs, uint32_t uid)
{
	int r = room(fs, uid, 0, 1);

	return r < 0 ? r : quota_room_disk(fs, FILE_DISK_BYTES);
}

int quota_room_bytes(struct fs *fs, uint32_t uid, uint64_t bytes)
{
	int r = room(fs, uid, bytes, 0);

	return r < 0 ? r : quota_room_disk(fs, bytes);
}

void quota_settle(struct fs *fs, struct node *n, const struct stat *st)
{
	int64_t now = (int64_t)st->st_blocks * BLOCK_BYTES;

	pthread_mutex_lock(&fs->quota->lock);
	if (n->charged >= 0 && now != n->charged)
		add(fs, st->st_uid, n->task, now - n->charged, 0);
	n->charged = now;
	pthread_mutex_unlock(&fs->quota->lock);
}

void quota_born(struct fs *fs, struct node *n, const struct stat *st)
{
	pthread_mutex_lock(&fs->quota->lock);
	n->charged = (int64_t)st->st_blocks * BLOCK_BYTES;
	add(fs, st->st_uid, n->task, n->charged, 1);
	pthread_mutex_unlock(&fs->quota->lock);
}

void quota_name(struct fs *fs, struct node *n, uint32_t uid, int names)
{
	pthread_mutex_lock(&fs->quota->lock);
	add(fs, uid, n->task, 0, names);
	pthread_mutex_unlock(&fs->quota->lock);
}

void quota_know(struct fs *fs, struct node *n, const struct stat *st)
{
	pthread_mutex_lock(&fs->quota->lock);
	if (n->charged < 0)
		n->charged = (int64_t)st->st_blocks * BLOCK_BYTES;
	pthread_mutex_unlock(&fs->quota->lock);
}

void quota_gone(struct fs *fs, struct node *n, uint32_t uid, int keep_bytes)
{
	pthread_mutex_lock(&fs->quota->lock);
	if (n->charged >= 0) {
		add(fs, uid, n->task, keep_bytes ? 0 : -n->charged, -1);
		n->charged = -1;
	}
	if (n->leaving)
		fs->quota->leaving--;
	n->leaving = false;
	pthread_mutex_unlock(&fs->quota->lock);
}

void quota_drop_task(struct fs *fs, struct task *task, int64_t *ret_bytes, int64_t *ret_files)
{
	pthread_mutex_lock(&fs->quota->lock);
	*ret_bytes = atomic_load(&task->bytes);
	*ret_files = atomic_load(&task->files);
	add(fs, ids_agent_uid(fs->uid_base, task->agent, IDS_UID_USER), task, -*ret_bytes,
	    -*ret_files);
	atomic_store(&task->dead, true);
	pthread_mutex_unlock(&fs->quota->lock);
}

int quota_open(struct fs *fs, uint32_t uid)
{
	struct quota *q = fs->quota;
	uint32_t block = 0;
	int r = 0;

	if (!ids_agent_of(fs->uid_base, uid, &block))
		return 0;
	pthread_mutex_lock(&q->lock);
	if (q->agent[block].opens + q->all.opens >= q->opens_max) {
		r = -ENFILE;
	} else {
		q->agent[block].opens++;
		q->all.opens++;
	}
	pthread_mutex_unlock(&q->lock);
	return r;
}

void quota_closed(struct fs *fs, uint32_t uid)
{
	struct quota *q = fs->quota;
	uint32_t block = 0;

	if (!ids_agent_of(fs->uid_base, uid, &block))
		return;
	pthread_mutex_lock(&q->lock);
	q->agent[block].opens--;
	q->all.opens--;
	pthread_mutex_unlock(&q->lock);
}

void quota_look(struct fs *fs, struct quota_now *ret)
{
	struct policy *p = steps_policy(fs->steps);

	pthread_mutex_lock(&fs->quota->lock);
	ret->bytes = fs->quota->all.bytes > 0 ? (uint64_t)fs->quota->all.bytes : 0;
	ret->files = fs->quota->all.files > 0 ? (uint64_t)fs->quota->all.files : 0;
	pthread_mutex_unlock(&fs->quota->lock);
	ret->bytes_max = p->limits.ws_bytes;
	ret->files_max = p->limits.ws_files;
	policy_unref(p);
}
