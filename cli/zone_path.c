/* SPDX-License-Identifier: MIT */
/*
 * cli/zone_path.c - paths of a workspace as people type them.
 */
#include "cli/zone_path.h"

#include <string.h>

#define INSIDE "/workspace"

int zone_path(const char *typed, char out[ZONE_PATH_SIZE], struct err *err)
{
	size_t len;
	int r;

	if (strncmp(typed, INSIDE, sizeof INSIDE - 1) == 0 &&
	    (typed[sizeof INSIDE - 1] == '/' || !typed[sizeof INSIDE - 1]))
		typed += sizeof INSIDE - 1;
	if (*typed == '/')
		typed++;
	len = strlen(typed);
	if (len && typed[len - 1] == '/')
		len--;
	r = path_check(bytes_of(typed, len), err);
	if (r < 0)
		return r;
	memcpy(out, typed, len);
	out[len] = '\0';
	return 0;
}

bool zone_path_known(const char *path)
{
	static const char *const zones[] = { "input", "task", "output", "agents", "logs" };

	for (size_t i = 0; i < sizeof zones / sizeof zones[0]; i++) {
		size_t len = strlen(zones[i]);

		if (strncmp(path, zones[i], len) == 0 && (path[len] == '\0' || path[len] == '/'))
			return true;
	}
	return false;
}
