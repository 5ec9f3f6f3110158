/* SPDX-License-Identifier: MIT */
/*
 * policy/policy.h - a workspace's policy: parsed from YAML, never changed after, shared by counting.
 * Not here: what it decides (policy/decide.h), which zone a path is in (policy/zone.h).
 * Thread: a loaded policy is read-only, any thread; policy_ref/unref are atomic.
 */
#ifndef GARTH_POLICY_POLICY_H
#define GARTH_POLICY_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/bytes.h"
#include "core/err.h"
#include "core/hash.h"
#include "core/path.h"

#define POLICY_TEXT_MAX (256u * 1024) /* bytes of YAML */
#define POLICY_RULES_MAX 1024
#define POLICY_AGENTS_MAX 32 /* beside "operator" */
#define POLICY_HOST_PATHS_MAX 16
#define POLICY_HOOK_ARGS_MAX 32
#define POLICY_OPERATOR "operator" /* the reserved agent: uploads; may not be declared */

struct policy_step_limits {
	int64_t timeout_ns, timeout_max_ns;
	uint64_t memory, memory_max; /* bytes */
	uint32_t pids;
	uint32_t cpus_milli; /* 2000: two cpus */
	uint32_t open_files;
	uint64_t log, tmp, file, code; /* bytes */
};
struct policy_limits {
	struct policy_step_limits step;
	uint64_t ws_bytes, ws_files;
	uint32_t ws_sandboxes, ws_steps_queued;
	uint64_t agent_bytes, agent_files;
	uint64_t upload; /* bytes of one upload */
};

enum policy_access { POL_READ = 1, POL_WRITE = 2 }; /* a set */

struct policy_rule {
	bool allow;
	unsigned access;   /* of policy_access */
	const char *agent; /* a name or "*" */
	const char *path;  /* glob, policy/glob.h */
	int line;          /* of the rule in the YAML, from 1 */
};

struct policy_hook {
	bool set;
	const char *agent;
	const char *path; /* on_output: glob of the artifacts; else NULL */
	const char *argv[POLICY_HOOK_ARGS_MAX + 1]; /* NULL-terminated */
	int64_t timeout_ns;                         /* default: the step's */
	int line;
};

struct policy_agent {
	const char *name;
	struct policy_step_limits step; /* with the agent's own limits merged in */
	uint64_t bytes, files;          /* quota */
};

struct policy {
	struct sha256 sha; /* of the YAML text; of "" for the default */
	bool root_shared;
	bool network; /* always false for now: "none" is the only value */
	struct policy_limits limits;
	unsigned agent_count, rule_count, host_path_count;
	struct policy_agent *agents; /* those that the file names */
	struct policy_rule *rules;
	const char **host_paths;
	struct policy_hook pre_step, post_step, on_output;
	uint32_t retain_versions;
	int64_t retain_logs_ns, retain_trash_ns;
	/* private: text, counts */
	struct policy_own *own;
};

/*
 * Parse. "" gives the defaults. The document is strict: an unknown key, a wrong type, a value past its range, an alias bomb or a
 * second document is -EINVAL with "line L, column C: ..." in err. -EFBIG past POLICY_TEXT_MAX, -ENOMEM. Starts with one reference.
 */
must_check int policy_parse(struct bytes yaml, struct policy **ret, struct err *err);

struct policy *policy_ref(struct policy *p);
void policy_unref(struct policy *p); /* NULL is fine */

/* The limits of a step of this agent (the file's own entry for it, or the general ones). */
const struct policy_step_limits *policy_step_limits_of(const struct policy *p, const char *agent);
void policy_agent_quota(const struct policy *p, const char *agent, uint64_t *ret_bytes,
			uint64_t *ret_files);

#endif
