/* SPDX-License-Identifier: MIT */
/*
 * cli/main.c - `garth`: finds the command and runs it.
 * Not here: any command (cmd_*.c, up.c, down.c, doctor.c).
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/exit.h"
#include "cli/print.h"

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
};

static const struct command commands[] = {
	{ "up", cmd_up, "start the server" },
	{ "down", cmd_down, "stop the server" },
	{ "doctor", cmd_doctor, "check what garth needs of this machine" },
	{ "", NULL, "" },
	{ "init", cmd_init, "make a workspace and its agents" },
	{ "rm", cmd_rm, "delete a workspace" },
	{ "agent", cmd_agent, "add or list a workspace's agents" },
	{ "policy", cmd_policy, "set, show, check or explain a policy" },
	{ "key", cmd_key, "make, list or delete API keys" },
	{ "", NULL, "" },
	{ "put", cmd_put, "upload files" },
	{ "get", cmd_get, "download a file or folder, checking its hash" },
	{ "link", cmd_link, "make a signed URL for one version of an output" },
	{ "ls", cmd_ls, "list files, or the workspaces" },
	{ "", NULL, "" },
	{ "run", cmd_run, "run a program or code as an agent: one step" },
	{ "sandbox", cmd_sandbox, "make, list or end live sandboxes" },
	{ "ps", cmd_ps, "list steps that run" },
	{ "kill", cmd_kill, "end a step" },
	{ "logs", cmd_logs, "show a step's output" },
	{ "", NULL, "" },
	{ "steps", cmd_steps, "list a workspace's steps" },
	{ "step", cmd_step, "show what one step did" },
	{ "lineage", cmd_lineage, "show what a file was made from, or into" },
	{ "violations", cmd_violations, "list what was refused" },
	{ "audit", cmd_audit, "verify or export the record" },
};

static void help(FILE *f)
{
	(void)fputs("Usage: garth COMMAND [ARG]...\n\nA shared workspace for AI agents: rules that "
		    "the filesystem enforces, a sandbox "
		    "for their code,\nand a record of who made what from what.\n\nCommands:\n",
		    f);
	for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
		if (commands[i].run)
			(void)fprintf(f, "  %-11s %s\n", commands[i].name, commands[i].help);
		else
			(void)fputc('\n', f);
	}
	(void)fputs("\n'garth COMMAND --help' says more. Environment: GARTH_URL (default "
		    "http://127.0.0.1:7420),\n"
		    "GARTH_API_KEY (else admin.key of GARTH_DATA, default /var/lib/garth), "
		    "GARTH_WORKSPACE, GARTH_AGENT,\n"
		    "NO_COLOR.\n\n"
		    "Exit codes: 0 done, 1 failed, 2 usage, 3 not found, 4 refused, 5 conflict, 6 "
		    "busy, 7 no server.\n"
		    "'garth run' gives the program's own.\n",
		    f);
}

#define TYPED_MAX 16 /* bytes of a name that is worth a guess */
#define FAR 3        /* edits that make another word of it */

/* How many bytes must be put in, left out, changed, or swapped with their neighbour? */
static unsigned edits(const char *a, const char *b)
{
	unsigned d[TYPED_MAX + 1][TYPED_MAX + 1] = { { 0 } };
	size_t n = strlen(a), m = strlen(b);

	if (n > TYPED_MAX || m > TYPED_MAX)
		return FAR;
	for (size_t i = 0; i <= n; i++)
		for (size_t j = 0; j <= m; j++) {
			unsigned best = (unsigned)(i + j), other;

			if (i == 0 || j == 0) {
				d[i][j] = best;
				continue;
			}
			best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			other = 1 + (d[i - 1][j] < d[i][j - 1] ? d[i - 1][j] : d[i][j - 1]);
			best = other < best ? other : best;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    d[i - 2][j - 2] + 1 < best)
				best = d[i - 2][j - 2] + 1;
			d[i][j] = best;
		}
	return d[n][m];
}

static int no_such(const char *typed)
{
	const char *near = NULL;
	unsigned least = strlen(typed) > 3 ? FAR : FAR - 1;

	for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
		unsigned n = commands[i].run ? edits(typed, commands[i].name) : FAR;

		/* rm is nothing to be talked into. */
		if (n < least && commands[i].run != cmd_rm) {
			least = n;
			near = commands[i].name;
		}
	}
	(void)fputs("garth: there is no command '", stderr);
	print_safe(stderr, typed);
	if (near)
		(void)fprintf(stderr, "'; did you mean '%s'?\n", near);
	else
		(void)fputs("'\n", stderr);
	(void)fputs("Try 'garth --help'.\n", stderr);
	return EXIT_USAGE;
}

/* A command that has said it is done has also written what it printed, its --help too. */
static int run(const struct command *c, int argc, char **argv)
{
	int code = c->run(argc, argv);

	return code == EXIT_OK ? print_done(code) : code;
}

int main(int argc, char **argv)
{
	static char help_arg[] = "--help";

	if (argc < 2) {
		help(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
		(void)puts("garth " GARTH_VERSION);
		return print_done(EXIT_OK);
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "help") == 0) {
		if (argc == 2) {
			help(stdout);
			return print_done(EXIT_OK);
		}
		argv[1] = argv[2]; /* garth help COMMAND */
		argv[2] = help_arg;
		argc = 3;
	}
	for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
		if (commands[i].run && strcmp(argv[1], commands[i].name) == 0)
			return run(&commands[i], argc - 1, argv + 1);
	return no_such(argv[1]);
}
