/* SPDX-License-Identifier: MIT */
/*
 * api/step_view.c - step objects from memory.
 */
#include "api/step_view.h"

#include <stdlib.h>

#include "api/hint.h"
#include "api/jsonx.h"

struct ghosts {
	struct {
		const struct ws *ws;
		uint64_t step;
		json_t *json;
	} item[GHOSTS_MAX];
	unsigned next;
};

static void set(json_t *obj, const char *name, json_t *v)
{
	(void)json_object_set_new(obj, name, v);
}

static void set_state(json_t *j, const struct step *st)
{
	bool ended = st->phase == STEP_DONE;
	enum ev_reason reason = st->reason != REASON_NONE   ? st->reason
				: st->forced != REASON_NONE ? st->forced
							    : REASON_LOST;
	struct hint_facts f = { .end = { .reason = reason, .exit_code = -1 }, .who = st->who };
	json_t *error = ended ? hint_error(&f, NULL) : NULL;

	set(j, "state", json_string(ended ? "ended" : st->begun ? "running" : "queued"));
	set(j, "reason", ended ? json_string(ev_reason_text(reason)) : json_null());
	set(j, "detail", st->why[0] != '\0' ? json_string(st->why) : json_null());
	set(j, "hint", error != NULL ? json_incref(json_object_get(error, "hint")) : json_null());
	set(j, "error", error != NULL ? error : json_null());
}

static void set_asked(json_t *j, const struct step *st)
{
	json_t *argv = json_array();

	for (unsigned i = 0; i < st->spec->argc; i++)
		(void)json_array_append_new(argv, json_string(st->spec->argv[i]));
	set(j, "command", st->spec->argc > 0 ? json_incref(argv) : json_null());
	json_decref(argv);
	set(j, "language",
	    st->spec->lang != SPEC_ARGV ? json_string(spec_lang_text(st->spec->lang))
					: json_null());
	set(j, "request_id", json_string(st->request_id));
	set(j, "key", json_string(st->key));
	set(j, "observed", json_pack("{s:s, s:s}", "network", "none", "filesystem", "workspace"));
}

static void set_nothing(json_t *j)
{
	static const char *const nulls[] = { "exit_code", "signal", "stdout", "stderr" };
	static const char *const zeros[] = { "wall_ms",      "cpu_ms",         "memory_peak_bytes",
					     "stdout_bytes", "stderr_bytes",   "reads",
					     "changes",      "artifact_count", "violation_count" };
	static const char *const lists[] = { "hooks", "artifacts", "violations" };

	for (size_t i = 0; i < sizeof nulls / sizeof nulls[0]; i++)
		set(j, nulls[i], json_null());
	for (size_t i = 0; i < sizeof zeros / sizeof zeros[0]; i++)
		set(j, zeros[i], json_integer(0));
	for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
		set(j, lists[i], json_array());
	set(j, "stdout_truncated", json_false());
	set(j, "stderr_truncated", json_false());
}

json_t *step_view(const struct step *st)
{
	json_t *j = json_object();

	if (j == NULL)
		return NULL;
	set(j, "step", jx_id(ID_STEP, st->id));
	set(j, "workspace", json_string(st->ws->name));
	set(j, "agent", json_string(st->agent));
	set(j, "sandbox", jx_id(ID_SANDBOX, st->sandbox_id));
	set(j, "job", st->spec->job != NULL ? json_string(st->spec->job) : json_null());
	set(j, "kind", json_string(ev_step_kind_text(st->kind)));
	set(j, "parent", jx_id(ID_STEP, st->parent));
	set(j, "started_at", jx_time(st->began_ns));
	set_nothing(j);
	set_state(j, st);
	set_asked(j, st);
	return j;
}

void ghost_add(struct app *app, const struct step *st)
{
	struct ghosts *g = app->ghosts != NULL ? app->ghosts : calloc(1, sizeof *g);

	if (g == NULL)
		return;
	app->ghosts = g;
	json_decref(g->item[g->next].json);
	g->item[g->next].ws = st->ws;
	g->item[g->next].step = st->id;
	g->item[g->next].json = step_view(st);
	g->next = (g->next + 1) % GHOSTS_MAX;
}

json_t *ghost_find(struct app *app, const struct ws *ws, uint64_t step)
{
	for (unsigned i = 0; app->ghosts != NULL && i < GHOSTS_MAX; i++)
		if (app->ghosts->item[i].json != NULL && app->ghosts->item[i].ws == ws &&
		    app->ghosts->item[i].step == step)
			return json_incref(app->ghosts->item[i].json);
	return NULL;
}

void ghosts_free(struct app *app)
{
	for (unsigned i = 0; app->ghosts != NULL && i < GHOSTS_MAX; i++)
		json_decref(app->ghosts->item[i].json);
	free(app->ghosts);
	app->ghosts = NULL;
}
