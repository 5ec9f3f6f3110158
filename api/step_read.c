/* SPDX-License-Identifier: MIT */
/*
 * api/step_read.c - steps that are there: listed, read, killed; their stdout and stderr.
 * An agent's key sees its own steps; of others it may not know.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/files.h"
#include "api/handlers.h"
#include "api/reqws.h"
#include "api/send.h"
#include "api/step.h"
#include "api/step_view.h"
#include "api/view.h"
#include "core/fd.h"

#define CURSOR_WAITING (UINT64_C(1) << 63) /* with an id: behind that step, which waits */

struct listing {
	struct page page;
	struct req *r;
	struct ws *ws;
	bool waiting; /* with those that wait */
};

static bool is_mine(const struct req *r, struct bytes agent)
{
	return r->who.role != ROLE_AGENT || bytes_equal(agent, bytes_str(r->who.agent));
}

static int take(void *ctx, const struct idx_step *s)
{
	struct listing *l = ctx;

	const struct step *st = l->waiting ? step_find(l->r->app, l->ws, s->step) : NULL;

	if (!is_mine(l->r, s->agent_name))
		return 0;
	if (st != NULL &&
	    !st->begun) /* the record has it before we hear of that: it is listed as waiting */
		return 0;
	return page_add(&l->page, s->step, view_step_row(l->ws, s, true));
}

/* Of those that wait and fit, the one with the next lower id; ids of one millisecond are in no order. NULL: none. */
static const struct step *next_waiting(const struct listing *l, const struct idx_filter *f,
				       uint64_t before)
{
	const struct step *best = NULL;

	for (const struct step *st = l->r->app->steps; st != NULL; st = st->next)
		if (st->ws == l->ws && !st->begun && st->id < before &&
		    (best == NULL || st->id > best->id) &&
		    (f->agent == NULL || strcmp(f->agent, st->agent) == 0) &&
		    (f->job == NULL ||
		     (st->spec->job != NULL && strcmp(f->job, st->spec->job) == 0)))
			best = st;
	return best;
}

/* They stand before the record's, the newest first as these. */
static int list_waiting(struct listing *l, const struct idx_filter *f)
{
	uint64_t before = l->page.after != 0 ? l->page.after & ~CURSOR_WAITING : UINT64_MAX;
	const struct step *st;
	int rc = 0;

	while (rc == 0 && (st = next_waiting(l, f, before)) != NULL) {
		before = st->id;
		rc = page_add(&l->page, CURSOR_WAITING | st->id, step_view(st));
	}
	return rc;
}

static void list(struct req *r, struct ws *ws)
{
	const char *state = req_arg(r, "state");
	struct listing l = { .r = r, .ws = ws };
	struct idx_filter f = { .agent = req_arg(r, "agent"), .job = req_arg(r, "job") };
	bool open = state != NULL && strcmp(state, "open") == 0;
	int rc = 0;

	if (state != NULL && !open && strcmp(state, "running") != 0 &&
	    strcmp(state, "queued") != 0) {
		req_fail(r, -EINVAL, "'state' must be queued, running, or open (both)");
		return;
	}
	if (r->who.role == ROLE_AGENT)
		f.agent = r->who.agent;
	if (page_begin(r, &l.page) < 0)
		return;
	f.open = state != NULL;
	l.waiting = state == NULL || strcmp(state, "running") != 0;
	if ((l.page.after & CURSOR_WAITING) == 0)
		f.after = l.page.after;
	if (f.after == 0 && l.waiting)
		rc = list_waiting(&l, &f);
	if (rc == 0 && (state == NULL || strcmp(state, "queued") != 0))
		rc = idx_steps(ws->reader, &f, take, &l);
	page_answer(r, &l.page, rc);
}

void h_step_list(struct req *r)
{
	with_ws(r, list);
}

/* ---- one ---- */

struct reading {
	struct req *r;
	struct ws *ws;
	struct call call;
	uint64_t step;
	json_t *json;
	bool memory; /* the record does not hold it */
	int log;     /* 0 stdout, 1 stderr: the one that is being read */
	char path[64];
};

static void reading_free(void *own)
{
	struct reading *g = own;

	call_cancel(&g->call);
	json_decref(g->json);
	free(g);
}

/* Find it, as the caller may see it; else it has been answered. */
static struct reading *find(struct req *r, struct ws *ws, bool lists)
{
	struct reading *g = req_own(r, sizeof *g, reading_free);
	const struct step *st;
	const char *agent;
	int rc;

	if (g == NULL)
		return NULL;
	g->r = r;
	g->ws = ws;
	if (req_id(r, ID_STEP, r->param[1], &g->step) < 0)
		return NULL;
	st = step_find(r->app, ws, g->step);
	if (st != NULL && !st->begun)
		g->json = step_view(st);
	else
		g->json = ghost_find(r->app, ws, g->step);
	g->memory = g->json != NULL;
	rc = g->memory ? 0 : view_step(ws, g->step, lists, &g->json);
	agent = rc == 0 ? json_string_value(json_object_get(g->json, "agent")) : NULL;
	if (rc == 0 && is_mine(r, bytes_str(agent != NULL ? agent : "")))
		return g;
	req_fail(r, rc < 0 ? rc : -ENOENT, "no step '%.32s'", r->param[1]);
	return NULL;
}

static void log_path(struct reading *g, int log)
{
	char id[ID_TEXT_SIZE];

	id_text(ID_STEP, g->step, id);
	(void)snprintf(g->path, sizeof g->path, "logs/%s/%s", id, log == 0 ? "stdout" : "stderr");
}

static void on_log(void *ctx, int status, struct wire_msg *reply, const char *why)
{
	struct reading *g = ctx;

	(void)why;
	if (status == 0) { /* a log that retention took stays null */
		autofd fd = wire_take_fd(reply, 0);

		(void)view_log_fd(g->json, g->log == 0 ? "stdout" : "stderr", fd);
	}
	g->log++;
	if (g->log < 2) {
		log_path(g, g->log);
		files_open(g->ws, &g->call, MSG_ASKER_ALL, bytes_str(g->path), 0, "", on_log, g);
		return;
	}
	req_json(g->r, 200, json_incref(g->json));
}

static void get(struct req *r, struct ws *ws)
{
	struct reading *g = find(r, ws, true);

	if (g == NULL)
		return;
	if (g->memory) {
		req_json(r, 200, json_incref(g->json));
		return;
	}
	if (view_step_files(ws, g->step, g->json) < 0) {
		req_fail(r, -EIO, "the record can't be read now");
		return;
	}
	log_path(g, 0);
	files_open(ws, &g->call, MSG_ASKER_ALL, bytes_str(g->path), 0, "", on_log, g);
}

void h_step_get(struct req *r)
{
	with_ws(r, get);
}

/* ---- kill ---- */

static void kill_it(struct req *r, struct ws *ws)
{
	struct reading *g = find(r, ws, false);
	char who[96];
	const char *state;
	struct step *st;

	if (g == NULL)
		return;
	st = step_find(r->app, ws, g->step);
	state = json_string_value(json_object_get(g->json, "state"));
	if (st == NULL || st->phase >= STEP_DONE ||
	    (state != NULL && strcmp(state, "ended") == 0)) {
		req_fail_code(r, "ended", "step '%.32s' has ended", r->param[1]);
		return;
	}
	if (r->who.role == ROLE_AGENT)
		(void)snprintf(who, sizeof who, "agent %s", r->who.agent);
	else
		(void)snprintf(who, sizeof who, "%s (key %s)", role_text(r->who.role), r->who.key);
	step_kill(st, REASON_KILLED, who);
	req_json(r, 202, json_incref(g->json));
}

void h_step_kill(struct req *r)
{
	with_ws(r, kill_it);
}

/* ---- stdout and stderr ---- */

static void on_file(void *ctx, int status, struct wire_msg *reply, const char *why)
{
	struct reading *g = ctx;
	const struct msg_file_open_reply *b;
	struct sending s = { .media = "application/octet-stream", .sha = "" };

	if (status < 0) {
		req_fail(g->r, status, "'%s' can't be read: %.160s", g->path,
			 status == -ENOENT ? "it is not there (any more)" : why);
		return;
	}
	b = msg_body(reply);
	s.fd = wire_take_fd(reply, 0);
	s.size = b->size;
	s.mtime_ns = b->mtime_ns;
	s.name = bytes_str(g->log == 0 ? "stdout.txt" : "stderr.txt");
	send_file(g->r, &s);
}

static void log_file(struct req *r, struct ws *ws, int log)
{
	struct reading *g = find(r, ws, false);
	const char *follow = req_arg(r, "follow");

	if (g == NULL)
		return;
	if (follow != NULL && strcmp(follow, "0") != 0) {
		req_fail(r, -EINVAL,
			 "following is not built yet: POST the step with Accept: "
			 "application/x-ndjson");
		return;
	}
	if (g->memory) { /* it waits, or ended so: nothing was written yet */
		req_empty(r, 200);
		(void)response_header(r->response, "Content-Type", "application/octet-stream");
		return;
	}
	g->log = log;
	log_path(g, log);
	files_open(ws, &g->call, MSG_ASKER_ALL, bytes_str(g->path), 0, "", on_file, g);
}

static void get_stdout(struct req *r, struct ws *ws)
{
	log_file(r, ws, 0);
}

static void get_stderr(struct req *r, struct ws *ws)
{
	log_file(r, ws, 1);
}

void h_step_stdout(struct req *r)
{
	with_ws(r, get_stdout);
}

void h_step_stderr(struct req *r)
{
	with_ws(r, get_stderr);
}
