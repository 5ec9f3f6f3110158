/* SPDX-License-Identifier: MIT */
/*
 * exec/live.h - RUNDIR/live: what a crash of garthd would leave behind, and cleaning it.
 * One line each, the rest of the line is the value:
 *     mount PATH            a workspace's mount
 *     group PGID START      a keeper's process group; START as in /proc/PID/stat
 *     cgroup PATH           the server's folder in a hierarchy
 * The file is written anew (a new file, renamed) whenever something begins or ends.
 * Not here: ends in good order (exec/workspace.h, exec/life.h).
 * Thread: one.
 */
#ifndef GARTH_EXEC_LIVE_H
#define GARTH_EXEC_LIVE_H

#include "exec/daemon.h"

/* Write the list as things are now; a failure is logged by the caller, and only makes a later cleaning weaker. */
must_check int live_write(const struct daemon *d, struct err *err);

/*
 * Kill, unmount and remove what an earlier life of this server left, by its list and by what stands in cgroups; and in RUNDIR the folders
 * of sandboxes, and rings of workspaces that are no more. The ring of one that is there may hold events that no record has yet: it stays.
 */
must_check int live_sweep(const char *data, const char *run, const char *server, struct err *err);

#define LIVE_ROOT "root" /* RUNDIR/root, exec/life.c */

/* Start time of a process in clock ticks, as in /proc/PID/stat; 0: no such. */
long long live_start_of(long pid);

#endif
