/* SPDX-License-Identifier: MIT */
/*
 * cli/ls_workspaces.h - `garth ls` where no workspace is named: those that the key can see.
 * Not here: what is in one (cli/cmd_ls.c).
 */
#ifndef GARTH_CLI_LS_WORKSPACES_H
#define GARTH_CLI_LS_WORKSPACES_H

#include <stdbool.h>

#include "cli/client.h"

/* To stdout; what a workspace's own description would say is "-" where the key may not ask for it. EXIT_OK or the exit code. */
must_check int ls_workspaces(struct client *c, bool as_json);

#endif
