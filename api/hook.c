/* SPDX-License-Identifier: MIT */
/*
 * api/hook.c - which hooks a step has, in which order, and what their answers mean.
 */
#include "api/hook.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/jsonx.h"
#include "api/utf8.h"
#include "api/view.h"
#include "core/fd.h"
#include "core/log.h"
#include "policy/glob.h"

#define VERDICT_MS 15000

enum hook_stage { HOOK_PRE = 0, HOOK_HOLD, HOOK_OUTPUT, HOOK_POST };

struct judged { /* an artifact for on_output */
	uint64_t version;
	json_t *json;
};

struct hook_run {
	struct step *st;
	enum hook_stage stage;
	struct call call;
	struct judged *items;
	unsigned count, at;
	uint64_t hook_step;
	bool pass;
	char reason[HOOK_REASON_MAX + 1];
	bool stopped;
};

static void next(struct hook_run *h);

/* ---- one hook's step ---- */

/* The first line of its stdout. */
static void reason_line(const struct step *hook, char out[HOOK_REASON_MAX + 1])
{
	ssize_t n = hook->log_fd[0] >= 0 ? pread(hook->log_fd[0], out, HOOK_REASON_MAX, 0) : -1;
	size_t len = n > 0 ? (size_t)n : 0;

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)out[i] < ' ' || out[i] == 0x7f)
			len = i;
	out[utf8_cut(bytes_of(out, len), len)] = '\0';
	if (!utf8_ok(bytes_of(out, strlen(out)))) {
		bool bad;

		out[utf8_whole(bytes_of(out, strlen(out)), &bad)] = '\0';
	}
}

static void hook_done(void *ctx, struct step *hook)
{
	struct hook_run *h = ctx;

	h->st->hook = NULL;
	h->hook_step = hook->id;
	h->pass = hook->status == 0 && hook->exited && hook->wait_status == 0 &&
		  hook->reason == REASON_EXITED && !h->stopped;
	reason_line(hook, h->reason);
	if (h->reason[0] == '\0' && !h->pass) {
		if (hook->status < 0)
			(void)snprintf(h->reason, sizeof h->reason, "the hook could not run: %.80s",
				       hook->why);
		else if (hook->spawn_status < 0)
			(void)snprintf(h->reason, sizeof h->reason, "the hook was %.100s",
				       hook->detail);
		else if (hook->reason == REASON_EXITED)
			(void)snprintf(h->reason, sizeof h->reason,
				       "the hook said no, without a reason");
		else
			(void)snprintf(h->reason, sizeof h->reason, "the hook ended: %s",
				       ev_reason_text(hook->reason));
	}
	next(h);
}

static const struct step_ops hook_ops = { .done = hook_done };

static struct spec *hook_spec(const struct policy_hook *cfg, json_t *input, const char *job)
{
	json_t *argv = json_array(), *root = NULL;
	char *text = json_dumps(input, JSON_COMPACT);
	struct spec *s = calloc(1, sizeof *s);
	struct err err;

	for (unsigned i = 0; cfg->argv[i] != NULL; i++)
		(void)json_array_append_new(argv, json_string(cfg->argv[i]));
	if (text != NULL)
		root = json_pack("{s:O, s:s, s:s?}", "argv", argv, "stdin", text, "job", job);
	free(text);
	json_decref(argv);
	if (s == NULL || root == NULL ||
	    spec_parse(root, s, &err) < 0) { /* spec_parse takes root */
		free(s);
		return NULL;
	}
	return s;
}

/* Start it, or count it as a no. Takes input. */
static void hook_start(struct hook_run *h, const struct policy_hook *cfg, enum ev_step_kind kind,
		       json_t *input)
{
	struct step *st = h->st;
	int block = ws_agent_block(st->ws, cfg->agent);
	struct step_new n = { .ws = st->ws,
			      .block = (uint32_t)block,
			      .kind = kind,
			      .parent = st->id,
			      .request_id = st->request_id,
			      .key = st->key,
			      .ops = &hook_ops,
			      .ctx = h };
	struct err err = { 0 };

	h->pass = false;
	h->hook_step = 0;
	n.spec = input != NULL && block >= 0 ? hook_spec(cfg, input, st->spec->job) : NULL;
	json_decref(input);
	if (n.spec != NULL && spec_limits(n.spec, st->policy, cfg->agent, &err) == 0) {
		n.spec->lim.timeout_ns =
			cfg->timeout_ns > 0 ? cfg->timeout_ns : n.spec->lim.timeout_ns;
		if (step_start(st->app, &n, &st->hook, &err) == 0)
			return;
	} else if (n.spec != NULL) {
		spec_fini(n.spec);
		free(n.spec);
	}
	if (block < 0)
		(void)snprintf(h->reason, sizeof h->reason,
			       "the hook's agent '%.64s' does not exist", cfg->agent);
	else
		(void)snprintf(h->reason, sizeof h->reason, "the hook could not be started");
	next(h);
}

static json_t *hook_input(const struct step *st, const char *name)
{
	return json_pack("{s:s, s:s, s:o, s:s, s:s?}", "hook", name, "workspace", st->ws->name,
			 "step", jx_id(ID_STEP, st->id), "agent", st->agent, "job", st->spec->job);
}

static struct hook_run *run_new(struct step *st, enum hook_stage stage)
{
	struct hook_run *h = calloc(1, sizeof *h);

	if (h == NULL)
		return NULL;
	h->st = st;
	h->stage = stage;
	st->hooks = h;
	return h;
}

static void run_free(struct hook_run *h)
{
	call_cancel(&h->call);
	for (unsigned i = 0; i < h->count; i++)
		json_decref(h->items[i].json);
	free(h->items);
	loop_free_later(h->st->app->loop, h);
}

/* ---- pre_step ---- */

bool hook_pre(struct step *st)
{
	json_t *input, *request;
	struct hook_run *h;

	if (st->kind != STEP_RUN || !st->policy->pre_step.set)
		return false;
	h = run_new(st, HOOK_PRE);
	if (h == NULL)
		return false; /* and the step then fails for want of memory by itself */
	input = hook_input(st, "pre_step");
	request = view_request(st->spec);
	(void)json_object_set_new(input, "request", request);
	st->phase = STEP_HOOKED;
	hook_start(h, &st->policy->pre_step, STEP_PRE_HOOK, input);
	return true;
}

static void pre_over(struct hook_run *h)
{
	struct step *st = h->st;
	bool pass = h->pass;

	if (!pass && st->forced == REASON_NONE) {
		st->forced = REASON_REFUSED;
		(void)snprintf(st->who, sizeof st->who, "%s", h->reason);
	}
	st->hooks = NULL;
	run_free(h);
	if (pass && st->forced == REASON_NONE)
		step_run(st);
	else
		step_ended(st);
}

/* ---- on_output ---- */

static int take_output(void *ctx, const struct idx_version *v)
{
	struct hook_run *h = ctx;
	struct judged *more;

	if (!glob_match(h->st->policy->on_output.path, v->path) || v->state == STATE_OPEN ||
	    !v->has_sha)
		return 0;
	more = realloc(h->items, (h->count + 1) * sizeof *more);
	if (more == NULL)
		return -ENOMEM;
	h->items = more;
	h->items[h->count++] = (struct judged){ .version = v->version, .json = view_version(v) };
	return 0;
}

static void verdict(struct hook_run *h, bool hold, call_fn *fn)
{
	struct step *st = h->st;
	struct msg_verdict ask = { .version = h->items[h->at].version,
				   .hook_step = h->hook_step,
				   .pass = h->pass,
				   .hold = hold };

	(void)snprintf(ask.reason, sizeof ask.reason, "%s",
		       hold ? "waits for the on_output hook" : h->reason);
	if (st->ws->fs == NULL)
		call_fail(st->app->loop, &h->call, -EPIPE, fn, h);
	else
		peer_call(st->ws->fs, &h->call, MSG_VERDICT, bytes_of(&ask, sizeof ask),
			  bytes_of(NULL, 0), NULL, 0, VERDICT_MS, fn, h);
}

static void start_output(struct hook_run *h)
{
	json_t *input = hook_input(h->st, "on_output");

	(void)json_object_set_new(input, "artifacts", json_pack("[O]", h->items[h->at].json));
	(void)json_object_set_new(input, "violations", json_array());
	hook_start(h, &h->st->policy->on_output, STEP_OUTPUT_HOOK, input);
}

static void start_post(struct hook_run *h)
{
	struct step *st = h->st;
	json_t *input;

	h->stage = HOOK_POST;
	st->outputs_held = true;
	if (!st->policy->post_step.set || h->stopped || st->ws->reader == NULL) {
		step_finish(st);
		return;
	}
	input = hook_input(st, "post_step");
	(void)json_object_set_new(input, "artifacts", view_artifacts_of(st->ws, st->id));
	(void)json_object_set_new(input, "violations", view_violations_of(st->ws, st->id));
	hook_start(h, &st->policy->post_step, STEP_POST_HOOK, input);
}

static void on_hold(void *ctx, int status, struct wire_msg *reply, const char *why)
{
	struct hook_run *h = ctx;

	(void)reply;
	if (status < 0)
		log_warn("an output could not be held back error=%d why=%s", -status, why);
	h->at++;
	if (h->at < h->count) {
		verdict(h, true, on_hold);
		return;
	}
	h->at = 0;
	h->stage = HOOK_OUTPUT;
	h->st->outputs_held = true;
	if (h->count > 0)
		start_output(h);
	else
		start_post(h);
}

static void on_verdict(void *ctx, int status, struct wire_msg *reply, const char *why)
{
	struct hook_run *h = ctx;

	(void)reply;
	if (status < 0)
		log_warn("a verdict was not recorded: the output stays held error=%d why=%s",
			 -status, why);
	h->at++;
	if (h->at < h->count && !h->stopped)
		start_output(h);
	else
		start_post(h);
}

/* A hook's step is over, or could not be started. */
static void next(struct hook_run *h)
{
	switch (h->stage) {
	case HOOK_PRE: pre_over(h); return;
	case HOOK_HOLD: return;
	case HOOK_OUTPUT: verdict(h, false, on_verdict); return;
	case HOOK_POST: step_finish(h->st); return;
	}
}

void hook_after(struct step *st)
{
	struct idx_filter f = { .step = st->id };
	struct hook_run *h;

	if (st->kind != STEP_RUN || (!st->policy->on_output.set && !st->policy->post_step.set) ||
	    st->reason == REASON_REFUSED || st->ws->reader == NULL ||
	    (h = run_new(st, HOOK_HOLD)) == NULL) {
		step_finish(st);
		return;
	}
	step_leave(st); /* hooks need a place too */
	if (st->policy->on_output.set && idx_versions(st->ws->reader, &f, take_output, h) < 0)
		log_warn("the outputs of a step can't be read: none is judged");
	if (h->count > 0)
		verdict(h, true, on_hold);
	else
		start_post(h);
}

void hook_stop(struct step *st, const char *who)
{
	if (st->hooks != NULL)
		st->hooks->stopped = true;
	if (st->hook != NULL)
		step_kill(st->hook, REASON_KILLED, who);
}

void hook_free(struct step *st)
{
	struct step *hook = st->hook;

	if (st->hooks != NULL)
		run_free(st->hooks);
	st->hooks = NULL;
	st->hook = NULL;
	if (hook == NULL)
		return;
	step_detach(hook);
	step_kill(hook, REASON_KILLED, "the end of the step it belongs to");
}

bool hook_pending(struct app *app, const struct ws *ws, uint64_t step, struct bytes path)
{
	const struct step *st = step_find(app, ws, step);

	return st != NULL && st->kind == STEP_RUN && st->policy->on_output.set &&
	       !st->outputs_held && glob_match(st->policy->on_output.path, path);
}
