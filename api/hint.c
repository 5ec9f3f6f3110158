/* SPDX-License-Identifier: MIT */
/*
 * api/hint.c - rows of step ends, and the sieve for the runner's JSON.
 */
#include "api/hint.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/jsonx.h"
#include "api/utf8.h"
#include "core/clock.h"
#include "core/size.h"

#define CODE_MAX 64u

/* ---- the runner's ---- */

static json_t *text_of(const json_t *obj, const char *name, size_t max, bool one_line)
{
	struct bytes b = jx_bytes(json_object_get(obj, name));
	size_t n;
	const char *nl;

	if (!json_is_string(json_object_get(obj, name)))
		return json_string("");
	nl = one_line ? memchr(b.p, '\n', b.len) : NULL;
	if (nl != NULL)
		b.len = (size_t)(nl - (const char *)b.p);
	n = utf8_cut(b, max);
	return json_stringn(b.p, n);
}

static json_t *safe_hint(const json_t *h)
{
	const json_t *code = json_object_get(h, "code");
	json_t *data = json_object_get(h, "data"), *out;
	char *dumped;

	if (!json_is_object(h) || !json_is_string(code) || json_string_length(code) == 0 ||
	    json_string_length(code) > CODE_MAX ||
	    strspn(json_string_value(code), "abcdefghijklmnopqrstuvwxyz0123456789._") !=
		    json_string_length(code))
		return json_null();
	out = json_object();
	dumped = json_is_object(data) ? json_dumps(data, JSON_COMPACT) : NULL;
	(void)json_object_set_new(out, "code", json_string(json_string_value(code)));
	(void)json_object_set_new(out, "text", text_of(h, "text", HINT_TEXT_MAX, true));
	if (dumped != NULL && strlen(dumped) <= HINT_DATA_MAX)
		(void)json_object_set(out, "data", data);
	else
		(void)json_object_set_new(out, "data", json_object());
	free(dumped);
	return out;
}

json_t *hint_from_runner(struct bytes text)
{
	json_t *in = json_loadb(text.p, text.len, JSON_REJECT_DUPLICATES, NULL), *out = NULL;
	const json_t *name = json_object_get(in, "name");

	if (json_is_string(name) && json_string_length(name) > 0) {
		out = json_object();
		(void)json_object_set_new(out, "name", text_of(in, "name", HINT_NAME_MAX, true));
		(void)json_object_set_new(out, "value",
					  text_of(in, "value", HINT_VALUE_MAX, false));
		(void)json_object_set_new(out, "traceback",
					  text_of(in, "traceback", HINT_TRACEBACK_MAX, false));
		(void)json_object_set_new(out, "hint", safe_hint(json_object_get(in, "hint")));
	}
	json_decref(in);
	return out;
}

/* ---- the server's ---- */

static json_t *make(const char *name, const char *value, const char *code, const char *text,
		    json_t *data)
{
	return json_pack("{s:s, s:s, s:s, s:{s:s, s:s, s:o}}", "name", name, "value", value,
			 "traceback", "", "hint", "code", code, "text", text, "data",
			 data != NULL ? data : json_object());
}

static double seconds(int64_t ns)
{
	return (double)ns / (double)NS_PER_S;
}

static json_t *timeout(const struct hint_facts *f)
{
	char value[96], text[HINT_TEXT_MAX];

	(void)snprintf(value, sizeof value, "stopped after %g s", seconds(f->limit_ns));
	(void)snprintf(text, sizeof text,
		       "Stopped after %g s. Test on a sample first, print progress, save partial "
		       "results to output/, or ask for a "
		       "higher timeout (max %g s).",
		       seconds(f->limit_ns), seconds(f->limit_max_ns));
	return make("Timeout", value, "end.timeout", text,
		    json_pack("{s:f, s:f, s:f, s:f}", "limit_s", seconds(f->limit_ns), "max_s",
			      seconds(f->limit_max_ns), "elapsed_s", seconds(f->wall_ns), "cpu_s",
			      seconds(f->cpu_ns)));
}

static json_t *memory(const struct hint_facts *f)
{
	char limit[SIZE_TEXT_SIZE], value[96], text[HINT_TEXT_MAX];

	size_text(f->memory, limit);
	(void)snprintf(value, sizeof value, "killed at %s of memory", limit);
	(void)snprintf(text, sizeof text,
		       "Killed at %s of memory. Read in chunks (chunksize=, usecols=, dtype=), "
		       "stream rows, or aggregate in SQLite; a "
		       "retry of the same code fails again.",
		       limit);
	return make("MemoryLimit", value, "end.memory", text,
		    json_pack("{s:I, s:I}", "limit_bytes", (json_int_t)f->memory, "peak_bytes",
			      (json_int_t)f->memory_peak));
}

static json_t *pids(const struct hint_facts *f)
{
	unsigned cores = f->cpus_milli < 1000 ? 1 : f->cpus_milli / 1000;
	char value[96], text[HINT_TEXT_MAX];

	(void)snprintf(value, sizeof value, "more than %u processes and threads", f->pids);
	(void)snprintf(text, sizeof text,
		       "More than %u processes and threads. Use at most %u workers; set n_jobs=1.",
		       f->pids, cores);
	return make("PidsLimit", value, "end.pids", text,
		    json_pack("{s:i, s:i}", "limit", (int)f->pids, "cores", (int)cores));
}

static json_t *crash(const struct hint_facts *f)
{
	unsigned sig = f->end.signal != 0 ? f->end.signal : (unsigned)f->end.exit_code - 128;
	const char *abbrev = sigabbrev_np((int)sig);
	char name[24], text[HINT_TEXT_MAX];

	(void)snprintf(name, sizeof name, "SIG%s", abbrev != NULL ? abbrev : "?");
	(void)snprintf(text, sizeof text,
		       "Native crash (%s) in a C extension: note the last import or call; try "
		       "smaller input or another library.",
		       name);
	return make("NativeCrash", name, "end.segv", text, json_pack("{s:s}", "signal", name));
}

static bool is_crash(const struct end *e)
{
	unsigned sig = e->signal != 0       ? e->signal
		       : e->exit_code > 128 ? (unsigned)e->exit_code - 128
					    : 0;

	return sig == SIGSEGV || sig == SIGABRT || sig == SIGFPE || sig == SIGBUS || sig == SIGILL;
}

static bool is_too_big(const struct hint_facts *f)
{
	if (f->end.reason != REASON_EXITED && f->end.reason != REASON_SIGNALED)
		return false;
	return f->end.signal == SIGXFSZ || f->end.exit_code == 128 + SIGXFSZ ||
	       (f->too_big && f->end.exit_code != 0);
}

static json_t *too_big(const struct hint_facts *f)
{
	char limit[SIZE_TEXT_SIZE], value[96], text[HINT_TEXT_MAX];

	size_text(f->file, limit);
	(void)snprintf(value, sizeof value, "a file grew past %s", limit);
	(void)snprintf(text, sizeof text,
		       "One file may have at most %s (limit file of the policy). Write several "
		       "parts, or compressed (.parquet, .csv.gz); a retry of the same code fails "
		       "again.",
		       limit);
	return make("FileTooLarge", value, "file.toobig", text,
		    json_pack("{s:I}", "limit_bytes", (json_int_t)f->file));
}

/* It ended by itself: exited or signaled. */
static json_t *by_itself(const struct hint_facts *f)
{
	char text[HINT_TEXT_MAX], value[64];

	if (f->spawn_error != NULL)
		return make("ExecError", f->spawn_error, "end.exec",
			    "The program could not be started; check its name and that it is "
			    "installed and executable.",
			    NULL);
	if (is_too_big(f))
		return too_big(f);
	if (is_crash(&f->end))
		return crash(f);
	if (f->end.signal == SIGXCPU || f->end.exit_code == 128 + SIGXCPU)
		return make("CpuLimit", "CPU time limit", "end.cpu",
			    "CPU time limit used up; a loop is too slow or endless: vectorise or "
			    "bound it.",
			    NULL);
	if (!f->python || f->end.exit_code <= 0)
		return NULL;
	(void)snprintf(value, sizeof value, "%d", f->end.exit_code);
	(void)snprintf(text, sizeof text,
		       "The script itself called exit(%d). Read the text above it.",
		       f->end.exit_code);
	return make("SystemExit", value, "end.exit", text, NULL);
}

static json_t *by_server(const struct hint_facts *f)
{
	const char *who = f->who[0] != '\0' ? f->who : "the server";
	char text[HINT_TEXT_MAX];

	switch (f->end.reason) {
	case REASON_TIMEOUT: return timeout(f);
	case REASON_MEMORY: return memory(f);
	case REASON_PIDS: return pids(f);
	case REASON_DISK:
		return make("DiskQuota", "quota or disk full", "end.disk",
			    "Workspace quota or scratch space is used up. Delete files in your "
			    "area, write compressed (.parquet, .csv.gz).",
			    NULL);
	case REASON_KILLED:
		(void)snprintf(text, sizeof text,
			       "Stopped on request of %.120s. Do not restart unasked.", who);
		return make("Killed", who, "end.killed", text, NULL);
	case REASON_REFUSED:
		(void)snprintf(text, sizeof text,
			       "The server refused the step before start: %.160s. Changing the "
			       "code does not help.",
			       who);
		text[utf8_cut(bytes_str(text), sizeof text)] = '\0';
		return make("Refused", who, "end.refused", text, NULL);
	case REASON_LOST:
		return make("Lost", "the executor was lost", "end.lost",
			    "The executor was lost; not a fault of the code. Check output/, then "
			    "run again once.",
			    NULL);
	case REASON_EXITED:
	case REASON_SIGNALED: return by_itself(f);
	case REASON_NONE:
	case REASON_COUNT: break;
	}
	return NULL;
}

json_t *hint_error(const struct hint_facts *f, json_t *runner)
{
	json_t *own;

	/* An exception that the program itself ended by says more than its exit code. */
	if (runner != NULL && !is_too_big(f) &&
	    (f->end.reason == REASON_EXITED || f->end.reason == REASON_SIGNALED))
		return runner;
	own = by_server(f);
	if (runner != NULL && own != NULL &&
	    f->end.reason != REASON_LOST) { /* what it told stays, the server's hint leads */
		(void)json_object_set(runner, "hint", json_object_get(own, "hint"));
		json_decref(own);
		return runner;
	}
	json_decref(runner);
	return own;
}

json_t *hint_silent(void)
{
	return json_pack("{s:s, s:s, s:{}}", "code", "end.silent", "text",
			 "Nothing was printed and no file written: end with print(...) or write to "
			 "output/. Only printed text comes "
			 "back.",
			 "data");
}
