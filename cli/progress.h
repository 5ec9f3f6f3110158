/* SPDX-License-Identifier: MIT */
/*
 * cli/progress.h - how far a transfer is: one line on stderr, only where that is a terminal, and only when it takes a while.
 */
#ifndef GARTH_CLI_PROGRESS_H
#define GARTH_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress {
	const char *name; /* NULL: silent */
	uint64_t done;
	int64_t begun_ns, shown_ns;
	bool shown;
};

void progress_begin(struct progress *p, const char *name);
void progress_add(struct progress *p, size_t n, uint64_t all); /* all UINT64_MAX: not known */
void progress_end(struct progress *p);                         /* wipes the line */

#endif
