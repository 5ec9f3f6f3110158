/* SPDX-License-Identifier: MIT */
/*
 * guest/proc.h - the processes of a step, found by their gid: a step's gid is its own, and no program can leave it.
 * Not here: reaping them (guest/init.h).
 */
#ifndef GARTH_GUEST_PROC_H
#define GARTH_GUEST_PROC_H

#include <stdint.h>
#include <sys/types.h>

#include "core/bytes.h"
#include "core/err.h"

/* Does /proc/PID/status (the text's beginning will do) show a living process with this real, effective, saved or filesystem gid? Pure. */
bool proc_status_is(struct bytes status, uint32_t gid);

/*
 * Send a signal to every living process of gid but the caller; 0 counts them.
 *
 * @also  one more pid, which may not have its gid yet; 0 none.
 *
 * How many got it, or the errno of reading /proc. One pass: who forks meanwhile may have a child that was not seen.
 */
must_check int proc_signal(uint32_t gid, int sig, pid_t also, struct err *err);

#endif
