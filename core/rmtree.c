/* SPDX-License-Identifier: MIT */
/*
 * core/rmtree.c - path_rm_tree: remove a tree, however deep, by descriptor, never following links.
 * At most DEPTH_MAX folders are open at a time: what lies deeper is first moved up into the top folder, so that neither the stack nor
 * the table of descriptors grows with the depth, and no path is ever walked twice.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "core/fd.h"
#include "core/path.h"

#define DEPTH_MAX 32

struct level {
	DIR *dir;
	char name[NAME_LEN_MAX + 1]; /* in the folder above */
};

struct walk {
	struct level level[DEPTH_MAX];
	unsigned depth;
	uint64_t moved; /* names what is moved up */
	int first_err;
	bool progress;
};

static void failed(struct walk *w, int code)
{
	if (w->first_err == 0)
		w->first_err = code;
}

static int top_fd(const struct walk *w)
{
	return dirfd(w->level[0].dir);
}

static int push(struct walk *w, int parent_fd, const char *name)
{
	struct level *l = &w->level[w->depth];
	int fd = openat(parent_fd, name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return -errno;
	l->dir = fdopendir(fd);
	if (!l->dir) {
		int saved = errno;

		(void)close(fd);
		return -saved;
	}
	(void)snprintf(l->name, sizeof l->name, "%s", name);
	w->depth++;
	return 0;
}

/* A folder that lies too deep: into the top folder with it, where a later pass finds it. */
static void move_up(struct walk *w, int parent_fd, const char *name)
{
	char fresh[NAME_LEN_MAX + 1];

	for (;;) {
		(void)snprintf(fresh, sizeof fresh, ".rm.%llu", (unsigned long long)w->moved++);
		if (renameat2(parent_fd, name, top_fd(w), fresh, RENAME_NOREPLACE) == 0) {
			w->progress = true;
			return;
		}
		if (errno != EEXIST) {
			failed(w, -errno);
			return;
		}
	}
}

/* Remove one entry, or go down into it. */
static void entry(struct walk *w, int parent_fd, const char *name)
{
	int r;

	if (unlinkat(parent_fd, name, 0) == 0 || errno == ENOENT) {
		w->progress = true;
		return;
	}
	if (errno != EISDIR &&
	    errno != EPERM) { /* EPERM: what POSIX says for a folder, also an immutable file */
		failed(w, -errno);
		return;
	}
	if (unlinkat(parent_fd, name, AT_REMOVEDIR) == 0) {
		w->progress = true;
		return;
	}
	if (errno != ENOTEMPTY && errno != EEXIST) {
		failed(w, errno == ENOTDIR ? -EPERM : -errno);
		return;
	}
	if (w->depth == DEPTH_MAX) {
		move_up(w, parent_fd, name);
		return;
	}
	r = push(w, parent_fd, name);
	if (r < 0)
		failed(w, r);
}

static void pop(struct walk *w)
{
	struct level *l = &w->level[--w->depth];

	(void)closedir(l->dir);
	if (w->depth == 0)
		return;
	if (unlinkat(dirfd(w->level[w->depth - 1].dir), l->name, AT_REMOVEDIR) == 0)
		w->progress = true;
	else if (errno != ENOTEMPTY && errno != ENOENT)
		failed(w, -errno);
}

/* One pass over the open top folder: everything below it that can go goes. */
static void pass(struct walk *w)
{
	while (w->depth > 0) {
		DIR *dir = w->level[w->depth - 1].dir;
		const struct dirent *e;

		errno = 0;
		e = readdir(dir);
		if (e) {
			if (name_check(e->d_name) == 0)
				entry(w, dirfd(dir), e->d_name);
			continue;
		}
		if (errno)
			failed(w, -errno);
		pop(w);
	}
}

static int rm_folder(struct walk *w, int dir_fd, const char *name)
{
	int r;

	for (;;) {
		w->first_err = 0;
		w->progress = false;
		r = push(w, dir_fd, name);
		if (r < 0)
			return r == -ENOENT ? 0 : r;
		pass(w);
		if (unlinkat(dir_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
			return 0;
		if (errno != ENOTEMPTY && errno != EEXIST)
			return -errno;
		if (!w->progress) /* somebody fills it, or it can't be emptied */
			return w->first_err ? w->first_err : -ENOTEMPTY;
	}
}

int path_rm_tree(int dir_fd, const char *name, struct err *err)
{
	struct walk *w;
	int r = name_check(name);

	if (r < 0)
		return err_set(err, r, "remove '%s': not a name", name);
	if (unlinkat(dir_fd, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return err_sys(err, "remove '%s'", name);
	w = calloc(1, sizeof *w);
	if (!w)
		return err_set(err, -ENOMEM, "remove '%s': no memory", name);
	r = rm_folder(w, dir_fd, name);
	free(w);
	return r < 0 ? err_errno(err, r, "remove '%s'", name) : 0;
}
