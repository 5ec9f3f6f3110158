/* SPDX-License-Identifier: MIT */
/*
 * cli/local.h - files on the user's side: read whole, or written beside and renamed.
 */
#ifndef GARTH_CLI_LOCAL_H
#define GARTH_CLI_LOCAL_H

#include <stdbool.h>

#include "core/buf.h"
#include "core/err.h"

/* The whole of `name` ("-": stdin) into b. EXIT_OK, or EXIT_FAILED after a sentence on stderr. */
must_check int local_read(const char *name, struct buf *b);

/* A new file beside dir_fd/name that takes its place when it is whole. */
struct local_new {
	int dir_fd;
	const char *name;
	int fd;        /* -1 */
	char temp[64]; /* "": no file, but a device, pipe or socket: written as it comes */
	char *target;  /* of local_new_beside: what name points to */
	bool own_dir;  /* dir_fd is ours */
};
must_check int local_new_open(struct local_new *n, int dir_fd, const char *name); /* 0 or -errno */
must_check int local_new_beside(struct local_new *n,
				const char *path); /* the same for a path of the user's */
must_check int local_new_done(
	struct local_new *n); /* flushed and renamed; over nothing but a file or a link: -EEXIST */
void local_new_drop(struct local_new *n); /* after done: nothing; else the new file is removed */
#define autonew __attribute__((cleanup(local_new_drop))) struct local_new

/* Is there something that is written to and never replaced: a device, a pipe, a socket? */
bool local_is_special(const char *path);

/* "garth: NAME: why". EXIT_FAILED. */
int local_failed(const char *name, int code);

#endif
