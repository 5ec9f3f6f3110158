/* SPDX-License-Identifier: MIT */
/*
 * api/view.c - the JSON of rows.
 */
#include "api/view.h"

#include <stdio.h>
#include <stdlib.h>

#include "api/hint.h"
#include "api/jsonx.h"
#include "api/utf8.h"
#include "core/buf.h"
#include "core/clock.h"
#include "core/fd.h"
#include "core/id.h"

static json_t *number(uint64_t n)
{
	return json_integer((json_int_t)n);
}

static void set(json_t *obj, const char *name, json_t *v)
{
	(void)json_object_set_new(obj, name, v);
}

static json_t *text(const char *s)
{
	return s != NULL ? json_string(s) : json_null();
}

json_t *view_version(const struct idx_version *v)
{
	json_t *j = json_object();

	jx_set_bytes(j, "path", v->path);
	set(j, "agent", jx_str(v->agent_name));
	set(j, "step", jx_id(ID_STEP, v->step));
	set(j, "version", number(v->n));
	set(j, "sha256", jx_sha(v->has_sha ? &v->sha : NULL));
	set(j, "size", number(v->size));
	set(j, "media_type", v->media_type.len > 0 ? jx_str(v->media_type) : json_null());
	set(j, "action", text(ev_action_text((enum ev_action)v->action)));
	set(j, "state", text(ev_state_text((enum ev_state)v->state)));
	set(j, "newest", json_boolean(v->newest));
	set(j, "kept", json_boolean(v->kept));
	set(j, "late", json_boolean(v->late));
	set(j, "at", jx_time(v->at_ns));
	if (v->reason.len > 0)
		set(j, "held_reason", jx_str(v->reason));
	return j;
}

json_t *view_violation(const struct idx_violation *v)
{
	const char *err = strerrorname_np((int)v->errnum);
	json_t *j = json_object();

	set(j, "agent", v->agent_name.len > 0 ? jx_str(v->agent_name) : json_null());
	set(j, "step", jx_id(ID_STEP, v->step));
	set(j, "sandbox", jx_id(ID_SANDBOX, v->sandbox));
	set(j, "op", text(ev_op_text((enum ev_op)v->op)));
	jx_set_bytes(j, "path", v->path);
	set(j, "errno", text(err));
	set(j, "rule", jx_str(v->rule));
	set(j, "at", jx_time(v->at_ns));
	set(j, "last_at", jx_time(v->last_ns));
	set(j, "count", number(v->count));
	set(j, "late", json_boolean(v->late));
	return j;
}

json_t *view_request(const struct spec *s)
{
	json_t *j = json_object(), *argv = json_array(), *env = json_array(), *files = json_array();

	for (unsigned i = 0; i < s->argc; i++)
		(void)json_array_append_new(argv, json_string(s->argv[i]));
	for (unsigned i = 0; i < s->envc; i++)
		(void)json_array_append_new(env, json_string(s->env[2 * i]));
	for (unsigned i = 0; i < s->filec; i++)
		(void)json_array_append_new(files,
					    json_pack("{s:s, s:I}", "name", s->files[i].name,
						      "size", (json_int_t)s->files[i].content.len));
	set(j, "argv", s->lang == SPEC_ARGV ? json_incref(argv) : json_null());
	json_decref(argv);
	set(j, "language",
	    s->lang == SPEC_ARGV ? json_null() : json_string(spec_lang_text(s->lang)));
	set(j, "code", s->lang == SPEC_ARGV ? json_null() : jx_str(s->code));
	set(j, "cwd", json_string(s->cwd));
	set(j, "job", text(s->job));
	set(j, "env", env); /* names, never values */
	set(j, "files", files);
	set(j, "stdin_bytes", number(s->input.len));
	set(j, "timeout_s", json_real((double)s->lim.timeout_ns / (double)NS_PER_S));
	set(j, "memory_bytes", number(s->lim.memory));
	return j;
}

/* ---- lists within a step ---- */

static int add_version(void *ctx, const struct idx_version *v)
{
	return json_array_append_new(ctx, view_version(v)) < 0 ? -ENOMEM : 0;
}

static int add_violation(void *ctx, const struct idx_violation *v)
{
	return json_array_append_new(ctx, view_violation(v)) < 0 ? -ENOMEM : 0;
}

static int add_hook(void *ctx, uint64_t step)
{
	return json_array_append_new(ctx, jx_id(ID_STEP, step)) < 0 ? -ENOMEM : 0;
}

json_t *view_artifacts_of(struct ws *ws, uint64_t step)
{
	struct idx_filter f = { .step = step, .limit = VIEW_LIST_MAX };
	json_t *arr = json_array();

	return ws->reader != NULL && idx_versions(ws->reader, &f, add_version, arr) < 0
		       ? (json_decref(arr), NULL)
		       : arr;
}

json_t *view_violations_of(struct ws *ws, uint64_t step)
{
	struct idx_filter f = { .step = step, .limit = VIEW_LIST_MAX };
	json_t *arr = json_array();

	return ws->reader != NULL && idx_violations(ws->reader, &f, add_violation, arr) < 0
		       ? (json_decref(arr), NULL)
		       : arr;
}

/* ---- the step object ---- */

/* JSON that stands in the record; what is none becomes null. */
static json_t *stored(struct bytes b)
{
	json_t *j = b.len > 0 ? json_loadb(b.p, b.len, JSON_DECODE_ANY, NULL) : NULL;

	return j != NULL ? j : json_null();
}

static void set_end(json_t *j, const struct idx_step *s)
{
	bool ended = s->ended_ns != 0;
	const char *abbrev = s->signal != 0 ? sigabbrev_np((int)s->signal) : NULL;
	char name[24];

	(void)snprintf(name, sizeof name, "SIG%s", abbrev != NULL ? abbrev : "?");
	set(j, "state", json_string(ended ? "ended" : "running"));
	set(j, "reason", ended ? text(ev_reason_text((enum ev_reason)s->reason)) : json_null());
	set(j, "exit_code", ended && s->exit_code >= 0 ? json_integer(s->exit_code) : json_null());
	set(j, "signal", s->signal != 0 ? json_string(name) : json_null());
	set(j, "started_at", jx_time(s->begun_ns));
	set(j, "ended_at", jx_time(s->ended_ns));
	set(j, "wall_ms", json_integer(s->wall_ns / NS_PER_MS));
	set(j, "cpu_ms", json_integer(s->cpu_ns / NS_PER_MS));
	set(j, "memory_peak_bytes", number(s->memory_peak));
	set(j, "stdout", json_null());
	set(j, "stderr", json_null());
	set(j, "stdout_bytes", number(s->stdout_bytes));
	set(j, "stderr_bytes", number(s->stderr_bytes));
	set(j, "stdout_truncated", json_boolean(s->stdout_cut));
	set(j, "stderr_truncated", json_boolean(s->stderr_cut));
	set(j, "detail", s->detail.len > 0 ? jx_str(s->detail) : json_null());
}

static void set_lists(struct ws *ws, json_t *j, const struct idx_step *s, bool lists)
{
	json_t *hooks = json_array();

	if (lists && idx_hooks(ws->reader, s->step, add_hook, hooks) < 0)
		(void)json_array_clear(hooks);
	set(j, "hooks", hooks);
	set(j, "artifacts", lists ? view_artifacts_of(ws, s->step) : json_null());
	set(j, "artifact_count", number(s->artifacts));
	set(j, "reads", number(s->reads));
	set(j, "changes", number(s->changes));
	set(j, "violations", lists ? view_violations_of(ws, s->step) : json_null());
	set(j, "violation_count", number(s->violations));
}

static void set_asked(json_t *j, const struct idx_step *s)
{
	set(j, "parent", jx_id(ID_STEP, s->parent));
	set(j, "command", stored(s->command));
	set(j, "language", s->language.len > 0 ? jx_str(s->language) : json_null());
	set(j, "code_sha256", jx_sha(s->has_code ? &s->code : NULL));
	set(j, "policy_sha256", jx_sha(&s->policy));
	set(j, "request_id", jx_str(s->request_id));
	set(j, "key", jx_str(s->key));
	set(j, "env", jx_str(s->env));
	set(j, "limits", stored(s->limits));
	set(j, "wiped",
	    json_pack("{s:I, s:I}", "files", (json_int_t)s->wiped_files, "bytes",
		      (json_int_t)s->wiped_bytes));
	set(j, "observed", stored(s->observed));
}

json_t *view_step_row(struct ws *ws, const struct idx_step *s, bool lists)
{
	json_t *j = json_object(), *error = stored(s->error), *hint;
	bool silent = s->ended_ns != 0 && s->kind == STEP_RUN && s->reason == REASON_EXITED &&
		      s->exit_code == 0 && s->stdout_bytes == 0 && s->stderr_bytes == 0 &&
		      s->artifacts == 0 && s->changes == 0;

	set(j, "step", jx_id(ID_STEP, s->step));
	set(j, "workspace", json_string(ws->name));
	set(j, "agent", jx_str(s->agent_name));
	set(j, "sandbox", jx_id(ID_SANDBOX, s->sandbox));
	set(j, "job", s->job.len > 0 ? jx_str(s->job) : json_null());
	set(j, "kind", text(ev_step_kind_text((enum ev_step_kind)s->kind)));
	set_end(j, s);
	set_lists(ws, j, s, lists);
	set_asked(j, s);
	hint = json_object_get(error, "hint");
	set(j, "hint",
	    json_is_object(hint) ? json_incref(hint)
	    : silent             ? hint_silent()
				 : json_null());
	set(j, "error", error);
	return j;
}

struct one_step {
	struct ws *ws;
	bool lists;
	json_t *json;
};

static int take_step(void *ctx, const struct idx_step *s)
{
	struct one_step *o = ctx;

	o->json = view_step_row(o->ws, s, o->lists);
	return o->json != NULL ? 1 : -ENOMEM;
}

int view_step(struct ws *ws, uint64_t step, bool lists, json_t **ret)
{
	struct idx_filter f = { .step = step, .limit = 1 };
	struct one_step o = { .ws = ws, .lists = lists };
	int rc = ws->reader != NULL ? idx_steps(ws->reader, &f, take_step, &o) : -EPIPE;

	if (rc == 0 && o.json == NULL)
		rc = -ENOENT;
	if (rc == 0)
		*ret = o.json;
	return rc;
}

void view_log(json_t *step, const char *name, struct bytes bytes)
{
	jx_set_bytes(step, name, bytes);
}

bool view_log_fd(json_t *step, const char *name, int fd)
{
	off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : -1;
	autobuf b;

	if (size < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return false;
	buf_init(&b, (size_t)size + 65536);
	if (fd_read_all(fd, &b) < 0 && b.len == 0)
		return false;
	view_log(step, name, buf_view(&b));
	return true;
}

/* ---- what it read and changed ---- */

static int add_read(void *ctx, const struct idx_read *r)
{
	json_t *j = json_object();

	jx_set_bytes(j, "path", r->path);
	set(j, "version", r->n != 0 ? number(r->n) : json_null());
	set(j, "sha256", jx_sha(r->has_sha ? &r->sha : NULL));
	set(j, "open", json_boolean(r->open));
	set(j, "at", jx_time(r->at_ns));
	return json_array_append_new(ctx, j) < 0 ? -ENOMEM : 0;
}

static int add_change(void *ctx, const struct idx_change *c)
{
	json_t *j = json_object();

	set(j, "op", text(ev_op_text((enum ev_op)c->op)));
	jx_set_bytes(j, "path", c->path);
	if (c->path2.len > 0)
		jx_set_bytes(j, "to", c->path2);
	set(j, "at", jx_time(c->at_ns));
	return json_array_append_new(ctx, j) < 0 ? -ENOMEM : 0;
}

int view_step_files(struct ws *ws, uint64_t step, json_t *obj)
{
	json_t *read = json_array(), *changed = json_array();
	int rc = idx_reads(ws->reader, step, add_read, read);

	if (rc == 0)
		rc = idx_changes(ws->reader, step, add_change, changed);
	set(obj, "read", read);
	set(obj, "changed", changed);
	return rc;
}
