/* SPDX-License-Identifier: MIT */
/*
 * api/reason.h - why did a step end? From what is known to exactly one reason, and to what its program left as status. Pure.
 *   memory  the kernel killed the main program for memory, or it failed with 137 after such a kill below it
 *   pids    a fork was refused by the limit, and the main program failed
 *   disk    a write found quota or disk full, and the main program failed
 * Not here: what to advise (api/hint.h).
 */
#ifndef GARTH_API_REASON_H
#define GARTH_API_REASON_H

#include <stdbool.h>

#include "core/bytes.h"
#include "core/event.h"

struct end_facts {
	enum ev_reason forced; /* garth itself ended it so; REASON_NONE: it ended by itself */
	bool exited;           /* wait_status is known */
	int wait_status;       /* as wait(2) */
	uint64_t oom_kills, pids_refused;
	bool disk_full; /* reason_disk_text of what it wrote last */
};

struct end {
	enum ev_reason reason;
	int exit_code;   /* -1 none */
	unsigned signal; /* 0 none */
};

struct end reason_of(const struct end_facts *f);

/* Do the last lines of stderr, or the error's value, say that a disk or quota is full? */
bool reason_disk_text(struct bytes text);

/* The same of a file that was to grow past what one file may have. */
bool reason_file_text(struct bytes text);

#endif
