/* SPDX-License-Identifier: MIT */
/*
 * exec/workspace.h - a workspace's life in garthd: its keeper and garth-fs, its mount, who waits for it, and what happens when it dies.
 *
 *     OFF -> STARTING -> UP -> STOPPING -> OFF (asked to) or WAITING (it died) -> STARTING ...
 *
 * Not here: its folders (exec/store.h), its sandboxes (exec/life.h), the keeper itself (exec/keeper.h).
 * Thread: garthd's.
 */
#ifndef GARTH_EXEC_WORKSPACE_H
#define GARTH_EXEC_WORKSPACE_H

#include "exec/daemon.h"
#include "exec/reap.h"

#define WS_START_NS \
	(60 *       \
	 NS_PER_S) /* keeper and garth-fs ready: after a crash garth-fs looks through all files */
#define WS_STOP_NS (60 * NS_PER_S)   /* garth-fs drained and committed */
#define WS_STEADY_NS (10 * NS_PER_S) /* up for so long: earlier failures are forgotten */
#define WS_WAITERS_MAX 256u          /* WS_OPEN questions that wait for it */
#define WS_TRIES 3u                  /* starts that fail before those who wait are told */

enum ws_state { WS_OFF = 0, WS_STARTING, WS_UP, WS_STOPPING, WS_WAITING };

struct workspace {
	struct workspace *next;
	struct daemon *d;
	char name[IDENT_SIZE];
	uint32_t uid_base;
	enum ws_state state;
	struct child keeper;
	long long keeper_start; /* of /proc/PID/stat, for the list of what lives */
	struct conn k, f;       /* the keeper's and garth-fs's sockets */
	int mount_fd;           /* -1: not mounted */
	bool fs_ready;
	bool want_stop;        /* orderly: as soon as its sandboxes are gone */
	bool stop_sent, clean; /* FS_STOP has been sent; was answered well */
	int64_t up_ns;
	unsigned failures;
	struct reactor_timer timer;
	struct err why; /* of the last failure */
	unsigned waiting;
	struct ask waiters[WS_WAITERS_MAX];
	struct ask remove; /* WS_DELETE */
};

/* The workspace in memory; loaded from the ids where it is not yet. NULL: no such, or no memory. */
struct workspace *workspace_get(struct daemon *d, const char *name);

/* WS_OPEN: a connection to its garth-fs, now or when it serves. */
void workspace_open(struct workspace *w, struct ask a);
void workspace_create(struct daemon *d, const char *name, struct ask a);
void workspace_delete(struct workspace *w, struct ask a);

/* Orderly: sandboxes, garth-fs, keeper, mount. */
void workspace_stop(struct workspace *w);
/* At once; it is started again unless want_stop. */
void workspace_down(struct workspace *w, const char *why);
/* One of its sandboxes has come to its end. */
void workspace_sandbox_gone(struct workspace *w);

void workspaces_free(struct daemon *d);

#endif
