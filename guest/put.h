/* SPDX-License-Identifier: MIT */
/*
 * guest/put.h - write one whole file into the workspace, or nothing: the work of PUT, done in a child with the step's ids.
 * Not here: the child and its deadline (guest/init.h).
 */
#ifndef GARTH_GUEST_PUT_H
#define GARTH_GUEST_PUT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "core/hash.h"

#define PUT_SHA_ATTR \
	"user.garth.sha256" /* garth-fs answers it with the hash of the file's content */

struct put {
	const char *path;   /* workspace path, checked; not "" */
	bool replace;       /* else -EEXIST where it exists */
	const char *if_sha; /* 64 hex digits: replace what has this hash alone; "" any */
};

/*
 * Copy content_fd (a regular file, from its start) to w->path below root_fd. Parent folders are made. Readers see the old file or the
 * whole new one; on failure nothing of it is left but parents.
 *
 * @ret_created  true: there was no such file before.
 *
 * 0; -EEXIST; -ESTALE it is not what if_sha says (or is not there); -EISDIR; what garth-fs answers (-EROFS, -EACCES, -EDQUOT, ...).
 */
must_check int put_file(int root_fd, const struct put *w, int content_fd, bool *ret_created,
			struct err *err);

#endif
