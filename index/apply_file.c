/* SPDX-License-Identifier: MIT */
/*
 * index/apply_file.c - versions, and which paths live.
 * Not here: the other kinds of events (index/apply.c), the SQL (index/sql.h).
 */
#include "index/apply.h"
#include "core/path.h"

struct alive {
	uint64_t version, size;
};

/* What lives at a path: 1, 0 nothing, or the error. */
static int live_get(struct idx_db *db, struct bytes path, struct alive *ret, struct err *err)
{
	struct stmt s = stmt_begin(db, IDX_LIVE_IS);
	int rc;

	stmt_blob(&s, path);
	rc = stmt_row(db, &s, err);
	if (rc == 1) {
		ret->version = stmt_col_u64(&s, 0);
		ret->size = stmt_col_u64(&s, 1);
	}
	stmt_end(&s);
	return rc;
}

static int live_drop(struct idx_db *db, struct bytes path, const struct alive *was, struct err *err)
{
	struct stmt s = stmt_begin(db, IDX_LIVE_DROP);
	int rc;

	stmt_blob(&s, path);
	rc = stmt_run(db, &s, err);
	return rc < 0 ? rc : apply_total(db, 0, 0, -(int64_t)was->size, 0, err);
}

struct is {
	uint8_t path_room[PATH_LEN_MAX + 1];
	struct bytes path; /* into path_room */
	uint8_t state;
	bool has_sha;
	struct sha256 sha;
	uint64_t size;
};

/* A version's row: 1, 0 there is none, or the error. */
static int version_get(struct idx_db *db, uint64_t version, struct is *ret, struct err *err)
{
	struct stmt s = stmt_begin(db, IDX_VERSION_IS);
	int rc;

	stmt_u64(&s, version);
	rc = stmt_row(db, &s, err);
	if (rc == 1) {
		struct bytes path = stmt_col_bytes(&s, 0);

		/* longer ones can't be: then it lives nowhere */
		ret->path =
			bytes_of(ret->path_room, path.len <= sizeof ret->path_room ? path.len : 0);
		if (ret->path.len)
			memcpy(ret->path_room, path.p, ret->path.len);
		ret->state = (uint8_t)stmt_col_u64(&s, 1);
		ret->has_sha = stmt_col_sha(&s, 2, &ret->sha);
		ret->size = stmt_col_u64(&s, 3);
	}
	stmt_end(&s);
	return rc;
}

static int name_next(struct idx_db *db, struct bytes path, uint64_t *ret_n, struct err *err)
{
	struct stmt s = stmt_begin(db, IDX_NAME_NEXT);
	int rc;

	stmt_blob(&s, path);
	rc = stmt_row(db, &s, err);
	if (rc == 1)
		*ret_n = stmt_col_u64(&s, 0);
	stmt_end(&s);
	return rc < 0 ? rc : 0;
}

static int version_add(struct idx_db *db, uint64_t seq, int64_t at_ns, const struct ev_version *v,
		       uint64_t n, struct err *err)
{
	struct stmt s = apply_begin(db, IDX_VERSION_ADD, seq, at_ns);

	apply_bind_who(&s, &v->who);
	stmt_u64(&s, v->version);
	stmt_u64(&s, v->state == STATE_OPEN ? 0 : seq);
	stmt_blob(&s, v->path);
	stmt_u64(&s, n);
	stmt_u64(&s, v->action);
	stmt_u64(&s, v->state);
	stmt_sha(&s, v->has_sha ? &v->sha : NULL);
	stmt_u64(&s, v->size);
	stmt_text(&s, v->media_type);
	stmt_u64(&s, v->source);
	stmt_u64(&s, v->ino);
	stmt_u64(&s, v->gen);
	stmt_u64(&s, v->kept);
	return stmt_run(db, &s, err);
}

static int name_add(struct idx_db *db, uint64_t seq, const struct ev_version *v, uint64_t n,
		    struct err *err)
{
	struct stmt s = stmt_begin(db, IDX_NAME_ADD);

	stmt_u64(&s, seq);
	stmt_blob(&s, v->path);
	stmt_u64(&s, n);
	stmt_u64(&s, v->version);
	return stmt_run(db, &s, err);
}

/* A renamed file lives no more where its source lived. */
static int source_leaves(struct idx_db *db, const struct ev_version *v, struct err *err)
{
	struct is source = { 0 };
	struct alive old = { 0 };
	int rc;

	if (v->action != ACTION_RENAMED || v->source == 0)
		return 0;
	rc = version_get(db, v->source, &source, err);
	if (rc <= 0)
		return rc;
	rc = live_get(db, source.path, &old, err);
	if (rc <= 0 || old.version != v->source)
		return rc < 0 ? rc : 0;
	return live_drop(db, source.path, &old, err);
}

static int live_set(struct idx_db *db, uint64_t seq, const struct ev_version *v, struct err *err)
{
	struct alive old = { 0 };
	struct stmt s;
	int rc = live_get(db, v->path, &old, err);

	if (rc < 0)
		return rc;
	s = stmt_begin(db, IDX_LIVE_SET);
	stmt_u64(&s, seq);
	stmt_blob(&s, v->path);
	stmt_u64(&s, v->version);
	rc = stmt_run(db, &s, err);
	return rc < 0 ? rc : apply_total(db, 0, 1, (int64_t)v->size - (int64_t)old.size, 0, err);
}

int apply_version(struct idx_db *db, uint64_t seq, int64_t at_ns, const struct ev_version *v,
		  struct err *err)
{
	uint64_t n = 0;
	int rc = name_next(db, v->path, &n, err);

	if (rc == 0)
		rc = version_add(db, seq, at_ns, v, n, err);
	if (rc < 0 || sqlite3_changes(db->h) == 0)
		return rc;
	rc = name_add(db, seq, v, n, err);
	if (rc == 0)
		rc = source_leaves(db, v, err);
	if (rc == 0)
		rc = live_set(db, seq, v, err);
	if (rc < 0)
		return rc;
	return apply_count(db, seq, &v->who, IDX_TALLY_ARTIFACT, EV_VERSION, v->version, err);
}

int apply_version_state(struct idx_db *db, uint64_t seq, const struct ev_version_state *v,
			struct err *err)
{
	struct is was = { 0 };
	struct alive alive = { 0 };
	struct stmt s;
	uint64_t size = v->size;
	int rc = version_get(db, v->version, &was, err);

	if (rc <= 0)
		return rc;
	/* without a hash it speaks of the state alone: what was known of the bytes stays */
	if (!v->has_sha && was.has_sha)
		size = was.size;
	s = stmt_begin(db, IDX_VERSION_STATE);
	stmt_u64(&s, seq);
	stmt_u64(&s, v->version);
	stmt_u64(&s, v->state);
	stmt_sha(&s, v->has_sha ? &v->sha : was.has_sha ? &was.sha : NULL);
	stmt_u64(&s, size);
	stmt_u64(&s, v->kept);
	rc = stmt_run(db, &s, err);
	if (rc < 0 || size == was.size)
		return rc;
	rc = live_get(db, was.path, &alive, err);
	if (rc <= 0 || alive.version != v->version)
		return rc < 0 ? rc : 0;
	return apply_total(db, 0, 0, (int64_t)size - (int64_t)was.size, 0, err);
}

int apply_version_turn(struct idx_db *db, uint64_t version, enum ev_state from, enum ev_state to,
		       struct err *err)
{
	struct stmt s = stmt_begin(db, IDX_VERSION_TURN);

	stmt_u64(&s, version);
	stmt_u64(&s, from);
	stmt_u64(&s, to);
	return stmt_run(db, &s, err);
}

static int move(struct idx_db *db, enum idx_stmt which, uint64_t seq, struct bytes from,
		struct bytes to, int *ret_moved, struct err *err)
{
	struct stmt s = stmt_begin(db, which);
	int rc;

	stmt_u64(&s, seq);
	stmt_blob(&s, from);
	if (which == IDX_LIVE_MOVE)
		stmt_blob(&s, to);
	rc = stmt_run(db, &s, err);
	if (ret_moved)
		*ret_moved = sqlite3_changes(db->h);
	return rc;
}

/* New names for what this event moved to below `to`. */
static int settle(struct idx_db *db, uint64_t seq, struct bytes to, struct err *err)
{
	int rc = move(db, IDX_MOVED_NAMES, seq, to, to, NULL, err);

	return rc < 0 ? rc : move(db, IDX_MOVED_VERSIONS, seq, to, to, NULL, err);
}

static int folder_moves(struct idx_db *db, uint64_t seq, struct bytes from, struct bytes to,
			struct err *err)
{
	/* no path begins with a slash: a place beside all of them */
	const struct bytes aside = BYTES_LIT("/");
	int gone = 0;
	int back = 0;
	int rc = move(db, IDX_LIVE_MOVE, seq, to, aside, &back, err);

	if (rc == 0)
		rc = move(db, IDX_LIVE_MOVE, seq, from, to, &gone, err);
	if (rc == 0 && back > 0)
		rc = move(db, IDX_LIVE_MOVE, seq, aside, from, NULL, err);
	if (rc == 0 && gone > 0)
		rc = settle(db, seq, to, err);
	if (rc == 0 && back > 0)
		rc = settle(db, seq, from, err);
	return rc;
}

int apply_change(struct idx_db *db, uint64_t seq, int64_t at_ns, const struct ev_change *c,
		 struct err *err)
{
	struct stmt s = apply_begin(db, IDX_CHANGE_ADD, seq, at_ns);
	bool rename = c->op == OP_RENAME;
	struct alive old = { 0 };
	int rc;

	apply_bind_who(&s, &c->who);
	stmt_u64(&s, c->op);
	stmt_blob(&s, c->path);
	stmt_blob(&s, c->path2);
	rc = stmt_run(db, &s, err);
	if (rc == 0)
		rc = apply_count(db, seq, &c->who, IDX_TALLY_CHANGE, EV_CHANGE, seq, err);
	if (rc < 0 || (!rename && c->op != OP_UNLINK))
		return rc;
	rc = live_get(db, rename ? c->path2 : c->path, &old, err);
	if (rc == 1)
		rc = live_drop(db, rename ? c->path2 : c->path, &old, err);
	return rc < 0 || !rename ? rc : folder_moves(db, seq, c->path, c->path2, err);
}
