/* SPDX-License-Identifier: MIT */
/*
 * api/step_run.c - a step that has begun: its program or upload, its time-out, its being killed, and what others tell of it.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <fcntl.h>

#include "api/hook.h"
#include "api/step.h"
#include "core/clock.h"
#include "core/fd.h"
#include "core/log.h"

#define BODY_SLACK (64u * 1024)

/* ---- stopping ---- */

static void sandbox_must_go(struct step *st)
{
	if (st->sb != NULL)
		sb_kill(st->sb, "timeout", NULL, NULL, NULL); /* SB_GONE ends the step */
}

static void on_kill(void *ctx, int status, struct wire_msg *reply, const char *why)
{
	struct step *st = ctx;

	(void)reply;
	(void)why;
	if (status == -ETIMEDOUT || status == -EPIPE || status == -EAGAIN)
		sandbox_must_go(st);
}

static void kill_late(void *ctx)
{
	sandbox_must_go(ctx);
}

static void kill_program(struct step *st)
{
	struct msg_kill ask = { .step = st->id, .gid = st->gid, .signal = SIGKILL };

	if (st->kill_sent || st->sb == NULL || st->sb->guest == NULL)
		return;
	st->kill_sent = true;
	peer_call(st->sb->guest, &st->kill_call, MSG_KILL, bytes_of(&ask, sizeof ask),
		  bytes_of(NULL, 0), NULL, 0, STEP_KILL_MS, on_kill, st);
	/* KILL may be answered and EXITED never come: the guest's socket is in hostile surroundings */
	timer_set(st->app->loop, &st->kill_clock, 2 * STEP_KILL_MS, kill_late, st);
}

void step_kill(struct step *st, enum ev_reason reason, const char *who)
{
	if (st->forced == REASON_NONE && st->phase < STEP_ENDING) {
		st->forced = reason;
		(void)snprintf(st->who, sizeof st->who, "%s", who);
	}
	switch (st->phase) {
	case STEP_WAITING:
		step_fail(st, -ECANCELED, "stopped while it waited for a sandbox");
		return;
	case STEP_HOOKED: hook_stop(st, who); return;
	case STEP_STARTING:
	case STEP_RUNNING:
		if (st->put == NULL) /* an upload is short and whole, or not there */
			kill_program(st);
		return;
	case STEP_AFTER: hook_stop(st, who); return;
	case STEP_BEGINNING: /* on_begin looks at forced */
	case STEP_ENDING:
	case STEP_DONE: return;
	}
}

static void time_out(void *ctx)
{
	step_kill(ctx, REASON_TIMEOUT, "its time limit");
}

/* ---- starting ---- */

static void on_spawn(void *ctx, int status, struct wire_msg *reply, const char *why)
{
	struct step *st = ctx;

	(void)reply;
	for (int i = 0; i < 2; i++)
		fd_closep(&st->pipe_fd[i]);
	if (status == -EPIPE)
		return; /* the sandbox is going: steps_sb_gone comes */
	if (status == -ETIMEDOUT || status == -EAGAIN) {
		st->forced = st->forced == REASON_NONE ? REASON_LOST : st->forced;
		sandbox_must_go(st);
		return;
	}
	if (status < 0) { /* no program: as a shell says it, 126 and 127 */
		(void)snprintf(st->why, sizeof st->why, "%s", why);
		st->wait_status = (status == -ENOENT ? 127 : 126) << 8;
		st->exited = true;
		st->ended_ns = clock_mono_ns();
		st->spawn_status = status;
		step_ended(st);
		return;
	}
	if (st->phase == STEP_STARTING)
		st->phase = STEP_RUNNING;
}

static int stdin_of(const struct step *st, int *ret_fd)
{
	if (st->spec->has_input)
		return fd_memfd("stdin", st->spec->input, ret_fd);
	*ret_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return *ret_fd < 0 ? -errno : 0;
}

static int spawn_body(struct step *st, struct msg_spawn *ask, int *ret_fd)
{
	char step[ID_TEXT_SIZE], sandbox[ID_TEXT_SIZE];
	struct spec_ids ids = {
		.workspace = st->ws->name, .agent = st->agent, .step = step, .sandbox = sandbox
	};
	size_t max = st->spec->code.len + BODY_SLACK + 4 * SPEC_TEXT_MAX;
	autobuf body;
	int rc;

	id_text(ID_STEP, st->id, step);
	id_text(ID_SANDBOX, st->sandbox_id, sandbox);
	for (unsigned i = 0; i < st->spec->filec; i++)
		max += st->spec->files[i].content.len + PATH_LEN_MAX;
	buf_init(&body, max);
	rc = spec_spawn_body(st->spec, &ids, &body, &ask->envc);
	return rc == 0 ? fd_memfd("spawn", buf_view(&body), ret_fd) : rc;
}

static void start_program(struct step *st)
{
	const struct policy_step_limits *lim = &st->spec->lim;
	struct msg_spawn ask = { .step = st->id,
				 .uid = IDS_UID_USER,
				 .gid = st->gid,
				 .umask = 002,
				 .language = (uint32_t)st->spec->lang,
				 .file_max = lim->file,
				 .open_files = lim->open_files,
				 .argc = st->spec->argc,
				 .files = st->spec->filec };
	autofd in = -1, body = -1;
	int rc = stdin_of(st, &in);

	if (rc == 0)
		rc = spawn_body(st, &ask, &body);
	st->spawned_ns = clock_mono_ns();
	if (rc < 0) {
		st->forced = REASON_LOST;
		step_ended(st);
		return;
	}
	const int fds[4] = { in, st->pipe_fd[0], st->pipe_fd[1], body };

	timer_set(st->app->loop, &st->clock, lim->timeout_ns / NS_PER_MS, time_out, st);
	peer_call(st->sb->guest, &st->call, MSG_SPAWN, bytes_of(&ask, sizeof ask),
		  bytes_of(NULL, 0), fds, 4, STEP_SPAWN_MS, on_spawn, st);
}

static void on_put(void *ctx, int status, struct wire_msg *reply, const char *why)
{
	struct step *st = ctx;

	for (int i = 0; i < 2; i++)
		fd_closep(&st->pipe_fd[i]);
	if (status == -EPIPE && st->sb != NULL && !peer_is_open(st->sb->guest))
		return; /* steps_sb_gone comes */
	st->put->status = status;
	(void)snprintf(st->why, sizeof st->why, "%s", why);
	if (status == 0)
		st->put->created = ((const struct msg_put_reply *)msg_body(reply))->created != 0;
	st->exited = true;
	st->wait_status = status == 0 ? 0 : 1 << 8;
	st->ended_ns = clock_mono_ns();
	step_ended(st);
}

static void start_put(struct step *st)
{
	struct msg_put ask = { .step = st->id,
			       .gid = st->gid,
			       .replace = st->put->replace,
			       .path_len = (uint32_t)strlen(st->put->path) };

	ask.uid = st->block == 0 ? IDS_UID_ROOT : IDS_UID_USER;
	memcpy(ask.if_sha, st->put->if_sha, sizeof ask.if_sha);
	st->spawned_ns = clock_mono_ns();
	peer_call(st->sb->guest, &st->call, MSG_PUT, bytes_of(&ask, sizeof ask),
		  bytes_str(st->put->path), &st->put->fd, 1, STEP_PUT_MS, on_put, st);
}

void step_run(struct step *st)
{
	st->phase = STEP_STARTING;
	if (st->sb == NULL || st->sb->guest == NULL) {
		st->forced = st->forced == REASON_NONE ? REASON_LOST : st->forced;
		step_ended(st);
	} else if (st->put != NULL) {
		start_put(st);
	} else {
		start_program(st);
	}
}

/* ---- what others tell ---- */

void steps_exited(struct sb *sb, const struct msg_exited *m, struct bytes error)
{
	struct step *st = step_find(sb->app, sb->ws, m->step);

	if (st == NULL || st->sb != sb || st->exited || st->put != NULL ||
	    st->phase > STEP_RUNNING || st->phase < STEP_STARTING)
		return; /* hostile surroundings: only what we wait for counts */
	st->exited = true;
	st->ended_ns = clock_mono_ns();
	st->wait_status = m->status;
	st->alive = m->alive;
	st->cpu_ns = m->utime_ns + m->stime_ns;
	if (error.len > 0 && error.len <= STEP_ERROR_MAX)
		st->runner_error = strndup(error.p, error.len);
	if (call_is_open(&st->call)) { /* faster than the answer to SPAWN */
		call_cancel(&st->call);
		for (int i = 0; i < 2; i++)
			fd_closep(&st->pipe_fd[i]);
	}
	step_ended(st);
}

void steps_log_grew(struct ws *ws, const struct msg_log_grew *m)
{
	struct step *st = step_find(ws->app, ws, m->step);

	if (st == NULL)
		return;
	st->log_len[0] = m->stdout_len;
	st->log_len[1] = m->stderr_len;
	st->log_done[0] = m->stdout_done != 0;
	st->log_done[1] = m->stderr_done != 0;
	if (st->log_done[1])
		step_log_done(st);
	if (st->ops->grew != NULL)
		st->ops->grew(st->ctx, st);
}

void steps_oom(struct sb *sb)
{
	for (struct step *st = sb->app->steps; st != NULL; st = st->next)
		if (st->sb == sb && st->phase < STEP_ENDING)
			st->oom = true;
}

/* The one step of a sandbox that is no more. */
static void without_sandbox(struct step *st, const char *why)
{
	bool ours = st->forced != REASON_NONE; /* we ended it ourselves */

	st->sb = NULL;
	st->holds_turn = false;
	if (st->phase >= STEP_ENDING)
		return;
	if (st->phase == STEP_WAITING) {
		step_fail(st, -EPIPE, "the sandbox ended before the step began");
		return;
	}
	if (!ours) {
		bool asked = strcmp(why, "killed") == 0 || strcmp(why, "lifetime") == 0 ||
			     strcmp(why, "deleted") == 0;

		st->forced = asked ? REASON_KILLED : REASON_LOST;
		(void)snprintf(st->who, sizeof st->who, "%s",
			       strcmp(why, "lifetime") == 0 ? "the sandbox's lifetime"
			       : asked                      ? "the removal of its sandbox"
							    : "the end of its sandbox");
	}
	if (st->phase == STEP_BEGINNING)
		return; /* on_begin sees that it is forced, and ends it in the record */
	if (st->phase == STEP_HOOKED) {
		hook_stop(st, "the sandbox ended");
		return;
	}
	call_cancel(&st->call);
	if (st->ended_ns == 0)
		st->ended_ns = clock_mono_ns();
	step_ended(st);
}

void steps_sb_gone(struct sb *sb, const char *why)
{
	struct step *st = sb->app->steps;

	while (st != NULL) {
		struct step *next = st->next;

		if (st->sb == sb &&
		    st->turn.link == NULL) /* those that wait for a turn are told by the turn */
			without_sandbox(st, why);
		st = next;
	}
}

static void lost(struct step *st)
{
	call_cancel(&st->call);
	call_cancel(&st->kill_call);
	if (st->phase == STEP_AFTER || st->recorded) {
		step_finish(st); /* its record stands */
		return;
	}
	if (!st->begun) {
		step_fail(st, -EPIPE, "the workspace was restarted before the step began");
		return;
	}
	st->forced = st->reason = REASON_LOST;
	if (st->ended_ns == 0)
		st->ended_ns = clock_mono_ns();
	(void)snprintf(st->detail, sizeof st->detail, "the workspace's file server ended");
	step_finish(st);
}

/* Restarts its walk after each: a step that ends may end others, its hooks. */
void steps_ws_lost(struct ws *ws)
{
	struct step *st = ws->app->steps;

	while (st != NULL) {
		if (st->ws == ws && st->phase != STEP_DONE &&
		    !(st->phase == STEP_WAITING && st->sb == NULL)) {
			lost(st);
			st = ws->app->steps;
		} else {
			st = st->next;
		}
	}
}
