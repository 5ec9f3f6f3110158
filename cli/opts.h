/* SPDX-License-Identifier: MIT */
/*
 * cli/opts.h - the options of one command as a table: parsed by getopt_long, checked, and printed by --help from the same rows.
 * Not here: which commands there are (cli/main.c).
 */
#ifndef GARTH_CLI_OPTS_H
#define GARTH_CLI_OPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"

#define OPTS_MAX 32
#define OPTS_LIST_MAX 256

enum opt_kind {
	OPT_END = 0,   /* the last row, zeroed */
	OPT_FLAG,      /* bool */
	OPT_TEXT,      /* const char * */
	OPT_LIST,      /* struct opt_list: may come several times */
	OPT_DURATION,  /* int64_t, ns; > 0 */
	OPT_SIZE,      /* uint64_t, bytes; > 0 */
	OPT_COUNT,     /* uint64_t; > 0 */
	OPT_CPUS,      /* uint32_t, thousandths; > 0 */
	OPT_WORKSPACE, /* const char *: a valid name; GARTH_WORKSPACE where it is not given */
	OPT_AGENT,     /* const char *: a valid name; GARTH_AGENT where it is not given */
};

struct opt_list {
	const char *v[OPTS_LIST_MAX];
	unsigned n;
};

struct opt {
	enum opt_kind kind;
	char letter;      /* 0: only the long form */
	const char *name; /* without the dashes */
	const char *arg;  /* what --help calls the value; NULL for a flag */
	const char *help;
	void *to;
	bool needed; /* OPT_WORKSPACE, OPT_AGENT, OPT_TEXT: an error where it is missing */
};

struct opt_usage {
	const char *name; /* "agent add": after "garth" */
	const char *args; /* "-w W A" */
	const char *what; /* a paragraph */
	const char *more; /* after the options; NULL */
	const struct opt *opts;
	int args_min, args_max; /* positional arguments; max -1: any number */
	bool stop_at_first; /* options end at the first argument: the rest belongs to a program */
};

#define OPTS_DONE (-1) /* all is parsed: go on */

/*
 * Parse. OPTS_DONE, or the exit code where there is nothing more to do: EXIT_OK after --help, EXIT_USAGE after a sentence on stderr that
 * names the argument. *ret_args is the first positional argument, *ret_count how many there are.
 */
must_check int opts_parse(const struct opt_usage *u, int argc, char **argv, char ***ret_args,
			  int *ret_count);

/* "garth NAME: sentence", and where help is. Gives EXIT_USAGE. */
__attribute__((format(printf, 2, 3))) int opts_wrong(const struct opt_usage *u, const char *fmt,
						     ...);

#endif
