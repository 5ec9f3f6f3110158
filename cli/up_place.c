/* SPDX-License-Identifier: MIT */
/*
 * cli/up_place.c - the folders of a server and its lock. Keys: cli/up_keys.c.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "cli/up.h"
#include "core/fd.h"
#include "core/size.h"

long long up_start_of(pid_t pid)
{
	char path[64], text[1024];
	long long start = 0;
	autofd fd = -1;
	ssize_t n;
	char *name_end;

	(void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	name_end = strrchr(text, ')');
	if (!name_end || sscanf(name_end + 1,
				" %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
				"%*d %*d %*d %lld",
				&start) != 1)
		return 0;
	return start;
}

static int mkdirs(const char *path, unsigned mode, struct err *err)
{
	char part[PATH_LEN_MAX + 1];
	size_t len = strlen(path);

	if (len == 0 || len > PATH_LEN_MAX)
		return err_set(err, -ENAMETOOLONG, "the data folder's name is too long");
	memcpy(part, path, len + 1);
	for (size_t i = 1; i <= len; i++) {
		if (part[i] != '/' && part[i] != '\0')
			continue;
		part[i] = '\0';
		if (mkdir(part, mode) < 0 && errno != EEXIST)
			return err_sys(err, "make the folder %s", part);
		part[i] = path[i];
	}
	return 0;
}

int up_server_name(const char *data, char out[UP_SERVER_LEN + 1], char real[PATH_LEN_MAX + 1],
		   struct err *err)
{
	char hex[SHA256_HEX_SIZE];
	char *resolved = realpath(data, NULL);
	struct sha256 sha;

	if (!resolved)
		return err_sys(err, "the data folder %s", data);
	if (strlen(resolved) > PATH_LEN_MAX / 2) {
		free(resolved);
		return err_set(err, -ENAMETOOLONG, "the data folder's name is too long");
	}
	memcpy(real, resolved, strlen(resolved) + 1);
	free(resolved);
	sha256_of(bytes_str(real), &sha);
	sha256_hex(&sha, hex);
	(void)snprintf(out, UP_SERVER_LEN + 1, "%.*s", UP_SERVER_LEN, hex);
	return 0;
}

static int open_dir(const char *path, unsigned mode, int *ret_fd, struct err *err)
{
	autofd fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fchmod(fd, mode) < 0)
		return err_sys(err, "open the folder %s", path);
	*ret_fd = fd_steal(&fd);
	return 0;
}

pid_t up_holder(const char *run)
{
	char path[sizeof UP_RUN_ROOT + UP_SERVER_LEN + 16], text[64] = "";
	autofd fd = -1;
	int pid = 0;
	long long start = 0;

	(void)snprintf(path, sizeof path, "%s/" UP_PID_FILE, run);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) == 0)
		return 0; /* no file, or nobody holds it */
	if (pread(fd, text, sizeof text - 1, 0) <= 0 || sscanf(text, "%d %lld", &pid, &start) != 2)
		return 0;
	return pid > 1 && up_start_of(pid) == start ? pid : 0;
}

static int lock(struct up *u, struct err *err)
{
	char text[64];
	int len;

	u->lock_fd =
		openat(u->run_fd, UP_PID_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (u->lock_fd < 0)
		return err_sys(err, "open %s/" UP_PID_FILE, u->run);
	if (flock(u->lock_fd, LOCK_EX | LOCK_NB) < 0) {
		fd_closep(&u->lock_fd);
		return err_set(err, -EBUSY,
			       "a server for %s is running already (process %d): stop it with "
			       "'garth down --data %s'",
			       u->data, (int)up_holder(u->run), u->data);
	}
	len = snprintf(text, sizeof text, "%d %lld\n", (int)getpid(), up_start_of(getpid()));
	if (ftruncate(u->lock_fd, 0) < 0 || pwrite(u->lock_fd, text, (size_t)len, 0) != len)
		return err_sys(err, "write %s/" UP_PID_FILE, u->run);
	return 0;
}

int up_small_file(int dir_fd, const char *name, char *room, size_t size)
{
	autofd fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t n = fd < 0 ? -1 : read(fd, room, size - 1);

	if (n < 0)
		return -errno;
	room[n] = '\0';
	return 0;
}

/* A new file in place of `name`, on disk when it returns. */
int up_put_file(int dir_fd, const char *name, const char *text, struct err *err)
{
	char temp[64];
	autofd fd = -1;
	int r;

	(void)snprintf(temp, sizeof temp, "%s.new", name);
	fd = openat(dir_fd, temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	r = fd < 0 ? -errno : fd_write_full(fd, text, strlen(text));
	if (r == 0 &&
	    (fsync(fd) < 0 || renameat(dir_fd, temp, dir_fd, name) < 0 || fsync(dir_fd) < 0))
		r = -errno;
	if (r < 0)
		(void)unlinkat(dir_fd, temp, 0);
	return r < 0 ? err_errno(err, r, "write %s in the data folder", name) : 0;
}

static int disk(const struct up *u, struct err *err)
{
	struct statvfs st;
	char free_text[SIZE_TEXT_SIZE];
	uint64_t left;

	if (fstatvfs(u->data_fd, &st) < 0)
		return err_sys(err, "ask how full the disk of %s is", u->data);
	left = (uint64_t)st.f_bavail * st.f_frsize;
	if (left >= UP_DISK_LEAST)
		return 0;
	size_text(left, free_text);
	return err_set(err, -ENOSPC,
		       "the disk of %s is full (%s left): free some space, or put the data "
		       "elsewhere with --data",
		       u->data, free_text);
}

int up_place(struct up *u, struct err *err)
{
	int r = mkdirs(u->cfg.data, 0711, err);

	if (r == 0)
		r = up_server_name(u->cfg.data, u->server, u->data, err);
	if (r == 0)
		r = open_dir(u->data, 0711, &u->data_fd, err);
	if (r < 0)
		return r;
	(void)snprintf(u->run, sizeof u->run, UP_RUN_ROOT "/%s", u->server);
	if (mkdir(UP_RUN_ROOT, 0755) < 0 && errno != EEXIST)
		return err_sys(err, "make the folder " UP_RUN_ROOT);
	if (mkdir(u->run, 0700) < 0 && errno != EEXIST)
		return err_sys(err, "make the folder %s", u->run);
	r = open_dir(u->run, 0700, &u->run_fd, err);
	if (r == 0)
		r = lock(u, err);
	if (r == 0)
		r = disk(u, err);
	return r == 0 ? up_version(u, err) : r;
}

void up_place_leave(struct up *u)
{
	if (u->run_fd >= 0 && u->lock_fd >= 0) {
		(void)unlinkat(u->run_fd, UP_PID_FILE, 0);
		(void)rmdir(
			u->run); /* stays where a ring of a workspace that ended badly is in it */
	}
	fd_closep(&u->lock_fd);
	fd_closep(&u->run_fd);
	fd_closep(&u->data_fd);
}

/* Beside the own program, or ../libexec/garth from it. */
int up_programs(struct up *u, struct err *err)
{
	static const char *const beside[] = { "", "/../libexec/garth" };
	char self[PATH_LEN_MAX + 1], path[PATH_LEN_MAX + 64];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	char *slash;

	if (n < 0)
		return err_sys(err, "find garth's own programs");
	self[n] = '\0';
	slash = strrchr(self, '/');
	if (slash)
		*slash = '\0';
	for (size_t i = 0; i < sizeof beside / sizeof beside[0]; i++) {
		if (u->libexec[0] == '\0')
			(void)snprintf(path, sizeof path, "%s%s/garthd", self, beside[i]);
		else
			(void)snprintf(path, sizeof path, "%s/garthd", u->libexec);
		if (access(path, X_OK) < 0)
			continue;
		path[strlen(path) - strlen("/garthd")] = '\0';
		(void)snprintf(u->libexec, sizeof u->libexec, "%.*s", PATH_LEN_MAX, path);
		return 0;
	}
	return err_set(err, -ENOENT,
		       "the program garthd is not there: build or install garth, or name its "
		       "folder with --libexec");
}
