/* SPDX-License-Identifier: MIT */
/*
 * exec/etc.c - copying and writing the files of /etc.
 */
#include "exec/etc.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "core/fd.h"
#include "core/ids.h"
#include "core/path.h"

#define COPY_DEPTH_MAX 8u

/* What is copied where the host has it; a trailing "*" stands for any ending. */
static const char *const copied[] = { "alternatives",   "ld.so.cache",  "ld.so.conf",
				      "ld.so.conf.d",   "fonts",        "localtime",
				      "timezone",       "mime.types",   "python3",
				      "python3.*",      "matplotlibrc", "ssl/certs",
				      "ssl/openssl.cnf" };
/* What tells that a copy is old. */
static const char *const watched[] = { "alternatives", "ld.so.cache", "fonts/conf.d",
				       "ssl/certs",    "localtime",   "matplotlibrc" };

static const struct {
	const char *name, *text;
} written[] = {
	{ "hostname", "garth\n" },
	{ "hosts", "127.0.0.1\tlocalhost garth\n::1\tlocalhost garth\n" },
	{ "resolv.conf", "" },
	{ "nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files\nservices: "
			   "files\nprotocols: files\n" },
	{ "gitconfig", "[safe]\n\tdirectory = *\n[init]\n\tdefaultBranch = main\n" },
	{ "passwd", "root:x:0:0:root:/home/user:/bin/bash\n"
		    "user:x:1000:1000:user:/home/user:/bin/bash\n"
		    "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n" },
};

static int write_file(int dir_fd, const char *name, struct bytes data, struct err *err)
{
	autofd fd =
		openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	int r;

	if (fd < 0)
		return err_sys(err, "make etc/%s", name);
	r = fd_write_full(fd, data.p, data.len);
	return r < 0 ? err_errno(err, r, "write etc/%s", name) : 0;
}

static int copy_file(int from, int to, const char *name, struct err *err)
{
	autofd fd = openat(from, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	autobuf text = { 0 };
	int r;

	buf_init(&text, ETC_FILE_MAX);
	if (fd < 0)
		return err_sys(err, "read /etc/.../%s", name);
	r = fd_read_all(fd, &text);
	if (r < 0)
		return err_errno(err, r, "read /etc/.../%s", name);
	return write_file(to, name, buf_view(&text), err);
}

static int copy_link(int from, int to, const char *name, struct err *err)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(from, name, target, sizeof target - 1);

	if (n < 0)
		return err_sys(err, "read the link /etc/.../%s", name);
	target[n] = '\0';
	return symlinkat(target, to, name) < 0 ? err_sys(err, "make the link etc/.../%s", name) : 0;
}

static int copy(int from, int to, const char *name, unsigned depth, struct err *err);

/* Everything in a folder. */
static int copy_dir(int from, int to, const char *name, unsigned depth, struct err *err)
{
	autofd src = openat(from, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	autofd dst = -1;
	DIR *d;
	const struct dirent *e;
	int r = 0;

	if (src < 0)
		return err_sys(err, "read /etc/.../%s", name);
	if (mkdirat(to, name, 0755) < 0 && errno != EEXIST)
		return err_sys(err, "make etc/.../%s", name);
	dst = openat(to, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	d = dst < 0 ? NULL : fdopendir(src);
	if (!d)
		return err_sys(err, "read /etc/.../%s", name);
	(void)fd_steal(&src);
	while (r == 0 && (e = readdir(d)) != NULL)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			r = copy(dirfd(d), dst, e->d_name, depth + 1, err);
	(void)closedir(d);
	return r;
}

/* One name: a file, link or folder that everybody may read. Anything else, and what has just gone, is left out. */
static int copy(int from, int to, const char *name, unsigned depth, struct err *err)
{
	struct stat st;

	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || depth > COPY_DEPTH_MAX)
		return 0;
	if (S_ISLNK(st.st_mode))
		return copy_link(from, to, name, err);
	if (S_ISDIR(st.st_mode) && (st.st_mode & 0005) == 0005)
		return copy_dir(from, to, name, depth, err);
	if (S_ISREG(st.st_mode) && (st.st_mode & 0004) && st.st_size <= (off_t)ETC_FILE_MAX)
		return copy_file(from, to, name, err);
	return 0;
}

/* A row of `copied` that has a folder in it: "ssl/certs". */
static int copy_below(int from, int to, const char *row, const char *slash, struct err *err)
{
	char dir[NAME_LEN_MAX + 1];
	autofd src = -1, dst = -1;

	(void)snprintf(dir, sizeof dir, "%.*s", (int)(slash - row), row);
	src = openat(from, dir, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (src < 0)
		return 0;
	if (mkdirat(to, dir, 0755) < 0 && errno != EEXIST)
		return err_sys(err, "make etc/%s", dir);
	dst = openat(to, dir, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return dst < 0 ? err_sys(err, "make etc/%s", dir) : copy(src, dst, slash + 1, 1, err);
}

static int copy_pattern(int from, int to, const char *row, struct err *err)
{
	autofd fd = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	int r = 0;

	if (!d)
		return err_sys(err, "read /etc");
	(void)fd_steal(&fd);
	while (r == 0 && (e = readdir(d)) != NULL)
		if (strncmp(e->d_name, row, strlen(row) - 1) == 0)
			r = copy(from, to, e->d_name, 0, err);
	(void)closedir(d);
	return r;
}

static int copy_rows(int from, int to, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof copied / sizeof copied[0]; i++) {
		const char *slash = strchr(copied[i], '/');

		if (slash)
			r = copy_below(from, to, copied[i], slash, err);
		else if (strchr(copied[i], '*'))
			r = copy_pattern(from, to, copied[i], err);
		else
			r = copy(from, to, copied[i], 0, err);
	}
	return r;
}

/* Each step has a gid of its own; `groups` and Path.group() want names for them. */
static int write_group(int to, struct err *err)
{
	autobuf text = { 0 };
	int r;

	buf_init(&text, 16384);
	r = buf_addf(&text, "root:x:0:\nuser:x:1000:\nnogroup:x:65534:\nworkspace:x:%u:\n",
		     IDS_WS_GID_INSIDE);
	for (unsigned k = 0; r == 0 && k < IDS_STEPS_MAX; k++)
		r = buf_addf(&text, "step%u:x:%u:\n", k, IDS_STEP_GID + k);
	return r < 0 ? err_set(err, r, "no memory for etc/group")
		     : write_file(to, "group", buf_view(&text), err);
}

static int fill(int to, struct err *err)
{
	autofd from = open("/etc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (from < 0)
		return err_sys(err, "open /etc");
	r = copy_rows(from, to, err);
	for (size_t i = 0; r == 0 && i < sizeof written / sizeof written[0]; i++)
		r = write_file(to, written[i].name, bytes_str(written[i].text), err);
	if (r == 0)
		r = write_group(to, err);
	if (r == 0 && (symlinkat("../usr/lib/os-release", to, "os-release") < 0 ||
		       symlinkat("../proc/self/mounts", to, "mtab") < 0))
		r = err_sys(err, "make a link in etc");
	return r;
}

static long long stamp_now(void)
{
	autofd etc = open("/etc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	unsigned long long sum = 1;
	struct stat st;

	for (size_t i = 0; i < sizeof watched / sizeof watched[0]; i++)
		if (etc >= 0 && fstatat(etc, watched[i], &st, AT_SYMLINK_NOFOLLOW) == 0)
			sum = sum * 1000003u + (unsigned long long)st.st_mtim.tv_sec * 1000000007u +
			      (unsigned long long)st.st_mtim.tv_nsec + st.st_ino;
	return (long long)sum;
}

int etc_refresh(struct etc *e, int run_fd, struct err *err)
{
	struct etc next = { .number = e->number + 1, .stamp = stamp_now() };
	autofd to = -1;
	int r;

	if (e->name[0] && e->stamp == next.stamp)
		return 0;
	(void)snprintf(next.name, sizeof next.name, "etc.%u", next.number);
	r = path_rm_tree(run_fd, next.name, err);
	if (r < 0)
		return r;
	if (mkdirat(run_fd, next.name, 0755) < 0)
		return err_sys(err, "make the sandboxes' /etc");
	to = openat(run_fd, next.name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	r = to < 0 ? err_sys(err, "open the sandboxes' /etc") : fill(to, err);
	if (r < 0) {
		(void)!path_rm_tree(run_fd, next.name, NULL);
		return r;
	}
	*e = next;
	return 0;
}
