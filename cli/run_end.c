/* SPDX-License-Identifier: MIT */
/*
 * cli/run_end.c - how a step ended.
 */
#include "cli/run_end.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli/exit.h"
#include "cli/print.h"
#include "cli/sub.h"
#include "core/size.h"

#define REFUSED_SHOWN 10

/* "SIGKILL" or 9; 0: none. */
static int signal_of(const json_t *step)
{
	const char *name = field_text(step, "signal");

	for (int i = 1; name && strncmp(name, "SIG", 3) == 0 && i < _NSIG; i++) {
		const char *abbrev = sigabbrev_np(i);

		if (abbrev && strcmp(name + 3, abbrev) == 0)
			return i;
	}
	return (int)(field_int(step, "signal") & 0x7f);
}

int run_end_code(const json_t *step)
{
	static const struct {
		const char *reason;
		int code;
	} fixed[] = { { "timeout", EXIT_TIMEOUT }, { "lost", EXIT_LOST },
		      { "refused", EXIT_REFUSED }, { "memory", EXIT_LIMIT },
		      { "disk", EXIT_LIMIT },      { "pids", EXIT_LIMIT } };
	const char *reason = field_text(step, "reason");
	int signal = signal_of(step);

	if (!reason)
		return EXIT_LOST; /* it should have one */
	for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
		if (strcmp(reason, fixed[i].reason) == 0)
			return fixed[i].code;
	if (strcmp(reason, "exited") == 0)
		return (int)(field_int(step, "exit_code") & 0xff);
	return EXIT_SIGNAL_BASE + (signal ? signal : SIGKILL); /* "killed" may come without one */
}

static void refused(const json_t *step, FILE *f)
{
	const json_t *list = json_object_get(step, "violations");
	size_t n = json_array_size(list);

	for (size_t i = 0; i < n && i < REFUSED_SHOWN; i++) {
		const json_t *v = json_array_get(list, i);
		char *path = field_path(v, "path");

		print_on(f, COLOR_RED);
		(void)fprintf(f, "garth: refused: %s ",
			      field_text(v, "op") ? field_text(v, "op") : "-");
		print_safe(f, path ? path : "-");
		(void)fprintf(f, " (%s, %s)", field_text(v, "errno") ? field_text(v, "errno") : "-",
			      field_text(v, "rule") ? field_text(v, "rule") : "-");
		if (field_int(v, "count") > 1)
			(void)fprintf(f, " %lld times", (long long)field_int(v, "count"));
		print_off(f, COLOR_RED);
		(void)fputc('\n', f);
		free(path);
	}
	if (n > REFUSED_SHOWN)
		(void)fprintf(f, "garth: refused: %zu more\n", n - REFUSED_SHOWN);
}

static void reason_line(const json_t *step, const char *reason, FILE *f)
{
	const char *detail = field_text(step, "detail");
	char peak[SIZE_TEXT_SIZE];

	(void)fprintf(f, "garth: ended: %s", reason);
	if (detail && *detail) {
		(void)fputs(" (", f);
		print_safe(f, detail);
		(void)fputc(')', f);
	} else if (strcmp(reason, "memory") == 0) {
		size_text((uint64_t)field_int(step, "memory_peak_bytes"), peak);
		(void)fprintf(f, " (peak %s)", peak);
	} else if (strcmp(reason, "signaled") == 0) {
		(void)fprintf(f, " (signal %d)", signal_of(step));
	}
	(void)fputc('\n', f);
}

/* 126 and 127 may be the program's own, so that there was none is said. */
static void not_started(const json_t *step, FILE *f)
{
	const json_t *error = json_object_get(step, "error");
	const char *name = field_text(error, "name"), *value = field_text(error, "value");

	if (!name || !value || strcmp(name, "ExecError") != 0)
		return;
	(void)fputs("garth: not started: ", f);
	print_safe(f, value);
	(void)fputc('\n', f);
}

void run_end_say(const json_t *step, FILE *f)
{
	const char *reason = field_text(step, "reason");
	const char *hint = field_text(json_object_get(step, "hint"), "text");
	bool people = isatty(fileno(f)); /* else only what scripts are promised */

	if (!hint)
		hint = field_text(json_object_get(json_object_get(step, "error"), "hint"), "text");
	if (people)
		refused(step, f);
	if (people && hint) {
		(void)fputs("garth: hint: ", f);
		print_safe(f, hint);
		(void)fputc('\n', f);
	}
	if (reason && strcmp(reason, "exited") != 0)
		reason_line(step, reason, f);
	else
		not_started(step, f);
}
