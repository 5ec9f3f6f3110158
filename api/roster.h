/* SPDX-License-Identifier: MIT */
/*
 * api/roster.h - who should be an agent of a workspace: those that a request names, and those that its policy speaks of (under `agents`
 * and in hooks), each made where it is missing, one after the other.
 * Not here: whether a name is one (core/path.h), the one route that adds a single agent (api/agent.c).
 */
#ifndef GARTH_API_ROSTER_H
#define GARTH_API_ROSTER_H

#include "api/peer.h"
#include "api/ws.h"
#include "core/ids.h"
#include "policy/policy.h"

/* @status 0 all are there, else the errno of the first that could not be added (-ENOSPC: no room), and its name. */
typedef void roster_fn(void *ctx, int status, const char *name, const char *why);

struct roster {
	struct ws *ws;
	struct call call;
	char name[2 * IDS_AGENTS_MAX][IDENT_SIZE];
	unsigned count, next;
	roster_fn *done;
	void *ctx;
};

/* Note a name, once; the operator is nobody's to add. Past the room it is forgotten: roster_run then says -ENOSPC anyway. */
void roster_name(struct roster *r, const char *name);
void roster_policy(struct roster *r, const struct policy *p);

/* Add those that are missing, then call done (perhaps before this returns). r stays the caller's, and lives until then. */
void roster_run(struct roster *r, struct ws *ws, roster_fn *done, void *ctx);
void roster_cancel(struct roster *r);

#endif
