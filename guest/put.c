/* SPDX-License-Identifier: MIT */
/*
 * guest/put.c - writes one whole file into the workspace, or nothing.
 * Not here: the child that does it, with a step's ids (guest/spawn.c).
 */
#include "guest/put.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "core/fd.h"
#include "core/path.h"

#define COPY_PIECE (1024u * 1024)
#define FOLDER_MODE 0777u /* the umask says the rest */
#define FILE_MODE 0666u
#define TEMP_SIZE 40
#define TEMP_TRIES 8
#define LINK_TRIES 8 /* somebody makes and removes the file while we decide which it is */
#define FD_PATH_SIZE 40

/* Where it goes, and what has the bytes: a file without a name (temp ""), or one with a temporary name. */
struct target {
	int dir_fd;
	const char *name;
	int fd;
	char temp[TEMP_SIZE];
};

static int temp_name(char out[TEMP_SIZE])
{
	uint64_t r;

	if (getrandom(&r, sizeof r, 0) != (ssize_t)sizeof r)
		return -errno;
	(void)snprintf(out, TEMP_SIZE, ".garth-put-%016" PRIx64, r);
	return 0;
}

static int open_temp(struct target *t, struct err *err)
{
	int r = -EEXIST;

	for (int i = 0; i < TEMP_TRIES && r == -EEXIST; i++) {
		r = temp_name(t->temp);
		if (r == 0)
			r = path_open_beneath(t->dir_fd, t->temp, O_RDWR | O_CREAT | O_EXCL,
					      FILE_MODE, &t->fd, err);
	}
	if (r < 0)
		t->temp[0] = '\0';
	return r;
}

static int open_target(struct target *t, struct err *err)
{
	int r = path_open_beneath(t->dir_fd, ".", O_TMPFILE | O_RDWR, FILE_MODE, &t->fd, err);

	if (r == -EOPNOTSUPP || r == -EISDIR || r == -ENOSYS || r == -EINVAL)
		return open_temp(t, err);
	return r;
}

/*
 * Where the folder may not be written (access(2) is no violation), be refused by the name that was asked for, so that the record names
 * it and not a temporary one. 0: it may be written after all.
 */
static int be_refused(const struct target *t, struct err *err)
{
	autofd fd = -1;
	int r;

	if (faccessat(t->dir_fd, ".", W_OK | X_OK, 0) == 0)
		return 0;
	r = path_open_beneath(t->dir_fd, t->name, O_WRONLY | O_NONBLOCK, 0, &fd, err);
	if (r != -ENOENT)
		return r;
	r = path_open_beneath(t->dir_fd, t->name, O_WRONLY | O_CREAT | O_EXCL, FILE_MODE, &fd, err);
	if (r == 0)
		(void)unlinkat(t->dir_fd, t->name, 0);
	return r;
}

static int copy_content(int from, int to, struct err *err)
{
	char *room = malloc(COPY_PIECE);
	off_t at = 0;
	int r = room ? 0 : -ENOMEM;

	while (r == 0) {
		ssize_t n = pread(from, room, COPY_PIECE, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			r = -errno;
		if (n <= 0)
			break;
		r = fd_pwrite_full(to, room, (size_t)n, at);
		at += n;
	}
	free(room);
	if (r == 0 && fsync(to) < 0)
		r = -errno;
	return r < 0 ? err_errno(err, r, "write the file") : 0;
}

static int link_fd(int fd, int dir_fd, const char *name)
{
	char path[FD_PATH_SIZE];

	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, path, dir_fd, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

/* Give it its name if that is free: 0 or -EEXIST. */
static int place_new(struct target *t, struct err *err)
{
	int r;

	if (t->temp[0] == '\0')
		r = link_fd(t->fd, t->dir_fd, t->name);
	else
		r = renameat2(t->dir_fd, t->temp, t->dir_fd, t->name, RENAME_NOREPLACE) < 0 ? -errno
											    : 0;
	if (r == 0)
		t->temp[0] = '\0';
	return r < 0 ? err_errno(err, r, "make '%s'", t->name) : 0;
}

static int check_sha(const struct target *t, const char *want, struct err *err)
{
	char path[FD_PATH_SIZE + NAME_LEN_MAX + 1], have[SHA256_HEX_SIZE];
	ssize_t n;

	if (want[0] == '\0')
		return 0;
	/* by name: an open for reading would stand in the record as a use of what is replaced */
	(void)snprintf(path, sizeof path, "/proc/self/fd/%d/%s", t->dir_fd, t->name);
	n = lgetxattr(path, PUT_SHA_ATTR, have, SHA256_HEX_LEN);
	if (n != SHA256_HEX_LEN || memcmp(have, want, SHA256_HEX_LEN) != 0)
		return err_set(err, -ESTALE, "'%s' has changed", t->name);
	return 0;
}

/* Take the place of the file that is there. */
static int place_over(struct target *t, const char *if_sha, struct err *err)
{
	int r = 0;

	if (t->temp[0] == '\0') { /* a file without a name can't replace one */
		r = temp_name(t->temp);
		if (r == 0)
			r = link_fd(t->fd, t->dir_fd, t->temp);
		if (r < 0) {
			t->temp[0] = '\0';
			return err_errno(err, r, "make a temporary name");
		}
	}
	r = check_sha(t, if_sha, err);
	if (r < 0)
		return r;
	if (renameat(t->dir_fd, t->temp, t->dir_fd, t->name) < 0)
		return err_sys(err, "replace '%s'", t->name);
	t->temp[0] = '\0';
	return 0;
}

static int place(struct target *t, const struct put *w, bool *ret_created, struct err *err)
{
	struct stat st;
	int r;

	for (int i = 0; i < LINK_TRIES; i++) {
		if (w->if_sha[0] == '\0') {
			r = place_new(t, err);
			if (r == 0)
				*ret_created = true;
			if (r != -EEXIST || !w->replace)
				return r;
		}
		if (fstatat(t->dir_fd, t->name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
			if (errno == ENOENT && w->if_sha[0] == '\0')
				continue;
			return errno == ENOENT ? err_set(err, -ESTALE, "'%s' is not there", t->name)
					       : err_sys(err, "look at '%s'", t->name);
		}
		if (S_ISDIR(st.st_mode))
			return err_set(err, -EISDIR, "'%s' is a folder", t->name);
		r = place_over(t, w->if_sha, err);
		if (r == 0)
			*ret_created = false;
		return r;
	}
	return err_set(err, -EAGAIN, "'%s' comes and goes", t->name);
}

static int open_parent(int root_fd, const char *path, const char *slash, int *ret_fd,
		       struct err *err)
{
	char parent[PATH_LEN_MAX + 1];
	size_t len = slash ? (size_t)(slash - path) : 0;
	int r;

	memcpy(parent, path, len);
	parent[len] = '\0';
	r = path_open_beneath(root_fd, parent, O_RDONLY | O_DIRECTORY, 0, ret_fd, err);
	if (r != -ENOENT)
		return r;
	r = path_mkdirs(root_fd, parent, FOLDER_MODE, err);
	return r < 0 ? r
		     : path_open_beneath(root_fd, parent, O_RDONLY | O_DIRECTORY, 0, ret_fd, err);
}

int put_file(int root_fd, const struct put *w, int content_fd, bool *ret_created, struct err *err)
{
	const char *slash = strrchr(w->path, '/');
	struct target t = { .dir_fd = -1, .name = slash ? slash + 1 : w->path, .fd = -1 };
	int r = open_parent(root_fd, w->path, slash, &t.dir_fd, err);

	if (r == 0)
		r = be_refused(&t, err);
	if (r == 0)
		r = open_target(&t, err);
	if (r == 0)
		r = copy_content(content_fd, t.fd, err);
	if (r == 0)
		r = place(&t, w, ret_created, err);
	if (t.temp[0] != '\0')
		(void)unlinkat(t.dir_fd, t.temp, 0);
	fd_closep(&t.fd);
	fd_closep(&t.dir_fd);
	return r;
}
