/* SPDX-License-Identifier: MIT */
/*
 * cli/cmd_step.c - garth step: what one step read, wrote, deleted and was refused, and how it ended; garth violations.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/addr.h"
#include "cli/cmd.h"
#include "cli/exit.h"
#include "cli/find.h"
#include "cli/listing.h"
#include "cli/opts.h"
#include "cli/print.h"
#include "cli/sub.h"
#include "core/size.h"

#define SHORT_SHA 12

static void line(const char *name, const char *value)
{
	if (!value || !*value)
		return;
	(void)printf("%-10s ", name);
	print_safe(stdout, value);
	(void)fputc('\n', stdout);
}

static void show_end(const json_t *s)
{
	char text[128], peak[SIZE_TEXT_SIZE];
	const char *reason = field_text(s, "reason");

	if (!reason) {
		line("state", field_text(s, "state"));
		return;
	}
	size_text((uint64_t)field_int(s, "memory_peak_bytes"), peak);
	if (field_text(s, "signal"))
		(void)snprintf(text, sizeof text, "%s, %.32s", reason, field_text(s, "signal"));
	else if (strcmp(reason, "exited") == 0)
		(void)snprintf(text, sizeof text, "%s, code %lld", reason,
			       (long long)field_int(s, "exit_code"));
	else
		(void)snprintf(text, sizeof text, "%s", reason);
	line("end", text);
	line("detail", field_text(s, "detail"));
	(void)snprintf(text, sizeof text, "%lld ms wall, %lld ms cpu, %s memory",
		       (long long)field_int(s, "wall_ms"), (long long)field_int(s, "cpu_ms"), peak);
	line("used", text);
}

static void show_error(const json_t *s)
{
	const json_t *error = json_object_get(s, "error");

	line("error", field_text(error, "name"));
	line("", field_text(error, "value"));
	line("hint", field_text(json_object_get(s, "hint"), "text"));
}

/* "wrote  output/a.csv  version 1  3f2a...  created" */
static void show_artifacts(const json_t *s)
{
	const json_t *list = json_object_get(s, "artifacts");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *a = json_array_get(list, i);
		char *path = field_path(a, "path");
		const char *sha = field_text(a, "sha256");

		(void)printf("%-10s ", "wrote");
		print_safe(stdout, path ? path : "-");
		(void)printf("  version %lld  %lld bytes  %.*s  %s, %s\n",
			     (long long)field_int(a, "version"), (long long)field_int(a, "size"),
			     SHORT_SHA, sha ? sha : "-",
			     field_text(a, "action") ? field_text(a, "action") : "-",
			     field_text(a, "state") ? field_text(a, "state") : "-");
		free(path);
	}
}

static void show_reads(const json_t *s)
{
	const json_t *list = json_object_get(s, "read");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *r = json_array_get(list, i);
		char *path = field_path(r, "path");
		const char *sha = field_text(r, "sha256");

		(void)printf("%-10s ", "read");
		print_safe(stdout, path ? path : "-");
		if (field_int(r, "version") > 0)
			(void)printf("  version %lld", (long long)field_int(r, "version"));
		if (sha)
			(void)printf("  %.*s", SHORT_SHA, sha);
		(void)puts(json_is_true(json_object_get(r, "open")) ? "  (while it was written)"
								    : "");
		free(path);
	}
}

static void show_changes(const json_t *s)
{
	const json_t *list = json_object_get(s, "changed");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *c = json_array_get(list, i);
		char *path = field_path(c, "path"), *to = field_path(c, "to");

		(void)printf("%-10s ", field_text(c, "op") ? field_text(c, "op") : "changed");
		print_safe(stdout, path ? path : "-");
		if (to && *to) {
			(void)fputs(" -> ", stdout);
			print_safe(stdout, to);
		}
		(void)fputc('\n', stdout);
		free(path);
		free(to);
	}
}

static void show_violations(const json_t *s)
{
	const json_t *list = json_object_get(s, "violations");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *v = json_array_get(list, i);
		char *path = field_path(v, "path");

		print_on(stdout, COLOR_RED);
		(void)printf("%-10s %s ", "refused",
			     field_text(v, "op") ? field_text(v, "op") : "-");
		print_safe(stdout, path ? path : "-");
		(void)printf("  %s, %s, %lld times",
			     field_text(v, "errno") ? field_text(v, "errno") : "-",
			     field_text(v, "rule") ? field_text(v, "rule") : "-",
			     (long long)field_int(v, "count"));
		print_off(stdout, COLOR_RED);
		(void)fputc('\n', stdout);
		free(path);
	}
}

static void show_command(const json_t *s)
{
	const json_t *argv = json_object_get(s, "command");
	char *text;

	if (!json_is_array(argv) || json_array_size(argv) == 0) {
		line("command", json_string_value(argv));
		line("language", field_text(s, "language"));
		line("code", field_text(s, "code_sha256"));
		return;
	}
	text = json_dumps(argv, 0);
	line("command", text);
	free(text);
}

static void show(const json_t *s)
{
	const json_t *hooks = json_object_get(s, "hooks");

	line("step", field_text(s, "step"));
	line("workspace", field_text(s, "workspace"));
	line("agent", field_text(s, "agent"));
	line("kind", field_text(s, "kind"));
	line("sandbox", field_text(s, "sandbox"));
	line("job", field_text(s, "job"));
	line("started", field_text(s, "started_at"));
	show_command(s);
	show_end(s);
	show_error(s);
	for (size_t i = 0; i < json_array_size(hooks); i++)
		line("hook", json_string_value(json_array_get(hooks, i)));
	show_reads(s);
	show_artifacts(s);
	show_changes(s);
	show_violations(s);
}

int cmd_step(int argc, char **argv)
{
	const char *ws = NULL;
	bool as_json = false;
	const struct opt opts[] = {
		{ OPT_WORKSPACE, 'w', "workspace", "W",
		  "its workspace; without it, it is looked for", &ws, false },
		{ OPT_FLAG, 0, "json", NULL, "print the step object", &as_json, false },
		{ 0 },
	};
	const struct opt_usage u = {
		"step",
		"STEP",
		"Show what one step read, wrote, deleted and was refused, and how it ended.",
		NULL,
		opts,
		1,
		1,
		false
	};
	autoclient c = NULL;
	autojson j = NULL;
	struct addr a;
	char **args;
	int n, r = opts_parse(&u, argc, argv, &args, &n);

	if (r != OPTS_DONE)
		return r;
	r = find_item(&c, &find_step, ws, args[0], &a, &j);
	if (r != EXIT_OK)
		return r;
	if (as_json)
		return print_done(print_json(j));
	show(j);
	return print_done(EXIT_OK);
}

static const char *const violation_heads[] = { "AT",    "AGENT", "STEP",   "OP", "PATH",
					       "ERRNO", "RULE",  ">COUNT", NULL };

static void violation_row(struct table *t, const json_t *v)
{
	char at[NUMBER_TEXT_SIZE], count[NUMBER_TEXT_SIZE];
	char *path = field_path(v, "path");
	const char *cells[] = { field_time(v, "at", at),
				field_text(v, "agent"),
				field_text(v, "step"),
				field_text(v, "op"),
				path,
				field_text(v, "errno"),
				field_text(v, "rule"),
				field_number(v, "count", count) };

	table_row(t, COLOR_RED, cells);
	free(path);
}

int cmd_violations(int argc, char **argv)
{
	static const struct listing list = { violation_heads, violation_row };
	const char *ws = NULL, *agent = NULL, *step = NULL;
	uint64_t limit = 0;
	bool as_json = false;
	const struct opt opts[] = {
		{ OPT_WORKSPACE, 'w', "workspace", "W", "the workspace", &ws, true },
		{ OPT_TEXT, 'a', "agent", "A", "only this agent's", &agent, false },
		{ OPT_TEXT, 0, "step", "S", "only this step's", &step, false },
		{ OPT_COUNT, 0, "limit", "N", "at most so many", &limit, false },
		{ OPT_FLAG, 0, "json", NULL, "print {items: [...]}", &as_json, false },
		{ 0 },
	};
	const struct opt_usage u = { "violations",
				     "-w W [--agent A] [--step S]",
				     "List what the policy refused.",
				     NULL,
				     opts,
				     0,
				     0,
				     false };
	struct addr a;
	char **args;
	int n, r = opts_parse(&u, argc, argv, &args, &n);

	if (r != OPTS_DONE)
		return r;
	addr_begin(&a, ws, "/violations");
	addr_arg(&a, "agent", agent);
	addr_arg(&a, "step", step);
	return listing_run(&list, &a, limit, as_json);
}
