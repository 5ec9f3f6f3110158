/* SPDX-License-Identifier: MIT */
/*
 * api/spec_body.c - a checked step's limits, and the bytes that others get of it.
 * Not here: reading the JSON (api/spec.c).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/jsonx.h"
#include "api/spec.h"

#define TIMEOUT_MIN_MS 1
#define MEMORY_MIN (8u << 20) /* bytes; with less not even a shell starts */
#define CPUS_MIN_MILLI 10

int spec_limits(struct spec *s, const struct policy *p, const char *agent, struct err *err)
{
	struct policy_step_limits lim = *policy_step_limits_of(p, agent);
	int64_t ms = lim.timeout_ns / 1000000, cpus = lim.cpus_milli;
	uint64_t pids = lim.pids;
	int rc = jx_milli(s->timeout, "timeout_s", TIMEOUT_MIN_MS, lim.timeout_max_ns / 1000000,
			  &ms, err);

	if (rc == 0)
		rc = jx_uint(s->memory, "memory_bytes", MEMORY_MIN, lim.memory_max, &lim.memory,
			     err);
	if (rc == 0)
		rc = jx_uint(s->pids, "pids", 1, lim.pids, &pids, err);
	if (rc == 0)
		rc = jx_milli(s->cpus, "cpus", CPUS_MIN_MILLI, lim.cpus_milli, &cpus, err);
	if (rc == 0 && s->code.len > lim.code)
		rc = err_set(err, -EFBIG, "field 'code' has %zu bytes; %" PRIu64 " are permitted",
			     s->code.len, lim.code);
	if (rc < 0)
		return rc;
	lim.timeout_ns = s->timeout != NULL ? ms * 1000000 : lim.timeout_ns;
	lim.pids = (uint32_t)pids;
	lim.cpus_milli = (uint32_t)cpus;
	s->lim = lim;
	return 0;
}

static int add(struct buf *out, struct bytes b)
{
	uint32_t len = (uint32_t)b.len;
	int rc;

	if (b.len > UINT32_MAX)
		return -EFBIG;
	rc = buf_add(out, &len, sizeof len);
	return rc == 0 && b.len > 0 ? buf_add(out, b.p, b.len) : rc;
}

struct env_out {
	struct buf *out;
	const struct spec *spec;
	unsigned count;
};

static int env_add(struct env_out *e, const char *name, const char *value)
{
	autobuf line;
	int rc;

	buf_init(&line, 2 * SPEC_TEXT_MAX);
	rc = buf_addf(&line, "%s=%s", name, value);
	if (rc == 0)
		rc = add(e->out, buf_view(&line));
	e->count++;
	return rc;
}

/* Unless the request sets it itself. */
static int env_default(struct env_out *e, const char *name, const char *value)
{
	for (unsigned i = 0; i < e->spec->envc; i++)
		if (strcmp(e->spec->env[2 * i], name) == 0)
			return 0;
	return env_add(e, name, value);
}

static int env_all(struct env_out *e, const struct spec_ids *ids)
{
	static const char *const threads[] = { "OMP_NUM_THREADS",     "OPENBLAS_NUM_THREADS",
					       "MKL_NUM_THREADS",     "NUMEXPR_NUM_THREADS",
					       "NUMEXPR_MAX_THREADS", "VECLIB_MAXIMUM_THREADS",
					       "RAYON_NUM_THREADS" };
	static const struct {
		const char *name, *value;
	} fixed[] = { { "PATH", "/usr/local/bin:/usr/bin:/bin" },
		      { "HOME", "/home/user" },
		      { "USER", "user" },
		      { "LOGNAME", "user" },
		      { "SHELL", "/bin/bash" },
		      { "LANG", "C.UTF-8" },
		      { "TMPDIR", "/tmp" },
		      { "MPLBACKEND", "Agg" } };
	const struct spec *s = e->spec;
	char cpus[16];
	int rc;

	(void)snprintf(cpus, sizeof cpus, "%u",
		       s->lim.cpus_milli < 1000 ? 1 : s->lim.cpus_milli / 1000);
	rc = env_add(e, "GARTH_WORKSPACE", ids->workspace);
	if (rc == 0)
		rc = env_add(e, "GARTH_AGENT", ids->agent);
	if (rc == 0)
		rc = env_add(e, "GARTH_STEP", ids->step);
	if (rc == 0)
		rc = env_add(e, "GARTH_SANDBOX", ids->sandbox);
	if (rc == 0)
		rc = env_add(e, "GARTH_JOB", s->job != NULL ? s->job : "");
	for (size_t i = 0; i < sizeof fixed / sizeof fixed[0] && rc == 0; i++)
		rc = env_default(e, fixed[i].name, fixed[i].value);
	for (size_t i = 0; i < sizeof threads / sizeof threads[0] && rc == 0; i++)
		rc = env_default(e, threads[i], cpus);
	for (unsigned i = 0; i < s->envc && rc == 0; i++)
		rc = env_add(e, s->env[2 * i], s->env[2 * i + 1]);
	return rc;
}

int spec_spawn_body(const struct spec *s, const struct spec_ids *ids, struct buf *out,
		    unsigned *ret_envc)
{
	struct env_out e = { .out = out, .spec = s };
	int rc = add(out, bytes_str(s->cwd));

	for (unsigned i = 0; i < s->argc && rc == 0; i++)
		rc = add(out, bytes_str(s->argv[i]));
	if (rc == 0)
		rc = env_all(&e, ids);
	if (rc == 0)
		rc = add(out, s->code);
	for (unsigned i = 0; i < s->filec && rc == 0; i++) {
		rc = add(out, bytes_str(s->files[i].name));
		if (rc == 0)
			rc = add(out, s->files[i].content);
	}
	*ret_envc = e.count;
	return rc;
}

/* As many of the arguments as fit, and "..." where some are left out. */
static int command_text(const struct spec *s, struct buf *out)
{
	json_t *arr = json_array();
	size_t room = SPEC_COMMAND_MAX - 16;
	char *text;
	int rc = 0;

	for (unsigned i = 0; arr != NULL && i < s->argc; i++) {
		json_t *one = json_string(s->argv[i]);
		char *shown = one != NULL ? json_dumps(one, JSON_ENCODE_ANY) : NULL;
		size_t n = shown != NULL ? strlen(shown) + 1 : 0;

		free(shown);
		if (n > room) {
			json_decref(one);
			(void)json_array_append_new(arr, json_string("..."));
			break;
		}
		room -= n;
		(void)json_array_append_new(arr, one);
	}
	text = arr != NULL ? json_dumps(arr, JSON_COMPACT) : NULL;
	rc = text != NULL ? buf_add_str(out, text) : -ENOMEM;
	free(text);
	json_decref(arr);
	return rc;
}

int spec_record_texts(const struct spec *s, struct buf *command, struct buf *env,
		      struct buf *limits, struct buf *observed)
{
	const struct policy_step_limits *l = &s->lim;
	int rc = s->argc > 0 ? command_text(s, command) : 0;

	for (unsigned i = 0; i < s->envc && rc == 0; i++)
		rc = buf_addf(env, "%s%s", i > 0 ? " " : "", s->env[2 * i]);
	if (rc == 0)
		rc = buf_addf(limits,
			      "{\"timeout_ms\":%" PRId64 ",\"memory_bytes\":%" PRIu64
			      ",\"pids\":%u,\"cpus\":%g,\"open_files\":%u,"
			      "\"log_bytes\":%" PRIu64 ",\"tmp_bytes\":%" PRIu64
			      ",\"file_bytes\":%" PRIu64 "}",
			      l->timeout_ns / 1000000, l->memory, l->pids, l->cpus_milli / 1000.0,
			      l->open_files, l->log, l->tmp, l->file);
	if (rc == 0)
		rc = buf_add_str(observed, "{\"network\":\"none\",\"filesystem\":\"workspace\"}");
	return rc;
}
