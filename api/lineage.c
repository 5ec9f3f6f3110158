/* SPDX-License-Identifier: MIT */
/*
 * api/lineage.c - where a version comes from, or what was made from it, as nodes and edges:
 *   nodes {id, kind: version, step or agent, ...}  edges {kind: used, generated, associated or derived, from, to}
 * An agent's key sees paths that its policy lets it read; of others the node says so and holds no path.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/handlers.h"
#include "api/jsonx.h"
#include "api/reqws.h"
#include "api/view.h"
#include "core/id.h"

#define NODE_ID_SIZE 32

struct graph {
	struct req *r;
	struct ws *ws;
	json_t *nodes, *edges;
};

static void node_id(enum idx_node_kind kind, uint64_t id, char out[NODE_ID_SIZE])
{
	char text[ID_TEXT_SIZE];

	if (kind == IDX_NODE_STEP) {
		id_text(ID_STEP, id, text);
		(void)snprintf(out, NODE_ID_SIZE, "%s", text);
	} else {
		(void)snprintf(out, NODE_ID_SIZE, "%s%" PRIu64,
			       kind == IDX_NODE_AGENT ? "a_" : "v_", id);
	}
}

static json_t *version_node(const struct graph *g, const struct idx_version *v)
{
	if (v == NULL)
		return json_object();
	if (!req_may_read(g->r, g->ws, v->path, NULL))
		return json_pack("{s:n, s:b}", "path", "hidden", 1);
	return view_version(v);
}

static json_t *step_node(const struct graph *g, const struct idx_step *s)
{
	static const char *const kept[] = { "step",    "agent",     "job",         "kind",
					    "command", "language",  "code_sha256", "state",
					    "reason",  "exit_code", "started_at" };
	json_t *all, *j = json_object();

	if (s == NULL)
		return j;
	all = view_step_row(g->ws, s, false);
	for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
		(void)json_object_set(j, kept[i], json_object_get(all, kept[i]));
	json_decref(all);
	return j;
}

static int take_node(void *ctx, const struct idx_node *n)
{
	static const char *const kinds[] = { "version", "step", "agent" };
	struct graph *g = ctx;
	char id[NODE_ID_SIZE];
	json_t *j;

	node_id(n->kind, n->id, id);
	if (n->kind == IDX_NODE_VERSION)
		j = version_node(g, n->version);
	else if (n->kind == IDX_NODE_STEP)
		j = step_node(g, n->step);
	else
		j = json_pack("{s:o}", "agent", jx_str(n->agent_name));
	(void)json_object_set_new(j, "id", json_string(id));
	(void)json_object_set_new(j, "kind", json_string(kinds[n->kind]));
	if (n->kind == IDX_NODE_STEP && n->step != NULL)
		(void)json_object_set_new(
			j, "step_kind",
			json_string(ev_step_kind_text((enum ev_step_kind)n->step->kind)));
	return json_array_append_new(g->nodes, j) < 0 ? -ENOMEM : 0;
}

static int take_edge(void *ctx, const struct idx_edge *e)
{
	static const struct {
		const char *name;
		enum idx_node_kind from, to;
	} kinds[] = { { "used", IDX_NODE_STEP, IDX_NODE_VERSION },
		      { "generated", IDX_NODE_VERSION, IDX_NODE_STEP },
		      { "associated", IDX_NODE_STEP, IDX_NODE_AGENT },
		      { "derived", IDX_NODE_VERSION, IDX_NODE_VERSION } };
	struct graph *g = ctx;
	char from[NODE_ID_SIZE], to[NODE_ID_SIZE];
	json_t *j;

	node_id(kinds[e->kind].from, e->from, from);
	node_id(kinds[e->kind].to, e->to, to);
	j = json_pack("{s:s, s:s, s:s}", "kind", kinds[e->kind].name, "from", from, "to", to);
	if (j != NULL && e->open)
		(void)json_object_set_new(j, "open", json_true());
	return json_array_append_new(g->edges, j) < 0 ? -ENOMEM : 0;
}

static int take_number(void *ctx, const struct idx_version *v)
{
	*(uint64_t *)ctx = v->n;
	return 1;
}

/* ?version=: a number, or a hash. 0, or it has been answered. */
static int version_arg(struct req *r, struct ws *ws, struct bytes path, uint64_t *ret)
{
	const char *text = req_arg(r, "version");
	struct idx_filter f = { .path = path, .limit = 1 };
	struct sha256 sha;

	if (text == NULL)
		return 0;
	if (strncmp(text, "sha256:", 7) == 0)
		text += 7;
	if (sha256_parse(text, &sha) < 0)
		return req_number(r, "version", 1, UINT64_MAX, ret);
	f.sha = &sha;
	if (idx_versions(ws->reader, &f, take_number, ret) < 0 || *ret == 0) {
		req_fail(r, -ENOENT, "no such version");
		return -ENOENT;
	}
	return 0;
}

static void lineage(struct req *r, struct ws *ws)
{
	const char *dir = req_arg(r, "direction");
	bool down = dir != NULL && strcmp(dir, "downstream") == 0, cut = false, given;
	struct graph g = { .r = r, .ws = ws };
	uint64_t n = 0;
	autobuf path;
	int rc;

	buf_init(&path, PATH_LEN_MAX);
	if (dir != NULL && !down && strcmp(dir, "upstream") != 0) {
		req_fail(r, -EINVAL, "'direction' must be upstream or downstream");
		return;
	}
	if (req_path(r, &path, &given) < 0)
		return;
	if (!given) {
		req_fail(r, -EINVAL, "'path' is missing");
		return;
	}
	if (version_arg(r, ws, buf_view(&path), &n) < 0)
		return;
	if (!req_may_read(r, ws, buf_view(&path), NULL)) {
		req_fail(r, -EACCES, "'%.300s' is not for agent '%s'", buf_str(&path),
			 r->who.agent);
		return;
	}
	g.nodes = json_array();
	g.edges = json_array();
	rc = idx_lineage(ws->reader, buf_view(&path), n, down, take_node, take_edge, &g, &cut);
	if (rc < 0) {
		json_decref(g.nodes);
		json_decref(g.edges);
		req_fail(r, rc,
			 rc == -ENOENT ? "the record has no such version of '%.300s'"
				       : "the lineage of '%.300s' can't be read",
			 buf_str(&path));
		return;
	}
	req_json(r, 200,
		 json_pack("{s:o, s:s, s:o, s:o, s:b}", "path", jx_str(buf_view(&path)),
			   "direction", down ? "downstream" : "upstream", "nodes", g.nodes, "edges",
			   g.edges, "cut", cut));
}

void h_lineage(struct req *r)
{
	with_ws(r, lineage);
}
