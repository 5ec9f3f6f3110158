/* SPDX-License-Identifier: MIT */
/*
 * index/lineage.c - where a version comes from, and what was made from it: a walk, breadth first, over versions and steps.
 *
 * A step counts in part: upstream, of what a step used only what it used before it cut the version counts; downstream, of what it made
 * only what it cut after it used the version. So a step may be met several times, each time with a wider part, and `number` of its node
 * says how far it was walked.
 * Where garth could not tell which of several open steps it was, each of them is a node: all of them named, none guessed.
 * Not here: drawing it (api/, cli/).
 */
#include <stdlib.h>

#include "core/pack.h"
#include "index/reader.h"
#include "index/seen.h"

#define LINEAGE_EDGES (4u * IDX_LINEAGE_NODES)
#define LINEAGE_AGENTS 64u /* room for agents, who come along with steps: there are at most 33 */
#define NEVER ((uint64_t)INT64_MAX)

struct todo {
	enum idx_node_kind kind;
	uint64_t id;
	uint64_t event; /* steps: up to where (upstream), from where (downstream) */
};

struct walk {
	struct idx_reader *r;
	bool downstream;
	int (*node)(void *, const struct idx_node *);
	int (*edge)(void *, const struct idx_edge *);
	void *ctx;
	struct seen nodes, edges;
	struct todo *todo; /* owned */
	size_t todo_len, todo_cap;
	bool cut;
	int told; /* a callback's answer that ends the walk */
};

static int push(struct walk *w, enum idx_node_kind kind, uint64_t id, uint64_t event)
{
	if (w->todo_len == w->todo_cap) {
		size_t cap = w->todo_cap ? w->todo_cap * 2 : 64;
		struct todo *more = reallocarray(w->todo, cap, sizeof *more);

		if (!more)
			return -ENOMEM;
		w->todo = more;
		w->todo_cap = cap;
	}
	w->todo[w->todo_len++] = (struct todo){ kind, id, event };
	return 0;
}

static struct seen_key node_key(enum idx_node_kind kind, uint64_t id)
{
	return (struct seen_key){ .a = id, .kind = (uint8_t)kind };
}

static int tell(struct walk *w, const struct idx_node *n)
{
	w->told = w->node(w->ctx, n);
	return w->told < 0 ? w->told : 1;
}

/* 1 told, 0 the record doesn't know it, or the error. */
static int tell_version(struct walk *w, uint64_t id)
{
	struct stmt s = stmt_begin(&w->r->db, IDX_VERSION_ONE);
	struct idx_version v;
	int rc;

	stmt_u64(&s, id);
	rc = stmt_row(&w->r->db, &s, NULL);
	if (rc == 1) {
		query_version_row(&s, &v);
		rc = tell(w, &(struct idx_node){ .kind = IDX_NODE_VERSION,
						 .id = id,
						 .version = &v,
						 .agent_name = v.agent_name });
	}
	stmt_end(&s);
	return rc;
}

static int add_edge(struct walk *w, enum idx_edge_kind kind, uint64_t from, uint64_t to, bool open)
{
	int rc;

	if (w->told)
		return 0;
	rc = seen_put(&w->edges, (struct seen_key){ from, to, (uint8_t)kind });
	if (rc == -EFBIG) {
		w->cut = true;
		return 0;
	}
	if (rc <= 0)
		return rc;
	w->told = w->edge(w->ctx, &(struct idx_edge){ kind, from, to, open });
	return w->told < 0 ? w->told : 0;
}

/* The agent of a step, told once, and the edge to it. */
static int tell_agent(struct walk *w, const struct idx_step *step)
{
	int rc;

	if (step->agent == EV_NOBODY)
		return 0;
	rc = seen_put(&w->nodes, node_key(IDX_NODE_AGENT, step->agent));
	if (rc == -EFBIG) {
		w->cut = true;
		return 0;
	}
	if (rc == 1)
		rc = tell(w, &(struct idx_node){ .kind = IDX_NODE_AGENT,
						 .id = step->agent,
						 .agent_name = step->agent_name });
	return rc < 0 ? rc : add_edge(w, IDX_EDGE_ASSOCIATED, step->step, step->agent, false);
}

/* As tell_version; its agent comes along. */
static int tell_step(struct walk *w, uint64_t id)
{
	const struct idx_filter f = { .step = id };
	const struct query_filter q = { .f = &f };
	struct stmt s = query_begin(w->r, IDX_STEP_ONE, &q);
	struct idx_step step;
	int rc = stmt_row(&w->r->db, &s, NULL);

	if (rc == 1) {
		query_step_row(&s, &step);
		rc = tell(w, &(struct idx_node){ .kind = IDX_NODE_STEP,
						 .id = id,
						 .step = &step,
						 .agent_name = step.agent_name });
		if (rc == 1 && w->told == 0) {
			int agent = tell_agent(w, &step);

			rc = agent < 0 ? agent : 1;
		}
	}
	stmt_end(&s);
	return rc;
}

/* Meet a node: 1 it is told (now or before), 0 it can't be (unknown, or one too many). */
static int meet(struct walk *w, enum idx_node_kind kind, uint64_t id)
{
	int rc;

	if (id == 0 || w->told)
		return 0;
	if (seen_number(&w->nodes, node_key(kind, id)))
		return 1;
	if (w->nodes.used >= IDX_LINEAGE_NODES - LINEAGE_AGENTS) {
		w->cut = true;
		return 0;
	}
	rc = kind == IDX_NODE_STEP ? tell_step(w, id) : tell_version(w, id);
	if (rc <= 0)
		return rc;
	rc = seen_put(&w->nodes, node_key(kind, id));
	/* downstream a step is walked from the end backwards */
	if (rc == 1 && w->downstream && kind == IDX_NODE_STEP)
		*seen_number(&w->nodes, node_key(kind, id)) = NEVER;
	if (rc == 1 && kind == IDX_NODE_VERSION)
		rc = push(w, kind, id, 0);
	return rc < 0 ? rc : 1;
}

/* Version and step are joined by an edge; `event` bounds what of the step counts. */
static int join_step(struct walk *w, uint64_t version, uint64_t step, uint64_t event, bool open)
{
	int rc = meet(w, IDX_NODE_STEP, step);

	if (rc <= 0)
		return rc;
	rc = w->downstream ? add_edge(w, IDX_EDGE_USED, step, version, open)
			   : add_edge(w, IDX_EDGE_GENERATED, version, step, false);
	return rc < 0 ? rc : push(w, IDX_NODE_STEP, step, event);
}

/* The same for the one step, or each of those that it may have been. */
static int join_steps(struct walk *w, uint64_t version, uint64_t step, struct bytes steps,
		      uint64_t event, bool open)
{
	struct unpack u;
	int rc = join_step(w, version, step, event, open);

	unpack_begin(&u, steps);
	while (rc == 0 && u.len >= sizeof(uint64_t))
		rc = join_step(w, version, unpack_u64(&u), event, open);
	return rc;
}

static int version_upstream(struct walk *w, uint64_t id)
{
	struct stmt s = stmt_begin(&w->r->db, IDX_VERSION_MADE);
	uint64_t source = 0;
	int rc;

	stmt_u64(&s, id);
	rc = stmt_row(&w->r->db, &s, NULL);
	if (rc == 1) {
		source = stmt_col_u64(&s, 1);
		rc = join_steps(w, id, stmt_col_u64(&s, 0), stmt_col_bytes(&s, 3),
				stmt_col_u64(&s, 2), false);
	}
	stmt_end(&s);
	if (rc < 0 || source == 0)
		return rc;
	rc = meet(w, IDX_NODE_VERSION, source);
	return rc <= 0 ? rc : add_edge(w, IDX_EDGE_DERIVED, id, source, false);
}

static int version_downstream(struct walk *w, uint64_t id)
{
	struct stmt s = stmt_begin(&w->r->db, IDX_VERSION_USED);
	int rc = 0;

	stmt_u64(&s, id);
	while (w->told == 0 && (rc = stmt_row(&w->r->db, &s, NULL)) > 0) {
		rc = join_steps(w, id, stmt_col_u64(&s, 0), stmt_col_bytes(&s, 3),
				stmt_col_u64(&s, 1), stmt_col_u64(&s, 2) != 0);
		if (rc < 0)
			break;
	}
	stmt_end(&s);
	if (w->told || rc < 0)
		return w->told ? 0 : rc;
	s = stmt_begin(&w->r->db, IDX_VERSION_COPIES);
	stmt_u64(&s, id);
	while (w->told == 0 && (rc = stmt_row(&w->r->db, &s, NULL)) > 0) {
		uint64_t copy = stmt_col_u64(&s, 0);

		rc = meet(w, IDX_NODE_VERSION, copy);
		if (rc > 0)
			rc = add_edge(w, IDX_EDGE_DERIVED, copy, id, false);
		if (rc < 0)
			break;
	}
	stmt_end(&s);
	return w->told ? 0 : rc;
}

/* The part of a step that wasn't walked yet: events after *low up to *high. False: none. */
static bool step_part(struct walk *w, const struct todo *t, uint64_t *low, uint64_t *high)
{
	uint64_t *walked = seen_number(&w->nodes, node_key(IDX_NODE_STEP, t->id));

	if (!walked || (w->downstream ? t->event >= *walked : t->event <= *walked))
		return false;
	*low = w->downstream ? t->event : *walked;
	*high = w->downstream ? *walked : t->event;
	*walked = t->event;
	return true;
}

static int walk_step(struct walk *w, const struct todo *t)
{
	struct stmt s;
	uint64_t low = 0;
	uint64_t high = 0;
	int rc = 0;

	if (!step_part(w, t, &low, &high))
		return 0;
	s = stmt_begin(&w->r->db, w->downstream ? IDX_STEP_MADE : IDX_STEP_USED);
	stmt_u64(&s, t->id);
	stmt_u64(&s, low);
	stmt_u64(&s, high);
	while (w->told == 0 && (rc = stmt_row(&w->r->db, &s, NULL)) > 0) {
		uint64_t version = stmt_col_u64(&s, 0);

		rc = meet(w, IDX_NODE_VERSION, version);
		if (rc > 0 && w->downstream)
			rc = add_edge(w, IDX_EDGE_GENERATED, version, t->id, false);
		else if (rc > 0)
			rc = add_edge(w, IDX_EDGE_USED, t->id, version, stmt_col_u64(&s, 1) != 0);
		if (rc < 0)
			break;
	}
	stmt_end(&s);
	return w->told ? 0 : rc;
}

static int walk_all(struct walk *w, uint64_t start)
{
	int rc = meet(w, IDX_NODE_VERSION, start);

	if (rc == 0 && w->told == 0)
		return -ENOENT;
	for (size_t i = 0; rc >= 0 && w->told == 0 && i < w->todo_len; i++) {
		const struct todo t = w->todo[i]; /* a copy: push may move the array */

		if (t.kind == IDX_NODE_STEP)
			rc = walk_step(w, &t);
		else
			rc = w->downstream ? version_downstream(w, t.id)
					   : version_upstream(w, t.id);
	}
	return w->told < 0 ? w->told : rc < 0 ? rc : 0;
}

static int one_u64(struct idx_reader *r, struct stmt *s, uint64_t *ret)
{
	int rc = stmt_row(&r->db, s, NULL);

	if (rc == 1)
		*ret = stmt_col_u64(s, 0);
	stmt_end(s);
	return rc;
}

/* Which version people mean by path and n. */
static int resolve(struct idx_reader *r, struct bytes path, uint64_t n, uint64_t *ret)
{
	struct stmt s = stmt_begin(&r->db, n ? IDX_NAME_AT : IDX_LIVE_AT);
	int rc;

	stmt_blob(&s, path);
	if (n)
		stmt_u64(&s, n);
	rc = one_u64(r, &s, ret);
	if (rc == 0 && n == 0) { /* a path that is gone */
		s = stmt_begin(&r->db, IDX_NAME_NEWEST);
		stmt_blob(&s, path);
		rc = one_u64(r, &s, ret);
	}
	return rc < 0 ? rc : rc == 0 ? -ENOENT : 0;
}

int idx_lineage(struct idx_reader *r, struct bytes path, uint64_t n, bool downstream,
		int (*node)(void *, const struct idx_node *),
		int (*edge)(void *, const struct idx_edge *), void *ctx, bool *ret_cut)
{
	struct walk w = {
		.r = r, .downstream = downstream, .node = node, .edge = edge, .ctx = ctx
	};
	uint64_t start = 0;
	struct stmt tx = stmt_begin(&r->db, IDX_BEGIN); /* one state of the record for all of it */
	int rc = stmt_run(&r->db, &tx, NULL);

	if (rc < 0)
		return rc;
	seen_init(&w.nodes, IDX_LINEAGE_NODES);
	seen_init(&w.edges, LINEAGE_EDGES);
	rc = resolve(r, path, n, &start);
	if (rc == 0)
		rc = walk_all(&w, start);
	seen_fini(&w.nodes);
	seen_fini(&w.edges);
	free(w.todo);
	tx = stmt_begin(&r->db, IDX_COMMIT);
	if (stmt_run(&r->db, &tx, NULL) < 0 && rc == 0)
		rc = -EIO;
	if (rc == 0)
		*ret_cut = w.cut;
	return rc;
}
