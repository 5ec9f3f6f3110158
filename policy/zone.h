/* SPDX-License-Identifier: MIT */
/*
 * policy/zone.h - which zone of the contract (docs/POLICY.md) a workspace path lies in.
 */
#ifndef GARTH_POLICY_ZONE_H
#define GARTH_POLICY_ZONE_H

#include "core/bytes.h"
#include "core/path.h"

enum zone {
	ZONE_ROOT = 0, /* the root itself, and names right below it that are no zone */
	ZONE_INPUT,    /* input/ and below */
	ZONE_TASK,
	ZONE_OUTPUT,
	ZONE_AGENTS, /* agents/ itself: belongs to nobody */
	ZONE_AREA,   /* agents/<name> and below */
	ZONE_LOGS,
	ZONE_COUNT
};

struct zone_place {
	enum zone zone;
	char owner
		[IDENT_SIZE]; /* ZONE_AREA: the agent's name ("" if the part is no valid name); else "" */
	bool top; /* the path is the zone's own folder (input, agents/x), not below it */
};

void zone_of(struct bytes path, struct zone_place *ret);
const char *zone_text(enum zone z); /* root, input, task, output, agents, agents, logs */

#endif
