/* SPDX-License-Identifier: MIT */
/*
 * exec/workspace_make.h - what workspace.c hands to workspace_make.c.
 */
#ifndef GARTH_EXEC_WORKSPACE_MAKE_H
#define GARTH_EXEC_WORKSPACE_MAKE_H

#include "exec/workspace.h"

/* It was asked to stop and has: delete it where that was the reason. w may be freed. */
void workspace_stopped(struct workspace *w);

#endif
