/* SPDX-License-Identifier: MIT */
/*
 * cli/cmd_ps.c - garth ps, kill, logs, steps: steps as a list, and what is done to one.
 * Not here: one step in full (cli/cmd_step.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/addr.h"
#include "cli/cmd.h"
#include "cli/exit.h"
#include "cli/find.h"
#include "cli/listing.h"
#include "cli/opts.h"
#include "cli/print.h"
#include "cli/sub.h"
#include "core/fd.h"

/* How it ended, or that it did not yet. */
static const char *end_of(const json_t *s)
{
	const char *reason = field_text(s, "reason");

	return reason ? reason : field_text(s, "state");
}

static enum color color_of(const json_t *s)
{
	const char *reason = field_text(s, "reason");

	if (!reason)
		return COLOR_NONE;
	return strcmp(reason, "exited") == 0 && field_int(s, "exit_code") == 0 ? COLOR_NONE
									       : COLOR_YELLOW;
}

static const char *const ps_heads[] = { "STEP",    "WORKSPACE", "AGENT", "STATE",
					"STARTED", "SANDBOX",   "JOB",   NULL };

static void ps_row(struct table *t, const json_t *s)
{
	char at[NUMBER_TEXT_SIZE];
	const char *cells[] = {
		field_text(s, "step"),  field_text(s, "workspace"),      field_text(s, "agent"),
		field_text(s, "state"), field_time(s, "started_at", at), field_text(s, "sandbox"),
		field_text(s, "job")
	};

	table_row(t, COLOR_NONE, cells);
}

int cmd_ps(int argc, char **argv)
{
	static const struct listing list = { ps_heads, ps_row };
	const char *ws = NULL;
	bool as_json = false;
	const struct opt opts[] = {
		{ OPT_WORKSPACE, 'w', "workspace", "W", "only this workspace", &ws, false },
		{ OPT_FLAG, 0, "json", NULL, "print {items: [...]}", &as_json, false },
		{ 0 },
	};
	const struct opt_usage u = { "ps", "[-w W]", "List the steps that run.", NULL, opts, 0,
				     0,    false };
	char **args;
	int n, r = opts_parse(&u, argc, argv, &args, &n);

	return r == OPTS_DONE ? listing_run_each(&list, ws, "/steps", "open", as_json) : r;
}

int cmd_kill(int argc, char **argv)
{
	const char *ws = NULL;
	const struct opt opts[] = { { OPT_WORKSPACE, 'w', "workspace", "W",
				      "its workspace; without it, it is looked for", &ws, false },
				    { 0 } };
	const struct opt_usage u = { "kill", "STEP", "End a step: all its processes are killed.",
				     NULL,   opts,   1,
				     1,      false };
	autoclient c = NULL;
	struct addr a;
	char **args;
	int n, r = opts_parse(&u, argc, argv, &args, &n);

	if (r != OPTS_DONE)
		return r;
	r = find_item(&c, &find_step, ws, args[0], &a, NULL);
	return r == EXIT_OK ? client_call(c, "DELETE", addr_str(&a), NULL, NULL) : r;
}

static int to_stdout(void *ctx, struct bytes data)
{
	(void)ctx;
	return fd_write_full(STDOUT_FILENO, data.p, data.len);
}

int cmd_logs(int argc, char **argv)
{
	const char *ws = NULL;
	bool errors = false;
	const struct opt opts[] = {
		{ OPT_WORKSPACE, 'w', "workspace", "W",
		  "its workspace; without it, it is looked for", &ws, false },
		{ OPT_FLAG, 0, "stderr", NULL, "its stderr in place of its stdout", &errors,
		  false },
		{ 0 },
	};
	const struct opt_usage u = { "logs",
				     "STEP [--stderr]",
				     "Print what a step has written so far.",
				     NULL,
				     opts,
				     1,
				     1,
				     false };
	struct request q = { .method = "GET", .sink = to_stdout };
	autoanswer answer = { 0 };
	autoclient c = NULL;
	struct addr a;
	char **args;
	int n, r = opts_parse(&u, argc, argv, &args, &n);

	if (r != OPTS_DONE)
		return r;
	r = find_item(&c, &find_step, ws, args[0], &a, NULL);
	if (r != EXIT_OK)
		return r;
	addr_part(&a, errors ? "stderr" : "stdout");
	q.path = addr_str(&a);
	return client_whole(c, &q, &answer, "log ended");
}

static const char *const steps_heads[] = { "STEP",     "AGENT",   "KIND",     "END",
					   ">EXIT",    "STARTED", ">WALL MS", ">FILES",
					   ">REFUSED", "JOB",     NULL };

static void steps_row(struct table *t, const json_t *s)
{
	char exit_code[NUMBER_TEXT_SIZE], at[NUMBER_TEXT_SIZE], wall[NUMBER_TEXT_SIZE],
		made[NUMBER_TEXT_SIZE], refused[NUMBER_TEXT_SIZE];
	const char *cells[] = { field_text(s, "step"),
				field_text(s, "agent"),
				field_text(s, "kind"),
				end_of(s),
				field_number(s, "exit_code", exit_code),
				field_time(s, "started_at", at),
				field_number(s, "wall_ms", wall),
				field_number(s, "artifact_count", made),
				field_number(s, "violation_count", refused),
				field_text(s, "job") };

	table_row(t, field_int(s, "violation_count") > 0 ? COLOR_RED : color_of(s), cells);
}

int cmd_steps(int argc, char **argv)
{
	static const struct listing list = { steps_heads, steps_row };
	const char *ws = NULL, *agent = NULL, *job = NULL;
	uint64_t limit = 0;
	bool as_json = false;
	const struct opt opts[] = {
		{ OPT_WORKSPACE, 'w', "workspace", "W", "the workspace", &ws, true },
		{ OPT_TEXT, 'a', "agent", "A", "only this agent's", &agent, false },
		{ OPT_TEXT, 0, "job", "LABEL", "only this task's", &job, false },
		{ OPT_COUNT, 0, "limit", "N", "at most so many, the newest", &limit, false },
		{ OPT_FLAG, 0, "json", NULL, "print {items: [...]}", &as_json, false },
		{ 0 },
	};
	const struct opt_usage u = {
		"steps", "-w W", "List the steps of a workspace, the newest first.", NULL, opts, 0,
		0,       false
	};
	struct addr a;
	char **args;
	int n, r = opts_parse(&u, argc, argv, &args, &n);

	if (r != OPTS_DONE)
		return r;
	addr_begin(&a, ws, "/steps");
	addr_arg(&a, "agent", agent);
	addr_arg(&a, "job", job);
	return listing_run(&list, &a, limit, as_json);
}
