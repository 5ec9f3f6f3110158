/* SPDX-License-Identifier: MIT */
/*
 * exec/etc.h - the /etc that sandboxes see: copies of the few things of the host's that programs need, the rest written by garth.
 * It is made once as a folder below RUNDIR, which every sandbox shows read-only, and again when the host's has changed (a package
 * came); older ones stay until the server ends, since sandboxes may show them.
 * Not here: mounting it (exec/root.h).
 * Thread: one.
 */
#ifndef GARTH_EXEC_ETC_H
#define GARTH_EXEC_ETC_H

#include "core/err.h"

#define ETC_NAME_SIZE 32u
#define ETC_FILE_MAX (16u * 1024 * 1024) /* bytes of one file that is copied */

struct etc {
	char name
		[ETC_NAME_SIZE]; /* of the newest folder, "etc.1"; "" before the first etc_refresh */
	unsigned number;
	long long stamp; /* of what it was copied from */
};

/* Make it where it is missing or old. @run_fd RUNDIR. Nothing changes on failure. */
must_check int etc_refresh(struct etc *e, int run_fd, struct err *err);

#endif
