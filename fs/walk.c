/* SPDX-License-Identifier: MIT */
/*
 * fs/walk.c - paths and trees in the store.
 */
#include "fs/walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/fd.h"
#include "core/path.h"
#include "fs/act.h"
#include "fs/cred.h"
#include "fs/handle.h"

#define MODE_BITS 07777

static uint32_t acting(uint32_t as, uint32_t owner)
{
	return as == WALK_AS_OWNER ? owner : as;
}

/* One part further down. */
static int step_down(struct fs *fs, uint32_t as, int *fd, struct stat *st, const char *part)
{
	int r, next;

	if (!S_ISDIR(st->st_mode))
		return -ENOTDIR;
	r = cred_as(fs, acting(as, st->st_uid));
	if (r < 0)
		return r;
	next = openat(*fd, part, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (next < 0)
		return -errno;
	fd_closep(fd);
	*fd = next;
	return fstat(next, st) < 0 ? -errno : 0;
}

int walk_open(struct fs *fs, uint32_t as, int base_fd, struct bytes path, int *ret_fd,
	      struct stat *ret_st)
{
	const char *p = path.p, *end = p + path.len;
	char part[NAME_LEN_MAX + 1];
	autofd fd = fcntl(base_fd, F_DUPFD_CLOEXEC, 0);
	int r = 0;

	if (fd < 0 || fstat(fd, ret_st) < 0)
		return -errno;
	while (r == 0 && path.len && p < end) {
		const char *slash = memchr(p, '/', (size_t)(end - p));
		size_t len = (size_t)((slash ? slash : end) - p);

		if (len == 0 || len > NAME_LEN_MAX)
			return -ENAMETOOLONG;
		memcpy(part, p, len);
		part[len] = '\0';
		r = step_down(fs, as, &fd, ret_st, part);
		p += len + 1;
	}
	if (r == 0)
		*ret_fd = fd_steal(&fd);
	return r;
}

struct pending {
	struct pending *next;
	struct fhandle h;
	size_t len;
	char path[];
};

struct walk {
	struct fs *fs;
	uint32_t as;
	enum walk_how how;
	walk_fn fn;
	void *ctx;
	struct pending *list; /* folders that are still to be read */
};

static struct pending *pending_new(struct bytes dir, const char *name)
{
	size_t n = strlen(name);
	struct pending *p = malloc(sizeof *p + dir.len + n + 2);

	if (!p)
		return NULL;
	p->len = 0;
	if (dir.len) {
		memcpy(p->path, dir.p, dir.len);
		p->path[dir.len] = '/';
		p->len = dir.len + 1;
	}
	memcpy(p->path + p->len, name, n + 1);
	p->len += n;
	return p;
}

static int visit(struct walk *w, struct bytes dir, int dir_fd, uint32_t owner, const char *name)
{
	struct pending *p;
	autofd fd = -1;
	struct stat st;
	int r = cred_as(w->fs, acting(w->as, owner));

	if (r < 0)
		return r;
	fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return 0; /* it went meanwhile */
	p = pending_new(dir, name);
	if (!p)
		return -ENOMEM;
	r = w->fn(w->ctx, bytes_of(p->path, p->len), fd, &st);
	if (r == 0 && w->how != WALK_ONE && S_ISDIR(st.st_mode) && fhandle_of(fd, &p->h) == 0) {
		p->next = w->list;
		w->list = p;
	} else {
		free(p);
	}
	return r;
}

static int read_dir(struct walk *w, struct bytes path, int path_fd, const struct stat *st)
{
	int fd = -1;
	struct dirent *e;
	int r = act_reopen(w->fs, acting(w->as, st->st_uid), path_fd, O_RDONLY | O_DIRECTORY, &fd);
	DIR *d;

	if (r < 0) /* its own owner may not: passed over; who asks for this very folder is told */
		return path.len == 0 && w->as != WALK_AS_OWNER ? r : 0;
	d = fdopendir(fd);
	if (!d) {
		fd_closep(&fd);
		return -ENOMEM;
	}
	while (r == 0 && (e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			r = visit(w, path, path_fd, st->st_uid, e->d_name);
	closedir(d);
	return r;
}

/* A folder whose owner has closed it to itself is open for the while that it is read. */
static int read_closed(struct walk *w, struct bytes path, int path_fd, const struct stat *st)
{
	char name[ACT_NAME_SIZE];
	mode_t mode = st->st_mode & MODE_BITS;
	bool closed = (mode & (S_IRUSR | S_IXUSR)) != (S_IRUSR | S_IXUSR);
	int r = cred_as(w->fs, st->st_uid);

	if (r < 0)
		return r;
	closed =
		closed && w->how == WALK_ALL && chmod(act_name(path_fd, name), mode | S_IRWXU) == 0;
	r = read_dir(w, path, path_fd, st);
	if (closed && cred_as(w->fs, st->st_uid) == 0)
		(void)chmod(act_name(path_fd, name), mode);
	return r;
}

/* By its handle: the folders above it may be closed again. */
static int read_pending(struct walk *w, const struct pending *p)
{
	struct hentry *e = NULL;
	struct stat st;
	int fd = -1;
	int r = hcache_get(w->fs->hcache, &p->h, &e, &fd);

	if (r == -ESTALE)
		return 0; /* it went meanwhile */
	if (r == 0 && fstat(fd, &st) < 0)
		r = -errno;
	if (r == 0)
		r = read_closed(w, bytes_of(p->path, p->len), fd, &st);
	hcache_put(w->fs->hcache, e);
	return r;
}

int walk_each(struct fs *fs, uint32_t as, int base_fd, struct bytes top, enum walk_how how,
	      walk_fn fn, void *ctx)
{
	struct walk w = { .fs = fs, .as = as, .how = how, .fn = fn, .ctx = ctx };
	autofd top_fd = -1;
	struct stat st = { 0 };
	int r = walk_open(fs, as, base_fd, top, &top_fd, &st);

	if (r == 0)
		r = S_ISDIR(st.st_mode) ? read_closed(&w, (struct bytes){ 0 }, top_fd, &st)
					: -ENOTDIR;
	while (w.list) {
		struct pending *p = w.list;

		w.list = p->next;
		if (r == 0)
			r = read_pending(&w, p);
		free(p);
	}
	return r;
}
