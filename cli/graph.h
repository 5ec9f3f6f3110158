/* SPDX-License-Identifier: MIT */
/*
 * cli/graph.h - a lineage answer as a graph, and the ways of showing it.
 * Not here: asking for it (cli/cmd_lineage.c).
 * Memory: borrows the JSON.
 */
#ifndef GARTH_CLI_GRAPH_H
#define GARTH_CLI_GRAPH_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "core/err.h"

struct graph_id; /* an id and its node, sorted */

struct graph_edge {
	size_t from, to; /* as it is walked: away from the file that was asked for */
	const char *kind;
	bool open; /* used while it was being written */
};

struct graph {
	const json_t *nodes;
	size_t node_count, edge_count, root;
	struct graph_id *ids;
	struct graph_edge *edges; /* sorted by from */
	bool downstream;
};

/* 0, -EBADMSG not what a lineage answer looks like, -ENOMEM. Then too graph_fini is fine. @path what was asked for. */
must_check int graph_init(struct graph *g, const json_t *answer, const char *path, bool downstream);
void graph_fini(struct graph *g); /* zeroed is fine */

/* As a tree, indented, from the file that was asked for; what comes again is named and not opened again. 0 or -ENOMEM. */
must_check int graph_tree(const struct graph *g, FILE *f);
/* For graphviz. */
void graph_dot(const struct graph *g, FILE *f);

#endif
