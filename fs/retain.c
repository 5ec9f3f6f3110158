/* SPDX-License-Identifier: MIT */
/*
 * fs/retain.c - what the policy's `retention` lets go.
 */
#include "fs/retain.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/fd.h"
#include "core/id.h"
#include "fs/claim.h"
#include "fs/cred.h"
#include "fs/emit.h"
#include "fs/logs.h"
#include "fs/quota.h"
#include "fs/step.h"
#include "fs/trash.h"
#include "fs/walk.h"
#include "fs/work.h"

#define BLOCK_BYTES 512 /* of st_blocks */

struct retain {
	struct work *work;
	atomic_bool ready, marked, due;
	int64_t versions_ns, logs_ns; /* not before: the thread's */
};

/* ---- versions ---- */

struct old {
	struct doomed *all;
	size_t n, cap;
};

static int add(void *ctx, uint64_t version, const struct sha256 *sha)
{
	struct old *o = ctx;

	if (o->n == RETAIN_BATCH)
		return 1;
	if (o->n == o->cap) {
		size_t cap = o->cap ? o->cap * 2 : 64;
		struct doomed *more = realloc(o->all, cap * sizeof *more);

		if (!more)
			return -ENOMEM;
		o->all = more;
		o->cap = cap;
	}
	o->all[o->n++] = (struct doomed){ .version = version, .sha = *sha };
	return 0;
}

static void tell_pruned(struct fs *fs, uint64_t version)
{
	struct event e = { .kind = EV_VERSION_STATE };

	e.u.version_state = (struct ev_version_state){ .version = version, .state = STATE_PRUNED };
	emit(fs, &e);
}

/* A linked one counts where its file lives. */
static void drop_object(struct fs *fs, const struct sha256 *sha)
{
	char hex[SHA256_HEX_SIZE];
	struct stat st;

	sha256_hex(sha, hex);
	if (fstatat(fs->objects_fd, hex, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    unlinkat(fs->objects_fd, hex, 0) < 0)
		return; /* several versions had it */
	if (st.st_nlink == 1)
		quota_add(fs, st.st_uid, NULL, -(int64_t)st.st_blocks * BLOCK_BYTES, 0);
}

/* The rows first, durable: bytes without a row are only waste, a row without its bytes would not verify. */
static void prune(struct fs *fs, const struct doomed *all, size_t n)
{
	for (size_t i = 0; i < n; i++)
		tell_pruned(fs, all[i].version);
	if (n == 0 || emit_sync(fs) < 0)
		return;
	cred_own(fs);
	for (size_t i = 0; i < n; i++)
		drop_object(fs, &all[i].sha);
}

/* True: there is more. */
static bool prune_old(struct fs *fs)
{
	struct policy *p = steps_policy(fs->steps);
	uint32_t keep = p->retain_versions;
	struct old o = { 0 };
	size_t n;
	int r = 0;

	policy_unref(p);
	if (keep == 0)
		return false;
	claims_watch(fs->claims);
	r = emit_sync(fs);
	if (r == 0)
		r = idx_load_prunable(fs->idx, keep, add, &o);
	if (r == 0 && o.all) {
		n = claims_doom(fs->claims, o.all, o.n);
		prune(fs, o.all, n);
	}
	claims_settle(fs->claims);
	free(o.all);
	return r < 0 || o.n == RETAIN_BATCH;
}

/* ---- logs ---- */

struct old_logs {
	struct fs *fs;
	int logs_fd;
	int64_t before_ns;
};

static int64_t written_ns(int dir_fd, const char *name)
{
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	return st.st_mtim.tv_sec * NS_PER_S + st.st_mtim.tv_nsec;
}

/* Nobody writes it any more: the step is over, and so are its pipes, which what it left running may hold. */
static bool is_over(struct fs *fs, const char *name)
{
	struct step *st;
	uint64_t id;

	if (id_parse(ID_STEP, name, &id) < 0)
		return false;
	st = step_by_id(fs->steps, id);
	step_put(fs->steps, st);
	return !st && logs_step_done(fs->logs, id);
}

static int drop_log(void *ctx, struct bytes path, int fd, const struct stat *st)
{
	struct old_logs *o = ctx;

	if (!S_ISDIR(st->st_mode))
		return 0;
	cred_own(o->fs);
	if (st->st_mtim.tv_sec * NS_PER_S >= o->before_ns ||
	    written_ns(fd, "stdout") >= o->before_ns || written_ns(fd, "stderr") >= o->before_ns ||
	    !is_over(o->fs, path.p))
		return 0;
	(void)trash_put(o->fs, o->logs_fd, path.p); /* else at the next look */
	return 0;
}

static void drop_logs(struct fs *fs)
{
	struct policy *p = steps_policy(fs->steps);
	struct old_logs o = { .fs = fs, .before_ns = clock_wall_ns() - p->retain_logs_ns };
	autofd logs = -1;

	policy_unref(p);
	cred_own(fs);
	logs = openat(fs->data_fd, "logs", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	o.logs_fd = logs;
	if (logs >= 0)
		(void)walk_each(fs, WALK_AS_OWNER, logs, (struct bytes){ 0 }, WALK_ONE, drop_log,
				&o);
	cred_own(fs);
}

/* ---- when ---- */

static int64_t tick(struct fs *fs)
{
	struct retain *r = fs->retain;
	int64_t now_ns = clock_mono_ns();

	if (!atomic_load(&r->ready))
		return WORK_NEVER;
	if (now_ns >= r->logs_ns) {
		drop_logs(fs);
		r->logs_ns = now_ns + RETAIN_LOGS_NS;
	}
	if (atomic_load(&r->due) && now_ns >= r->versions_ns) {
		int64_t begin_ns = clock_mono_ns();

		atomic_store(&r->due, false);
		if (prune_old(fs))
			atomic_store(&r->due, true);
		now_ns = clock_mono_ns();
		r->versions_ns = now_ns + RETAIN_PAUSE_NS + (now_ns - begin_ns) * RETAIN_SHARE;
	}
	return atomic_load(&r->due) && r->versions_ns < r->logs_ns ? r->versions_ns : r->logs_ns;
}

int retain_new(struct fs *fs, struct retain **ret)
{
	struct retain *r = calloc(1, sizeof *r);
	int e;

	if (!r)
		return -ENOMEM;
	atomic_store(&r->due, true);
	*ret = r;
	e = work_new(fs, "retain", tick, &r->work);
	if (e < 0) {
		*ret = NULL;
		free(r);
	}
	return e;
}

void retain_begin(struct retain *r)
{
	atomic_store(&r->ready, true);
	work_wake(r->work);
}

void retain_mark(struct fs *fs)
{
	if (fs->retain) /* as in tests of the parts alone */
		atomic_store(&fs->retain->marked, true);
}

void retain_hint(struct fs *fs)
{
	struct retain *r = fs->retain;

	if (!atomic_exchange(&r->marked, false))
		return;
	atomic_store(&r->due, true);
	work_wake(r->work);
}

void retain_stop(struct retain *r)
{
	work_free(r->work);
	r->work = NULL;
}
