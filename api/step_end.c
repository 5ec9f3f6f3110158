/* SPDX-License-Identifier: MIT */
/*
 * api/step_end.c - from the end of a program to its durable record: SB_STAT, SB_KILL, the reason, STEP_END.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/hint.h"
#include "api/hook.h"
#include "api/step.h"
#include "core/clock.h"
#include "core/fd.h"
#include "core/log.h"
#include "core/size.h"

#define STDERR_TAIL 4096
#define LOG_SETTLE_MS \
	200 /* at most: a failed program's last words may still be on their way to its log */

/* ---- what it says ---- */

/* Do its last lines of stderr, or what the runner tells, say so? */
static bool told(const struct step *st, bool (*says)(struct bytes text))
{
	char tail[STDERR_TAIL];
	off_t end = st->log_fd[1] >= 0 ? lseek(st->log_fd[1], 0, SEEK_END) : 0;
	off_t from = end > STDERR_TAIL ? end - STDERR_TAIL : 0;
	ssize_t n = end > 0 ? pread(st->log_fd[1], tail, sizeof tail, from) : 0;

	if (n > 0 && says(bytes_of(tail, (size_t)n)))
		return true;
	return st->runner_error != NULL && says(bytes_str(st->runner_error));
}

static void detail_of(struct step *st, const struct end *e)
{
	char limit[SIZE_TEXT_SIZE], peak[SIZE_TEXT_SIZE];
	const struct policy_step_limits *lim = &st->spec->lim;

	size_text(lim->memory, limit);
	size_text(st->stat.memory_peak, peak);
	if (e->reason == REASON_MEMORY)
		(void)snprintf(st->detail, sizeof st->detail, "limit %s, peak %s", limit, peak);
	else if (e->reason == REASON_TIMEOUT)
		(void)snprintf(st->detail, sizeof st->detail, "limit %g s",
			       (double)lim->timeout_ns / (double)NS_PER_S);
	else if (e->reason == REASON_PIDS)
		(void)snprintf(st->detail, sizeof st->detail, "limit %u processes and threads",
			       lim->pids);
	else if (st->forced != REASON_NONE)
		(void)snprintf(st->detail, sizeof st->detail, "%s", st->who);
	else if (st->spawn_status < 0)
		(void)snprintf(st->detail, sizeof st->detail, "not started: %.140s", st->why);
}

static void error_of(struct step *st, const struct end *e)
{
	const struct policy_step_limits *lim = &st->spec->lim;
	struct hint_facts f = { .end = *e,
				.who = st->who,
				.spawn_error = st->spawn_status < 0 ? st->why : NULL,
				.python = st->spec->lang == SPEC_PYTHON,
				.limit_ns = lim->timeout_ns,
				.limit_max_ns = lim->timeout_max_ns,
				.wall_ns = st->ended_ns - st->spawned_ns,
				.cpu_ns = st->cpu_ns,
				.memory = lim->memory,
				.memory_peak = st->stat.memory_peak,
				.file = lim->file,
				.too_big = st->exited && st->wait_status != 0 &&
					   told(st, reason_file_text),
				.pids = lim->pids,
				.cpus_milli = lim->cpus_milli };
	json_t *j, *runner = st->runner_error != NULL
				     ? hint_from_runner(bytes_str(st->runner_error))
				     : NULL;

	if (st->kind == STEP_UPLOAD && st->put != NULL && st->put->status < 0) {
		json_decref(runner);
		j = json_pack("{s:s, s:s, s:s, s:n}", "name", "UploadError", "value", st->why,
			      "traceback", "", "hint");
	} else {
		j = hint_error(&f, runner);
	}
	free(st->error);
	st->error = j != NULL ? json_dumps(j, JSON_COMPACT) : NULL;
	json_decref(j);
}

/* ---- STEP_END ---- */

static void on_end(void *ctx, int status, struct wire_msg *reply, const char *why)
{
	struct step *st = ctx;

	(void)reply;
	if (status < 0) {
		log_warn("step's end was not recorded error=%d why=%s", -status, why);
		st->status = status;
		st->reason = REASON_LOST;
		(void)snprintf(st->why, sizeof st->why,
			       "the step's end could not be recorded: %.100s", why);
		step_finish(st);
		return;
	}
	st->recorded = true;
	st->phase = STEP_AFTER;
	hook_after(st);
}

static void send_end(struct step *st)
{
	struct end_facts f = { .forced = st->forced,
			       .exited = st->exited,
			       .wait_status = st->wait_status,
			       .oom_kills = st->stat.oom_kills + (st->oom ? 1 : 0),
			       .pids_refused = st->stat.pids_refused };
	struct msg_step_end ask = { .step = st->id };
	struct end e;
	autobuf tail;
	int rc;

	f.disk_full = st->exited && st->wait_status != 0 && told(st, reason_disk_text);
	e = reason_of(&f);
	st->reason = e.reason;
	if (st->stat.cpu_ns > st->cpu_ns)
		st->cpu_ns = st->stat.cpu_ns;
	detail_of(st, &e);
	error_of(st, &e);
	ask.reason = (uint32_t)e.reason;
	ask.exit_code = e.exit_code;
	ask.signal = e.signal;
	ask.alive = st->sb != NULL && st->sb->use == SB_LIVE && st->alive > 0;
	ask.wall_ns = st->spawned_ns != 0 && st->ended_ns > st->spawned_ns
			      ? st->ended_ns - st->spawned_ns
			      : 0;
	ask.cpu_ns = st->cpu_ns;
	ask.memory_peak = st->stat.memory_peak;
	ask.error_len = st->error != NULL ? (uint32_t)strlen(st->error) : 0;
	ask.detail_len = (uint32_t)strlen(st->detail);
	buf_init(&tail, WIRE_TAIL_MAX);
	rc = st->error != NULL ? buf_add_str(&tail, st->error) : 0;
	if (rc == 0)
		rc = buf_add_str(&tail, st->detail);
	if (rc < 0) { /* longer than a message: without the error */
		buf_reset(&tail);
		ask.error_len = 0;
		ask.detail_len = 0;
	}
	peer_call(st->ws->fs, &st->call, MSG_STEP_END, bytes_of(&ask, sizeof ask), buf_view(&tail),
		  NULL, 0, STEP_END_MS, on_end, st);
}

static void settled(void *ctx)
{
	struct step *st = ctx;

	timer_stop(st->app->loop, &st->clock);
	st->settling = false;
	if (st->ws->fs == NULL)
		return; /* steps_ws_lost has come, or comes */
	send_end(st);
}

/* A program that failed may have said why in its last lines. */
static void settle(struct step *st)
{
	bool wait = st->exited && st->wait_status != 0 && st->alive == 0 && !st->log_done[1] &&
		    st->put == NULL && st->spawn_status == 0 && st->forced == REASON_NONE;

	st->settling = wait;
	timer_set(st->app->loop, &st->clock, wait ? LOG_SETTLE_MS : 0, settled, st);
}

void step_log_done(struct step *st)
{
	if (st->settling)
		timer_set(st->app->loop, &st->clock, 0, settled, st);
}

static void sandbox_ended(void *ctx)
{
	struct step *st = ctx;

	if (st->phase == STEP_ENDING)
		settle(st);
}

/* A one-shot sandbox goes before the record is closed, so that nothing of it can write any more. */
static void close_sandbox(struct step *st)
{
	if (st->sb != NULL && st->sb->use == SB_ONE_SHOT)
		sb_kill(st->sb, "step", &st->sb_wait, sandbox_ended, st);
	else
		settle(st);
}

static void on_stat(void *ctx, int status, struct wire_msg *reply, const char *why)
{
	struct step *st = ctx;

	(void)why;
	if (status == 0)
		st->stat = *(const struct msg_sb_stat_reply *)msg_body(reply);
	close_sandbox(st);
}

void step_ended(struct step *st)
{
	struct msg_sb_stat ask = { .sandbox = st->sandbox_id };

	st->phase = STEP_ENDING;
	timer_stop(st->app->loop, &st->clock);
	timer_stop(st->app->loop, &st->kill_clock);
	call_cancel(&st->kill_call);
	for (int i = 0; i < 2; i++)
		fd_closep(&st->pipe_fd[i]);
	if (st->sb != NULL && st->put == NULL && st->spawned_ns != 0)
		peer_call(st->app->garthd, &st->call, MSG_SB_STAT, bytes_of(&ask, sizeof ask),
			  bytes_of(NULL, 0), NULL, 0, WS_CALL_MS, on_stat, st);
	else
		close_sandbox(st);
}
