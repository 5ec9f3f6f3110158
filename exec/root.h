/* SPDX-License-Identifier: MIT */
/*
 * exec/root.h - the file tree of a sandbox: mounts, device nodes, /proc, /tmp, the workspace. Runs in the child that becomes the
 * sandbox, as root of the host in a mount namespace of its own, before its user namespace is made (pivot_root would fail after).
 * It resolves paths below the workspace's mount, so it hangs where garth-fs does: garthd gives the child a deadline.
 * Not here: the child's other namespaces and rights (exec/clone.h).
 * Thread: the child's. Memory: none kept.
 */
#ifndef GARTH_EXEC_ROOT_H
#define GARTH_EXEC_ROOT_H

#include "exec/sandbox.h"

#define ROOT_RUN_BYTES (32ull * 1024 * 1024) /* of /run/garth: code, reports */

struct root_place {
	const char *at;  /* an empty folder of the host, on which the new root is put together */
	const char *etc; /* exec/etc.h */
	const char *data_dir; /* DIR: no host path may lead into it */
	int tree_fd;          /* a detached clone of the workspace's mount */
};

/* Make it, and make it "/". 0 or an errno with a sentence. */
must_check int root_build(const struct sb_plan *p, const struct root_place *place, struct err *err);

#endif
