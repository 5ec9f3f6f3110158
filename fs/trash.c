/* SPDX-License-Identifier: MIT */
/*
 * fs/trash.c - removes trees. A folder in a folder is moved up into trash/ before it is emptied, so that no depth needs a stack.
 */
#include "fs/trash.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/fd.h"
#include "core/id.h"
#include "fs/act.h"
#include "fs/cred.h"
#include "fs/fs.h"
#include "fs/handle.h"
#include "fs/work.h"

#define TRASH_MODE 0770
#define ROUNDS_MAX 100000 /* of moving folders up; a fault would otherwise spin */

/* Open a folder so that it can be emptied: its owner gives it the mode for that. */
static int open_dir(struct fs *fs, int at, const char *name, uint32_t *ret_uid, int *ret_fd)
{
	char n[ACT_NAME_SIZE];
	autofd fd = openat(at, name, O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC);
	struct stat st;
	int r;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	r = cred_as(fs, st.st_uid);
	if (r < 0)
		return r;
	if ((st.st_mode & 07777) != TRASH_MODE && chmod(act_name(fd, n), TRASH_MODE) < 0)
		return -errno;
	*ret_uid = st.st_uid;
	return act_reopen(fs, st.st_uid, fd, O_RDONLY | O_DIRECTORY, ret_fd);
}

static int move_up(struct fs *fs, uint32_t uid, int dir, const char *name)
{
	char id[ID_TEXT_SIZE];
	uint32_t owner;
	autofd sub = -1;
	int r = open_dir(fs, dir, name, &owner,
			 &sub); /* a folder moves only where it is writable itself */

	if (r < 0)
		return r;
	id_text("", id_make(), id);
	r = cred_as(fs, uid);
	if (r < 0)
		return r;
	return renameat(dir, name, fs->trash_fd, id) < 0 ? -errno : 0;
}

static int remove_one(struct fs *fs, uint32_t uid, int dir, const char *name)
{
	int r = cred_as(fs, uid);

	if (r < 0)
		return r;
	if (unlinkat(dir, name, 0) == 0)
		return 0;
	if (errno != EISDIR)
		return -errno;
	if (unlinkat(dir, name, AT_REMOVEDIR) == 0)
		return 0;
	return errno == ENOTEMPTY || errno == EACCES ? move_up(fs, uid, dir, name) : -errno;
}

/* Empty the folder trash/name; folders in it move up. */
static int empty(struct fs *fs, const char *name)
{
	uint32_t uid = UINT32_MAX; /* nobody */
	autofd fd = -1;
	struct dirent *e;
	int r = open_dir(fs, fs->trash_fd, name, &uid, &fd);
	DIR *d;

	if (r < 0)
		return r;
	d = fdopendir(fd);
	if (!d)
		return -errno;
	(void)fd_steal(&fd); /* the DIR's now */
	while (r == 0 && (e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			r = remove_one(fs, uid, dirfd(d), e->d_name);
	closedir(d);
	return r;
}

/* One round through trash/: how many entries it still had that could be dealt with. */
static unsigned round_once(struct fs *fs)
{
	autofd fd = -1;
	struct dirent *e;
	unsigned done = 0;
	DIR *d;

	cred_own(fs);
	fd = openat(fs->trash_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = fd >= 0 ? fdopendir(fd) : NULL;
	if (!d)
		return 0;
	(void)fd_steal(&fd);
	while ((e = readdir(d))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (unlinkat(fs->trash_fd, e->d_name, 0) == 0) {
			done++;
			continue;
		}
		if (empty(fs, e->d_name) == 0)
			done++;
		cred_own(fs);
		(void)unlinkat(fs->trash_fd, e->d_name, AT_REMOVEDIR);
	}
	closedir(d);
	return done;
}

static void run(struct fs *fs, struct job *job)
{
	free(job);
	for (unsigned i = 0; i < ROUNDS_MAX && round_once(fs) > 0; i++)
		hcache_sweep(fs->hcache);
	cred_own(fs);
}

void trash_sweep(struct fs *fs)
{
	struct job *j = calloc(1, sizeof *j);

	if (!j)
		return; /* the next wipe takes it along */
	j->run = run;
	work_post(fs->trash, j);
}

int trash_put(struct fs *fs, int dir_fd, const char *name)
{
	char id[ID_TEXT_SIZE];
	uint32_t owner;
	autofd fd = -1;
	int r = open_dir(fs, dir_fd, name, &owner, &fd);

	if (r < 0)
		return r;
	id_text("", id_make(), id);
	cred_own(fs);
	if (renameat(dir_fd, name, fs->trash_fd, id) < 0)
		return -errno;
	trash_sweep(fs);
	return 0;
}
