/* SPDX-License-Identifier: MIT */
/*
 * index/apply.c - one event to its rows: all kinds but those that say which files live.
 * Not here: versions and changes (index/apply_file.c), the SQL (index/sql.h).
 */
#include "index/apply.h"

#include "core/pack.h"

/* Numbers that stand in index/sql.h and migrations/. */
_Static_assert(STATE_OPEN == 0 && STATE_HELD == 3 && STATE_PRUNED == 5, "states in index/sql.h");
_Static_assert(EV_VERSION == 9 && EV_READ == 11 && EV_CHANGE == 12 && EV_VIOLATION == 13,
	       "kinds in index/sql.h");

struct stmt apply_begin(struct idx_db *db, enum idx_stmt which, uint64_t seq, int64_t at_ns)
{
	struct stmt s = stmt_begin(db, which);

	stmt_u64(&s, seq);
	stmt_i64(&s, at_ns);
	return s;
}

void apply_bind_who(struct stmt *s, const struct ev_who *who)
{
	stmt_u64(s, who->agent);
	stmt_u64(s, who->sandbox);
	stmt_u64(s, who->step);
	stmt_u64(s, who->late);
	stmt_blob(s, who->steps);
}

static int count_one(struct idx_db *db, enum idx_stmt tally, uint64_t step, struct err *err)
{
	struct stmt s = stmt_begin(db, tally);

	stmt_u64(&s, step);
	return stmt_run(db, &s, err);
}

int apply_count(struct idx_db *db, uint64_t seq, const struct ev_who *who, enum idx_stmt tally,
		enum event_kind kind, uint64_t id, struct err *err)
{
	struct unpack u;
	int rc = count_one(db, tally, who->step, err);

	unpack_begin(&u, who->steps);
	while (rc == 0 && u.len >= sizeof(uint64_t)) {
		uint64_t step = unpack_u64(&u);
		struct stmt s = stmt_begin(db, IDX_AMONG_ADD);

		stmt_u64(&s, seq);
		stmt_u64(&s, step);
		stmt_u64(&s, kind);
		stmt_u64(&s, id);
		rc = stmt_run(db, &s, err);
		if (rc == 0)
			rc = count_one(db, tally, step, err);
	}
	return rc;
}

int apply_total(struct idx_db *db, int64_t steps, int64_t versions, int64_t bytes,
		int64_t violations, struct err *err)
{
	struct stmt s = stmt_begin(db, IDX_TOTAL_ADD);

	stmt_i64(&s, steps);
	stmt_i64(&s, versions);
	stmt_i64(&s, bytes);
	stmt_i64(&s, violations);
	return stmt_run(db, &s, err);
}

static int step_begin(struct idx_db *db, uint64_t seq, int64_t at_ns, const struct ev_step_begin *b,
		      struct err *err)
{
	struct stmt s = apply_begin(db, IDX_STEP_ADD, seq, at_ns);
	int rc;

	stmt_u64(&s, b->step);
	stmt_u64(&s, b->kind);
	stmt_u64(&s, b->parent);
	stmt_u64(&s, b->sandbox);
	stmt_u64(&s, b->agent);
	stmt_u64(&s, b->gid);
	stmt_text(&s, b->job);
	stmt_text(&s, b->request_id);
	stmt_text(&s, b->key);
	stmt_text(&s, b->command);
	stmt_text(&s, b->language);
	stmt_sha(&s, b->has_code ? &b->code : NULL);
	stmt_sha(&s, &b->policy);
	stmt_text(&s, b->env);
	stmt_text(&s, b->limits);
	stmt_text(&s, b->observed);
	stmt_u64(&s, b->wiped_files);
	stmt_u64(&s, b->wiped_bytes);
	stmt_blob(&s, b->beside);
	rc = stmt_run(db, &s, err);
	if (rc < 0 || sqlite3_changes(db->h) == 0)
		return rc;
	rc = count_one(db, IDX_TALLY_ADD, b->step, err);
	return rc < 0 ? rc : apply_total(db, 1, 0, 0, 0, err);
}

static int step_end(struct idx_db *db, uint64_t seq, int64_t at_ns, const struct ev_step_end *e,
		    struct err *err)
{
	struct stmt s = apply_begin(db, IDX_STEP_END, seq, at_ns);

	stmt_u64(&s, e->step);
	stmt_u64(&s, e->reason);
	stmt_i64(&s, e->exit_code);
	stmt_u64(&s, e->signal);
	stmt_i64(&s, e->wall_ns);
	stmt_i64(&s, e->cpu_ns);
	stmt_u64(&s, e->memory_peak);
	stmt_u64(&s, e->stdout_bytes);
	stmt_u64(&s, e->stderr_bytes);
	stmt_u64(&s, e->stdout_cut);
	stmt_u64(&s, e->stderr_cut);
	stmt_text(&s, e->error);
	stmt_text(&s, e->detail);
	return stmt_run(db, &s, err);
}

static int used(struct idx_db *db, uint64_t seq, int64_t at_ns, const struct ev_read *r,
		struct err *err)
{
	struct stmt s = apply_begin(db, IDX_USED_ADD, seq, at_ns);
	int rc;

	apply_bind_who(&s, &r->who);
	stmt_u64(&s, r->version);
	stmt_blob(&s, r->path);
	stmt_u64(&s, r->open);
	rc = stmt_run(db, &s, err);
	if (rc < 0)
		return rc;
	return apply_count(db, seq, &r->who, IDX_TALLY_READ, EV_READ, seq, err);
}

static int tally_violation(struct idx_db *db, uint64_t step, uint64_t count, bool is_new,
			   struct err *err)
{
	struct stmt s = stmt_begin(db, IDX_TALLY_VIOLATION);

	stmt_u64(&s, step);
	stmt_u64(&s, count);
	stmt_u64(&s, is_new);
	return stmt_run(db, &s, err);
}

/* The row that these attempts are counted in: this event's own, or an older one. */
static int violation_row(struct idx_db *db, uint64_t seq, int64_t at_ns,
			 const struct ev_violation *v, uint64_t *ret_row, struct err *err)
{
	struct stmt s = apply_begin(db, IDX_VIOLATION_ADD, seq, at_ns);
	int rc;

	apply_bind_who(&s, &v->who);
	stmt_u64(&s, v->op);
	stmt_blob(&s, v->path);
	stmt_u64(&s, v->errnum);
	stmt_text(&s, v->rule);
	stmt_u64(&s, v->count);
	rc = stmt_row(db, &s, err);
	if (rc == 1) {
		*ret_row = stmt_col_u64(&s, 0);
		return stmt_run(db, &s, err);
	}
	stmt_end(&s);
	return rc < 0 ? rc : err_set(err, -EBADMSG, "index.db: a violation made no row");
}

static int violation(struct idx_db *db, uint64_t seq, int64_t at_ns, const struct ev_violation *v,
		     struct err *err)
{
	uint64_t row = 0;
	struct unpack u;
	int rc = violation_row(db, seq, at_ns, v, &row, err);

	if (rc == 0)
		rc = tally_violation(db, v->who.step, v->count, row == seq, err);
	unpack_begin(&u, v->who.steps);
	while (rc == 0 && u.len >= sizeof(uint64_t)) {
		uint64_t step = unpack_u64(&u);
		struct stmt s = stmt_begin(db, IDX_AMONG_ADD);

		stmt_u64(&s, seq);
		stmt_u64(&s, step);
		stmt_u64(&s, EV_VIOLATION);
		stmt_u64(&s, row);
		rc = stmt_run(db, &s, err);
		if (rc == 0)
			rc = tally_violation(db, step, v->count, row == seq, err);
	}
	return rc < 0 ? rc : apply_total(db, 0, 0, 0, (int64_t)v->count, err);
}

static int doubt(struct idx_db *db, uint64_t seq, int64_t at_ns, const struct ev_doubt *d,
		 struct err *err)
{
	struct stmt s = apply_begin(db, IDX_DOUBT_ADD, seq, at_ns);
	int rc;

	stmt_u64(&s, d->step);
	stmt_u64(&s, d->version);
	stmt_blob(&s, d->path);
	stmt_text(&s, d->why);
	rc = stmt_run(db, &s, err);
	/* a sealed version's bytes are kept and as sure as before: in doubt is what came after it */
	return rc < 0 ? rc : apply_version_turn(db, d->version, STATE_OPEN, STATE_DOUBT, err);
}

static int verdict(struct idx_db *db, uint64_t seq, int64_t at_ns, const struct ev_verdict *v,
		   struct err *err)
{
	struct stmt s = apply_begin(db, IDX_VERDICT_ADD, seq, at_ns);
	int rc;

	stmt_u64(&s, v->version);
	stmt_u64(&s, v->hook_step);
	stmt_u64(&s, v->pass);
	stmt_text(&s, v->reason);
	rc = stmt_run(db, &s, err);
	if (rc < 0)
		return rc;
	return v->pass ? apply_version_turn(db, v->version, STATE_HELD, STATE_SEALED, err)
		       : apply_version_turn(db, v->version, STATE_SEALED, STATE_HELD, err);
}

static int workspace(struct idx_db *db, uint64_t seq, const struct event *e, struct err *err)
{
	struct stmt s = apply_begin(db, IDX_WORKSPACE_ADD, seq, e->at_ns);

	stmt_text(&s, e->u.workspace.name);
	stmt_u64(&s, e->u.workspace.uid_base);
	stmt_u64(&s, e->u.workspace.gid);
	return stmt_run(db, &s, err);
}

static int start(struct idx_db *db, uint64_t seq, const struct event *e, struct err *err)
{
	struct stmt s = apply_begin(db, IDX_START_ADD, seq, e->at_ns);

	stmt_u64(&s, e->u.start.crashed);
	stmt_u64(&s, e->u.start.holes);
	stmt_text(&s, e->u.start.version);
	return stmt_run(db, &s, err);
}

static int policy(struct idx_db *db, uint64_t seq, const struct event *e, struct err *err)
{
	struct stmt s = apply_begin(db, IDX_POLICY_ADD, seq, e->at_ns);

	stmt_sha(&s, &e->u.policy.sha);
	stmt_text(&s, e->u.policy.key);
	return stmt_run(db, &s, err);
}

static int agent(struct idx_db *db, uint64_t seq, const struct event *e, struct err *err)
{
	struct stmt s = apply_begin(db, IDX_AGENT_ADD, seq, e->at_ns);

	stmt_u64(&s, e->u.agent.agent);
	stmt_text(&s, e->u.agent.name);
	return stmt_run(db, &s, err);
}

static int sandbox(struct idx_db *db, uint64_t seq, const struct event *e, struct err *err)
{
	struct stmt s = apply_begin(db, IDX_SANDBOX_ADD, seq, e->at_ns);

	stmt_u64(&s, e->u.sandbox.sandbox);
	stmt_u64(&s, e->u.sandbox.agent);
	stmt_u64(&s, e->u.sandbox.live);
	return stmt_run(db, &s, err);
}

static int sandbox_end(struct idx_db *db, uint64_t seq, const struct event *e, struct err *err)
{
	struct stmt s = apply_begin(db, IDX_SANDBOX_END, seq, e->at_ns);

	stmt_u64(&s, e->u.sandbox_end.sandbox);
	stmt_text(&s, e->u.sandbox_end.why);
	return stmt_run(db, &s, err);
}

int apply_event(struct idx_db *db, uint64_t seq, const struct event *e, struct err *err)
{
	switch (e->kind) {
	case EV_WORKSPACE: return workspace(db, seq, e, err);
	case EV_START: return start(db, seq, e, err);
	case EV_POLICY: return policy(db, seq, e, err);
	case EV_AGENT: return agent(db, seq, e, err);
	case EV_SANDBOX: return sandbox(db, seq, e, err);
	case EV_SANDBOX_END: return sandbox_end(db, seq, e, err);
	case EV_STEP_BEGIN: return step_begin(db, seq, e->at_ns, &e->u.step_begin, err);
	case EV_STEP_END: return step_end(db, seq, e->at_ns, &e->u.step_end, err);
	case EV_VERSION: return apply_version(db, seq, e->at_ns, &e->u.version, err);
	case EV_VERSION_STATE: return apply_version_state(db, seq, &e->u.version_state, err);
	case EV_READ: return used(db, seq, e->at_ns, &e->u.read, err);
	case EV_CHANGE: return apply_change(db, seq, e->at_ns, &e->u.change, err);
	case EV_VIOLATION: return violation(db, seq, e->at_ns, &e->u.violation, err);
	case EV_DOUBT: return doubt(db, seq, e->at_ns, &e->u.doubt, err);
	case EV_VERDICT: return verdict(db, seq, e->at_ns, &e->u.verdict, err);
	case EV_NONE:
	case EV_KIND_COUNT: break;
	}
	return err_set(err, -EBADMSG, "an event of no kind");
}
