/* SPDX-License-Identifier: MIT */
/*
 * guest/confine.h - what garth-init takes from itself, and what it takes from its children before they run a program.
 * Not here: the rules (exec/filter.h, exec/landlock.h), namespaces and mounts (exec/clone.h).
 */
#ifndef GARTH_GUEST_CONFINE_H
#define GARTH_GUEST_CONFINE_H

#include <stdint.h>

#include "core/err.h"

/* Not dumpable, no new privileges. */
must_check int confine_self(struct err *err);

/* Load a program of struct sock_filter from a file; all children inherit it. fd is borrowed. */
must_check int confine_seccomp(int fd, struct err *err);

/* fd: a Landlock ruleset, borrowed. */
must_check int confine_landlock(int fd, struct err *err);

/* In a child: become uid and gid for good, without groups and capabilities. */
must_check int confine_ids(uint32_t uid, uint32_t gid, struct err *err);

/* In a child, before confine_ids: the first that the kernel kills when memory runs out. Best effort. */
void confine_oom_first(void);

/* In a child, before its program: every signal at its default and unblocked. */
void confine_signals(void);

#endif
