/* SPDX-License-Identifier: MIT */
/*
 * cli/doctor.c - garth doctor: one line per thing that must or should hold, and what to do.
 */
#include "cli/doctor.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cmd.h"
#include "cli/exit.h"
#include "cli/opts.h"
#include "cli/print.h"
#include "core/fd.h"

static const char *const words[] = { "ok", "warn", "fail" };

void doctor_add(struct doctor *d, enum doctor_state state, const char *name, const char *todo,
		const char *fmt, ...)
{
	struct doctor_row *r = &d->rows[d->n];
	va_list ap;

	if (d->n == DOCTOR_ROWS_MAX)
		return;
	d->n++;
	r->state = state;
	(void)snprintf(r->name, sizeof r->name, "%s", name);
	(void)snprintf(r->todo, sizeof r->todo, "%s", todo);
	va_start(ap, fmt);
	(void)vsnprintf(r->found, sizeof r->found, fmt, ap);
	va_end(ap);
}

static bool starts(const struct doctor *d)
{
	for (unsigned i = 0; i < d->n; i++)
		if (d->rows[i].state == DOCTOR_FAIL)
			return false;
	return true;
}

static int as_json(const struct doctor *d)
{
	json_t *all = json_array(), *top = NULL;
	int code;

	for (unsigned i = 0; i < d->n; i++) {
		const struct doctor_row *r = &d->rows[i];

		(void)json_array_append_new(all,
					    json_pack("{s:s, s:s, s:s, s:s?}", "name", r->name,
						      "state", words[r->state], "found", r->found,
						      "todo", r->todo[0] ? r->todo : NULL));
	}
	top = json_pack("{s:b, s:o}", "ok", starts(d), "checks", all);
	code = print_json(top);
	json_decref(top);
	return code;
}

static void as_text(const struct doctor *d)
{
	static const enum color colors[] = { COLOR_GREEN, COLOR_YELLOW, COLOR_RED };

	for (unsigned i = 0; i < d->n; i++) {
		const struct doctor_row *r = &d->rows[i];

		print_on(stdout, colors[r->state]);
		(void)printf("%-4s", words[r->state]);
		print_off(stdout, colors[r->state]);
		(void)printf("  %-16s ", r->name);
		print_safe(stdout, r->found);
		if (r->todo[0]) {
			(void)fputs(": ", stdout);
			print_safe(stdout, r->todo);
		}
		(void)putchar('\n');
	}
}

static void leave(struct doctor *d)
{
	fd_closep(&d->up.data_fd);
	fd_closep(&d->up.listen_fd);
}

int cmd_doctor(int argc, char **argv)
{
	const char *config = NULL, *data = NULL, *listen_at = NULL;
	bool json = false;
	const struct opt opts[] = {
		{ OPT_TEXT, 0, "data", "DIR", "the data folder to check (default /var/lib/garth)",
		  &data, false },
		{ OPT_TEXT, 0, "listen", "ADDR:PORT",
		  "the address to check (default " CONFIG_LISTEN ")", &listen_at, false },
		{ OPT_TEXT, 0, "config", "FILE",
		  "the config (default " CONFIG_FILE ", where it exists)", &config, false },
		{ OPT_FLAG, 0, "json", NULL, "print JSON", &json, false },
		{ 0 },
	};
	const struct opt_usage usage = {
		"doctor",
		"[--json]",
		"Check what garth needs of this machine. Exit code 1: garth can't start.",
		NULL,
		opts,
		0,
		0,
		false
	};
	struct doctor *d;
	struct err err = { 0 };
	char **args;
	int n, code = EXIT_OK, r = opts_parse(&usage, argc, argv, &args, &n);

	if (r != OPTS_DONE)
		return r;
	d = calloc(1, sizeof *d);
	if (!d)
		return EXIT_FAILED;
	d->up.data_fd = d->up.listen_fd = -1;
	config_default(&d->up.cfg);
	r = config_read(config, &d->up.cfg, &err);
	if (r == 0 && data)
		r = config_data(data, &d->up.cfg, &err);
	if (r == 0 && listen_at)
		r = config_listen(listen_at, &d->up.cfg, &err);
	if (r < 0)
		doctor_add(d, DOCTOR_FAIL, "config", "correct it", "%s", err.msg);
	doctor_host(d);
	doctor_place(d);
	if (json)
		code = as_json(d);
	else
		as_text(d);
	if (!starts(d))
		code = EXIT_FAILED;
	leave(d);
	free(d);
	return print_done(code);
}
