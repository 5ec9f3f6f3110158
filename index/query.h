/* SPDX-License-Identifier: MIT */
/*
 * index/query.h - reading the record: read-only connections for garth-api, garth's offline commands and tests.
 * Rows come through callbacks; their bytes live until the callback returns. A callback gives 0 to go on, a positive number to stop
 * (the query then gives 0), a negative errno to fail with.
 * Not here: writing (index/writer.h), verifying (index/verify.h), JSON (api/).
 * Thread: one a reader.
 */
#ifndef GARTH_INDEX_QUERY_H
#define GARTH_INDEX_QUERY_H

#include "core/event.h"

struct idx_reader;

/* @path of index.db. mode=ro, never immutable. -ENOENT, -EPROTO of a newer garth, -EIO. */
must_check int idx_reader_open(const char *path, struct idx_reader **ret, struct err *err);
void idx_reader_close(struct idx_reader *r);

struct idx_step {
	uint64_t step, parent, sandbox;
	uint32_t agent;
	struct bytes agent_name;
	uint8_t kind; /* ev_step_kind */
	struct bytes job, request_id, key, command, language, env, limits, observed;
	bool has_code;
	struct sha256 code, policy;
	int64_t begun_ns, ended_ns; /* ended_ns 0: still open */
	uint8_t reason;
	int64_t exit_code;
	uint32_t signal;
	int64_t wall_ns, cpu_ns;
	uint64_t memory_peak, stdout_bytes, stderr_bytes;
	bool stdout_cut, stderr_cut;
	struct bytes error, detail;
	uint64_t wiped_files, wiped_bytes;
	struct bytes beside;
	uint64_t reads, artifacts, changes,
		violations; /* counts: rows; violations: the sum of their counts */
};
struct idx_version {
	uint64_t version; /* unique in the workspace */
	uint64_t n;       /* 1, 2, ... of this path: what people call the version */
	struct bytes path;
	uint64_t step;
	uint32_t agent;
	struct bytes agent_name;
	uint8_t action, state, late;
	bool has_sha, kept, newest; /* newest: of a path that exists now */
	struct sha256 sha;
	uint64_t size, source;
	struct bytes media_type;
	struct bytes reason; /* of a hook that holds it back */
	int64_t at_ns;
};
struct idx_violation {
	uint64_t row; /* ascending; a cursor */
	uint64_t step, sandbox;
	uint32_t agent;
	struct bytes agent_name;
	uint8_t op, late;
	struct bytes path, rule;
	uint32_t errnum;
	int64_t at_ns, last_ns;
	uint64_t count;
};
struct idx_read {
	uint64_t version, n;
	struct bytes path;
	bool open;
	int64_t at_ns;
	bool has_sha;
	struct sha256 sha;
};
struct idx_change {
	uint8_t op;
	struct bytes path, path2;
	int64_t at_ns;
};

struct idx_filter {         /* zeroed: everything */
	struct bytes path;  /* exact; p NULL: any */
	struct bytes below; /* this folder and below; p NULL: any */
	const char *agent;  /* name; NULL any */
	uint64_t step;
	const char *job;          /* steps; NULL any */
	bool newest;              /* versions: only the newest of paths that exist */
	bool open;                /* steps: only those that have not ended */
	int64_t since_ns;         /* violations: at or after */
	uint64_t n;               /* versions: this number of the path */
	const struct sha256 *sha; /* versions */
	uint64_t
		after; /* cursor: step id, version or row after which to go on (lists of steps: before, newest first) */
	uint64_t limit; /* 0: all */
};

must_check int idx_steps(struct idx_reader *r, const struct idx_filter *f,
			 int (*fn)(void *, const struct idx_step *), void *ctx);
must_check int idx_versions(struct idx_reader *r, const struct idx_filter *f,
			    int (*fn)(void *, const struct idx_version *), void *ctx);
must_check int idx_violations(struct idx_reader *r, const struct idx_filter *f,
			      int (*fn)(void *, const struct idx_violation *), void *ctx);
must_check int idx_reads(struct idx_reader *r, uint64_t step,
			 int (*fn)(void *, const struct idx_read *), void *ctx);
must_check int idx_changes(struct idx_reader *r, uint64_t step,
			   int (*fn)(void *, const struct idx_change *), void *ctx);
must_check int idx_hooks(struct idx_reader *r, uint64_t step, int (*fn)(void *, uint64_t hook_step),
			 void *ctx);
must_check int idx_agents(struct idx_reader *r,
			  int (*fn)(void *, uint32_t agent, struct bytes name, int64_t at_ns),
			  void *ctx);
must_check int idx_policy_now(struct idx_reader *r, struct sha256 *ret,
			      int64_t *ret_at_ns); /* -ENOENT */
must_check int idx_workspace(struct idx_reader *r, int64_t *ret_at_ns, uint64_t *ret_steps,
			     uint64_t *ret_versions, uint64_t *ret_bytes, uint64_t *ret_violations);
must_check int idx_chain_head(struct idx_reader *r, uint64_t *ret_seq, struct sha256 *ret);

/*
 * Lineage of a version (n 0: the newest, also of a path that is gone). Upstream: the step that generated it, what that step had read
 * before it cut the version, and so on down to uploads and code; downstream the reverse. Each node and edge comes once, nodes before
 * edges that touch them. At most IDX_LINEAGE_NODES nodes: then ret_cut is set. -ENOENT no such version.
 */
#define IDX_LINEAGE_NODES 100000u
enum idx_node_kind { IDX_NODE_VERSION = 0, IDX_NODE_STEP, IDX_NODE_AGENT };
enum idx_edge_kind {
	IDX_EDGE_USED = 0,
	IDX_EDGE_GENERATED,
	IDX_EDGE_ASSOCIATED,
	IDX_EDGE_DERIVED
}; /* step->version, version->step, step->agent, version->version (rename, link) */
struct idx_node {
	enum idx_node_kind kind;
	uint64_t id;
	const struct idx_version *version;
	const struct idx_step *step;
	struct bytes agent_name;
};
struct idx_edge {
	enum idx_edge_kind kind;
	uint64_t from, to;
	bool open;
};
must_check int idx_lineage(struct idx_reader *r, struct bytes path, uint64_t n, bool downstream,
			   int (*node)(void *, const struct idx_node *),
			   int (*edge)(void *, const struct idx_edge *), void *ctx, bool *ret_cut);

#endif
