/* SPDX-License-Identifier: MIT */
/*
 * fs/filter.h - what garth-fs can never do once it serves, whatever it is made to do: start programs or threads, talk to anybody new,
 * change mounts or namespaces, look into other processes, open files by handle.
 * Not here: the filter of sandboxes (exec/filter.h).
 */
#ifndef GARTH_FS_FILTER_H
#define GARTH_FS_FILTER_H

#include "core/err.h"

/* For all threads that there are; none can come. 0, errno (no_new_privs is set, so the kernel wants nothing more). */
must_check int filter_on(struct err *err);

#endif
