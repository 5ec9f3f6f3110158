/* SPDX-License-Identifier: MIT */
/*
 * exec/cgroup_file.h - the small files of a control group, read and written below a folder descriptor. For exec/cgroup*.c alone.
 */
#ifndef GARTH_EXEC_CGROUP_FILE_H
#define GARTH_EXEC_CGROUP_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

#define CGROUP_FILE_MAX 4096u /* bytes read of one file */

/* DIR/group/file. All: 0 or a negative errno. */
must_check int cgroup_file_write(int dir_fd, const char *group, const char *file, const char *text);
must_check int cgroup_file_write_u64(int dir_fd, const char *group, const char *file, uint64_t v);
must_check int cgroup_file_read(int dir_fd, const char *group, const char *file, char *room,
				size_t size);
must_check int cgroup_file_open(int dir_fd, const char *group, const char *file, int flags,
				int *ret_fd);

/* The number of a file, or 0. */
uint64_t cgroup_file_u64(int dir_fd, const char *group, const char *file);

/* The number behind "key " at the start of a line, or 0. */
uint64_t cgroup_file_key(int dir_fd, const char *group, const char *file, const char *key);

#endif
