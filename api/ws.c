/* SPDX-License-Identifier: MIT */
/*
 * api/ws.c - opening a workspace: garthd's socket, the record, the policy, the agents.
 */
#include "api/ws.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "api/step.h"
#include "core/fd.h"
#include "core/log.h"

#define DB_PATH_MAX 4096

struct ws *ws_find(struct app *app, const char *name)
{
	struct ws *ws = app->workspaces;

	while (ws != NULL && strcmp(ws->name, name) != 0)
		ws = ws->next;
	return ws;
}

bool ws_exists(struct app *app, const char *name)
{
	char path[sizeof "workspaces/" + IDENT_SIZE];
	struct stat st;

	(void)snprintf(path, sizeof path, "workspaces/%s", name);
	return ident_check(name, "workspace", NULL) == 0 &&
	       fstatat(app->data_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

static struct ws *ws_make(struct app *app, const char *name)
{
	struct ws *ws = calloc(1, sizeof *ws);

	if (ws == NULL)
		return NULL;
	ws->app = app;
	(void)snprintf(ws->name, sizeof ws->name, "%s", name);
	ws->next = app->workspaces;
	app->workspaces = ws;
	return ws;
}

static void ws_close(struct ws *ws)
{
	call_cancel(&ws->call);
	timer_stop(ws->app->loop, &ws->retry);
	peer_free(ws->fs);
	ws->fs = NULL;
	idx_reader_close(ws->reader);
	ws->reader = NULL;
	ws->state = WS_CLOSED;
}

static void ask_open(void *ctx);

static struct ws_wait *last_wait(struct ws *ws)
{
	struct ws_wait *w = ws->waits;

	while (w != NULL && w->next != NULL)
		w = w->next;
	return w;
}

/* Call the first that waits; `last` again, or NULL where that was it. */
static struct ws_wait *call_first(struct ws *ws, struct ws_wait *last, int status, const char *why)
{
	struct ws_wait *w = ws->waits;

	if (w == NULL)
		return NULL;
	ws->waits = w->next;
	w->fn(w->ctx, status, ws, why);
	return w == last ? NULL : last;
}

static void ws_opened(struct ws *ws, int status, const char *why)
{
	struct ws_wait *w;
	char text[256];

	(void)snprintf(text, sizeof text, "%s", why);
	if (status == -EPIPE && ++ws->tries < WS_OPEN_TRIES && !ws->deleting &&
	    !ws->app->stopping) {
		ws_close(ws);
		ws->state = WS_OPENING;
		timer_set(ws->app->loop, &ws->retry, WS_RETRY_MS, ask_open, ws);
		return;
	}
	ws->tries = 0;
	if (status < 0) {
		log_warn("workspace does not open ws=%s error=%d", ws->name, -status);
		ws_close(ws);
	} else {
		ws->state = WS_OPEN;
	}
	/* One by one from the list: a callback may cancel another's wait. Those that come anew wait for the next opening. */
	for (w = last_wait(ws); w != NULL; w = call_first(ws, w, status, text))
		;
}

int ws_made(const struct ws *ws, int64_t *ret_ns)
{
	uint64_t steps, versions, bytes, violations;

	return ws->reader == NULL
		       ? -EPIPE
		       : idx_workspace(ws->reader, ret_ns, &steps, &versions, &bytes, &violations);
}

void ws_lost(struct ws *ws, const char *why)
{
	bool opening = ws->state == WS_OPENING;

	if (ws->state == WS_CLOSED)
		return;
	log_warn("workspace is gone, its steps end lost ws=%s why=%s", ws->name, why);
	ws_close(ws);
	steps_ws_lost(ws);
	if (opening)
		ws_opened(ws, -EPIPE,
			  "the workspace's file server ended while it was being opened");
}

/* ---- what garth-fs says by itself ---- */

static void fs_told(void *ctx, struct wire_msg *m)
{
	struct ws *ws = ctx;

	if (m->head.type == MSG_LOG_GREW)
		steps_log_grew(ws, msg_body(m));
}

static void fs_gone(void *ctx, const char *why)
{
	ws_lost(ctx, why);
}

static const struct peer_ops fs_ops = { .told = fs_told, .gone = fs_gone };

/* ---- opening ---- */

static int take_agent(void *ctx, uint32_t block, struct bytes name, int64_t at_ns)
{
	struct ws *ws = ctx;

	(void)at_ns;
	if (block > 0 && block < IDS_AGENTS_MAX && name.len < IDENT_SIZE)
		(void)snprintf(ws->agents[block], IDENT_SIZE, "%.*s", (int)name.len,
			       (const char *)name.p);
	return 0;
}

static void open_agents(struct ws *ws)
{
	int rc;

	memset(ws->agents, 0, sizeof ws->agents);
	(void)snprintf(ws->agents[0], IDENT_SIZE, "%s", POLICY_OPERATOR);
	rc = idx_agents(ws->reader, take_agent, ws);
	ws_opened(ws, rc, rc < 0 ? "the record of the agents can't be read" : "");
}

static void open_policy(struct ws *ws, struct bytes yaml)
{
	struct policy *p;
	struct err err = { 0 };
	int rc = policy_parse(yaml, &p, &err);

	if (rc < 0) {
		ws_opened(ws, -EIO, err.msg);
		return;
	}
	ws_policy_set(ws, p);
	open_agents(ws);
}

static void on_policy(void *ctx, int status, struct wire_msg *reply, const char *why)
{
	struct ws *ws = ctx;
	autofd fd = -1;
	autobuf text;

	buf_init(&text, POLICY_TEXT_MAX);
	if (status == 0) {
		fd = wire_take_fd(reply, 0);
		status = fd_read_all(fd, &text);
		why = "the policy can't be read";
	}
	if (status < 0)
		ws_opened(ws, status == -ENOENT ? -EIO : status,
			  why[0] != '\0' ? why : "the policy can't be read");
	else
		open_policy(ws, buf_view(&text));
}

static void open_record(struct ws *ws)
{
	struct msg_object_open ask = { 0 };
	struct err err = { 0 };
	char path[DB_PATH_MAX];
	int64_t at;
	int rc;

	(void)snprintf(path, sizeof path, "%s/workspaces/%s/index.db", ws->app->data, ws->name);
	rc = idx_reader_open(path, &ws->reader, &err);
	if (rc < 0) {
		ws_opened(ws, rc == -ENOENT ? -EIO : rc, err.msg);
		return;
	}
	rc = idx_policy_now(ws->reader, &ask.sha, &at);
	if (rc == -ENOENT)
		open_policy(ws, BYTES_LIT(""));
	else if (rc < 0)
		ws_opened(ws, rc, "the record can't be read");
	else
		peer_call(ws->fs, &ws->call, MSG_OBJECT_OPEN, bytes_of(&ask, sizeof ask),
			  bytes_of(NULL, 0), NULL, 0, WS_CALL_MS, on_policy, ws);
}

static void on_open(void *ctx, int status, struct wire_msg *reply, const char *why)
{
	struct ws *ws = ctx;
	autofd fd = -1;

	if (status == 0) {
		fd = wire_take_fd(reply, 0);
		status = peer_new(ws->app->loop, fd, PEER_F, &fs_ops, ws, &ws->fs);
	}
	if (status < 0) {
		ws_opened(ws, status, why);
		return;
	}
	(void)fd_steal(&fd); /* the peer's now */
	open_record(ws);
}

static void ask_open(void *ctx)
{
	struct ws *ws = ctx;
	struct msg_ws_open ask = { 0 };

	(void)snprintf(ask.name, sizeof ask.name, "%s", ws->name);
	peer_call(ws->app->garthd, &ws->call, MSG_WS_OPEN, bytes_of(&ask, sizeof ask),
		  bytes_of(NULL, 0), NULL, 0, WS_OPEN_MS, on_open, ws);
}

void ws_get(struct app *app, const char *name, struct ws_wait *w, ws_fn *fn, void *ctx)
{
	struct ws *ws = ws_find(app, name);
	struct ws_wait **end;

	if (!ws_exists(app, name) || (ws != NULL && ws->deleting)) {
		fn(ctx, -ENOENT, NULL, "");
		return;
	}
	if (ws == NULL)
		ws = ws_make(app, name);
	if (ws == NULL) {
		fn(ctx, -ENOMEM, NULL, "");
		return;
	}
	if (ws->state == WS_OPEN) {
		fn(ctx, 0, ws, "");
		return;
	}
	*w = (struct ws_wait){ .fn = fn, .ctx = ctx };
	for (end = &ws->waits; *end != NULL; end = &(*end)->next)
		;
	*end = w;
	if (ws->state == WS_OPENING)
		return;
	ws->state = WS_OPENING;
	ask_open(ws);
}

void ws_wait_cancel(struct ws *ws, struct ws_wait *w)
{
	struct ws_wait **at = &ws->waits;

	while (*at != NULL && *at != w)
		at = &(*at)->next;
	if (*at != NULL)
		*at = w->next;
}

int ws_agent_block(const struct ws *ws, const char *name)
{
	for (unsigned i = 0; i < IDS_AGENTS_MAX; i++)
		if (ws->agents[i][0] != '\0' && strcmp(ws->agents[i], name) == 0)
			return (int)i;
	return -1;
}

const char *ws_agent_name(const struct ws *ws, uint32_t block)
{
	return block < IDS_AGENTS_MAX && ws->agents[block][0] != '\0' ? ws->agents[block] : NULL;
}

void ws_agent_add(struct ws *ws, uint32_t block, const char *name)
{
	if (block < IDS_AGENTS_MAX)
		(void)snprintf(ws->agents[block], IDENT_SIZE, "%s", name);
}

void ws_policy_set(struct ws *ws, struct policy *p)
{
	policy_unref(ws->policy);
	ws->policy = p;
}
