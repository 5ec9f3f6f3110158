/* SPDX-License-Identifier: MIT */
/*
 * api/step.c - a step's way to its beginning: queue, sandbox, turn, limits, STEP_BEGIN.
 * Not here: running (api/step_run.c), ending (api/step_end.c).
 */
#include "api/step.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "api/hook.h"
#include "core/clock.h"
#include "core/fd.h"
#include "core/log.h"

#define STEP_TEXTS_MAX WIRE_TAIL_MAX

struct step *step_find(struct app *app, const struct ws *ws, uint64_t id)
{
	struct step *st = app->steps;

	while (st != NULL && (st->ws != ws || st->id != id))
		st = st->next;
	return st;
}

void step_detach(struct step *st)
{
	static const struct step_ops none = { 0 };

	st->ops = &none;
	st->ctx = NULL;
}

void step_leave(struct step *st)
{
	struct sb *sb = st->sb;

	slots_cancel(st->app, &st->slot);
	if (st->waits_ws)
		ws_wait_cancel(st->ws, &st->ws_wait);
	st->waits_ws = false;
	if (st->holds_slot)
		slots_give(st->app, st->ws, st->hook_slot);
	st->holds_slot = false;
	if (sb == NULL)
		return;
	sb_turn_cancel(sb, &st->turn);
	st->sb = NULL;
	if (sb->use == SB_ONE_SHOT)
		sb_kill(sb, "step", NULL, NULL, NULL);
	if (st->holds_turn)
		sb_turn_give(sb);
	st->holds_turn = false;
}

void step_finish(struct step *st)
{
	if (st->phase == STEP_DONE)
		return;
	st->phase = STEP_DONE;
	timer_stop(st->app->loop, &st->clock);
	timer_stop(st->app->loop, &st->kill_clock);
	call_cancel(&st->call);
	call_cancel(&st->kill_call);
	step_leave(st);
	if (st->ops->done != NULL)
		st->ops->done(st->ctx, st);
	*st->link = st->next;
	if (st->next != NULL)
		st->next->link = st->link;
	hook_free(st);
	for (int i = 0; i < 2; i++) {
		fd_closep(&st->pipe_fd[i]);
		fd_closep(&st->log_fd[i]);
	}
	policy_unref(st->policy);
	if (st->spec != NULL)
		spec_fini(st->spec);
	free(st->spec);
	free(st->runner_error);
	free(st->error);
	loop_free_later(st->app->loop, st);
}

void step_fail(struct step *st, int status, const char *why)
{
	st->status = status;
	(void)snprintf(st->why, sizeof st->why, "%s", why);
	step_finish(st);
}

/* ---- STEP_BEGIN ---- */

static void on_begin(void *ctx, int status, struct wire_msg *reply, const char *why)
{
	struct step *st = ctx;
	const struct msg_step_begin_reply *b;

	if (status < 0) {
		step_fail(st, status,
			  why[0] != '\0' ? why : "the workspace does not begin the step");
		return;
	}
	b = msg_body(reply);
	st->begun = true;
	st->gid = b->gid;
	for (unsigned i = 0; i < 2; i++) {
		st->pipe_fd[i] = wire_take_fd(reply, i);
		st->log_fd[i] = wire_take_fd(reply, 2 + i);
	}
	if (st->ops->begun != NULL)
		st->ops->begun(st->ctx, st);
	if (st->forced != REASON_NONE) { /* killed meanwhile */
		step_ended(st);
		return;
	}
	if (hook_pre(st))
		return;
	step_run(st);
}

static int begin_texts(struct step *st, struct msg_step_begin *ask, struct buf *tail)
{
	autobuf env, limits, observed;
	int rc;

	buf_init(&env, STEP_TEXTS_MAX);
	buf_init(&limits, STEP_TEXTS_MAX);
	buf_init(&observed, STEP_TEXTS_MAX);
	rc = spec_record_texts(st->spec, tail, &env, &limits, &observed);
	ask->command_len = (uint32_t)tail->len;
	ask->env_len = (uint32_t)env.len;
	ask->limits_len = (uint32_t)limits.len;
	ask->observed_len = (uint32_t)observed.len;
	if (rc == 0 && env.len > 0)
		rc = buf_add(tail, env.p, env.len);
	if (rc == 0)
		rc = buf_add(tail, limits.p, limits.len);
	return rc == 0 ? buf_add(tail, observed.p, observed.len) : rc;
}

static void begin(struct step *st)
{
	struct msg_step_begin ask = { .step = st->id,
				      .sandbox = st->sandbox_id,
				      .parent = st->parent,
				      .kind = (uint32_t)st->kind,
				      .agent_block = st->block,
				      .log_max = st->spec->lim.log,
				      .wipe = st->kind != STEP_UPLOAD };
	autofd code = -1;
	autobuf tail;
	int rc = 0;

	buf_init(&tail, STEP_TEXTS_MAX);
	ask.has_code = st->spec->lang != SPEC_ARGV;
	(void)snprintf(ask.job, sizeof ask.job, "%s", st->spec->job != NULL ? st->spec->job : "");
	(void)snprintf(ask.request_id, sizeof ask.request_id, "%s", st->request_id);
	(void)snprintf(ask.key, sizeof ask.key, "%s", st->key);
	(void)snprintf(ask.language, sizeof ask.language, "%s", spec_lang_text(st->spec->lang));
	if (ask.has_code)
		rc = fd_memfd("code", st->spec->code, &code);
	if (rc == 0)
		rc = begin_texts(st, &ask, &tail);
	if (rc < 0) {
		step_fail(st, rc, "the step can't be described to the workspace");
		return;
	}
	st->began_ns = clock_wall_ns();
	st->phase = STEP_BEGINNING;
	peer_call(st->ws->fs, &st->call, MSG_STEP_BEGIN, bytes_of(&ask, sizeof ask),
		  buf_view(&tail), &code, ask.has_code, STEP_BEGIN_MS, on_begin, st);
}

/* ---- the sandbox ---- */

static void on_limit(void *ctx, int status, struct wire_msg *reply, const char *why)
{
	struct step *st = ctx;

	(void)reply;
	if (status < 0)
		step_fail(st, status, why[0] != '\0' ? why : "the sandbox's limits can't be set");
	else
		begin(st);
}

static void on_turn(void *ctx, int status, const char *why)
{
	struct step *st = ctx;
	struct msg_sb_limit ask = { 0 };

	if (status < 0) {
		st->sb = NULL; /* it is being taken down by whoever told us */
		step_fail(st, status, why[0] != '\0' ? why : "the sandbox can't be made");
		return;
	}
	st->holds_turn = true;
	if (!peer_is_open(st->ws->fs)) {
		step_fail(st, -EPIPE, "the workspace is being restarted");
		return;
	}
	if (st->sb->use != SB_LIVE) {
		begin(st);
		return;
	}
	sb_live_on(st->sb, st->spec->lim.timeout_ns + SB_GRACE_NS);
	ask = (struct msg_sb_limit){ .sandbox = st->sb->id,
				     .memory = st->spec->lim.memory,
				     .pids = st->spec->lim.pids,
				     .cpus_milli = st->spec->lim.cpus_milli };
	peer_call(st->app->garthd, &st->call, MSG_SB_LIMIT, bytes_of(&ask, sizeof ask),
		  bytes_of(NULL, 0), NULL, 0, WS_CALL_MS, on_limit, st);
}

static void enter(struct step *st, struct sb *sb)
{
	int rc;

	st->sb = sb;
	st->sandbox_id = sb->id;
	rc = sb_turn_take(sb, &st->turn, on_turn, st);
	if (rc < 0) {
		st->sb = NULL;
		step_fail(st, rc, "too many steps wait for this sandbox");
	}
}

/* The slot is ours: it becomes the sandbox's. */
static void make_sandbox(struct step *st)
{
	enum sb_use use = st->kind == STEP_UPLOAD ? SB_HELPER : SB_ONE_SHOT;
	int64_t life =
		use == SB_HELPER ? SB_LIFETIME_MAX_NS : st->spec->lim.timeout_ns + 20 * SB_GRACE_NS;
	struct sb *sb = NULL;
	int rc = sb_new(st->app, st->ws, st->block, use, st->hook_slot, &st->spec->lim, st->policy,
			life, &sb);

	if (rc < 0) {
		step_fail(st, rc, "no sandbox can be asked for");
		return;
	}
	st->holds_slot = false;
	enter(st, sb);
}

static void on_ws(void *ctx, int status, struct ws *ws, const char *why)
{
	struct step *st = ctx;

	(void)ws;
	st->waits_ws = false;
	if (status < 0)
		step_fail(st, status, why[0] != '\0' ? why : "the workspace is gone");
	else
		make_sandbox(st);
}

static void on_slot(void *ctx)
{
	struct step *st = ctx;

	st->holds_slot = true;
	st->waits_ws = true; /* it may have been restarted while we waited */
	ws_get(st->app, st->ws->name, &st->ws_wait, on_ws, st);
}

static void find_place(struct step *st)
{
	struct sb *sb = NULL;
	int rc;

	if (st->sandbox_id != 0) {
		sb = sb_find(st->app, st->ws, st->sandbox_id);
		if (sb == NULL || sb->block != st->block) {
			step_fail(st, -ENOENT, "no such sandbox of this agent");
			return;
		}
	} else if (st->kind == STEP_UPLOAD) {
		sb = sb_helper(st->app, st->ws, st->block);
	}
	if (sb != NULL) {
		enter(st, sb);
		return;
	}
	st->hook_slot = st->parent != 0;
	rc = slots_take(st->app, st->ws, st->hook_slot, true, &st->slot, on_slot, st);
	if (rc == 0)
		on_slot(st);
	else if (rc != -EINPROGRESS)
		step_fail(st, rc, "all sandboxes are in use and the queue is full");
}

/* In a round of its own, so that nothing is called from within step_start. */
static void go(void *ctx)
{
	struct step *st = ctx;

	find_place(st);
	if (st->phase != STEP_DONE && st->ops->placed != NULL)
		st->ops->placed(st->ctx, st);
}

int step_start(struct app *app, const struct step_new *n, struct step **ret, struct err *err)
{
	struct step *st = app->stopping ? NULL : calloc(1, sizeof *st);
	const char *agent = ws_agent_name(n->ws, n->block);

	if (st == NULL || agent == NULL) {
		free(st);
		spec_fini(n->spec);
		free(n->spec);
		if (app->stopping)
			return err_set(err, -EPIPE, "the server is being stopped");
		return err_set(err, agent == NULL ? -ENOENT : -ENOMEM,
			       agent == NULL ? "no such agent" : "no memory");
	}
	*st = (struct step){ .app = app,
			     .ws = n->ws,
			     .id = id_make(),
			     .policy = policy_ref(n->ws->policy),
			     .spec = n->spec,
			     .kind = n->kind,
			     .block = n->block,
			     .parent = n->parent,
			     .sandbox_id = n->sandbox,
			     .put = n->put,
			     .ops = n->ops,
			     .ctx = n->ctx,
			     .pipe_fd = { -1, -1 },
			     .log_fd = { -1, -1 } };
	(void)snprintf(st->request_id, sizeof st->request_id, "%s", n->request_id);
	(void)snprintf(st->key, sizeof st->key, "%s", n->key);
	(void)snprintf(st->agent, sizeof st->agent, "%s", agent);
	st->next = app->steps;
	st->link = &app->steps;
	if (st->next != NULL)
		st->next->link = &st->next;
	app->steps = st;
	timer_set(app->loop, &st->clock, 0, go, st);
	*ret = st;
	return 0;
}
