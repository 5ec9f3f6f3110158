/* SPDX-License-Identifier: MIT */
/*
 * fs/control.h - the main thread: messages of garthd and of garth-api.
 */
#ifndef GARTH_FS_CONTROL_H
#define GARTH_FS_CONTROL_H

#include "core/err.h"
#include "fs/fs.h"

#define CONTROL_CLIENTS_MAX 16

/* Until garthd says stop (0: the answer is owed, with *ret_stop_id) or is gone, or the keeper is (-EPIPE). */
must_check int control_run(struct fs *fs, uint64_t *ret_stop_id, struct err *err);

#endif
