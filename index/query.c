/* SPDX-License-Identifier: MIT */
/*
 * index/query.c - a read-only connection, its filters, and the small questions: agents, policy, sums, the chain's head.
 * Not here: steps (query_step.c), versions (query_version.c), reads, changes and violations (query_row.c), lineage (lineage.c).
 */
#include "index/query.h"

#include <stdlib.h>

#include "index/db.h"
#include "index/reader.h"

int idx_reader_open(const char *path, struct idx_reader **ret, struct err *err)
{
	struct idx_reader *r = calloc(1, sizeof *r);
	int rc;

	if (!r)
		return err_set(err, -ENOMEM, "index: no memory");
	rc = idx_db_open_read(&r->db, path, false, IDX_G_TX | IDX_G_READ, err);
	if (rc < 0) {
		idx_reader_close(r);
		return rc;
	}
	*ret = r;
	return 0;
}

void idx_reader_close(struct idx_reader *r)
{
	if (!r)
		return;
	idx_db_close(&r->db);
	free(r);
}

static int agent_id(struct idx_reader *r, const char *name, struct query_filter *q)
{
	struct stmt s = stmt_begin(&r->db, IDX_AGENT_BY_NAME);
	int rc;

	stmt_text(&s, bytes_str(name));
	rc = stmt_row(&r->db, &s, NULL);
	q->has_agent = rc == 1;
	if (rc == 1)
		q->agent = (uint32_t)stmt_col_u64(&s, 0);
	else if (strcmp(name, "operator") == 0) /* reserved: there before it is added */
		q->has_agent = true;
	q->nobody = !q->has_agent;
	stmt_end(&s);
	return rc < 0 ? rc : 0;
}

int query_filter_init(struct idx_reader *r, const struct idx_filter *f, struct query_filter *ret)
{
	struct query_filter q = { .f = f };
	int rc;

	if (f->path.p) {
		q.path = f->path;
		q.has_path = true;
	} else if (f->below.p && f->below.len > 0) { /* below the root is everything */
		size_t len = f->below.len;

		q.room = malloc((len + 1) * 2);
		if (!q.room)
			return -ENOMEM;
		memcpy(q.room, f->below.p, len);
		q.room[len] = '/';
		memcpy(q.room + len + 1, f->below.p, len);
		q.room[len + 1 + len] = '0';
		q.path = f->below;
		q.slash = bytes_of(q.room, len + 1);
		q.behind = bytes_of(q.room + len + 1, len + 1);
		q.has_path = true;
	}
	if (f->agent) {
		rc = agent_id(r, f->agent, &q);
		if (rc < 0) {
			query_filter_fini(&q);
			return rc;
		}
	}
	*ret = q;
	return 0;
}

void query_filter_fini(struct query_filter *q)
{
	free(q->room);
	q->room = NULL;
}

/* One parameter: null, a number, bytes or text. */
struct value {
	enum { NOTHING, NUMBER, BLOB, TEXT } kind;
	int64_t number;
	struct bytes bytes;
};

static struct value number_if(bool there, uint64_t n)
{
	return (struct value){ .kind = there ? NUMBER : NOTHING, .number = (int64_t)n };
}

static struct value blob_if(bool there, struct bytes b)
{
	return (struct value){ .kind = there ? BLOB : NOTHING, .bytes = b };
}

static void bind(struct stmt *s, const struct value *v)
{
	switch (v->kind) {
	case NOTHING: stmt_null(s); break;
	case NUMBER: stmt_i64(s, v->number); break;
	case BLOB: stmt_blob(s, v->bytes); break;
	case TEXT: stmt_text(s, v->bytes); break;
	}
}

struct stmt query_begin(struct idx_reader *r, enum idx_stmt which, const struct query_filter *q)
{
	const struct idx_filter *f = q->f;
	const struct value values[] = {
		/* the order of index/sql.h */
		blob_if(q->has_path, q->path),
		blob_if(q->room != NULL, q->slash),
		blob_if(q->room != NULL, q->behind),
		number_if(q->has_agent, q->agent),
		number_if(f->step != 0, f->step),
		number_if(f->n != 0, f->n),
		blob_if(f->sha != NULL, bytes_of(f->sha, f->sha ? SHA256_LEN : 0)),
		number_if(f->newest, 1),
		number_if(f->after != 0, f->after),
		number_if(true, f->limit && f->limit <= INT64_MAX ? f->limit : UINT64_MAX),
		number_if(f->since_ns != 0, (uint64_t)f->since_ns),
		{ .kind = f->job ? TEXT : NOTHING, .bytes = bytes_str(f->job ? f->job : "") },
		number_if(f->open, 1),
	};
	struct stmt s = stmt_begin(&r->db, which);
	int max = sqlite3_bind_parameter_count(s.st); /* the highest number that it knows */

	for (int i = 0; i < max && i < (int)(sizeof values / sizeof values[0]); i++)
		bind(&s, &values[i]);
	return s;
}

int idx_agents(struct idx_reader *r,
	       int (*fn)(void *, uint32_t agent, struct bytes name, int64_t at_ns), void *ctx)
{
	struct stmt s = stmt_begin(&r->db, IDX_AGENTS);
	int told = 0;
	int rc = 0;

	while (told == 0 && (rc = stmt_row(&r->db, &s, NULL)) > 0)
		told = fn(ctx, (uint32_t)stmt_col_u64(&s, 0), stmt_col_bytes(&s, 1),
			  stmt_col_i64(&s, 2));
	stmt_end(&s);
	return query_answer(told, rc);
}

int idx_policy_now(struct idx_reader *r, struct sha256 *ret, int64_t *ret_at_ns)
{
	struct stmt s = stmt_begin(&r->db, IDX_POLICY_NOW);
	int rc = stmt_row(&r->db, &s, NULL);

	if (rc == 1) {
		rc = stmt_col_sha(&s, 0, ret) ? 1 : -EBADMSG;
		*ret_at_ns = stmt_col_i64(&s, 1);
	} else if (rc == 0) {
		rc = -ENOENT;
	}
	stmt_end(&s);
	return rc < 0 ? rc : 0;
}

int idx_workspace(struct idx_reader *r, int64_t *ret_at_ns, uint64_t *ret_steps,
		  uint64_t *ret_versions, uint64_t *ret_bytes, uint64_t *ret_violations)
{
	struct stmt s = stmt_begin(&r->db, IDX_WORKSPACE);
	int rc = stmt_row(&r->db, &s, NULL);

	if (rc == 1) {
		*ret_at_ns = stmt_col_i64(&s, 0);
		*ret_steps = stmt_col_u64(&s, 1);
		*ret_versions = stmt_col_u64(&s, 2);
		*ret_bytes = stmt_col_u64(&s, 3);
		*ret_violations = stmt_col_u64(&s, 4);
	}
	stmt_end(&s);
	return rc < 0 ? rc : rc == 0 ? -ENOENT : 0;
}

int idx_chain_head(struct idx_reader *r, uint64_t *ret_seq, struct sha256 *ret)
{
	struct stmt s = stmt_begin(&r->db, IDX_EVENT_HEAD);
	int rc = stmt_row(&r->db, &s, NULL);

	if (rc >= 0) {
		*ret_seq = rc ? stmt_col_u64(&s, 0) : 0;
		*ret = (struct sha256){ 0 };
	}
	if (rc == 1 && !stmt_col_sha(&s, 1, ret))
		rc = -EBADMSG;
	stmt_end(&s);
	return rc < 0 ? rc : 0;
}
