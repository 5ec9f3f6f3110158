/* SPDX-License-Identifier: MIT */
/*
 * exec/life.h - the life of a sandbox in garthd: known to garth-fs, built, alive, killed, forgotten.
 *
 *     KNOWN (garth-fs is told) -> BUILD (the child builds its root) -> LIVE -> DYING (killed, not reaped) -> CLEAN (cgroups go)
 *     -> TOLD (garth-fs is told that its gids are free) -> freed
 *
 * Not here: what it is to be (exec/sandbox.h), how its process starts (exec/clone.h), the workspace (exec/workspace.h).
 * Thread: garthd's.
 */
#ifndef GARTH_EXEC_LIFE_H
#define GARTH_EXEC_LIFE_H

#include "exec/reap.h"
#include "exec/sandbox.h"
#include "exec/workspace.h"

#define LIFE_BUILD_NS (10 * NS_PER_S) /* to build a root, or for garth-fs to answer */
#define LIFE_DIE_NS \
	(10 * NS_PER_S) /* from SIGKILL to reaped: longer, and it hangs in a file operation */
#define LIFE_CLEAN_NS (10 * NS_PER_S) /* from reaped to empty cgroups */
#define LIFE_RETRY_NS (5 * NS_PER_MS)
#define LIFE_OOM_LOOK_NS (2 * NS_PER_MS)
#define LIFE_OOM_LOOKS 100u /* for the count after a notice */
#define LIFE_KILLS_MAX 4u   /* SB_KILL questions about one sandbox */

enum life_state { LIFE_KNOWN = 0, LIFE_BUILD, LIFE_LIVE, LIFE_DYING, LIFE_CLEAN, LIFE_TOLD };

struct sandbox {
	struct sandbox *next;
	struct daemon *d;
	struct workspace *ws;
	struct sb_plan plan;
	enum life_state state;
	struct ask create;
	unsigned kills;
	struct ask kill[LIFE_KILLS_MAX];
	uint64_t fs_id; /* of the question that garth-fs has not answered */
	struct child child;
	int sync_fd, guest_fd, oom_fd, peak_fd;
	struct reactor_io sync_io, oom_io;
	struct reactor_timer timer, oom_timer;
	unsigned oom_looks;
	int64_t clean_until_ns;
	bool told_fs; /* garth-fs knows it */
	bool has_cgroups;
	char why[32];            /* of its end */
	struct err err;          /* of a failed start */
	struct cgroup_stat base; /* at the last sb_limit */
	uint64_t oom_told;       /* kills that garth-api knows of */
};

void life_create(struct daemon *d, const struct msg_sb_create *m, struct bytes tail, struct ask a);
struct sandbox *life_find(const struct daemon *d,
			  uint64_t id);             /* those that have an end before them; NULL */
void life_kill(struct sandbox *s, const char *why); /* more than once is fine */
void life_kill_all(struct daemon *d, const char *why);

void life_limit(struct sandbox *s, const struct msg_sb_limit *m, struct ask a);
void life_extend(struct sandbox *s, const struct msg_sb_life *m, struct ask a);
void life_stat(struct sandbox *s, struct ask a);
void life_kill_asked(struct sandbox *s, const struct msg_sb_kill *m, struct ask a);

/* garth-fs has answered question fs_id of a sandbox of w. */
void life_fs_answer(struct workspace *w, uint64_t fs_id, int status, struct bytes why);
/* The workspace is gone: its sandboxes follow. */
void life_workspace_down(struct workspace *w);
unsigned life_count(const struct daemon *d, const struct workspace *w);

#endif
