/* SPDX-License-Identifier: MIT */
/*
 * exec/filter.h - the system calls that a sandbox may make, as a seccomp program.
 * An allow-list: what is known to be dangerous fails with EPERM, what nobody has looked at with ENOSYS, so that libc falls back.
 * Not here: loading it (guest/confine.h; every sandbox loads the same program), Landlock (exec/landlock.h).
 * Thread: any. Memory: nothing is kept.
 */
#ifndef GARTH_EXEC_FILTER_H
#define GARTH_EXEC_FILTER_H

#include "core/err.h"

/* What becomes of a call whose arguments don't matter; FILTER_ARGS: they do. */
enum filter_verdict { FILTER_UNKNOWN = 0, FILTER_ALLOW, FILTER_REFUSE, FILTER_ARGS };

/* By name, as libseccomp spells it. FILTER_UNKNOWN: it is in no list. */
enum filter_verdict filter_verdict_of(const char *name);

/*
 * Compile the program for this machine's architecture.
 *
 * @ret_memfd  sealed memfd of struct sock_filter, offset 0; the caller closes it. It can be given to any number of sandboxes.
 *
 * 0, or libseccomp's or memfd's errno.
 */
must_check int filter_compile(int *ret_memfd, struct err *err);

#endif
