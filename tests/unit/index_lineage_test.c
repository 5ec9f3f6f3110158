/* SPDX-License-Identifier: MIT */
/*
 * index_lineage_test.c - where a file comes from and what was made from it, both ways, with nothing that came too late or too early.
 */
#include "tests/unit/index_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_SIZE 8192

struct graph {
	char text[TEXT_SIZE]; /* nodes and edges in the order they came */
	unsigned nodes, edges;
	unsigned stop_after; /* nodes; 0: never */
	unsigned strangers;  /* edges of nodes that did not come before */
};

static void name_of(enum idx_node_kind kind, uint64_t id, char out[32])
{
	static const char *const prefix[] = { "v", "s", "a" };

	(void)snprintf(out, 32, "%s%llu", prefix[kind],
		       (unsigned long long)(kind == IDX_NODE_STEP ? id - 0x1000 : id));
}

static void add(struct graph *g, const char *text)
{
	size_t n = strlen(g->text);

	(void)snprintf(g->text + n, sizeof g->text - n, "%s ", text);
}

static int on_node(void *ctx, const struct idx_node *n)
{
	struct graph *g = ctx;
	char name[32];

	name_of(n->kind, n->id, name);
	add(g, name);
	if (n->kind == IDX_NODE_VERSION)
		assert_true(n->version && n->version->version == n->id);
	if (n->kind == IDX_NODE_STEP)
		assert_true(n->step && n->step->step == n->id);
	return ++g->nodes == g->stop_after ? 1 : 0;
}

static int on_edge(void *ctx, const struct idx_edge *e)
{
	static const enum idx_node_kind ends[][2] = {
		[IDX_EDGE_USED] = { IDX_NODE_STEP, IDX_NODE_VERSION },
		[IDX_EDGE_GENERATED] = { IDX_NODE_VERSION, IDX_NODE_STEP },
		[IDX_EDGE_ASSOCIATED] = { IDX_NODE_STEP, IDX_NODE_AGENT },
		[IDX_EDGE_DERIVED] = { IDX_NODE_VERSION, IDX_NODE_VERSION },
	};
	struct graph *g = ctx;
	char from[32], to[32], text[80];

	name_of(ends[e->kind][0], e->from, from);
	name_of(ends[e->kind][1], e->to, to);
	/* as whole words: nodes come before the edges that touch them */
	(void)snprintf(text, sizeof text, " %s ", from);
	if (strncmp(g->text, text + 1, strlen(text) - 1) != 0 && !strstr(g->text, text))
		g->strangers++;
	(void)snprintf(text, sizeof text, " %s ", to);
	if (strncmp(g->text, text + 1, strlen(text) - 1) != 0 && !strstr(g->text, text))
		g->strangers++;
	(void)snprintf(text, sizeof text, "%s>%s%s", from, to, e->open ? "!" : "");
	add(g, text);
	g->edges++;
	return 0;
}

static int setup(void **state)
{
	static struct fx x;

	fx_open(&x);
	fx_start(&x);
	fx_begin(&x);
	for (unsigned i = 1; i <= 4; i++)
		fx_step(&x, FX_STEP(i), 1);
	*state = &x;
	return 0;
}

static int teardown(void **state)
{
	fx_close(*state);
	return 0;
}

static int ask(struct fx *x, const char *path, uint64_t n, bool downstream, struct graph *g,
	       bool *cut)
{
	struct idx_reader *r = NULL;
	char db[FX_PATH_SIZE];
	int rc;

	fx_sync(x);
	assert_int_equal(idx_reader_open(fx_db(x, db), &r, NULL), 0);
	rc = idx_lineage(r, bytes_str(path), n, downstream, on_node, on_edge, g, cut);
	idx_reader_close(r);
	return rc;
}

static void expect(struct fx *x, const char *path, uint64_t n, bool downstream, const char *want)
{
	struct graph g = { 0 };
	bool cut = true;
	int rc = ask(x, path, n, downstream, &g, &cut);

	if (rc < 0)
		fail_msg("%s: %d", path, rc);
	if (strcmp(g.text, want) != 0)
		fail_msg("%s:\n  '%s', not\n  '%s'", path, g.text, want);
	assert_int_equal(g.strangers, 0);
	assert_false(cut);
}

/* input -> s1 -> agents/t -> s2 -> output/a -> s3 -> output/b */
static void chain_of_three(struct fx *x)
{
	(void)fx_seal(x, FX_STEP(4), "input/raw.csv", "raw"); /* 1 */
	fx_read(x, FX_STEP(1), 1, "input/raw.csv");
	(void)fx_seal(x, FX_STEP(1), "agents/t", "t"); /* 2 */
	fx_read(x, FX_STEP(2), 2, "agents/t");
	fx_read(x, FX_STEP(2), 1, "input/raw.csv");
	(void)fx_seal(x, FX_STEP(2), "output/a", "a"); /* 3 */
	fx_read(x, FX_STEP(3), 3, "output/a");
	(void)fx_seal(x, FX_STEP(3), "output/b", "b"); /* 4 */
}

static void test_lineage_upstream_goes_down_to_the_uploads(void **state)
{
	struct fx *x = *state;

	chain_of_three(x);
	expect(x, "output/b", 0, false,
	       "v4 s3 a1 s3>a1 v4>s3 v3 s3>v3 s2 s2>a1 v3>s2 v2 s2>v2 v1 s2>v1 s1 s1>a1 v2>s1"
	       " s4 s4>a1 v1>s4 s1>v1 ");
	expect(x, "input/raw.csv", 1, false, "v1 s4 a1 s4>a1 v1>s4 ");
}

static void test_lineage_downstream_goes_up_to_the_last(void **state)
{
	struct fx *x = *state;

	chain_of_three(x);
	expect(x, "input/raw.csv", 0, true,
	       "v1 s1 a1 s1>a1 s1>v1 s2 s2>a1 s2>v1 v2 v2>s1 v3 v3>s2 s2>v2 s3 s3>a1 s3>v3 v4"
	       " v4>s3 ");
	expect(x, "output/b", 0, true, "v4 ");
}

static void test_lineage_reads_after_the_cut_do_not_count(void **state)
{
	struct fx *x = *state;

	(void)fx_seal(x, FX_STEP(4), "input/early", "e"); /* 1 */
	(void)fx_seal(x, FX_STEP(4), "input/late", "l");  /* 2 */
	fx_read(x, FX_STEP(1), 1, "input/early");
	(void)fx_seal(x, FX_STEP(1), "output/a", "a"); /* 3 */
	fx_read(x, FX_STEP(1), 2, "input/late");
	(void)fx_seal(x, FX_STEP(1), "output/b", "b"); /* 4 */
	expect(x, "output/a", 0, false, "v3 s1 a1 s1>a1 v3>s1 v1 s1>v1 s4 s4>a1 v1>s4 ");
	expect(x, "output/b", 0, false,
	       "v4 s1 a1 s1>a1 v4>s1 v1 s1>v1 v2 s1>v2 s4 s4>a1 v1>s4 v2>s4 ");
	expect(x, "input/late", 0, true, "v2 s1 a1 s1>a1 s1>v2 v4 v4>s1 ");
	expect(x, "input/early", 0, true, "v1 s1 a1 s1>a1 s1>v1 v3 v3>s1 v4 v4>s1 ");
}

/* What was read before its end counts for a version that was made open and sealed later. */
static void test_lineage_open_version_counts_until_it_is_cut(void **state)
{
	struct fx *x = *state;
	uint64_t v;

	(void)fx_seal(x, FX_STEP(4), "input/a", "a");                             /* 1 */
	(void)fx_seal(x, FX_STEP(4), "input/b", "b");                             /* 2 */
	v = fx_version(x, FX_STEP(1), "output/o", ACTION_CREATED, STATE_OPEN, 0); /* 3 */
	fx_read(x, FX_STEP(1), 1, "input/a");
	expect(x, "output/o", 0, false, "v3 s1 a1 s1>a1 v3>s1 v1 s1>v1 s4 s4>a1 v1>s4 ");
	fx_state(x, v, STATE_SEALED, "o", true);
	fx_read(x, FX_STEP(1), 2, "input/b");
	expect(x, "output/o", 0, false, "v3 s1 a1 s1>a1 v3>s1 v1 s1>v1 s4 s4>a1 v1>s4 ");
	expect(x, "input/b", 0, true, "v2 s1 a1 s1>a1 s1>v2 ");
}

static void test_lineage_step_met_twice_is_walked_as_far_as_it_counts(void **state)
{
	struct fx *x = *state;

	(void)fx_seal(x, FX_STEP(4), "input/a", "a"); /* 1 */
	fx_read(x, FX_STEP(1), 1, "input/a");
	(void)fx_seal(x, FX_STEP(1), "output/1", "1"); /* 2 */
	(void)fx_seal(x, FX_STEP(4), "input/b", "b");  /* 3 */
	fx_read(x, FX_STEP(1), 3, "input/b");
	(void)fx_seal(x, FX_STEP(1), "output/2", "2"); /* 4 */
	fx_read(x, FX_STEP(2), 2, "output/1");
	fx_read(x, FX_STEP(2), 4, "output/2");
	(void)fx_seal(x, FX_STEP(2), "output/3", "3"); /* 5 */
	expect(x, "output/3", 0, false,
	       "v5 s2 a1 s2>a1 v5>s2 v2 s2>v2 v4 s2>v4 s1 s1>a1 v2>s1 v4>s1 v1 s1>v1 v3 s1>v3"
	       " s4 s4>a1 v1>s4 v3>s4 ");
}

static void test_lineage_goes_through_renames_and_links(void **state)
{
	struct fx *x = *state;

	(void)fx_seal(x, FX_STEP(1), "output/a", "a");                                /* 1 */
	(void)fx_version(x, FX_STEP(2), "output/b", ACTION_RENAMED, STATE_SEALED, 1); /* 2 */
	(void)fx_version(x, FX_STEP(3), "output/c", ACTION_LINKED, STATE_SEALED, 2);  /* 3 */
	expect(x, "output/c", 0, false,
	       "v3 s3 a1 s3>a1 v3>s3 v2 v3>v2 s2 s2>a1 v2>s2 v1 v2>v1 s1 s1>a1 v1>s1 ");
	expect(x, "output/a", 0, true, "v1 v2 v2>v1 v3 v3>v2 "); /* a path that is gone */
}

static void test_lineage_read_of_a_file_being_written_is_marked(void **state)
{
	struct fx *x = *state;
	struct event e = { .kind = EV_READ };

	(void)fx_version(x, FX_STEP(1), "output/o", ACTION_CREATED, STATE_OPEN, 0); /* 1 */
	e.u.read = (struct ev_read){
		.who = fx_who(FX_STEP(2)), .version = 1, .path = BYTES_LIT("output/o"), .open = 1
	};
	fx_put(x, &e);
	(void)fx_seal(x, FX_STEP(2), "output/p", "p"); /* 2 */
	expect(x, "output/p", 0, false, "v2 s2 a1 s2>a1 v2>s2 v1 s2>v1! s1 s1>a1 v1>s1 ");
}

/* Two that read each other's, and a step that reads its own. */
static void test_lineage_of_a_circle_ends(void **state)
{
	struct fx *x = *state;

	(void)fx_seal(x, FX_STEP(1), "output/a", "a"); /* 1 */
	fx_read(x, FX_STEP(2), 1, "output/a");
	(void)fx_seal(x, FX_STEP(2), "output/b", "b"); /* 2 */
	fx_read(x, FX_STEP(1), 2, "output/b");
	fx_read(x, FX_STEP(1), 1, "output/a");
	(void)fx_seal(x, FX_STEP(1), "output/a", "a2"); /* 3 */
	expect(x, "output/a", 0, false,
	       "v3 s1 a1 s1>a1 v3>s1 v2 s1>v2 v1 s1>v1 s2 s2>a1 v2>s2 v1>s1 s2>v1 ");
	expect(x, "output/a", 1, false, "v1 s1 a1 s1>a1 v1>s1 ");
}

static void test_lineage_of_several_possible_steps_names_all(void **state)
{
	struct fx *x = *state;
	uint8_t steps[16] = { [6] = 0x10, [7] = 1, [14] = 0x10, [15] = 2 };
	struct event e = { .kind = EV_VERSION };

	fx_read(x, FX_STEP(2), 0, "input/unknown"); /* no version: no node */
	e.u.version = (struct ev_version){ .version = 1,
					   .who = { .agent = 1,
						    .sandbox = FX_SANDBOX,
						    .steps = bytes_of(steps, sizeof steps) },
					   .path = BYTES_LIT("output/a"),
					   .state = STATE_UNHASHED };
	fx_put(x, &e);
	expect(x, "output/a", 0, false, "v1 s1 a1 s1>a1 v1>s1 s2 s2>a1 v1>s2 ");
	e.kind = EV_READ;
	e.u.read = (struct ev_read){ .who = { .agent = 1,
					      .sandbox = FX_SANDBOX,
					      .steps = bytes_of(steps, sizeof steps) },
				     .version = 1,
				     .path = BYTES_LIT("output/a") };
	fx_put(x, &e);
	x->next_version = 2;
	(void)fx_seal(x, FX_STEP(2), "output/b", "b"); /* 2 */
	expect(x, "output/a", 0, true, "v1 s1 a1 s1>a1 s1>v1 s2 s2>a1 s2>v1 v2 v2>s2 ");
	expect(x, "output/b", 0, false, "v2 s2 a1 s2>a1 v2>s2 v1 s2>v1 s1 s1>a1 v1>s1 v1>s2 ");
}

static void test_lineage_follows_a_renamed_folder(void **state)
{
	struct fx *x = *state;

	fx_read(x, FX_STEP(1), 0, "input/a");
	(void)fx_seal(x, FX_STEP(1), "output/d/a", "a"); /* 1 */
	fx_change(x, FX_STEP(2), OP_RENAME, "output/d", "output/e");
	expect(x, "output/e/a", 0, false, "v1 s1 a1 s1>a1 v1>s1 ");
	expect(x, "output/d/a", 1, false, "v1 s1 a1 s1>a1 v1>s1 ");
}

static void test_lineage_unknown_or_stopped(void **state)
{
	struct fx *x = *state;
	struct graph g = { .stop_after = 2 };
	bool cut = false;

	chain_of_three(x);
	assert_int_equal(ask(x, "output/none", 0, false, &g, &cut), -ENOENT);
	assert_int_equal(ask(x, "output/a", 2, false, &g, &cut), -ENOENT);
	assert_int_equal(ask(x, "output/b", 0, false, &g, &cut), 0);
	assert_string_equal(g.text, "v4 s3 ");
}

static int count_node(void *ctx, const struct idx_node *n)
{
	(void)n;
	++*(unsigned *)ctx;
	return 0;
}

static int count_edge(void *ctx, const struct idx_edge *e)
{
	(void)ctx;
	(void)e;
	return 0;
}

static void test_lineage_past_the_limit_is_cut(void **state)
{
	struct fx *x = *state;
	struct idx_reader *r = NULL;
	char db[FX_PATH_SIZE];
	char path[64];
	unsigned nodes = 0;
	bool cut = false;

	(void)fx_seal(x, FX_STEP(4), "input/a", "a");
	fx_read(x, FX_STEP(1), 1, "input/a");
	for (unsigned i = 0; i < IDX_LINEAGE_NODES + 100; i++) {
		(void)snprintf(path, sizeof path, "output/%u", i);
		(void)fx_version(x, FX_STEP(1), path, ACTION_CREATED, STATE_UNHASHED, 0);
	}
	fx_sync(x);
	assert_int_equal(idx_reader_open(fx_db(x, db), &r, NULL), 0);
	assert_int_equal(idx_lineage(r, BYTES_LIT("input/a"), 0, true, count_node, count_edge,
				     &nodes, &cut),
			 0);
	idx_reader_close(r);
	assert_true(cut);
	assert_true(nodes <= IDX_LINEAGE_NODES && nodes > IDX_LINEAGE_NODES - 100);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_lineage_upstream_goes_down_to_the_uploads),
		T(test_lineage_downstream_goes_up_to_the_last),
		T(test_lineage_reads_after_the_cut_do_not_count),
		T(test_lineage_open_version_counts_until_it_is_cut),
		T(test_lineage_step_met_twice_is_walked_as_far_as_it_counts),
		T(test_lineage_goes_through_renames_and_links),
		T(test_lineage_read_of_a_file_being_written_is_marked),
		T(test_lineage_of_a_circle_ends),
		T(test_lineage_of_several_possible_steps_names_all),
		T(test_lineage_follows_a_renamed_folder),
		T(test_lineage_unknown_or_stopped),
		T(test_lineage_past_the_limit_is_cut),
	};

	return cmocka_run_group_tests_name("index lineage", tests, NULL, NULL);
}
