/* SPDX-License-Identifier: MIT */
/*
 * api/sandbox.c - making, sharing and ending sandboxes.
 */
#include "api/sandbox.h"

#include <stdio.h>
#include <stdlib.h>

#include "api/step.h"
#include "core/buf.h"
#include "core/clock.h"
#include "core/fd.h"
#include "core/log.h"

/* ---- turns ---- */

static unsigned turns_max(const struct sb *sb)
{
	return sb->use == SB_HELPER ? SB_HELPER_TURNS : 1;
}

static void turn_unlink(struct sb *sb, struct sb_turn *t)
{
	invariant(t->link != NULL);
	if (t->link == NULL)
		return;
	*t->link = t->next;
	if (t->next != NULL)
		t->next->link = t->link;
	t->link = NULL;
	sb->turns_waiting--;
}

static void turns_start(struct sb *sb)
{
	while (sb->state == SB_READY && sb->turns != NULL && sb->turns_used < turns_max(sb)) {
		struct sb_turn *t = sb->turns;

		turn_unlink(sb, t);
		sb->turns_used++;
		t->fn(t->ctx, 0, "");
	}
}

static void turns_fail(struct sb *sb, int status, const char *why)
{
	while (sb->turns != NULL) {
		struct sb_turn *t = sb->turns;

		turn_unlink(sb, t);
		t->fn(t->ctx, status, why);
	}
}

int sb_turn_take(struct sb *sb, struct sb_turn *t, void (*fn)(void *, int, const char *), void *ctx)
{
	struct sb_turn **end = &sb->turns;

	if (sb->ws->policy != NULL && sb->turns_waiting >= sb->ws->policy->limits.ws_steps_queued)
		return -EAGAIN;
	while (*end != NULL)
		end = &(*end)->next;
	*t = (struct sb_turn){ .link = end, .fn = fn, .ctx = ctx };
	*end = t;
	sb->turns_waiting++;
	timer_stop(sb->app->loop, &sb->idle);
	turns_start(sb);
	return 0;
}

void sb_turn_cancel(struct sb *sb, struct sb_turn *t)
{
	if (t->link != NULL)
		turn_unlink(sb, t);
}

static void idle_over(void *ctx)
{
	sb_kill(ctx, "idle", NULL, NULL, NULL);
}

void sb_turn_give(struct sb *sb)
{
	invariant(sb->turns_used > 0);
	sb->turns_used--;
	turns_start(sb);
	if (sb->use != SB_HELPER || sb->turns_used > 0 || sb->turns != NULL ||
	    sb->state != SB_READY)
		return;
	timer_set(sb->app->loop, &sb->idle, SB_IDLE_MS, idle_over, sb);
	if (slots_waiting(sb->app) > 0)
		sb_kill(sb, "idle", NULL, NULL, NULL);
}

/* ---- the end ---- */

void sb_gone(struct sb *sb, const char *why)
{
	struct sb_wait *w = sb->waits;
	struct app *app = sb->app;
	struct ws *ws = sb->ws;
	bool hook = sb->hook;

	sb->state = SB_ENDING;
	sb->waits = NULL;
	*sb->link = sb->next;
	if (sb->next != NULL)
		sb->next->link = sb->link;
	timer_stop(app->loop, &sb->idle);
	timer_stop(app->loop, &sb->again);
	buf_fini(&sb->host_paths);
	call_cancel(&sb->call);
	call_cancel(&sb->life_call);
	steps_sb_gone(sb, sb->why != NULL ? sb->why : why);
	turns_fail(sb, -EPIPE, "the sandbox has ended");
	peer_free(sb->guest);
	sb->guest = NULL;
	while (w != NULL) {
		struct sb_wait *next = w->next;

		w->fn(w->ctx);
		w = next;
	}
	loop_free_later(app->loop, sb);
	slots_give(app, ws, hook);
}

static void on_kill(void *ctx, int status, struct wire_msg *reply, const char *why)
{
	struct sb *sb = ctx;

	(void)reply;
	if (status < 0 && status != -ENOENT)
		log_warn("sandbox does not end, given up error=%d why=%s", -status, why);
	sb_gone(sb, "killed");
}

void sb_kill(struct sb *sb, const char *why, struct sb_wait *w, void (*fn)(void *), void *ctx)
{
	struct msg_sb_kill ask = { .sandbox = sb->id };

	if (fn != NULL) {
		*w = (struct sb_wait){ .next = sb->waits, .fn = fn, .ctx = ctx };
		sb->waits = w;
	}
	if (sb->state == SB_ENDING)
		return;
	sb->state = SB_ENDING;
	sb->why = why;
	timer_stop(sb->app->loop, &sb->again);
	call_cancel(&sb->call);
	(void)snprintf(ask.why, sizeof ask.why, "%s", why);
	peer_call(sb->app->garthd, &sb->call, MSG_SB_KILL, bytes_of(&ask, sizeof ask),
		  bytes_of(NULL, 0), NULL, 0, SB_KILL_MS, on_kill, sb);
}

/* ---- the guest's socket ---- */

static void guest_told(void *ctx, struct wire_msg *m)
{
	if (m->head.type == MSG_EXITED)
		steps_exited(ctx, msg_body(m), msg_tail(m));
}

static void guest_gone(void *ctx, const char *why)
{
	struct sb *sb = ctx;

	if (sb->state == SB_ENDING)
		return;
	log_info("sandbox's init is gone why=%s", why);
	sb_kill(sb, "exited", NULL, NULL, NULL);
}

static const struct peer_ops guest_ops = { .told = guest_told, .gone = guest_gone };

/* ---- the beginning ---- */

static void create(void *ctx);

static void on_create(void *ctx, int status, struct wire_msg *reply, const char *why)
{
	struct sb *sb = ctx;
	autofd fd = -1;

	if (status == 0) {
		const struct msg_sb_create_reply *b = msg_body(reply);

		sb->gid_base = b->gid_base;
		fd = wire_take_fd(reply, 0);
		status = peer_new(sb->app->loop, fd, PEER_G, &guest_ops, sb, &sb->guest);
	}
	if (status == -EAGAIN && sb->state == SB_STARTING && ++sb->tries < SB_TRIES) {
		timer_set(sb->app->loop, &sb->again, SB_AGAIN_MS, create, sb);
		return;
	}
	if (status < 0) {
		char text[256], safe[LOG_ESC_SIZE];

		(void)snprintf(text, sizeof text, "%s", why);
		log_warn("sandbox was not made ws=%s agent=%s error=%d why=\"%s\"", sb->ws->name,
			 sb->agent, -status, log_esc(bytes_str(text), safe));
		turns_fail(sb, status, text);
		if (status == -ETIMEDOUT || status == -ENOMEM) /* it may stand all the same */
			sb_kill(sb, "given up", NULL, NULL, NULL);
		else
			sb_gone(sb, "failed");
		return;
	}
	(void)fd_steal(&fd); /* the peer's now */
	sb->state = SB_READY;
	turns_start(sb);
}

static void create(void *ctx)
{
	struct sb *sb = ctx;

	peer_call(sb->app->garthd, &sb->call, MSG_SB_CREATE, bytes_of(&sb->ask, sizeof sb->ask),
		  buf_view(&sb->host_paths), NULL, 0, SB_CREATE_MS, on_create, sb);
}

static int host_paths(const struct policy *pol, struct buf *tail)
{
	int rc = 0;

	for (unsigned i = 0; i < pol->host_path_count && rc == 0; i++)
		rc = buf_add(tail, pol->host_paths[i], strlen(pol->host_paths[i]) + 1);
	return rc;
}

int sb_new(struct app *app, struct ws *ws, uint32_t block, enum sb_use use, bool hook,
	   const struct policy_step_limits *lim, const struct policy *pol, int64_t lifetime_ns,
	   struct sb **ret)
{
	struct sb *sb = calloc(1, sizeof *sb);
	const char *agent = ws_agent_name(ws, block);

	if (sb != NULL)
		buf_init(&sb->host_paths, WIRE_TAIL_MAX);
	if (sb == NULL || agent == NULL || host_paths(pol, &sb->host_paths) < 0) {
		if (sb != NULL)
			buf_fini(&sb->host_paths);
		free(sb);
		return agent == NULL ? -ENOENT : -ENOMEM;
	}
	sb->app = app;
	sb->ws = ws;
	sb->id = id_make();
	sb->block = block;
	sb->use = use;
	sb->hook = hook;
	(void)snprintf(sb->agent, sizeof sb->agent, "%s", agent);
	sb->born_ns = clock_wall_ns();
	sb->ends_ns = sb->born_ns + lifetime_ns;
	sb->next = app->sandboxes;
	sb->link = &app->sandboxes;
	if (sb->next != NULL)
		sb->next->link = &sb->next;
	app->sandboxes = sb;
	sb->ask = (struct msg_sb_create){ .sandbox = sb->id,
					  .agent_block = block,
					  .live = use != SB_ONE_SHOT,
					  .memory = lim->memory,
					  .pids = lim->pids,
					  .cpus_milli = lim->cpus_milli,
					  .tmp = lim->tmp,
					  .open_files = lim->open_files,
					  .host_paths = pol->host_path_count,
					  .lifetime_ns = lifetime_ns };
	(void)snprintf(sb->ask.ws, sizeof sb->ask.ws, "%s", ws->name);
	(void)snprintf(sb->ask.agent, sizeof sb->ask.agent, "%s", agent);
	create(sb);
	*ret = sb;
	return 0;
}

struct sb *sb_find(struct app *app, const struct ws *ws, uint64_t id)
{
	struct sb *sb = app->sandboxes;

	while (sb != NULL && (sb->id != id || sb->ws != ws || sb->state == SB_ENDING))
		sb = sb->next;
	return sb;
}

struct sb *sb_helper(struct app *app, const struct ws *ws, uint32_t block)
{
	struct sb *sb = app->sandboxes;

	while (sb != NULL &&
	       (sb->use != SB_HELPER || sb->ws != ws || sb->block != block ||
		sb->state == SB_ENDING || sb->turns_used + sb->turns_waiting >= SB_HELPER_TURNS))
		sb = sb->next;
	return sb;
}

static void on_life(void *ctx, int status, struct wire_msg *reply, const char *why)
{
	(void)ctx;
	(void)reply;
	if (status < 0 && status != -ENOENT)
		log_warn("sandbox's lifetime can't be moved error=%d why=%s", -status, why);
}

void sb_live_on(struct sb *sb, int64_t ns)
{
	struct msg_sb_life ask = { .sandbox = sb->id, .lifetime_ns = ns };

	if (sb->ends_ns >= clock_wall_ns() + ns || sb->state == SB_ENDING)
		return;
	sb->ends_ns = clock_wall_ns() + ns;
	call_cancel(&sb->life_call);
	peer_call(sb->app->garthd, &sb->life_call, MSG_SB_LIFE, bytes_of(&ask, sizeof ask),
		  bytes_of(NULL, 0), NULL, 0, WS_CALL_MS, on_life, sb);
}

bool sandbox_evict_idle(struct app *app, const struct ws *ws)
{
	for (struct sb *sb = app->sandboxes; sb != NULL; sb = sb->next)
		if (sb->use == SB_HELPER && sb->state == SB_READY && sb->turns_used == 0 &&
		    sb->turns == NULL && (ws == NULL || sb->ws == ws)) {
			sb_kill(sb, "idle", NULL, NULL, NULL);
			return true;
		}
	return false;
}

void sandboxes_ws_delete(struct ws *ws)
{
	for (struct sb *sb = ws->app->sandboxes; sb != NULL; sb = sb->next)
		if (sb->ws == ws)
			sb_kill(sb, "deleted", NULL, NULL, NULL);
}
