/* SPDX-License-Identifier: MIT */
/*
 * index/query_step.c - steps.
 * Not here: what a step read, changed and was refused (index/query_row.c).
 */
#include "index/reader.h"

/* Gives columns one after the other, so that their order stands in one place: SQL_STEP. */
struct columns {
	const struct stmt *s;
	int at;
};

static uint64_t u64(struct columns *c)
{
	return stmt_col_u64(c->s, c->at++);
}

static int64_t i64(struct columns *c)
{
	return stmt_col_i64(c->s, c->at++);
}

static struct bytes bytes(struct columns *c)
{
	return stmt_col_bytes(c->s, c->at++);
}

void query_step_row(const struct stmt *s, struct idx_step *ret)
{
	struct columns c = { .s = s };

	ret->step = u64(&c);
	ret->parent = u64(&c);
	ret->sandbox = u64(&c);
	ret->agent = (uint32_t)u64(&c);
	ret->agent_name = bytes(&c);
	ret->kind = (uint8_t)u64(&c);
	ret->job = bytes(&c);
	ret->request_id = bytes(&c);
	ret->key = bytes(&c);
	ret->command = bytes(&c);
	ret->language = bytes(&c);
	ret->env = bytes(&c);
	ret->limits = bytes(&c);
	ret->observed = bytes(&c);
	ret->has_code = stmt_col_sha(s, c.at++, &ret->code);
	(void)stmt_col_sha(s, c.at++, &ret->policy);
	ret->begun_ns = i64(&c);
	ret->ended_ns = i64(&c);
	ret->reason = (uint8_t)u64(&c);
	ret->exit_code = i64(&c);
	ret->signal = (uint32_t)u64(&c);
	ret->wall_ns = i64(&c);
	ret->cpu_ns = i64(&c);
	ret->memory_peak = u64(&c);
	ret->stdout_bytes = u64(&c);
	ret->stderr_bytes = u64(&c);
	ret->stdout_cut = u64(&c) != 0;
	ret->stderr_cut = u64(&c) != 0;
	ret->error = bytes(&c);
	ret->detail = bytes(&c);
	ret->wiped_files = u64(&c);
	ret->wiped_bytes = u64(&c);
	ret->beside = bytes(&c);
	ret->reads = u64(&c);
	ret->artifacts = u64(&c);
	ret->changes = u64(&c);
	ret->violations = u64(&c);
}

/* The narrowest index first. */
static enum idx_stmt choose(const struct query_filter *q)
{
	if (q->f->step)
		return IDX_STEP_ONE;
	if (q->f->open)
		return IDX_STEPS_OPEN;
	if (q->f->job && q->f->job[0])
		return IDX_STEPS_JOB;
	if (q->has_agent)
		return IDX_STEPS_AGENT;
	return IDX_STEPS_ALL;
}

int idx_steps(struct idx_reader *r, const struct idx_filter *f,
	      int (*fn)(void *, const struct idx_step *), void *ctx)
{
	struct query_filter q;
	struct stmt s;
	int told = 0;
	int rc = query_filter_init(r, f, &q);

	if (rc < 0)
		return rc;
	s = query_begin(r, choose(&q), &q);
	while (!q.nobody && told == 0 && (rc = stmt_row(&r->db, &s, NULL)) > 0) {
		struct idx_step step;

		query_step_row(&s, &step);
		told = fn(ctx, &step);
	}
	stmt_end(&s);
	query_filter_fini(&q);
	return query_answer(told, rc);
}

int idx_hooks(struct idx_reader *r, uint64_t step, int (*fn)(void *, uint64_t hook_step), void *ctx)
{
	struct stmt s = stmt_begin(&r->db, IDX_STEP_HOOKS);
	int told = 0;
	int rc = 0;

	stmt_u64(&s, step);
	while (told == 0 && (rc = stmt_row(&r->db, &s, NULL)) > 0)
		told = fn(ctx, stmt_col_u64(&s, 0));
	stmt_end(&s);
	return query_answer(told, rc);
}
