/* SPDX-License-Identifier: MIT */
/*
 * cli/find.h - steps and sandboxes have ids that are unique on a server: commands that take one need no -w, and look through the workspaces
 * that the key can see.
 */
#ifndef GARTH_CLI_FIND_H
#define GARTH_CLI_FIND_H

#include "cli/addr.h"
#include "cli/client.h"

struct find_kind {
	const char *name, *prefix, *folder;
};
extern const struct find_kind find_step, find_sandbox;

/*
 * What a command of one thing begins with: the id is checked, a client started, the thing's workspace found. @ws where it is given: taken as it
 * is. EXIT_OK and the address of it, EXIT_NOT_FOUND (said), or another exit code. *ret_item, where ret_item is not NULL, is the object.
 */
must_check int find_item(struct client **ret, const struct find_kind *kind, const char *ws,
			 const char *id, struct addr *ret_addr, json_t **ret_item);

/*
 * GET @a: *ret is the object. Where the server says 403 or 404 and this place is not the only one to look at, *ret stays NULL.
 * EXIT_OK or the exit code after a sentence.
 */
must_check int find_answer(struct client *c, const struct addr *a, bool only, json_t **ret);

/* Names of all workspaces that the key can see, as an array of strings; or just ws, where it is given. */
must_check int find_workspaces(struct client *c, const char *ws, json_t **ret);

#endif
