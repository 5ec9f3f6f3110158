/* SPDX-License-Identifier: MIT */
/*
 * api/ws.h - a workspace as garth-api sees it: a socket to its garth-fs, a read-only record, its policy of now, its agents.
 * Opened when somebody asks for it; closed when its garth-fs goes away, and opened anew at the next question.
 * Not here: HTTP (api/workspace.h and others), sandboxes (api/sandbox.h).
 * Thread: one. Memory: a struct ws lives as long as the process: pointers to it stay good.
 */
#ifndef GARTH_API_WS_H
#define GARTH_API_WS_H

#include "api/app.h"
#include "core/ids.h"
#include "index/query.h"
#include "policy/policy.h"

#define WS_OPEN_MS 20000
#define WS_OPEN_TRIES \
	4u /* a file server that dies while it is being opened is started anew by garthd */
#define WS_RETRY_MS 250
#define WS_CALL_MS 15000 /* a short question to garth-fs */

enum ws_state { WS_CLOSED = 0, WS_OPENING, WS_OPEN };

struct ws_wait;
/* @status 0, -ENOENT no such workspace, -EPIPE, -ETIMEDOUT, ...; @why a sentence. */
typedef void ws_fn(void *ctx, int status, struct ws *ws, const char *why);
struct ws_wait {
	struct ws_wait *next;
	ws_fn *fn;
	void *ctx;
};

struct ws {
	struct ws *next;
	struct app *app;
	char name[IDENT_SIZE];
	enum ws_state state;
	struct peer *fs;
	struct idx_reader *reader;
	struct policy *policy;                   /* whoever keeps it takes a policy_ref */
	char agents[IDS_AGENTS_MAX][IDENT_SIZE]; /* by block; "" none */
	struct call call;
	struct timer retry;
	unsigned tries;
	struct ws_wait *waits;
	bool deleting;
	/* for api/slots.h */
	unsigned slots_used, slots_waiting;
};

/* Call fn when the workspace is open, at once where it is. @w lives until then. */
void ws_get(struct app *app, const char *name, struct ws_wait *w, ws_fn *fn, void *ctx);
void ws_wait_cancel(struct ws *ws, struct ws_wait *w); /* not waiting: fine */
struct ws *ws_find(struct app *app, const char *name); /* one that is known, in any state; NULL */
bool ws_exists(struct app *app, const char *name);     /* has a folder in DIR/workspaces */

/* The block of an agent, "operator" too; -1 no such. */
int ws_agent_block(const struct ws *ws, const char *name);
const char *ws_agent_name(const struct ws *ws, uint32_t block); /* NULL */

must_check int ws_made(const struct ws *ws,
		       int64_t *ret_ns); /* when it was made, by its record; -EPIPE it is closed */

void ws_agent_add(struct ws *ws, uint32_t block, const char *name);
void ws_policy_set(struct ws *ws, struct policy *p); /* takes p */

/* Its garth-fs is gone: close all, tell its steps. For garthd's WS_GONE too. */
void ws_lost(struct ws *ws, const char *why);

#endif
