/* SPDX-License-Identifier: MIT */
/*
 * cli/cmd_lineage.c - garth lineage: where a file comes from, or what was made from it.
 */
#include <stdio.h>
#include <string.h>

#include "cli/addr.h"
#include "cli/cmd.h"
#include "cli/exit.h"
#include "cli/graph.h"
#include "cli/opts.h"
#include "cli/print.h"
#include "cli/sub.h"
#include "cli/zone_path.h"

struct lineage {
	const char *ws, *version;
	bool up, down, as_json, as_dot;
};

static int show(const json_t *j, const char *path, const struct lineage *l)
{
	struct graph g = { 0 };
	int r;

	if (l->as_json)
		return print_json(j);
	r = graph_init(&g, j, path, l->down);
	if (r == 0 && l->as_dot)
		graph_dot(&g, stdout);
	else if (r == 0)
		r = graph_tree(&g, stdout);
	graph_fini(&g);
	if (r < 0) {
		(void)fprintf(stderr, "garth lineage: %s\n",
			      r == -ENOMEM ? "no memory" : "the answer is no graph");
		return EXIT_FAILED;
	}
	if (json_is_true(json_object_get(j, "cut")))
		(void)fprintf(stderr, "garth lineage: there is more than one answer may have; ask "
				      "for a file on the way\n");
	return EXIT_OK;
}

static int check(const struct opt_usage *u, const struct lineage *l)
{
	if (l->up && l->down)
		return opts_wrong(u, "only one of --upstream and --downstream");
	if (l->as_json && l->as_dot)
		return opts_wrong(u, "only one of --json and --dot");
	return EXIT_OK;
}

int cmd_lineage(int argc, char **argv)
{
	struct lineage l = { 0 };
	const struct opt opts[] = {
		{ OPT_WORKSPACE, 'w', "workspace", "W", "the workspace", &l.ws, true },
		{ OPT_TEXT, 0, "version", "N", "this version; without it the newest", &l.version,
		  false },
		{ OPT_FLAG, 0, "upstream", NULL,
		  "where it comes from, down to inputs and code (default)", &l.up, false },
		{ OPT_FLAG, 0, "downstream", NULL, "what was made from it", &l.down, false },
		{ OPT_FLAG, 0, "json", NULL, "print {nodes, edges}", &l.as_json, false },
		{ OPT_FLAG, 0, "dot", NULL, "print a graph for graphviz", &l.as_dot, false },
		{ 0 },
	};
	const struct opt_usage u = { "lineage",
				     "-w W ZONE/PATH [--version N] [--downstream]",
				     "Show what a file was made from, by which steps and agents, "
				     "or what was made from it.",
				     NULL,
				     opts,
				     1,
				     1,
				     false };
	autojson j = NULL;
	char path[ZONE_PATH_SIZE];
	struct err err = { 0 };
	struct addr a;
	char **args;
	int n, r = opts_parse(&u, argc, argv, &args, &n);

	if (r != OPTS_DONE)
		return r;
	r = check(&u, &l);
	if (r != EXIT_OK)
		return r;
	if (zone_path(args[0], path, &err) < 0 || !*path)
		return opts_wrong(&u, "'%s': %s", args[0], *err.msg ? err.msg : "a file is needed");
	addr_begin(&a, l.ws, "/lineage");
	addr_arg(&a, "path", path);
	addr_arg(&a, "version", l.version);
	addr_arg(&a, "direction", l.down ? "downstream" : "upstream");
	r = client_once("GET", addr_str(&a), NULL, &j);
	return r == EXIT_OK ? print_done(show(j, path, &l)) : r;
}
