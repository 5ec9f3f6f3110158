/* SPDX-License-Identifier: MIT */
/*
 * cli/local.c - files on the user's side.
 */
#include "cli/local.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/exit.h"
#include "cli/print.h"
#include "core/fd.h"
#include "core/id.h"

#define NEW_MODE 0666 /* less the umask, as any program's file */

int local_failed(const char *name, int code)
{
	const char *why = strerrordesc_np(-code);

	(void)fputs("garth: ", stderr);
	print_safe(stderr, name);
	(void)fprintf(stderr, ": %s\n", why ? why : "failed");
	return EXIT_FAILED;
}

int local_read(const char *name, struct buf *b)
{
	bool from_stdin = strcmp(name, "-") == 0;
	autofd fd = from_stdin ? -1 : open(name, O_RDONLY | O_CLOEXEC);
	int r;

	if (!from_stdin && fd < 0)
		return local_failed(name, -errno);
	r = fd_read_all(from_stdin ? STDIN_FILENO : fd, b);
	return r < 0 ? local_failed(name, r) : EXIT_OK;
}

int local_new_open(struct local_new *n, int dir_fd, const char *name)
{
	*n = (struct local_new){ .dir_fd = dir_fd, .name = name, .fd = -1 };
	(void)snprintf(n->temp, sizeof n->temp, ".garth-%llx", (unsigned long long)id_make());
	n->fd = openat(dir_fd, n->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
		       NEW_MODE);
	return n->fd < 0 ? -errno : 0;
}

bool local_is_special(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

int local_new_beside(struct local_new *n, const char *path)
{
	char *real = realpath(path, NULL), *target = real ? real : strdup(path);
	char *slash = target ? strrchr(target, '/') : NULL;
	int dir_fd, r;

	*n = (struct local_new){ .dir_fd = -1, .fd = -1 };
	if (!target)
		return -ENOMEM;
	if (local_is_special(target)) {
		n->target = target;
		n->fd = open(target, O_WRONLY | O_CLOEXEC | O_NOCTTY);
		r = n->fd < 0 ? -errno : 0;
		if (r < 0)
			local_new_drop(n);
		return r;
	}
	if (slash)
		*slash = '\0';
	dir_fd = open(!slash ? "." : *target ? target : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = dir_fd < 0 ? -errno : local_new_open(n, dir_fd, slash ? slash + 1 : target);
	if (r == 0 && !*n->name)
		r = -EISDIR;
	n->target = target;
	n->own_dir = true;
	n->dir_fd = dir_fd;
	if (r < 0)
		local_new_drop(n);
	return r;
}

/* Root may replace anything, a device too. */
static int may_replace(const struct local_new *n)
{
	struct stat st;

	if (fstatat(n->dir_fd, n->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	return S_ISREG(st.st_mode) || S_ISLNK(st.st_mode) ? 0 : -EEXIST;
}

int local_new_done(struct local_new *n)
{
	int r = close(n->fd) < 0
			? -errno
			: 0; /* where a network file system reports what it could not store */

	n->fd = -1;
	if (n->temp[0] == '\0') {
		local_new_drop(n);
		return r;
	}
	if (r == 0)
		r = may_replace(n);
	if (r == 0 && renameat(n->dir_fd, n->temp, n->dir_fd, n->name) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(n->dir_fd, n->temp, 0);
	local_new_drop(n);
	return r;
}

void local_new_drop(struct local_new *n)
{
	if (n->fd >= 0) {
		fd_closep(&n->fd);
		if (n->temp[0] != '\0')
			(void)unlinkat(n->dir_fd, n->temp, 0);
	}
	if (n->own_dir)
		fd_closep(&n->dir_fd);
	n->own_dir = false;
	free(n->target);
	n->target = NULL;
}
