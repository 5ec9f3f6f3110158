/* SPDX-License-Identifier: MIT */
/*
 * api/sandbox.h - sandboxes as garth-api sees them: made by garthd, a socket to garth-init, turns for the steps in it.
 *   one-shot  ends with its step
 *   live      lasts its lifetime, one step at a time, others wait their turn
 *   helper    for uploads of one agent (operator's mostly): made on demand, several at once, ends after SB_IDLE_MS of quiet
 * Not here: what runs in them (api/step.h), HTTP (api/sandbox_http.c).
 * Thread: one. Memory: a sandbox is freed when it is gone; its turns are told before.
 */
#ifndef GARTH_API_SANDBOX_H
#define GARTH_API_SANDBOX_H

#include "api/slots.h"
#include "core/buf.h"
#include "core/id.h"

#define SB_CREATE_MS 20000
#define SB_KILL_MS 20000
#define SB_AGAIN_MS 50 /* garthd still counts one that is ending, or starts the workspace anew */
#define SB_TRIES 200u
#define SB_IDLE_MS 30000
#define SB_HELPER_TURNS 8u
#define SB_LIFETIME_DEFAULT_NS (300LL * 1000000000)
#define SB_LIFETIME_MAX_NS (24LL * 3600 * 1000000000)
#define SB_GRACE_NS (30LL * 1000000000) /* a sandbox outlives its step's time-out by this */

enum sb_use { SB_ONE_SHOT = 0, SB_LIVE, SB_HELPER };
enum sb_state { SB_STARTING = 0, SB_READY, SB_ENDING };

/* A step's right to be in it. */
struct sb_turn {
	struct sb_turn *next, **link; /* link NULL: does not wait */
	void (*fn)(
		void *ctx, int status,
		const char *why); /* 0: the turn is yours; -EPIPE it ended, -E.. it was not made */
	void *ctx;
};

struct sb_wait { /* for its end */
	struct sb_wait *next;
	void (*fn)(void *ctx);
	void *ctx;
};

struct sb {
	struct sb *next, **link;
	struct app *app;
	struct ws *ws;
	uint64_t id;
	uint32_t block, gid_base;
	char agent[IDENT_SIZE];
	enum sb_use use;
	enum sb_state state;
	bool hook; /* its slot is a hook's */
	struct peer *guest;
	struct call call, life_call;
	struct sb_turn *turns;
	unsigned turns_waiting, turns_used;
	struct sb_wait *waits;
	struct timer idle;
	int64_t born_ns, ends_ns; /* wall clock */
	const char *why;          /* of an end that we asked for */
	struct msg_sb_create ask;
	struct buf host_paths; /* the tail of ask */
	struct timer again;
	unsigned tries;
};

/*
 * Ask garthd for one. The caller's slot becomes the sandbox's. It can be given turns at once: they start when it stands.
 * @lim the limits of its first step.
 */
must_check int sb_new(struct app *app, struct ws *ws, uint32_t block, enum sb_use use, bool hook,
		      const struct policy_step_limits *lim, const struct policy *pol,
		      int64_t lifetime_ns, struct sb **ret);
struct sb *sb_find(struct app *app, const struct ws *ws,
		   uint64_t id); /* that is not ending; NULL */
struct sb *sb_helper(struct app *app, const struct ws *ws,
		     uint32_t block); /* one with a free turn; NULL */

/* Always ends in fn, perhaps at once. -EAGAIN: too many wait. */
must_check int sb_turn_take(struct sb *sb, struct sb_turn *t, void (*fn)(void *, int, const char *),
			    void *ctx);
void sb_turn_cancel(struct sb *sb, struct sb_turn *t); /* not waiting: fine */
void sb_turn_give(struct sb *sb);

/* At least so long from now. */
void sb_live_on(struct sb *sb, int64_t ns);

/* End it; fn (may be NULL) when nothing of it is left. @why a literal: "killed", "step", "idle". */
void sb_kill(struct sb *sb, const char *why, struct sb_wait *w, void (*fn)(void *), void *ctx);

/* garthd says that it is gone. */
void sb_gone(struct sb *sb, const char *why);

/* End one helper that nobody uses, of ws alone unless that is NULL. false: there was none. */
bool sandbox_evict_idle(struct app *app, const struct ws *ws);
void sandboxes_ws_delete(struct ws *ws);

#endif
