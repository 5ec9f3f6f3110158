/* SPDX-License-Identifier: MIT */
/*
 * exec/store.h - the folders of a workspace below DIR: made with the owners that docs/PROTOCOL.md lists, and removed.
 * Not here: what is in them (garth-fs).
 * Thread: one.
 */
#ifndef GARTH_EXEC_STORE_H
#define GARTH_EXEC_STORE_H

#include <stdint.h>

#include "core/err.h"

/* DIR/workspaces and DIR/mnt themselves. */
must_check int store_open(int data_fd, uint32_t api_gid, struct err *err);

/* workspaces/NAME and all in it. -EEXIST; nothing is left on failure. */
must_check int store_make(int data_fd, const char *name, uint32_t uid_base, uint32_t api_gid,
			  struct err *err);

/* Put it aside at once, under a name that no workspace can have; ret_aside (64 bytes) for store_burn. -ENOENT is no error: "". */
must_check int store_aside(int data_fd, const char *name, char ret_aside[64], struct err *err);

/* Remove what was put aside: one, or (NULL) all that an earlier life left. May take long: in a child. */
must_check int store_burn(int data_fd, const char *aside, struct err *err);

#endif
