/* SPDX-License-Identifier: MIT */
/*
 * exec/life_ask.c - what garth-api asks of a living sandbox: limits, lifetime, counts, its end.
 */
#include "exec/life.h"

static void lifetime_over(void *ctx)
{
	life_kill(ctx, "lifetime");
}

/* Is it there to be asked? */
static bool lives(struct sandbox *s, struct ask *a)
{
	struct err err = { 0 };

	invariant(s);
	if (s->state == LIFE_LIVE)
		return true;
	ask_answer(s->d, a, err_set(&err, -ENOENT, "the sandbox is not running"), &err);
	return false;
}

void life_limit(struct sandbox *s, const struct msg_sb_limit *m, struct ask a)
{
	struct cgroup_limits l;
	struct err err = { 0 };
	int r;

	if (!lives(s, &a))
		return;
	r = sb_limits_make(m->memory, m->pids, m->cpus_milli, &l, &err);
	if (r == 0)
		r = cgroup_limit(&s->d->cg, s->plan.name, &l, &err);
	if (r == -EBUSY)
		r = err_set(&err, -EBUSY,
			    "what the sandbox holds in memory now (files in /tmp count) is more "
			    "than the new limit");
	if (r == 0) {
		s->plan.limits = l;
		cgroup_peak_reset(&s->d->cg, s->plan.name, &s->peak_fd);
		cgroup_stat(&s->d->cg, s->plan.name, s->peak_fd, &s->base);
	}
	ask_answer(s->d, &a, r, &err);
}

void life_extend(struct sandbox *s, const struct msg_sb_life *m, struct ask a)
{
	struct err err = { 0 };
	int r = 0;

	if (!lives(s, &a))
		return;
	if (m->lifetime_ns <= 0 || m->lifetime_ns > SB_LIFETIME_MAX_NS)
		r = err_set(&err, -EINVAL, "lifetime: not between 1 ns and 366 days");
	else
		reactor_timer_set(&s->d->loop, &s->timer, m->lifetime_ns, lifetime_over, s);
	ask_answer(s->d, &a, r, &err);
}

void life_stat(struct sandbox *s, struct ask a)
{
	struct msg_sb_stat_reply reply = { 0 };
	struct cgroup_stat now;

	if (!lives(s, &a))
		return;
	cgroup_stat(&s->d->cg, s->plan.name, s->peak_fd, &now);
	reply.memory_peak = now.memory_peak;
	reply.oom_kills = now.oom_kills - s->base.oom_kills;
	reply.pids_refused = now.pids_refused - s->base.pids_refused;
	reply.cpu_ns = now.cpu_ns - s->base.cpu_ns;
	reply.pids_now = now.pids_now;
	ask_answer_fd(s->d, &a, bytes_of(&reply, sizeof reply), -1);
}

void life_kill_asked(struct sandbox *s, const struct msg_sb_kill *m, struct ask a)
{
	struct err err = { 0 };

	if (!msg_text_ok(m->why, sizeof m->why)) {
		ask_answer(s->d, &a, err_set(&err, -EINVAL, "why: no text"), &err);
		return;
	}
	if (s->kills == LIFE_KILLS_MAX) {
		ask_answer(s->d, &a, err_set(&err, -EBUSY, "the sandbox is being killed already"),
			   &err);
		return;
	}
	s->kill[s->kills++] = a;
	life_kill(s, m->why[0] ? m->why : "killed");
}
