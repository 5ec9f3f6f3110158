/* SPDX-License-Identifier: MIT */
/*
 * api/garthd.c - messages from garthd that answer nothing.
 */
#include "api/garthd.h"

#include "api/sandbox.h"
#include "api/step.h"
#include "core/log.h"

static struct sb *by_id(struct app *app, uint64_t id)
{
	struct sb *sb = app->sandboxes;

	while (sb != NULL && sb->id != id)
		sb = sb->next;
	return sb;
}

static void told(void *ctx, struct wire_msg *m)
{
	struct app *app = ctx;
	const void *body = msg_body(m);

	if (m->head.type == MSG_SB_GONE) {
		const struct msg_sb_gone *g = body;
		struct sb *sb = by_id(app, g->sandbox);

		if (sb != NULL)
			sb_gone(sb, g->why);
	} else if (m->head.type == MSG_SB_OOM) {
		struct sb *sb = by_id(app, ((const struct msg_sb_oom *)body)->sandbox);

		if (sb != NULL)
			steps_oom(sb);
	} else if (m->head.type == MSG_WS_GONE) {
		struct ws *ws = ws_find(app, ((const struct msg_ws_gone *)body)->name);

		if (ws != NULL &&
		    ws->state == WS_OPEN) /* while it opens, the news is of the one before */
			ws_lost(ws, "garthd says so");
	}
}

static void gone(void *ctx, const char *why)
{
	struct app *app = ctx;

	log_error("garthd is gone, stopping why=%s", why);
	app->stopping = true;
	loop_stop(app->loop);
}

static const struct peer_ops ops = { .told = told, .gone = gone };

int garthd_start(struct app *app, int fd, struct err *err)
{
	int rc = peer_new(app->loop, fd, PEER_D, &ops, app, &app->garthd);

	return rc < 0 ? err_errno(err, rc, "the socket to garthd") : 0;
}
