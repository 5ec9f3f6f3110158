/* SPDX-License-Identifier: MIT */
/*
 * cli/up_room.c - a mount namespace for garth-api: the data folder at a place that is open to all, and no workspace's mount.
 *
 * A program without rights may not come through the folders above the data folder (a home, a mktemp -d). And whoever holds a copy
 * of a workspace's mount keeps it alive after it was unmounted, or hangs with its server.
 * Not here: starting it (cli/up_proc.c).
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>

#include "cli/up.h"

#define MOUNTS_MAX 65536u /* lines of mountinfo that are looked at */

/* mountinfo writes blanks and the like as three octal digits. */
static void unescape(char *s)
{
	char *to = s;

	while (*s != '\0') {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' &&
		    s[3] >= '0' && s[3] <= '7') {
			*to++ = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
			s += 4;
		} else {
			*to++ = *s++;
		}
	}
	*to = '\0';
}

/* The mount point of a line, where it is a workspace's; NULL. */
static char *workspace_mount(char *line)
{
	char *at = line, *end;

	if (strstr(line, " - fuse.garth ") == NULL)
		return NULL;
	for (int i = 0; i < 4 && at != NULL; i++) {
		at = strchr(at, ' ');
		at = at != NULL ? at + 1 : NULL;
	}
	end = at != NULL ? strchr(at, ' ') : NULL;
	if (end == NULL)
		return NULL;
	*end = '\0';
	unescape(at);
	return at;
}

/* One pass; how many were left, or -1. */
static int leave_some(void)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char *line = NULL, *at;
	size_t cap = 0;
	int left = 0;

	if (f == NULL)
		return -1;
	for (unsigned i = 0; i < MOUNTS_MAX && getline(&line, &cap, f) > 0; i++) {
		at = workspace_mount(line);
		if (at != NULL && umount2(at, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
			left++;
	}
	free(line);
	(void)fclose(f);
	return left;
}

bool up_room_enter(const char *data, const char *place)
{
	int left;

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return false;
	do {
		left = leave_some(); /* the table moves while it is read: once more until nothing is found */
	} while (left > 0);
	return left == 0 && mount(data, place, NULL, MS_BIND, NULL) == 0;
}
