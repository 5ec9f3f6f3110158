/* SPDX-License-Identifier: MIT */
/*
 * fs/session.h - the FUSE connection and the two threads that serve it.
 * Two, one descriptor, no splice: what was fastest where it was measured. No writeback cache: sizes and times are the store's.
 */
#ifndef GARTH_FS_SESSION_H
#define GARTH_FS_SESSION_H

#include "core/err.h"

#define SESSION_THREADS 2

struct fs;

/* On descriptor FD_FUSE; fills fs->se. */
must_check int session_open(struct fs *fs, struct err *err);

/* Start the threads. They end when the mount is gone. */
must_check int session_start(struct fs *fs, struct err *err);

#endif
