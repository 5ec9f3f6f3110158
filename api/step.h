/* SPDX-License-Identifier: MIT */
/*
 * api/step.h - one step, from its place in the queue to its durable end. docs/PROTOCOL.md "A step" is the order:
 *   sandbox or turn -> [SB_LIMIT] STEP_BEGIN -> pre_step hook -> SPAWN or PUT -> EXITED -> SB_STAT, [SB_KILL], STEP_END ->
 *   on_output and post_step hooks -> done
 * Whatever dies meanwhile, done is called once.
 * Not here: the request (api/step_http.c), the JSON (api/view.h), which reason an end has (api/reason.h).
 * Thread: one. Memory: a step frees itself after done.
 */
#ifndef GARTH_API_STEP_H
#define GARTH_API_STEP_H

#include "api/sandbox.h"
#include "api/spec.h"
#include "core/event.h"

#define STEP_SPAWN_MS 30000
#define STEP_BEGIN_MS 30000
#define STEP_END_MS 30000
#define STEP_KILL_MS 2000
#define STEP_PUT_MS (3600 * 1000)
#define STEP_ERROR_MAX 32768u /* bytes of the runner's JSON */
#define STEP_DETAIL_SIZE 160
#define STEP_WHO_SIZE 128

enum step_phase {
	STEP_WAITING = 0, /* for a sandbox or a turn */
	STEP_BEGINNING,
	STEP_HOOKED,   /* begun; the pre_step hook decides */
	STEP_STARTING, /* SPAWN is on its way */
	STEP_RUNNING,
	STEP_ENDING, /* from EXITED to STEP_END's answer */
	STEP_AFTER,  /* recorded; hooks run */
	STEP_DONE
};

/* An upload in place of a program. */
struct step_put {
	int fd;           /* the whole content; borrowed */
	const char *path; /* in the workspace */
	bool replace;
	char if_sha[SHA256_HEX_SIZE]; /* "" any */
	int status;                   /* of PUT */
	bool created;
};

struct step;

struct step_ops {
	void (*placed)(
		void *ctx,
		struct step *st); /* it has its place in a queue, or a sandbox; may be NULL */
	void (*begun)(void *ctx, struct step *st); /* it is in the record; may be NULL */
	void (*grew)(void *ctx, struct step *st);  /* its log files did; may be NULL */
	void (*done)(void *ctx,
		     struct step *st); /* status, id and all are there; freed afterwards */
};

struct step_new {
	struct ws *ws;
	struct spec *spec; /* taken */
	uint32_t block;    /* of the agent */
	uint64_t sandbox;  /* 0 a fresh one */
	enum ev_step_kind kind;
	uint64_t parent;
	const char *request_id, *key;
	struct step_put *put; /* STEP_UPLOAD; borrowed until done */
	const struct step_ops *ops;
	void *ctx;
};

struct step {
	struct step *next, **link;
	struct app *app;
	struct ws *ws;
	struct policy *policy; /* as it was when the step came; counted */
	struct spec *spec;
	struct sb *sb; /* NULL before and after */
	enum ev_step_kind kind;
	enum step_phase phase;
	uint32_t block;
	uint64_t id, parent, sandbox_id;
	uint32_t gid;
	char request_id[MSG_REQUEST_SIZE], key[MSG_KEY_SIZE], agent[IDENT_SIZE];
	struct step_put *put;
	const struct step_ops *ops;
	void *ctx;
	bool begun; /* it is in the record */
	bool holds_slot, holds_turn, hook_slot, waits_ws;
	struct slot_wait slot;
	struct ws_wait ws_wait;
	struct sb_turn turn;
	struct sb_wait sb_wait;
	struct call call, kill_call;
	struct timer clock, kill_clock;
	int pipe_fd[2], log_fd[2];
	uint64_t log_len[2];
	bool log_done[2], settling;             /* the program has ended, its stderr not yet */
	int64_t began_ns, spawned_ns, ended_ns; /* wall, mono, mono */
	/* how it ended */
	int status;    /* 0, or why there is no step: -EAGAIN, -EPIPE before the begin, ... */
	char why[160]; /* the sentence to it */
	enum ev_reason forced;   /* REASON_NONE: as the program ended */
	char who[STEP_WHO_SIZE]; /* who stopped it, why it was refused; UTF-8 */
	int spawn_status;        /* why the program did not start; 0 */
	bool exited, oom, kill_sent, recorded;
	int wait_status;
	uint32_t alive;
	int64_t cpu_ns;
	struct msg_sb_stat_reply stat;
	char *runner_error; /* untrusted JSON of the runner */
	enum ev_reason reason;
	char *error; /* JSON as it is recorded, or NULL */
	char detail[STEP_DETAIL_SIZE];
	/* hooks */
	struct step *hook; /* the one that runs now */
	struct hook_run *hooks;
	bool outputs_held; /* on_output artifacts that need it are marked as held */
};

/* Takes n->spec in every case. 0, or a negative errno: nothing was started, done is not called; message in err. */
must_check int step_start(struct app *app, const struct step_new *n, struct step **ret,
			  struct err *err);

/* Stop it: reason REASON_KILLED mostly. @who for people and the record. A step that waits still is given up. */
void step_kill(struct step *st, enum ev_reason reason, const char *who);

/* Nobody listens any more: ops are not called. */
void step_detach(struct step *st);

struct step *step_find(struct app *app, const struct ws *ws, uint64_t id); /* NULL: not running */

/* ---- what others tell ---- */
void steps_ws_lost(struct ws *ws);
void steps_sb_gone(struct sb *sb, const char *why);
void steps_oom(struct sb *sb);
void steps_log_grew(struct ws *ws, const struct msg_log_grew *m);
void steps_exited(struct sb *sb, const struct msg_exited *m, struct bytes error);

/* ---- between the files of step ---- */
void step_log_done(struct step *st); /* nobody can write to its stderr any more */
void step_run(struct step *st);      /* begun and permitted: SPAWN or PUT */
void step_ended(struct step *st);    /* the program is over, or never was: from SB_STAT on */
void step_fail(struct step *st, int status, const char *why); /* before it began */
void step_leave(struct step *st);                             /* give back sandbox, turn, slot */
void step_finish(struct step *st);                            /* done, and away */

#endif
