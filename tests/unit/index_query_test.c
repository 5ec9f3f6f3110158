/* SPDX-License-Identifier: MIT */
/*
 * index_query_test.c - what the record answers: steps, versions, violations, reads, changes, hooks, sums; and what garth-fs loads.
 * Not here: lineage (index_lineage_test.c).
 */
#include "tests/unit/index_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/fd.h"

#define TEXT_SIZE 2048

struct answer {
	char text[TEXT_SIZE]; /* what rows were, separated by blanks */
	int stop_after;       /* 0: never */
	int rows;
};

struct asked {
	struct fx fx;
	struct idx_reader *r;
};

__attribute__((format(printf, 2, 3))) static int add(struct answer *a, const char *fmt, ...)
{
	size_t n = strlen(a->text);
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(a->text + n, sizeof a->text - n, fmt, ap);
	va_end(ap);
	return ++a->rows == a->stop_after ? 1 : 0;
}

static void fill_steps(struct fx *x)
{
	struct sha256 code;

	fx_object(x, "print(1)", &code);
	fx_step_code(x, FX_STEP(1), 1, "weather", 0, &code);
	fx_step_code(x, FX_STEP(2), 2, "weather", 0, NULL);
	fx_step_code(x, FX_STEP(3), 1, "", FX_STEP(1), NULL);
	fx_step(x, FX_STEP(4), 0);
	fx_end(x, FX_STEP(1));
	fx_end(x, FX_STEP(3));
}

static void fill_files(struct fx *x)
{
	struct event e = { .kind = EV_VERDICT };
	struct event r = { .kind = EV_VERSION };

	(void)fx_seal(x, FX_STEP(1), "output/a.csv", "1");                                  /* 1 */
	(void)fx_seal(x, FX_STEP(2), "output/a.csv", "22");                                 /* 2 */
	(void)fx_seal(x, FX_STEP(2), "output/d/b.csv", "333");                              /* 3 */
	(void)fx_version(x, FX_STEP(1), "agents/planner/t", ACTION_CREATED, STATE_OPEN, 0); /* 4 */
	(void)fx_seal(x, FX_STEP(1), "output/gone", "1"); /* 5: the bytes of 1 */
	fx_change(x, FX_STEP(2), OP_UNLINK, "output/gone", "");
	e.u.verdict = (struct ev_verdict){ .version = 3, .reason = BYTES_LIT("bad row") };
	fx_put(x, &e);
	/* a daemon of the other agent, after its step */
	r.u.version = (struct ev_version){ .version = x->next_version++, /* 6 */
					   .who = { .agent = 2, .step = FX_STEP(2), .late = 1 },
					   .path = BYTES_LIT("output/late"),
					   .state = STATE_UNHASHED,
					   .size = 9 };
	fx_put(x, &r);
}

static int setup(void **state)
{
	static struct asked a;
	char path[FX_PATH_SIZE];
	struct err err = { 0 };

	fx_open(&a.fx);
	fx_start(&a.fx);
	fx_begin(&a.fx);
	fill_steps(&a.fx);
	fill_files(&a.fx);
	fx_read(&a.fx, FX_STEP(2), 1, "output/a.csv");
	fx_read(&a.fx, FX_STEP(2), 0, "input/raw.csv");
	fx_violation(&a.fx, FX_STEP(1), OP_CREATE, "input/x", "input.readonly");
	fx_violation(&a.fx, FX_STEP(2), OP_WRITE, "agents/planner/t", "agents.owner");
	fx_sync(&a.fx);
	fx_violation(&a.fx, FX_STEP(1), OP_CREATE, "input/x", "input.readonly");
	fx_sync(&a.fx);
	if (idx_reader_open(fx_db(&a.fx, path), &a.r, &err) < 0)
		fail_msg("%s", err.msg);
	*state = &a;
	return 0;
}

static int teardown(void **state)
{
	struct asked *a = *state;

	idx_reader_close(a->r);
	fx_close(&a->fx);
	return 0;
}

static int step_row(void *ctx, const struct idx_step *s)
{
	return add(ctx, "%llu ", (unsigned long long)s->step - 0x1000);
}

static void test_steps_filters_give_the_rows_newest_first(void **state)
{
	static const struct {
		struct idx_filter f;
		const char *want;
	} rows[] = {
		{ { .limit = 0 }, "4 3 2 1 " },
		{ { .step = FX_STEP(2) }, "2 " },
		{ { .step = FX_STEP(9) }, "" },
		{ { .agent = "planner" }, "3 1 " },
		{ { .agent = "operator" }, "4 " },
		{ { .agent = "nobody" }, "" },
		{ { .job = "weather" }, "2 1 " },
		{ { .job = "weather", .agent = "planner" }, "1 " },
		{ { .job = "other" }, "" },
		{ { .open = true }, "4 2 " },
		{ { .open = true, .job = "weather" }, "2 " },
		{ { .limit = 2 }, "4 3 " },
		{ { .limit = 2, .after = FX_STEP(3) }, "2 1 " },
		{ { .agent = "planner", .after = FX_STEP(3) }, "1 " },
		{ { .after = FX_STEP(1) }, "" },
	};
	struct asked *a = *state;

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct answer got = { 0 };

		assert_int_equal(idx_steps(a->r, &rows[i].f, step_row, &got), 0);
		if (strcmp(got.text, rows[i].want) != 0)
			fail_msg("row %zu: '%s', not '%s'", i, got.text, rows[i].want);
	}
}

static int whole_step(void *ctx, const struct idx_step *s)
{
	char code[SHA256_HEX_SIZE] = "none";

	if (s->has_code)
		sha256_hex(&s->code, code);
	code[8] = '\0';
	return add(ctx,
		   "%.*s %u %.*s %.*s %.*s %.*s %.*s %s reason=%u exit=%lld wall=%lld cpu=%lld "
		   "mem=%llu"
		   " out=%llu cut=%d%d %.*s wiped=%llu,%llu reads=%llu artifacts=%llu changes=%llu"
		   " violations=%llu",
		   (int)s->agent_name.len, (const char *)s->agent_name.p, s->kind, (int)s->job.len,
		   (const char *)s->job.p, (int)s->request_id.len, (const char *)s->request_id.p,
		   (int)s->command.len, (const char *)s->command.p, (int)s->env.len,
		   (const char *)s->env.p, (int)s->observed.len, (const char *)s->observed.p, code,
		   s->reason, (long long)s->exit_code, (long long)s->wall_ns, (long long)s->cpu_ns,
		   (unsigned long long)s->memory_peak, (unsigned long long)s->stdout_bytes,
		   s->stdout_cut, s->stderr_cut, (int)s->detail.len, (const char *)s->detail.p,
		   (unsigned long long)s->wiped_files, (unsigned long long)s->wiped_bytes,
		   (unsigned long long)s->reads, (unsigned long long)s->artifacts,
		   (unsigned long long)s->changes, (unsigned long long)s->violations);
}

static void test_step_row_has_every_field(void **state)
{
	const struct idx_filter f = { .step = FX_STEP(1) };
	struct asked *a = *state;
	struct answer got = { 0 };

	assert_int_equal(idx_steps(a->r, &f, whole_step, &got), 0);
	assert_string_equal(got.text,
			    "planner 0 weather req [\"true\"] PATH HOME {\"network\":\"none\"}"
			    " d287bb7f reason=1 exit=3 wall=5000 cpu=4000 mem=1048576 out=12 cut=01"
			    " fine wiped=3,4096 reads=0 artifacts=3 changes=0 violations=2");
}

static int version_row(void *ctx, const struct idx_version *v)
{
	return add(ctx, "%llu ", (unsigned long long)v->version);
}

static void test_versions_filters_give_the_rows(void **state)
{
	static struct sha256 one;
	static const struct {
		struct idx_filter f;
		const char *want;
	} rows[] = {
		{ { .limit = 0 }, "1 2 3 4 5 6 " },
		{ { .path = BYTES_LIT("output/a.csv") }, "1 2 " },
		{ { .path = BYTES_LIT("output/a.csv"), .n = 1 }, "1 " },
		{ { .path = BYTES_LIT("output/a.csv"), .newest = true }, "2 " },
		{ { .path = BYTES_LIT("output/a.csv"), .after = 1 }, "2 " },
		{ { .path = BYTES_LIT("output/gone"), .newest = true }, "" },
		{ { .path = BYTES_LIT("output/gone") }, "5 " },
		{ { .path = BYTES_LIT("output") }, "" },
		{ { .below = BYTES_LIT("output") }, "1 2 3 5 6 " },
		{ { .below = BYTES_LIT("output"), .newest = true }, "2 3 6 " },
		{ { .below = BYTES_LIT("output"), .newest = true, .limit = 1 }, "2 " },
		{ { .below = BYTES_LIT("output"), .newest = true, .after = 2 }, "3 6 " },
		{ { .below = BYTES_LIT("output/d"), .newest = true }, "3 " },
		{ { .below = BYTES_LIT("output/d/b.csv") }, "3 " },
		{ { .below = BYTES_LIT("out") }, "" },
		{ { .below = { "", 0 } }, "1 2 3 4 5 6 " },
		{ { .newest = true }, "2 3 4 6 " },
		{ { .newest = true, .agent = "analyzer" }, "6 " },
		{ { .agent = "analyzer" }, "6 " },
		{ { .agent = "nobody" }, "" },
		{ { .step = FX_STEP(1) }, "1 4 5 " },
		{ { .step = FX_STEP(1), .below = BYTES_LIT("output") }, "1 5 " },
		{ { .step = FX_STEP(1), .newest = true }, "4 " },
		{ { .step = FX_STEP(1), .path = BYTES_LIT("output/a.csv") }, "1 " },
		{ { .sha = &one }, "1 5 " },
		{ { .sha = &one, .path = BYTES_LIT("output/gone") }, "5 " },
		{ { .after = 4, .limit = 1 }, "5 " },
	};
	struct asked *a = *state;

	sha256_of(bytes_str("1"), &one);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct answer got = { 0 };

		assert_int_equal(idx_versions(a->r, &rows[i].f, version_row, &got), 0);
		if (strcmp(got.text, rows[i].want) != 0)
			fail_msg("row %zu: '%s', not '%s'", i, got.text, rows[i].want);
	}
}

static int whole_version(void *ctx, const struct idx_version *v)
{
	return add(ctx,
		   "%.*s#%llu %.*s %u/%u late=%u sha=%d kept=%d newest=%d size=%llu %.*s '%.*s'; ",
		   (int)v->path.len, (const char *)v->path.p, (unsigned long long)v->n,
		   (int)v->agent_name.len, (const char *)v->agent_name.p, v->action, v->state,
		   v->late, v->has_sha, v->kept, v->newest, (unsigned long long)v->size,
		   (int)v->media_type.len, (const char *)v->media_type.p, (int)v->reason.len,
		   (const char *)v->reason.p);
}

static void test_version_row_has_every_field(void **state)
{
	const struct idx_filter f = { .after = 1 };
	struct asked *a = *state;
	struct answer got = { .stop_after = 2 };

	assert_int_equal(idx_versions(a->r, &f, whole_version, &got), 0);
	assert_string_equal(got.text,
			    "output/a.csv#2 planner 0/1 late=0 sha=1 kept=1 newest=1 size=2"
			    " text/csv ''; output/d/b.csv#1 planner 0/3 late=0 sha=1 kept=1"
			    " newest=1 size=3 text/csv 'bad row'; ");
}

static int violation_row(void *ctx, const struct idx_violation *v)
{
	return add(ctx, "%llu:%.*s:%llu ", (unsigned long long)v->step - 0x1000, (int)v->path.len,
		   (const char *)v->path.p, (unsigned long long)v->count);
}

static void test_violations_filters_give_the_rows(void **state)
{
	struct asked *a = *state;
	int64_t last = a->fx.now; /* of the repeated one */
	const struct {
		struct idx_filter f;
		const char *want;
	} rows[] = {
		{ { .limit = 0 }, "1:input/x:2 2:agents/planner/t:1 " },
		{ { .step = FX_STEP(2) }, "2:agents/planner/t:1 " },
		{ { .agent = "planner" }, "1:input/x:2 2:agents/planner/t:1 " },
		{ { .agent = "analyzer" }, "" },
		{ { .below = BYTES_LIT("input") }, "1:input/x:2 " },
		{ { .path = BYTES_LIT("agents/planner/t") }, "2:agents/planner/t:1 " },
		{ { .since_ns = last }, "1:input/x:2 " },
		{ { .since_ns = last + 1 }, "" },
		{ { .limit = 1 }, "1:input/x:2 " },
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct answer got = { 0 };

		assert_int_equal(idx_violations(a->r, &rows[i].f, violation_row, &got), 0);
		if (strcmp(got.text, rows[i].want) != 0)
			fail_msg("row %zu: '%s', not '%s'", i, got.text, rows[i].want);
	}
}

static int read_row(void *ctx, const struct idx_read *r)
{
	return add(ctx, "%.*s#%llu v%llu %d; ", (int)r->path.len, (const char *)r->path.p,
		   (unsigned long long)r->n, (unsigned long long)r->version, r->has_sha);
}

static int change_row(void *ctx, const struct idx_change *c)
{
	return add(ctx, "%s %.*s; ", ev_op_text((enum ev_op)c->op), (int)c->path.len,
		   (const char *)c->path.p);
}

static int hook_row(void *ctx, uint64_t step)
{
	return add(ctx, "%llu ", (unsigned long long)step - 0x1000);
}

static int agent_row(void *ctx, uint32_t agent, struct bytes name, int64_t at_ns)
{
	return add(ctx, "%u:%.*s:%d ", agent, (int)name.len, (const char *)name.p, at_ns > 0);
}

static void test_small_questions_are_answered(void **state)
{
	struct asked *a = *state;
	struct answer got[4] = { 0 };
	uint64_t steps, versions, bytes, violations, seq;
	struct sha256 policy, want, head;
	int64_t at;

	assert_int_equal(idx_reads(a->r, FX_STEP(2), read_row, &got[0]), 0);
	assert_string_equal(got[0].text, "output/a.csv#1 v1 1; input/raw.csv#0 v0 0; ");
	assert_int_equal(idx_changes(a->r, FX_STEP(2), change_row, &got[1]), 0);
	assert_string_equal(got[1].text, "unlink output/gone; ");
	assert_int_equal(idx_hooks(a->r, FX_STEP(1), hook_row, &got[2]), 0);
	assert_string_equal(got[2].text, "3 ");
	assert_int_equal(idx_agents(a->r, agent_row, &got[3]), 0);
	assert_string_equal(got[3].text, "1:planner:1 2:analyzer:1 ");
	sha256_of(bytes_str("agents: {}\n"), &want);
	assert_int_equal(idx_policy_now(a->r, &policy, &at), 0);
	assert_memory_equal(&policy, &want, sizeof want);
	assert_int_equal(idx_workspace(a->r, &at, &steps, &versions, &bytes, &violations), 0);
	assert_int_equal(steps, 4);
	assert_int_equal(versions, 6);
	assert_int_equal(bytes, 2 + 3 + 10 + 9);
	assert_int_equal(violations, 3);
	assert_int_equal(idx_chain_head(a->r, &seq, &head), 0);
	assert_int_equal(seq, fx_number(&a->fx, "SELECT max(seq) FROM event"));
}

static int count_up(void *ctx, const struct idx_version *v)
{
	(void)v;
	++*(int *)ctx;
	return 0;
}

static int fail_at_once(void *ctx, const struct idx_step *s)
{
	(void)ctx;
	(void)s;
	return -EPIPE;
}

static int ask_again(void *ctx, const struct idx_step *s)
{
	struct asked *a = ctx;
	const struct idx_filter f = { .step = s->step };
	int versions = 0;

	/* another question is fine in the midst of this one, the same is not */
	assert_int_equal(idx_versions(a->r, &f, count_up, &versions), 0);
	return idx_steps(a->r, &f, fail_at_once, NULL);
}

static void test_callback_ends_or_fails_the_query(void **state)
{
	const struct idx_filter all = { 0 };
	const struct idx_filter one = { .step = FX_STEP(1) };
	struct asked *a = *state;
	struct answer got = { .stop_after = 2 };

	assert_int_equal(idx_steps(a->r, &all, step_row, &got), 0);
	assert_int_equal(got.rows, 2);
	assert_int_equal(idx_steps(a->r, &all, fail_at_once, NULL), -EPIPE);
	assert_int_equal(idx_steps(a->r, &one, ask_again, a), -EBUSY);
	got = (struct answer){ 0 };
	assert_int_equal(idx_steps(a->r, &all, step_row, &got), 0); /* and none is left busy */
	assert_int_equal(got.rows, 4);
}

static void test_reader_sees_what_is_committed_while_it_is_open(void **state)
{
	struct asked *a = *state;
	const struct idx_filter f = { .path = BYTES_LIT("output/new") };
	int rows = 0;

	(void)fx_seal(&a->fx, FX_STEP(2), "output/new", "n");
	fx_sync(&a->fx);
	assert_int_equal(idx_versions(a->r, &f, count_up, &rows), 0);
	assert_int_equal(rows, 1);
}

static void test_read_of_one_of_several_steps_is_each_ones(void **state)
{
	struct asked *a = *state;
	struct event e = { .kind = EV_VIOLATION };
	uint8_t steps[16] = { [6] = 0x10, [7] = 2, [14] = 0x10, [15] = 4 };
	struct answer got = { 0 };

	e.u.violation = (struct ev_violation){ .who = { .agent = 1,
							.sandbox = FX_SANDBOX,
							.steps = bytes_of(steps, sizeof steps) },
					       .op = OP_MKDIR,
					       .path = BYTES_LIT("input/d"),
					       .errnum = EROFS,
					       .rule = BYTES_LIT("input.readonly"),
					       .count = 1 };
	fx_put(&a->fx, &e);
	fx_sync(&a->fx);
	assert_int_equal(idx_violations(a->r, &(struct idx_filter){ .step = FX_STEP(4) },
					violation_row, &got),
			 0);
	assert_non_null(strstr(got.text, "input/d:1"));
	got = (struct answer){ 0 };
	assert_int_equal(idx_violations(a->r, &(struct idx_filter){ .step = FX_STEP(2) },
					violation_row, &got),
			 0);
	assert_non_null(strstr(got.text, "input/d:1"));
	fx_assert_verifies(&a->fx);
}

/* ---- what garth-fs loads ---- */

static int load_file(void *ctx, const struct idx_load_file *f)
{
	return add(ctx, "%.*s:%llu:%llu:%llu ", (int)f->path.len, (const char *)f->path.p,
		   (unsigned long long)f->version, (unsigned long long)f->size,
		   (unsigned long long)f->ino);
}

static int load_step(void *ctx, const struct idx_load_step *s)
{
	return add(ctx, "%llu:%u ", (unsigned long long)s->step - 0x1000, s->agent);
}

static int load_agent(void *ctx, uint32_t agent, struct bytes name)
{
	return add(ctx, "%u:%.*s ", agent, (int)name.len, (const char *)name.p);
}

static int load_old(void *ctx, uint64_t version, const struct sha256 *sha)
{
	(void)sha;
	return add(ctx, "%llu ", (unsigned long long)version);
}

static void test_load_gives_what_a_new_garth_fs_needs(void **state)
{
	struct asked *a = *state;
	struct answer got[3] = { 0 };
	struct idx_load load;
	struct fx *x = &a->fx;

	fx_stop(x);
	assert_int_equal(idx_writer_open(x->dir_fd, x->ring, &x->w, &x->holes, NULL), 0);
	assert_int_equal(idx_load_state(x->w, &load), 0);
	assert_int_equal(load.next_version, x->next_version);
	assert_int_equal(load.next_agent, 3);
	assert_true(load.has_workspace && load.has_policy);
	assert_int_equal(idx_load_files(x->w, load_file, &got[0]), 0);
	assert_non_null(strstr(got[0].text, "agents/planner/t:4:10:104 output/a.csv:2:2:102 "
					    "output/d/b.csv:3:3:103 output/late:6:9:0 "));
	assert_int_equal(idx_load_open_steps(x->w, load_step, &got[1]), 0);
	assert_string_equal(got[1].text, "2:2 4:0 ");
	assert_int_equal(idx_load_agents(x->w, load_agent, &got[2]), 0);
	assert_string_equal(got[2].text, "1:planner 2:analyzer ");
	idx_writer_close(x->w);
	x->w = NULL;
	fx_start(x);
}

static void test_load_prunable_leaves_what_is_needed(void **state)
{
	struct fx *x = &((struct asked *)*state)->fx;
	struct answer got[3] = { 0 };
	struct sha256 code;

	x->next_version = 100;
	for (unsigned i = 0; i < 5; i++) {
		char text[32];

		(void)snprintf(text, sizeof text, "content %u", i);
		(void)fx_seal(x, FX_STEP(2), "output/p", text); /* 100..104 */
	}
	(void)fx_seal(x, FX_STEP(2), "output/q", "content 1"); /* needs the bytes of 101 */
	fx_object(x, "content 2", &code);
	fx_step_code(x, FX_STEP(8), 1, "", 0, &code); /* and code those of 102 */
	fx_state(x, 100, STATE_PRUNED, NULL, false);
	fx_stop(x);
	assert_int_equal(idx_writer_open(x->dir_fd, x->ring, &x->w, &x->holes, NULL), 0);
	assert_int_equal(idx_load_prunable(x->w, 1, load_old, &got[0]), 0);
	assert_string_equal(got[0].text, "103 "); /* 1 shares its bytes with output/gone */
	assert_int_equal(idx_load_prunable(x->w, 2, load_old, &got[1]), 0);
	assert_string_equal(got[1].text, "");
	idx_writer_close(x->w);
	x->w = NULL;
	fx_start(x);
	fx_assert_verifies(x);
}

static void test_reader_open_without_a_record_fails(void **state)
{
	struct asked *a = *state;
	struct idx_reader *r = NULL;
	char path[FX_PATH_SIZE];
	struct err err = { 0 };

	(void)snprintf(path, sizeof path, "%s/none.db", a->fx.dir);
	assert_int_equal(idx_reader_open(path, &r, &err), -ENOENT);
	(void)snprintf(path, sizeof path, "%s", a->fx.dir);
	assert_int_equal(idx_reader_open(path, &r, &err), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps_filters_give_the_rows_newest_first),
		cmocka_unit_test(test_step_row_has_every_field),
		cmocka_unit_test(test_versions_filters_give_the_rows),
		cmocka_unit_test(test_version_row_has_every_field),
		cmocka_unit_test(test_violations_filters_give_the_rows),
		cmocka_unit_test(test_small_questions_are_answered),
		cmocka_unit_test(test_callback_ends_or_fails_the_query),
		cmocka_unit_test(test_load_gives_what_a_new_garth_fs_needs),
		cmocka_unit_test(test_reader_open_without_a_record_fails),
		/* from here on rows are added */
		cmocka_unit_test(test_reader_sees_what_is_committed_while_it_is_open),
		cmocka_unit_test(test_read_of_one_of_several_steps_is_each_ones),
		cmocka_unit_test(test_load_prunable_leaves_what_is_needed),
	};

	return cmocka_run_group_tests_name("index query", tests, setup, teardown);
}
