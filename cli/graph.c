/* SPDX-License-Identifier: MIT */
/*
 * cli/graph.c - a lineage answer as a graph.
 */
#include "cli/graph.h"

#include <stdlib.h>
#include <string.h>

#include "cli/print.h"
#include "cli/sub.h"

#define SHORT_SHA 12
#define INDENT_MAX 40 /* levels; deeper ones are not moved further to the right */

struct graph_id {
	char text[96];
	size_t node;
};

/* Ids may be text or numbers. */
static bool id_text(const json_t *id, char out[sizeof((struct graph_id *)NULL)->text])
{
	size_t size = sizeof((struct graph_id *)NULL)->text;

	if (json_is_integer(id))
		(void)snprintf(out, size, "%lld", (long long)json_integer_value(id));
	else if (json_is_string(id) && json_string_length(id) < size)
		(void)snprintf(out, size, "%s", json_string_value(id));
	else
		return false;
	return true;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct graph_id *)a)->text, ((const struct graph_id *)b)->text);
}

static int by_from(const void *a, const void *b)
{
	const struct graph_edge *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

static const char *kind_of(const json_t *j)
{
	const char *kind = field_text(j, "kind");

	return kind ? kind : "";
}

static int take_nodes(struct graph *g, const char *path)
{
	bool found = false;

	g->ids = calloc(g->node_count + 1, sizeof *g->ids);
	if (!g->ids)
		return -ENOMEM;
	for (size_t i = 0; i < g->node_count; i++) {
		const json_t *n = json_array_get(g->nodes, i);
		const char *own = field_text(n, "path");

		if (!id_text(json_object_get(n, "id"), g->ids[i].text))
			return -EBADMSG;
		g->ids[i].node = i;
		if (!found && own && strcmp(own, path) == 0) { /* the first of that path */
			g->root = i;
			found = true;
		}
	}
	qsort(g->ids, g->node_count, sizeof *g->ids, by_text);
	return 0;
}

static int node_of(const struct graph *g, const json_t *id, size_t *ret)
{
	struct graph_id key = { .node = 0 };
	const struct graph_id *at;

	if (!id_text(id, key.text))
		return -EBADMSG;
	at = bsearch(&key, g->ids, g->node_count, sizeof key, by_text);
	if (!at)
		return -EBADMSG;
	*ret = at->node;
	return 0;
}

static int take_edges(struct graph *g, const json_t *edges)
{
	g->edge_count = json_array_size(edges);
	g->edges = calloc(g->edge_count + 1, sizeof *g->edges);
	if (!g->edges)
		return -ENOMEM;
	for (size_t i = 0; i < g->edge_count; i++) {
		const json_t *e = json_array_get(edges, i);
		bool turn = g->downstream && strcmp(kind_of(e), "associated") !=
						     0; /* whose step it is, is told both ways */
		struct graph_edge *to = &g->edges[i];

		if (node_of(g, json_object_get(e, turn ? "to" : "from"), &to->from) < 0 ||
		    node_of(g, json_object_get(e, turn ? "from" : "to"), &to->to) < 0)
			return -EBADMSG;
		to->kind = kind_of(e);
		to->open = json_is_true(json_object_get(e, "open"));
	}
	qsort(g->edges, g->edge_count, sizeof *g->edges, by_from);
	return 0;
}

int graph_init(struct graph *g, const json_t *answer, const char *path, bool downstream)
{
	const json_t *edges = json_object_get(answer, "edges");
	int r;

	*g = (struct graph){ .nodes = json_object_get(answer, "nodes"), .downstream = downstream };
	if (!json_is_array(g->nodes) || !json_is_array(edges) || json_array_size(g->nodes) == 0)
		return -EBADMSG;
	g->node_count = json_array_size(g->nodes);
	r = take_nodes(g, path);
	return r < 0 ? r : take_edges(g, edges);
}

void graph_fini(struct graph *g)
{
	free(g->ids);
	free(g->edges);
	*g = (struct graph){ .nodes = NULL };
}

static void print_command(const json_t *n, FILE *f)
{
	const json_t *command = json_object_get(n, "command");
	const char *language = field_text(n, "language"), *code = field_text(n, "code_sha256");
	char *text;

	if (json_is_array(command) && json_array_size(command)) {
		text = json_dumps(command, 0);
		(void)fputs("  ", f);
		print_safe(f, text ? text : "");
		free(text);
	}
	if (language && *language)
		(void)fprintf(f, "  %s", language);
	if (code)
		(void)fprintf(f, " code %.*s", SHORT_SHA, code);
}

static void print_node(const json_t *n, FILE *f)
{
	char *path = field_path(n, "path");
	const char *sha = field_text(n, "sha256"), *step = field_text(n, "step"),
		   *agent = field_text(n, "agent");

	if (path) {
		print_on(f, COLOR_BOLD);
		print_safe(f, path);
		print_off(f, COLOR_BOLD);
		(void)fprintf(f, "  version %lld", (long long)field_int(n, "version"));
		if (sha)
			(void)fprintf(f, "  sha256 %s", sha);
	} else if (strcmp(kind_of(n), "version") == 0) {
		(void)fputs("a file that this key may not see", f);
	} else if (strcmp(kind_of(n), "step") == 0) {
		(void)fprintf(f, "step %s", step ? step : "-");
		if (agent) {
			(void)fputs(" by ", f);
			print_safe(f, agent);
		}
		print_command(n, f);
	} else {
		(void)fputs("agent ", f);
		print_safe(f, agent ? agent : field_text(n, "name") ? field_text(n, "name") : "-");
	}
	free(path);
}

struct visit {
	size_t node, depth;
	const struct graph_edge *by; /* NULL: the root */
};

static size_t first_edge(const struct graph *g, size_t from)
{
	size_t lo = 0, hi = g->edge_count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (g->edges[mid].from < from)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool is_agent(const struct graph *g, size_t node)
{
	return strcmp(kind_of(json_array_get(g->nodes, node)), "agent") == 0;
}

/* What the edge says, read along the walk. */
static const char *word(const struct graph *g, const char *kind)
{
	static const struct {
		const char *kind, *up, *down;
	} words[] = { { "generated", "made by", "made" },
		      { "used", "read", "read by" },
		      { "derived", "renamed or linked from", "renamed or linked to" } };

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (strcmp(kind, words[i].kind) == 0)
			return g->downstream ? words[i].down : words[i].up;
	return kind;
}

static void print_visit(const struct graph *g, const struct visit *v, bool again, FILE *f)
{
	for (size_t i = 0; i < v->depth && i < INDENT_MAX; i++)
		(void)fputs("  ", f);
	if (v->by)
		(void)fprintf(f, "%s ", word(g, v->by->kind));
	print_node(json_array_get(g->nodes, v->node), f);
	if (v->by && v->by->open)
		(void)fputs("  (while it was written)", f);
	if (again)
		(void)fputs("  (above)", f);
	(void)fputc('\n', f);
}

/* With a stack of its own: a chain may be as long as a workspace is old. Each edge is pushed once, since each node is opened once. */
int graph_tree(const struct graph *g, FILE *f)
{
	struct visit *stack = calloc(g->edge_count + 1, sizeof *stack);
	bool *opened = calloc(g->node_count, sizeof *opened);
	size_t top = 0;
	int r = 0;

	if (!stack || !opened) {
		r = -ENOMEM;
		goto out;
	}
	stack[top++] = (struct visit){ .node = g->root };
	while (top) {
		struct visit v = stack[--top];
		size_t first = first_edge(g, v.node), end = first;
		bool again = opened[v.node];

		print_visit(g, &v, again, f);
		if (again)
			continue;
		opened[v.node] = true;
		while (end < g->edge_count && g->edges[end].from == v.node)
			end++;
		for (size_t i = end; i-- > first;)
			if (!is_agent(g, g->edges[i].to)) /* a step's line names its agent */
				stack[top++] =
					(struct visit){ g->edges[i].to, v.depth + 1, &g->edges[i] };
	}
out:
	free(stack);
	free(opened);
	return r;
}

/* Text within a quoted string of DOT. */
static void dot_text(const char *text, FILE *f)
{
	char *safe = print_safe_dup(text);

	for (const char *p = safe ? safe : ""; *p; p++) {
		if (*p == '"' || *p == '\\')
			(void)fputc('\\', f);
		(void)fputc(*p, f);
	}
	free(safe);
}

static void dot_node(const json_t *n, size_t i, FILE *f)
{
	char *path = field_path(n, "path");
	const char *sha = field_text(n, "sha256"), *step = field_text(n, "step"),
		   *agent = field_text(n, "agent");

	(void)fprintf(f, "  n%zu [", i);
	if (path) {
		(void)fputs("shape=note, label=\"", f);
		dot_text(path, f);
		(void)fprintf(f, "\\nversion %lld\\n%.*s", (long long)field_int(n, "version"),
			      SHORT_SHA, sha ? sha : "");
	} else if (strcmp(kind_of(n), "version") == 0) {
		(void)fputs("shape=note, label=\"(hidden)", f);
	} else if (strcmp(kind_of(n), "step") == 0) {
		(void)fputs("shape=box, label=\"", f);
		dot_text(step ? step : "-", f);
	} else {
		(void)fputs("shape=ellipse, label=\"", f);
		dot_text(agent ? agent : field_text(n, "name") ? field_text(n, "name") : "-", f);
	}
	(void)fputs("\"];\n", f);
	free(path);
}

void graph_dot(const struct graph *g, FILE *f)
{
	(void)fputs("digraph lineage {\n  rankdir=BT;\n", f);
	for (size_t i = 0; i < g->node_count; i++)
		dot_node(json_array_get(g->nodes, i), i, f);
	for (size_t i = 0; i < g->edge_count; i++) {
		const struct graph_edge *e = &g->edges[i];
		bool turn = g->downstream && strcmp(e->kind, "associated") != 0;

		(void)fprintf(f, "  n%zu -> n%zu [label=\"", turn ? e->to : e->from,
			      turn ? e->from : e->to);
		dot_text(e->kind, f);
		(void)fputs("\"];\n", f);
	}
	(void)fputs("}\n", f);
}
