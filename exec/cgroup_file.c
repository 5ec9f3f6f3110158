/* SPDX-License-Identifier: MIT */
/*
 * exec/cgroup_file.c - reading and writing them.
 */
#include "exec/cgroup_file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/fd.h"

#define NAME_SIZE 256u

int cgroup_file_open(int dir_fd, const char *group, const char *file, int flags, int *ret_fd)
{
	char path[NAME_SIZE];
	int fd;

	if (snprintf(path, sizeof path, "%s/%s", group, file) >= (int)sizeof path)
		return -ENAMETOOLONG;
	fd = openat(dir_fd, path, flags | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

int cgroup_file_write(int dir_fd, const char *group, const char *file, const char *text)
{
	autofd fd = -1;
	size_t len = strlen(text);
	int r = cgroup_file_open(dir_fd, group, file, O_WRONLY, &fd);
	ssize_t n;

	if (r < 0)
		return r;
	do {
		n = write(fd, text, len); /* one write is one command */
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

int cgroup_file_write_u64(int dir_fd, const char *group, const char *file, uint64_t v)
{
	char text[24];

	(void)snprintf(text, sizeof text, "%" PRIu64, v);
	return cgroup_file_write(dir_fd, group, file, text);
}

int cgroup_file_read(int dir_fd, const char *group, const char *file, char *room, size_t size)
{
	autofd fd = -1;
	size_t len = 0;
	int r = cgroup_file_open(dir_fd, group, file, O_RDONLY, &fd);

	if (r < 0)
		return r;
	while (len < size - 1) {
		ssize_t n = read(fd, room + len, size - 1 - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		len += (size_t)n;
	}
	room[len] = '\0';
	return 0;
}

uint64_t cgroup_file_u64(int dir_fd, const char *group, const char *file)
{
	char text[64];

	if (cgroup_file_read(dir_fd, group, file, text, sizeof text) < 0)
		return 0;
	return strtoull(text, NULL, 10);
}

uint64_t cgroup_file_key(int dir_fd, const char *group, const char *file, const char *key)
{
	char text[CGROUP_FILE_MAX];
	size_t len = strlen(key);

	if (cgroup_file_read(dir_fd, group, file, text, sizeof text) < 0)
		return 0;
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, len) == 0 && line[len] == ' ')
			return strtoull(line + len + 1, NULL, 10);
	}
	return 0;
}
