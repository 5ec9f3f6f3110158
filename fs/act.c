/* SPDX-License-Identifier: MIT */
/*
 * fs/act.c - system calls on what a node or a handle refers to, as somebody.
 */
#include "fs/act.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "core/clock.h"
#include "fs/cred.h"

const char *act_name(int fd, char room[ACT_NAME_SIZE])
{
	(void)snprintf(room, ACT_NAME_SIZE, "%d", fd);
	return room;
}

int act_reopen(const struct fs *fs, uint32_t as, int path_fd, int flags, int *ret_fd)
{
	char name[ACT_NAME_SIZE];
	int r = cred_as(fs, as);
	int fd;

	if (r < 0)
		return r;
	do
		fd = open(act_name(path_fd, name), flags | O_CLOEXEC);
	while (fd < 0 && errno == EINTR);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

int act_open(struct fs *fs, uint32_t as, const struct fhandle *h, int flags, int *ret_fd)
{
	struct hentry *e = NULL;
	int fd = -1;
	int r = hcache_get(fs->hcache, h, &e, &fd);

	if (r == 0)
		r = act_reopen(fs, as, fd, flags, ret_fd);
	hcache_put(fs->hcache, e);
	return r;
}

int act_stat(struct fs *fs, const struct fhandle *h, struct stat *ret)
{
	struct hentry *e = NULL;
	int fd = -1;
	int r = hcache_get(fs->hcache, h, &e, &fd);

	if (r == 0 && fstat(fd, ret) < 0)
		r = -errno;
	hcache_put(fs->hcache, e);
	return r;
}

uint64_t act_birth(int fd)
{
	struct statx sx;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &sx) < 0 || !(sx.stx_mask & STATX_BTIME))
		return 0;
	return (uint64_t)(sx.stx_btime.tv_sec * NS_PER_S + sx.stx_btime.tv_nsec);
}
