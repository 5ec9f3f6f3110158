/* SPDX-License-Identifier: MIT */
/*
 * policy/limits.h - the policy's numbers: which there are, their defaults and ranges, and reading them.
 * Inside policy/ only.
 */
#ifndef GARTH_POLICY_LIMITS_H
#define GARTH_POLICY_LIMITS_H

#include "policy/policy.h"
#include "policy/yaml.h"

/* What a value may be, at most and at least. */
#define LIMIT_TIMEOUT_MIN_NS 10000000LL          /* 10 ms */
#define LIMIT_TIMEOUT_MAX_NS 604800000000000LL   /* 7 days */
#define LIMIT_RETAIN_MAX_NS 315360000000000000LL /* 10 years of 365 days */
#define LIMIT_MEMORY_MIN (UINT64_C(4) << 20)     /* less and nothing starts */
#define LIMIT_MEMORY_MAX (UINT64_C(16) << 40)
#define LIMIT_PIDS_MAX 4096u
#define LIMIT_CPUS_MIN_MILLI 10u
#define LIMIT_CPUS_MAX_MILLI 1024000u
#define LIMIT_OPEN_FILES_MIN 16u /* less and no interpreter starts */
#define LIMIT_OPEN_FILES_MAX 1048576u
#define LIMIT_LOG_MAX (UINT64_C(1) << 40)
#define LIMIT_TMP_MIN (UINT64_C(64) << 10) /* a tmpfs of size 0 would have no limit */
#define LIMIT_TMP_MAX (UINT64_C(1) << 40)
#define LIMIT_FILE_MAX (UINT64_C(1) << 60)
#define LIMIT_CODE_MAX (UINT64_C(256) << 20)
#define LIMIT_BYTES_MAX (UINT64_C(1) << 60)
#define LIMIT_FILES_MAX UINT64_C(10000000000)
#define LIMIT_SANDBOXES_MAX 4096u
#define LIMIT_QUEUE_MAX 65536u
#define LIMIT_VERSIONS_MAX 1000000u

void limits_default(struct policy *p); /* limits and retention */

/* `limits`, `retention`: absent is fine (n NULL). */
must_check int limits_read(const struct yaml_node *n, struct policy *p, struct err *err);
must_check int retention_read(const struct yaml_node *n, struct policy *p, struct err *err);

/* `limits` of one agent, over what ret holds (the general ones). */
must_check int agent_limits_read(const struct yaml_node *n, struct policy_agent *ret,
				 struct err *err);

/* A duration within a step's range; *ret is left alone where n is NULL. */
must_check int timeout_read(const struct yaml_node *n, const char *what, int64_t *ret,
			    struct err *err);

#endif
