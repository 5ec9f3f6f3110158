/* SPDX-License-Identifier: MIT */
/*
 * cli/listing.h - the commands that ask for a list and print it, as a table or as JSON: all of them but their options and their columns.
 * Not here: ls, whose rows come from several folders (cli/cmd_ls.c).
 */
#ifndef GARTH_CLI_LISTING_H
#define GARTH_CLI_LISTING_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/addr.h"
#include "cli/print.h"
#include "core/err.h"

struct listing {
	const char *const *heads;                       /* of the table; NULL: row prints */
	void (*row)(struct table *t, const json_t *it); /* adds it; t is NULL where heads is */
};

/* What is at @a, page after page, at most `limit` (0: all). The exit code. */
must_check int listing_run(const struct listing *l, const struct addr *a, uint64_t limit,
			   bool as_json);

/*
 * What is at @tail ("/sandboxes") of the workspace ws, or of all that the key can see (ws NULL); every item says its workspace. @state where it is
 * not NULL: only those. The exit code.
 */
must_check int listing_run_each(const struct listing *l, const char *ws, const char *tail,
				const char *state, bool as_json);

#endif
