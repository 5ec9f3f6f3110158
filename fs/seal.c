/* SPDX-License-Identifier: MIT */
/*
 * fs/seal.c - the end of a step: the barrier, its versions, its row, the answer; and the versions that time cuts.
 */
#include "fs/seal.h"

#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/msg.h"
#include "fs/cut.h"
#include "fs/emit.h"
#include "fs/logs.h"
#include "fs/retain.h"
#include "fs/step.h"
#include "fs/work.h"

struct ending {
	struct step *step;
	struct ev_step_end end;
	bool alive;
	struct client *client;
	uint64_t id;
	int64_t deadline_ns;
	struct ending *next;
	char text[]; /* error and detail */
};

struct seal {
	pthread_mutex_t lock;
	struct ending *list;
};

int seal_new(struct seal **ret)
{
	struct seal *s = calloc(1, sizeof *s);

	if (!s)
		return -ENOMEM;
	pthread_mutex_init(&s->lock, NULL);
	*ret = s;
	return 0;
}

void seal_free(struct seal *s)
{
	if (!s)
		return;
	pthread_mutex_destroy(&s->lock);
	free(s);
}

int seal_step(struct fs *fs, struct step *st, const struct ev_step_end *end, bool alive,
	      struct client *client, uint64_t id)
{
	struct ending *e = calloc(1, sizeof *e + end->error.len + end->detail.len);
	char *text;

	if (!e) {
		step_put(fs->steps, st);
		return -ENOMEM;
	}
	e->step = st;
	e->end = *end;
	e->alive = alive;
	e->client = client_ref(client);
	e->id = id;
	e->deadline_ns = clock_mono_ns() + (alive ? 0 : SEAL_BARRIER_NS);
	text = e->text;
	if (end->error.len)
		memcpy(text, end->error.p, end->error.len);
	e->end.error.p = text;
	text += end->error.len;
	if (end->detail.len)
		memcpy(text, end->detail.p, end->detail.len);
	e->end.detail.p = text;
	pthread_mutex_lock(&fs->seal->lock);
	e->next = fs->seal->list;
	fs->seal->list = e;
	pthread_mutex_unlock(&fs->seal->lock);
	work_wake(fs->sealer);
	return 0;
}

void seal_hint(struct fs *fs)
{
	work_wake(fs->sealer);
}

/* One that may end now, out of the list; else when the first must. */
static struct ending *take_ready(struct fs *fs, int64_t now_ns, int64_t *ret_next_ns)
{
	struct ending *found = NULL;
	struct ending **p;

	*ret_next_ns = WORK_NEVER;
	pthread_mutex_lock(&fs->seal->lock);
	for (p = &fs->seal->list; *p && !found;) {
		struct ending *e = *p;

		if (e->deadline_ns <= now_ns || (atomic_load(&e->step->writable) == 0 &&
						 logs_step_done(fs->logs, e->step->id))) {
			*p = e->next;
			found = e;
			break;
		}
		if (e->deadline_ns < *ret_next_ns)
			*ret_next_ns = e->deadline_ns;
		p = &e->next;
	}
	pthread_mutex_unlock(&fs->seal->lock);
	return found;
}

static void cut_all_of(struct fs *fs, uint64_t step)
{
	struct rec **all = NULL;
	size_t n = 0;

	(void)recs_dirty(fs->recs, step, true, &all,
			 &n); /* without memory: the rest is cut when it is quiet */
	for (size_t i = 0; i < n; i++) {
		cut_version(fs, all[i], CUT_LINK);
		cut_mark_open(fs, all[i]); /* those that were cut are no longer dirty */
		rec_put(fs, all[i]);
	}
	free(all);
}

static void answer(struct ending *e, int status)
{
	struct msg_step_end_reply r = { .s.status = status };

	if (!e->client)
		return;
	r.artifacts = atomic_load(&e->step->artifacts);
	r.violations = atomic_load(&e->step->violations);
	r.reads = atomic_load(&e->step->reads);
	if (status < 0)
		client_status(e->client, MSG_STEP_END, e->id, status, NULL);
	else
		client_reply(e->client, MSG_STEP_END, e->id, bytes_of(&r, sizeof r),
			     (struct bytes){ 0 }, NULL, 0);
	client_put(e->client);
}

static void finish(struct fs *fs, struct ending *e)
{
	struct event ev = { .kind = EV_STEP_END };
	int r;

	cut_all_of(fs, e->step->id);
	logs_step_end(fs->logs, e->step->id, e->alive);
	e->end.stdout_bytes = atomic_load(&e->step->stdout_bytes);
	e->end.stderr_bytes = atomic_load(&e->step->stderr_bytes);
	e->end.stdout_cut = atomic_load(&e->step->stdout_cut);
	e->end.stderr_cut = atomic_load(&e->step->stderr_cut);
	ev.u.step_end = e->end;
	emit(fs, &ev);
	r = emit_sync(fs);
	step_set_ended(fs->steps, e->step, e->alive);
	answer(e, r);
	step_put(fs->steps, e->step);
	free(e);
	retain_hint(fs);
}

int64_t seal_tick(struct fs *fs)
{
	int64_t end_ns, quiet_ns;
	struct ending *e;
	struct rec *c;

	while ((e = take_ready(fs, clock_mono_ns(), &end_ns)))
		finish(fs, e);
	c = recs_quiet(fs->recs, clock_mono_ns(), &quiet_ns);
	if (c) {
		cut_version(fs, c, CUT_COPY);
		rec_put(fs, c);
		retain_hint(fs);
		return 0; /* look again at once: a step may have become ready */
	}
	if (quiet_ns == WORK_NEVER)
		quiet_ns = clock_mono_ns() +
			   REC_QUIET_NS; /* closing a file wakes nobody, so that it costs nothing */
	return end_ns < quiet_ns ? end_ns : quiet_ns;
}

static int cut_all(struct fs *fs, enum cut_how how)
{
	struct rec **all = NULL;
	size_t n = 0;
	int r = recs_dirty(fs->recs, 0, false, &all, &n);

	for (size_t i = 0; i < n; i++) {
		cut_version(fs, all[i], how);
		rec_put(fs, all[i]);
	}
	free(all);
	return r;
}

void seal_last(struct fs *fs)
{
	struct ending *e;
	int64_t next_ns;

	work_free(fs->sealer);
	while ((e = take_ready(fs, INT64_MAX, &next_ns)))
		finish(fs, e);
	(void)cut_all(fs, CUT_LINK); /* without memory: named as in doubt when it begins anew */
	retain_stop(fs->retain);
}

struct flush {
	struct job job;
	struct client *client;
	uint16_t type;
	uint64_t id;
};

static void flush_run(struct fs *fs, struct job *job)
{
	struct flush *f = (struct flush *)job;
	int r = cut_all(fs, CUT_COPY);

	if (r == 0)
		r = emit_sync(fs);
	if (f->client)
		client_status(f->client, f->type, f->id, r, NULL);
	client_put(f->client);
	free(f);
}

int seal_flush(struct fs *fs, struct client *client, uint16_t type, uint64_t id)
{
	struct flush *f = calloc(1, sizeof *f);

	if (!f)
		return -ENOMEM;
	f->job.run = flush_run;
	f->client = client_ref(client);
	f->type = type;
	f->id = id;
	work_post(fs->sealer, &f->job);
	return 0;
}
