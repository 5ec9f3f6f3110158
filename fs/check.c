/* SPDX-License-Identifier: MIT */
/*
 * fs/check.c - the store against the record, when garth-fs begins: what lies there is counted; what is not as the record says is named.
 * After a crash a file that was written since the oldest unfinished step began is hashed again; what differs is in doubt.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/fd.h"
#include "core/ids.h"
#include "fs/act.h"
#include "fs/cred.h"
#include "fs/emit.h"
#include "fs/place.h"
#include "fs/quota.h"
#include "fs/rec.h"
#include "fs/rec_own.h"
#include "fs/start.h"
#include "fs/trash.h"
#include "fs/walk.h"

#define ID_MS_SHIFT 20          /* core/id.h: an id's upper bits are its birth in ms */
#define SLACK_NS (2 * NS_PER_S) /* of the store's clock ticks */

struct check {
	struct fs *fs;
	struct left *left;
	int64_t since_ns; /* files written after that are hashed; INT64_MAX: none */
	uint64_t *object; /* inodes of objects/, ascending */
	size_t objects, objects_cap;
};

static int add_object(void *ctx, struct bytes path, int fd, const struct stat *st)
{
	struct check *k = ctx;

	(void)fd;
	if (path.len >= 4 && memcmp(path.p, "tmp.", 4) == 0) {
		cred_own(k->fs);
		(void)unlinkat(k->fs->objects_fd, path.p, 0); /* a copy that was not finished */
		return 0;
	}
	if (k->objects == k->objects_cap) {
		size_t cap = k->objects_cap ? k->objects_cap * 2 : 256;
		uint64_t *more = realloc(k->object, cap * sizeof *more);

		if (!more)
			return -ENOMEM;
		k->object = more;
		k->objects_cap = cap;
	}
	k->object[k->objects++] = st->st_ino;
	if (st->st_nlink == 1) /* else it is counted where it lives */
		quota_add(k->fs, st->st_uid, NULL, (int64_t)st->st_blocks * 512, 0);
	return 0;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static bool is_object(const struct check *k, uint64_t ino)
{
	return k->objects && bsearch(&ino, k->object, k->objects, sizeof ino, by_number) != NULL;
}

static struct left_file *find(struct left *l, struct bytes path)
{
	size_t lo = 0, hi = l->files;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		struct bytes at = l->file[mid].f.path;
		size_t n = at.len < path.len ? at.len : path.len;
		int c = memcmp(at.p, path.p, n);

		if (c == 0)
			c = (at.len > path.len) - (at.len < path.len);
		if (c == 0)
			return &l->file[mid];
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

/* The unfinished step that may have written it: the only one of its owner's, else 0. */
static uint64_t suspect(const struct check *k, uint32_t uid)
{
	uint64_t step = 0;
	unsigned n = 0;
	uint32_t block;

	if (!ids_agent_of(k->fs->uid_base, uid, &block))
		return 0;
	for (size_t i = 0; i < k->left->steps; i++)
		if (k->left->step[i].agent == block) {
			step = k->left->step[i].step;
			n++;
		}
	return n == 1 ? step : 0;
}

static void doubt(struct check *k, uint64_t step, uint64_t version, struct bytes path,
		  const char *why)
{
	struct event e = { .kind = EV_DOUBT };

	e.u.doubt = (struct ev_doubt){
		.step = step, .version = version, .path = path, .why = bytes_str(why)
	};
	emit(k->fs, &e);
}

static bool same_bytes(struct check *k, const struct left_file *f, int path_fd,
		       const struct stat *st)
{
	struct sha256 sha;
	autofd fd = -1;

	if (!f->f.has_sha || act_reopen(k->fs, st->st_uid, path_fd, O_RDONLY, &fd) < 0)
		return false;
	return sha256_fd(fd, &sha, NULL) == 0 && memcmp(&sha, &f->f.sha, sizeof sha) == 0;
}

/* NULL: it is what the record says. */
static const char *what_is_wrong(struct check *k, const struct left_file *f, int path_fd,
				 const struct stat *st)
{
	int64_t written_ns = st->st_mtim.tv_sec * NS_PER_S + st->st_mtim.tv_nsec;

	if (f->f.state == STATE_OPEN)
		return "it was being written";
	if (f->f.ino != st->st_ino || f->f.size != (uint64_t)st->st_size)
		return "it is another file than the one recorded";
	if (written_ns >= k->since_ns && f->f.has_sha && !same_bytes(k, f, path_fd, st))
		return "its bytes have changed since";
	return NULL;
}

/* A row for what is there now: nobody vouches for it. */
static int take_in(struct check *k, struct bytes path, const struct fhandle *h,
		   const struct stat *st, const struct left_file *f, const char *why)
{
	struct who nobody = { .kind = WHO_NOBODY, .agent = EV_NOBODY };
	uint64_t step = suspect(k, st->st_uid);
	struct rec *c = NULL;
	struct rname *m;
	int r;

	recs_lock(k->fs->recs);
	r = rec_enter_locked(k->fs, h, st->st_ino, st->st_uid, path, &c);
	if (r < 0) {
		recs_unlock(k->fs->recs);
		return r;
	}
	m = rname_find(k->fs->recs, path);
	c->size = (uint64_t)st->st_size;
	c->state = STATE_DOUBT;
	if (f && f->f.state == STATE_OPEN) {
		m->version = f->f.version;
		doubt(k, step, f->f.version, path, why);
	} else {
		rec_emit_version(k->fs, c, m, &nobody, f ? ACTION_MODIFIED : ACTION_CREATED,
				 STATE_DOUBT, 0);
		doubt(k, step, m->version, path, why);
	}
	recs_unlock(k->fs->recs);
	rec_put(k->fs, c);
	return 0;
}

static bool is_recorded(struct bytes path)
{
	struct zone_place at;

	zone_of(path, &at);
	return at.zone == ZONE_INPUT || at.zone == ZONE_OUTPUT || at.zone == ZONE_AREA;
}

/* The server's own: what is kept of them has limits of its own. */
static bool in_logs(struct bytes path)
{
	struct zone_place at;

	zone_of(path, &at);
	return at.zone == ZONE_LOGS;
}

/* Each name counts as a file; the bytes of one with several names are met as often. */
static int64_t bytes_of_name(const struct check *k, const struct stat *st)
{
	int64_t bytes = (int64_t)st->st_blocks * 512;
	int64_t names = (int64_t)st->st_nlink - is_object(k, st->st_ino);

	return S_ISREG(st->st_mode) && names > 1 ? bytes / names : bytes;
}

static int check_file(void *ctx, struct bytes path, int fd, const struct stat *st)
{
	struct check *k = ctx;
	struct left_file *f;
	struct fhandle h;
	struct rec *c = NULL;
	const char *wrong;
	int r;

	if (!in_logs(path))
		quota_add(k->fs, st->st_uid, NULL, bytes_of_name(k, st), 1);
	if (!S_ISREG(st->st_mode) || !is_recorded(path))
		return 0;
	r = fhandle_of(fd, &h);
	if (r < 0)
		return r;
	f = find(k->left, path);
	wrong = f ? what_is_wrong(k, f, fd, st) : "the record doesn't know it";
	if (f)
		f->seen = true;
	if (wrong)
		return take_in(k, path, &h, st, f, wrong);
	r = rec_load(k->fs, &h, st->st_uid, &f->f, f->f.kept && is_object(k, st->st_ino), &c);
	if (r == 0)
		rec_put(k->fs, c);
	return r;
}

/* The record says it lives, and it is not there. */
static void name_missing(struct check *k)
{
	struct who nobody = { .kind = WHO_NOBODY, .agent = EV_NOBODY };

	for (size_t i = 0; i < k->left->files; i++) {
		const struct left_file *f = &k->left->file[i];

		if (f->seen || !is_recorded(f->f.path))
			continue;
		doubt(k, 0, f->f.version, f->f.path,
		      "it is gone, and nobody is recorded to have removed it");
		emit_change(k->fs, &nobody, OP_UNLINK, f->f.path, (struct bytes){ 0 });
	}
}

static void sweep_tasks(struct fs *fs)
{
	autofd fd = -1;
	struct dirent *e;
	DIR *d;

	cred_own(fs);
	fd = openat(fs->task_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = fd >= 0 ? fdopendir(fd) : NULL;
	if (!d)
		return;
	(void)fd_steal(&fd);
	while ((e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			(void)trash_put(fs, fs->task_fd,
					e->d_name); /* cleared again when its gids come again */
	closedir(d);
	trash_sweep(fs);
}

int start_check(struct fs *fs, struct left *l, struct err *err)
{
	struct check k = { .fs = fs, .left = l, .since_ns = INT64_MAX };
	int r;

	for (size_t i = 0; i < l->steps; i++) {
		int64_t born_ns = (int64_t)(l->step[i].step >> ID_MS_SHIFT) * NS_PER_MS - SLACK_NS;

		if (born_ns < k.since_ns)
			k.since_ns = born_ns;
	}
	r = walk_each(fs, WALK_AS_OWNER, fs->objects_fd, (struct bytes){ 0 }, WALK_ONE, add_object,
		      &k);
	if (r == 0 && k.objects)
		qsort(k.object, k.objects, sizeof *k.object, by_number);
	if (r == 0)
		r = walk_each(fs, WALK_AS_OWNER, fs->data_fd, (struct bytes){ 0 }, WALK_ALL,
			      check_file, &k);
	if (r == 0) {
		name_missing(&k);
		sweep_tasks(fs);
	}
	free(k.object);
	cred_own(fs);
	return r < 0 ? err_errno(err, r, "look through the store") : 0;
}
