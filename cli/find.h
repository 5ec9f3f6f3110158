/* SPDX-License-Identifier: MIT */
/*
 * cli/find.h - steps and sandboxes have ids that are unique on a server: commands that take one need no -w, and look through the workspaces
 * that the key can see.
 */
#ifndef GARTH_CLI_FIND_H
#define GARTH_CLI_FIND_H

#include "cli/client.h"
#include "core/path.h"

/*
 * The workspace of WHAT ("steps", "sandboxes") / ID. @ws where it is given: taken as it is. EXIT_OK, EXIT_NOT_FOUND (said), or another exit
 * code. *ret_item, where it is not NULL and the workspace was looked for or not, is the object.
 */
must_check int find_item(struct client *c, const char *ws, const char *what, const char *id,
			 char ret_ws[IDENT_SIZE], json_t **ret_item);

/* Says that `text` is no id of that kind; EXIT_NOT_FOUND. */
int find_none(const char *kind, const char *prefix, const char *text);

/* Names of all workspaces that the key can see, as an array of strings; or just ws, where it is given. */
must_check int find_workspaces(struct client *c, const char *ws, json_t **ret);

#endif
