/* SPDX-License-Identifier: MIT */
/*
 * guest/place.h - files that garth-init keeps in /run/garth: the runner, a step's code, a step's report.
 * They belong to inside root; programs of steps may read the first two and write the third.
 * Not here: files of the workspace (guest/spawn.h, guest/put.h).
 */
#ifndef GARTH_GUEST_PLACE_H
#define GARTH_GUEST_PLACE_H

#include <stdint.h>

#include "core/buf.h"
#include "core/bytes.h"
#include "core/err.h"

#define PLACE_REPORT_SIZE 64

/*
 * Make the folders and write the runner below run_fd.
 *
 * @ret_code_fd, @ret_report_fd  the two folders; the caller closes them.
 */
must_check int place_init(int run_fd, int *ret_code_fd, int *ret_report_fd, struct err *err);

/* Put a step's code in the place of the one before, at once; the other language's is removed. @name "main.py" or "main.sh". */
must_check int place_code(int code_fd, const char *name, struct bytes code, struct err *err);

/* The name of a step's report below its folder, and its whole path. */
void place_report_name(uint64_t step, char name[PLACE_REPORT_SIZE], char path[PLACE_REPORT_SIZE]);

/*
 * Make an empty report that uid alone may write. The descriptor stays here: what is read later is this file, whatever happens to names.
 * Needs CAP_SETUID, or to be uid.
 */
must_check int place_report_make(int report_fd, const char *name, uint32_t uid, int *ret_fd,
				 struct err *err);

/* At most b->max bytes of it; longer ones are no report (-EFBIG). */
must_check int place_report_read(int fd, struct buf *b);

#endif
