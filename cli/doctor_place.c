/* SPDX-License-Identifier: MIT */
/*
 * cli/doctor_place.c - what holds for this server: data folder, ids, port; and what sandboxes will find.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statfs.h>

#include "cli/doctor.h"
#include "core/fd.h"
#include "core/size.h"

#define DISK_WARN (1024ull * 1024 * 1024)
#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

/* The data folder, or the nearest folder above it that exists. */
static int open_near(const char *path, char near[PATH_LEN_MAX + 1])
{
	(void)snprintf(near, PATH_LEN_MAX + 1, "%s", path);
	for (;;) {
		int fd = open(near, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		char *slash = strrchr(near, '/');

		if (fd >= 0 || errno != ENOENT)
			return fd;
		if (!slash)
			return open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (slash == near)
			return open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		*slash = '\0';
	}
}

static const char *store_name(long type)
{
	switch ((unsigned long)type) {
	case EXT4_SUPER_MAGIC: return "ext4";
	case XFS_SUPER_MAGIC: return "xfs";
	case BTRFS_SUPER_MAGIC: return "btrfs";
	default: return NULL;
	}
}

static void disk(struct doctor *d, const char *near, int fd)
{
	char text[SIZE_TEXT_SIZE];
	struct statfs st;
	const char *name;
	uint64_t left;

	if (fstatfs(fd, &st) < 0) {
		doctor_add(d, DOCTOR_FAIL, "store", "choose another data folder", "%s",
			   strerrordesc_np(errno));
		return;
	}
	name = store_name((long)st.f_type);
	if (name)
		doctor_add(d, DOCTOR_OK, "store", "", "%.200s is on %s", near, name);
	else
		doctor_add(d, DOCTOR_FAIL, "store",
			   "put the data on ext4, xfs or btrfs with --data",
			   "%.200s is on a filesystem (type 0x%lx) that garth was not tried on",
			   near, (unsigned long)st.f_type);
	left = (uint64_t)st.f_bavail * (uint64_t)st.f_bsize;
	size_text(left, text);
	doctor_add(d,
		   left < UP_DISK_LEAST ? DOCTOR_FAIL
		   : left < DISK_WARN   ? DOCTOR_WARN
					: DOCTOR_OK,
		   "disk", left < DISK_WARN ? "free some space" : "", "%s left", text);
}

/* Garth-fs finds files again by their handles. */
static void handles(struct doctor *d, int fd)
{
	union {
		struct file_handle h;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} u = { .h = { .handle_bytes = MAX_HANDLE_SZ } };
	int id;

	if (name_to_handle_at(fd, "", &u.h, &id, AT_EMPTY_PATH) < 0)
		doctor_add(d, DOCTOR_FAIL, "file handles",
			   "put the data on ext4, xfs or btrfs with --data", "%s",
			   strerrordesc_np(errno));
	else
		doctor_add(d, DOCTOR_OK, "file handles", "", "%u bytes", u.h.handle_bytes);
}

static void folder(struct doctor *d)
{
	char near[PATH_LEN_MAX + 1];
	autofd fd = open_near(d->up.cfg.data, near);

	if (fd < 0) {
		doctor_add(d, DOCTOR_FAIL, "data folder",
			   "run as root, or choose another with --data", "%.200s: %s", near,
			   strerrordesc_np(errno));
		return;
	}
	disk(d, near, fd);
	handles(d, fd);
}

static void server(struct doctor *d)
{
	struct up *u = &d->up;
	struct err err = { 0 };
	pid_t holder = 0;

	if (up_server_name(u->cfg.data, u->server, u->data, NULL) == 0) {
		(void)snprintf(u->run, sizeof u->run, UP_RUN_ROOT "/%s", u->server);
		holder = up_holder(u->run);
		u->data_fd = open(u->data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	if (up_ids_check(u, &err) < 0)
		doctor_add(d, DOCTOR_FAIL, "ids", "", "%s", err.msg);
	else
		doctor_add(d, DOCTOR_OK, "ids", "", "%" PRIu32 " from %" PRIu32 " on",
			   u->cfg.ids_count, u->cfg.ids_first);
	if (holder)
		doctor_add(d, DOCTOR_OK, "server", "", "runs already, as process %d", (int)holder);
	else if (up_listen(u, &err) < 0)
		doctor_add(d, DOCTOR_FAIL, "port", "", "%s", err.msg);
	else
		doctor_add(d, DOCTOR_OK, "port", "", "%s is free", u->url);
}

/* Sandboxes see /usr of this host: its programs, and no others. */
static void python(struct doctor *d)
{
	const char *path = getenv("PATH");
	char *copy = path ? strdup(path) : NULL, *save = NULL;

	if (access("/usr/bin/python3", X_OK) < 0)
		doctor_add(d, DOCTOR_WARN, "python", "install the distribution's python3",
			   "no /usr/bin/python3: steps can't run Python");
	else
		doctor_add(d, DOCTOR_OK, "python", "", "/usr/bin/python3");
	for (char *dir = copy ? strtok_r(copy, ":", &save) : NULL; dir;
	     dir = strtok_r(NULL, ":", &save)) {
		char file[PATH_LEN_MAX + 16];

		(void)snprintf(file, sizeof file, "%.*s/python3", PATH_LEN_MAX, dir);
		if (strncmp(file, "/usr/", 5) == 0 || strncmp(file, "/bin/", 5) == 0 ||
		    access(file, X_OK) < 0)
			continue;
		doctor_add(d, DOCTOR_WARN, "python elsewhere",
			   "install packages for /usr/bin/python3, or show its folder with the "
			   "policy's host_paths",
			   "%.200s is not seen in sandboxes", file);
		break;
	}
	free(copy);
}

void doctor_place(struct doctor *d)
{
	folder(d);
	server(d);
	python(d);
}
