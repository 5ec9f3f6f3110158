/* SPDX-License-Identifier: MIT */
/*
 * fs/retain.c - what the policy's `retention` lets go when a workspace starts.
 */
#include "fs/retain.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/fd.h"
#include "fs/cred.h"
#include "fs/emit.h"
#include "fs/step.h"
#include "fs/trash.h"
#include "fs/walk.h"

static int add(void *ctx, uint64_t version, const struct sha256 *sha)
{
	struct left *l = ctx;

	if (l->prunes == l->prunes_cap) {
		size_t cap = l->prunes_cap ? l->prunes_cap * 2 : 64;
		struct left_prune *more = realloc(l->prune, cap * sizeof *more);

		if (!more)
			return -ENOMEM;
		l->prune = more;
		l->prunes_cap = cap;
	}
	l->prune[l->prunes++] = (struct left_prune){ .version = version, .sha = *sha };
	return 0;
}

int retain_load(struct fs *fs, struct left *l)
{
	struct policy *p = steps_policy(fs->steps);
	int r = p->retain_versions ? idx_load_prunable(fs->idx, p->retain_versions, add, l) : 0;

	policy_unref(p);
	return r;
}

/* The row first: bytes without a row are only waste, a row without its bytes would not verify. */
static void prune(struct fs *fs, const struct left_prune *v)
{
	struct event e = { .kind = EV_VERSION_STATE };
	char hex[SHA256_HEX_SIZE];

	e.u.version_state =
		(struct ev_version_state){ .version = v->version, .state = STATE_PRUNED };
	emit(fs, &e);
	sha256_hex(&v->sha, hex);
	(void)unlinkat(fs->objects_fd, hex, 0);
}

struct old_logs {
	struct fs *fs;
	int logs_fd;
	int64_t before_ns;
};

static int drop_old(void *ctx, struct bytes path, int fd, const struct stat *st)
{
	struct old_logs *o = ctx;

	(void)fd;
	if (!S_ISDIR(st->st_mode) || st->st_mtim.tv_sec * NS_PER_S >= o->before_ns)
		return 0;
	cred_own(o->fs);
	(void)trash_put(o->fs, o->logs_fd, path.p); /* else at the next start */
	return 0;
}

static void drop_logs(struct fs *fs)
{
	struct policy *p = steps_policy(fs->steps);
	struct old_logs o = { .fs = fs, .before_ns = clock_wall_ns() - p->retain_logs_ns };
	autofd logs = openat(fs->data_fd, "logs", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	o.logs_fd = logs;
	if (logs >= 0 && p->retain_logs_ns > 0)
		(void)walk_each(fs, logs, (struct bytes){ 0 }, WALK_ONE, drop_old, &o);
	policy_unref(p);
}

void retain_apply(struct fs *fs, struct left *l)
{
	cred_own(fs);
	for (size_t i = 0; i < l->prunes; i++)
		prune(fs, &l->prune[i]);
	drop_logs(fs);
	cred_own(fs);
}
