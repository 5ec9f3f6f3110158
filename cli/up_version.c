/* SPDX-License-Identifier: MIT */
/*
 * cli/up_version.c - is anything in the data folder of a newer garth: its layout, the record of a workspace. Said at the start, in one
 * sentence, for else each call would fail by itself.
 * Not here: migrating what is older (index/db.h, garth-fs does it at its start).
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>

#include "cli/up.h"
#include "core/fd.h"
#include "core/path.h"
#include "index/migrations.h"

#define SCHEMA_AT 60 /* of an SQLite file: user_version, big-endian */

static int layout(const struct up *u, struct err *err)
{
	char text[UP_SMALL_FILE];
	unsigned v = 0;
	int r = up_small_file(u->data_fd, "version", text, sizeof text);

	if (r == -ENOENT) {
		(void)snprintf(text, sizeof text, "%u\n", UP_VERSION);
		return up_put_file(u->data_fd, "version", text, err);
	}
	if (r < 0)
		return err_errno(err, r, "read %s/version", u->data);
	if (sscanf(text, "%u", &v) != 1 || v == 0)
		return err_set(err, -EBADMSG,
			       "%s/version holds no number: is this a garth data folder?", u->data);
	if (v > UP_VERSION)
		return err_set(err, -EPROTO,
			       "the data folder %s is of a newer garth (layout %u, this one knows "
			       "%u): start it with that version",
			       u->data, v, UP_VERSION);
	return 0;
}

/* What can't be read here is garth-fs's to complain of. */
static int record(const struct up *u, int dir_fd, const char *ws, struct err *err)
{
	char path[IDENT_SIZE + sizeof "/index.db"];
	unsigned char b[4];
	autofd fd = -1;
	uint32_t schema;

	(void)snprintf(path, sizeof path, "%.*s/index.db", (int)IDENT_LEN_MAX, ws);
	fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 || pread(fd, b, sizeof b, SCHEMA_AT) != (ssize_t)sizeof b)
		return 0;
	schema = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
	if (schema <= migration_count)
		return 0;
	return err_set(err, -EPROTO,
		       "the record of workspace '%s' in %s is of a newer garth (schema %u, this "
		       "one knows %u): start it with that version",
		       ws, u->data, schema, migration_count);
}

int up_version(const struct up *u, struct err *err)
{
	autofd fd = -1;
	DIR *dir;
	int r = layout(u, err);

	if (r < 0)
		return r;
	fd = openat(u->data_fd, "workspaces", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (!dir)
		return 0; /* the first start */
	(void)fd_steal(&fd);
	for (const struct dirent *e; r == 0 && (e = readdir(dir)) != NULL;)
		if (ident_check(e->d_name, "workspace", NULL) == 0)
			r = record(u, dirfd(dir), e->d_name, err);
	(void)closedir(dir);
	return r;
}
