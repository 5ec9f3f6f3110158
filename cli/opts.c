/* SPDX-License-Identifier: MIT */
/*
 * cli/opts.c - the options of one command as a table.
 */
#include "cli/opts.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/exit.h"
#include "core/clock.h"
#include "core/path.h"
#include "core/size.h"

#define CPUS_MAX 4096
#define HELP_COLUMN 26

#define LONG_ONLY 256 /* getopt's value of option i without a letter: LONG_ONLY + i */

int opts_wrong(const struct opt_usage *u, const char *fmt, ...)
{
	va_list ap;

	(void)fprintf(stderr, "garth %s: ", u->name);
	va_start(ap, fmt);
	(void)vfprintf(stderr, fmt, ap);
	va_end(ap);
	(void)fprintf(stderr, "\nTry 'garth %s --help'.\n", u->name);
	return EXIT_USAGE;
}

static void help_row(char letter, const char *name, const char *arg, const char *text)
{
	char left[80];
	int n = snprintf(left, sizeof left, "  %c%c%s --%s%s%s", letter ? '-' : ' ',
			 letter ? letter : ' ', letter ? "," : " ", name, arg ? " " : "",
			 arg ? arg : "");

	if (n < HELP_COLUMN)
		(void)printf("%-*s%s\n", HELP_COLUMN, left, text);
	else
		(void)printf("%s\n%*s%s\n", left, HELP_COLUMN, "", text);
}

static void help(const struct opt_usage *u)
{
	(void)printf("Usage: garth %s%s%s\n\n%s\n\nOptions:\n", u->name, u->args[0] ? " " : "",
		     u->args, u->what);
	for (const struct opt *o = u->opts; o->kind != OPT_END; o++)
		help_row(o->letter, o->name, o->arg, o->help);
	help_row('h', "help", NULL, "show this and exit");
	if (u->more)
		(void)printf("\n%s\n", u->more);
}

/* "2", "0.5": thousandths. */
static int cpus_parse(const char *s, uint32_t *ret)
{
	uint32_t v = 0, unit = 100;

	if (*s < '0' || *s > '9')
		return -EINVAL;
	for (; *s >= '0' && *s <= '9'; s++) {
		v = v * 10 + (uint32_t)(*s - '0');
		if (v > CPUS_MAX)
			return -EINVAL;
	}
	v *= 1000;
	if (*s == '.') {
		for (s++; *s >= '0' && *s <= '9' && unit; s++, unit /= 10)
			v += (uint32_t)(*s - '0') * unit;
	}
	if (*s || v == 0)
		return -EINVAL;
	*ret = v;
	return 0;
}

static int count_parse(const char *s, uint64_t *ret)
{
	char *end;

	if (*s < '0' || *s > '9')
		return -EINVAL;
	errno = 0;
	*ret = strtoull(s, &end, 10);
	return errno || *end || *ret == 0 ? -EINVAL : 0;
}

static int name_of(const struct opt_usage *u, const struct opt *o, const char *value,
		   const char *from)
{
	struct err err = { 0 };

	if (ident_check(value, o->kind == OPT_AGENT ? "agent" : "workspace", &err) < 0)
		return opts_wrong(u, "%s: '%s': %s", from, value, err.msg);
	*(const char **)o->to = value;
	return OPTS_DONE;
}

static int add_to_list(const struct opt_usage *u, const struct opt *o, const char *value)
{
	struct opt_list *l = o->to;

	if (l->n == OPTS_LIST_MAX)
		return opts_wrong(u, "--%s: at most %d times", o->name, OPTS_LIST_MAX);
	l->v[l->n++] = value;
	return OPTS_DONE;
}

/* A number with a unit of its own kind. */
static int measure(const struct opt_usage *u, const struct opt *o, const char *value)
{
	if (o->kind == OPT_DURATION &&
	    (clock_parse_duration(value, o->to) < 0 || *(int64_t *)o->to == 0))
		return opts_wrong(u, "--%s: '%s' is no duration (such as 30s, 5m, 1h30m)", o->name,
				  value);
	if (o->kind == OPT_SIZE && (size_parse(value, o->to) < 0 || *(uint64_t *)o->to == 0))
		return opts_wrong(u, "--%s: '%s' is no size (such as 512MiB, 1G)", o->name, value);
	if (o->kind == OPT_COUNT && count_parse(value, o->to) < 0)
		return opts_wrong(u, "--%s: '%s' is no number above 0", o->name, value);
	if (o->kind == OPT_CPUS && cpus_parse(value, o->to) < 0)
		return opts_wrong(u, "--%s: '%s' is no count of cpus (such as 2, 0.5)", o->name,
				  value);
	return OPTS_DONE;
}

static int take(const struct opt_usage *u, const struct opt *o, const char *value)
{
	char from[64];

	switch (o->kind) {
	case OPT_FLAG: *(bool *)o->to = true; break;
	case OPT_TEXT: *(const char **)o->to = value; break;
	case OPT_LIST: return add_to_list(u, o, value);
	case OPT_DURATION:
	case OPT_SIZE:
	case OPT_COUNT:
	case OPT_CPUS: return measure(u, o, value);
	case OPT_WORKSPACE:
	case OPT_AGENT:
		(void)snprintf(from, sizeof from, "--%s", o->name);
		return name_of(u, o, value, from);
	case OPT_END: break;
	}
	return OPTS_DONE;
}

/* A name that was not given: from the environment, or missed. */
static int name_missing(const struct opt_usage *u, const struct opt *o)
{
	const char *env = o->kind == OPT_WORKSPACE ? "GARTH_WORKSPACE" : "GARTH_AGENT";
	const char *value = getenv(env);

	if (value && *value)
		return name_of(u, o, value, env);
	if (o->needed)
		return opts_wrong(u, "-%c/--%s is needed, or %s", o->letter, o->name, env);
	return OPTS_DONE;
}

static int complete(const struct opt_usage *u)
{
	int r = OPTS_DONE;

	for (const struct opt *o = u->opts; o->kind != OPT_END && r == OPTS_DONE; o++) {
		if ((o->kind == OPT_WORKSPACE || o->kind == OPT_AGENT) && !*(const char **)o->to)
			r = name_missing(u, o);
		else if (o->kind == OPT_TEXT && o->needed && !*(const char **)o->to)
			r = opts_wrong(u, "--%s is needed", o->name);
	}
	return r;
}

/* The tables that getopt wants; the last is --help. */
struct getopt_tables {
	char letters[2 * OPTS_MAX + 8];
	struct option longs[OPTS_MAX + 2];
};

static unsigned tables(const struct opt_usage *u, struct getopt_tables *t)
{
	unsigned n = 0;
	char *l = t->letters;

	if (u->stop_at_first)
		*l++ = '+';
	*l++ = ':';
	for (const struct opt *o = u->opts; o->kind != OPT_END; o++, n++) {
		invariant(n < OPTS_MAX);
		t->longs[n] = (struct option){ .name = o->name,
					       .has_arg = o->kind == OPT_FLAG ? no_argument
									      : required_argument,
					       .val = o->letter ? o->letter : LONG_ONLY + (int)n };
		if (!o->letter)
			continue;
		*l++ = o->letter;
		if (o->kind != OPT_FLAG)
			*l++ = ':';
	}
	*l = 'h';
	t->longs[n] = (struct option){ .name = "help", .val = 'h' };
	return n;
}

static const struct opt *opt_of(const struct opt_usage *u, int c)
{
	int i = 0;

	for (const struct opt *o = u->opts; o->kind != OPT_END; o++, i++)
		if (c == (o->letter ? o->letter : LONG_ONLY + i))
			return o;
	return NULL;
}

/* What getopt could not make sense of. */
static int not_understood(const struct opt_usage *u, int c, char **argv)
{
	const struct opt *o = opt_of(u, optopt);

	if (c == ':' && o)
		return opts_wrong(u, "--%s needs a value", o->name);
	if (o && optopt >= LONG_ONLY)
		return opts_wrong(u, "--%s takes no value", o->name);
	if (optopt && optopt < LONG_ONLY && strncmp(argv[optind - 1], "--", 2) != 0)
		return opts_wrong(u, "unknown option '-%c'", optopt);
	return opts_wrong(u, "unknown option '%s'", argv[optind - 1]);
}

int opts_parse(const struct opt_usage *u, int argc, char **argv, char ***ret_args, int *ret_count)
{
	struct getopt_tables t = { .letters = "" };
	int c, r;

	(void)tables(u, &t);
	optind = 0; /* getopt starts anew, also where a command was dispatched to another */
	opterr = 0;
	while ((c = getopt_long(argc, argv, t.letters, t.longs, NULL)) != -1) {
		const struct opt *o;

		if (c == '?' || c == ':')
			return not_understood(u, c, argv);
		if (c == 'h' && !opt_of(u, 'h')) {
			help(u);
			return EXIT_OK;
		}
		o = opt_of(u, c);
		invariant(o);
		r = take(u, o, optarg);
		if (r != OPTS_DONE)
			return r;
	}
	r = complete(u);
	if (r != OPTS_DONE)
		return r;
	*ret_args = argv + optind;
	*ret_count = argc - optind;
	if (*ret_count < u->args_min)
		return opts_wrong(u, "too few arguments: garth %s %s", u->name, u->args);
	if (u->args_max >= 0 && *ret_count > u->args_max)
		return opts_wrong(u, "'%s' is too much: garth %s %s", (*ret_args)[u->args_max],
				  u->name, u->args);
	return OPTS_DONE;
}
