/* SPDX-License-Identifier: MIT */
/*
 * policy/zone.c - the first part of a path names its zone; the second, in agents/, its owner.
 */
#include "policy/zone.h"

/* Split the first part off: its view is given back, *rest is what follows the slash. */
static struct bytes part_first(struct bytes path, struct bytes *rest)
{
	const char *p = path.p;
	const char *slash = path.len > 0 ? memchr(p, '/', path.len) : NULL;
	size_t len = slash != NULL ? (size_t)(slash - p) : path.len;

	*rest = slash != NULL ? bytes_of(slash + 1, path.len - len - 1) : bytes_of(NULL, 0);
	return bytes_of(p, len);
}

static enum zone zone_named(struct bytes name)
{
	static const struct {
		struct bytes name;
		enum zone zone;
	} names[] = { { { "input", 5 }, ZONE_INPUT },
		      { { "task", 4 }, ZONE_TASK },
		      { { "output", 6 }, ZONE_OUTPUT },
		      { { "agents", 6 }, ZONE_AGENTS },
		      { { "logs", 4 }, ZONE_LOGS } };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (bytes_equal(name, names[i].name))
			return names[i].zone;
	return ZONE_ROOT;
}

static void owner_of(struct bytes name, char owner[IDENT_SIZE])
{
	if (name.len >= IDENT_SIZE)
		return;
	memcpy(owner, name.p, name.len);
	owner[name.len] = 0;
	if (memchr(owner, 0, name.len) != NULL || ident_check(owner, "agent", NULL) < 0)
		owner[0] = 0;
}

void zone_of(struct bytes path, struct zone_place *ret)
{
	struct bytes rest, name = part_first(path, &rest);

	*ret = (struct zone_place){ .zone = zone_named(name) };
	if (ret->zone == ZONE_AGENTS && rest.len > 0) {
		ret->zone = ZONE_AREA;
		name = part_first(rest, &rest);
		owner_of(name, ret->owner);
	}
	ret->top = ret->zone == ZONE_ROOT ? path.len == 0 : rest.len == 0;
}

const char *zone_text(enum zone z)
{
	switch (z) {
	case ZONE_ROOT: return "root";
	case ZONE_INPUT: return "input";
	case ZONE_TASK: return "task";
	case ZONE_OUTPUT: return "output";
	case ZONE_AGENTS:
	case ZONE_AREA: return "agents";
	case ZONE_LOGS: return "logs";
	case ZONE_COUNT: break;
	}
	return "root";
}
