/* SPDX-License-Identifier: MIT */
/*
 * policy/limits.c - one table for each group of numbers: key, place in its struct, kind, range.
 */
#include "policy/limits.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/clock.h"
#include "core/size.h"

#define FIELDS_MAX 16
#define NUMBER_SIZE 32
#define MILLI 1000u

enum kind { KIND_SIZE, KIND_TIME, KIND_COUNT, KIND_COUNT32, KIND_CPUS };

struct field {
	const char *key;
	size_t at;
	enum kind kind;
	uint64_t min, max;
};

#define STEP(f) offsetof(struct policy_step_limits, f)
static const struct field step_fields[] = {
	{ "timeout", STEP(timeout_ns), KIND_TIME, LIMIT_TIMEOUT_MIN_NS, LIMIT_TIMEOUT_MAX_NS },
	{ "timeout_max", STEP(timeout_max_ns), KIND_TIME, LIMIT_TIMEOUT_MIN_NS,
	  LIMIT_TIMEOUT_MAX_NS },
	{ "memory", STEP(memory), KIND_SIZE, LIMIT_MEMORY_MIN, LIMIT_MEMORY_MAX },
	{ "memory_max", STEP(memory_max), KIND_SIZE, LIMIT_MEMORY_MIN, LIMIT_MEMORY_MAX },
	{ "pids", STEP(pids), KIND_COUNT32, 1, LIMIT_PIDS_MAX },
	{ "cpus", STEP(cpus_milli), KIND_CPUS, LIMIT_CPUS_MIN_MILLI, LIMIT_CPUS_MAX_MILLI },
	{ "open_files", STEP(open_files), KIND_COUNT32, LIMIT_OPEN_FILES_MIN,
	  LIMIT_OPEN_FILES_MAX },
	{ "log", STEP(log), KIND_SIZE, 1, LIMIT_LOG_MAX },
	{ "tmp", STEP(tmp), KIND_SIZE, LIMIT_TMP_MIN, LIMIT_TMP_MAX },
	{ "file", STEP(file), KIND_SIZE, 1, LIMIT_FILE_MAX },
	{ "code", STEP(code), KIND_SIZE, 1, LIMIT_CODE_MAX },
	{ 0 },
};

#define LIMIT(f) offsetof(struct policy_limits, f)
static const struct field workspace_fields[] = {
	{ "bytes", LIMIT(ws_bytes), KIND_SIZE, 1, LIMIT_BYTES_MAX },
	{ "files", LIMIT(ws_files), KIND_COUNT, 1, LIMIT_FILES_MAX },
	{ "sandboxes", LIMIT(ws_sandboxes), KIND_COUNT32, 1, LIMIT_SANDBOXES_MAX },
	{ "steps_queued", LIMIT(ws_steps_queued), KIND_COUNT32, 0, LIMIT_QUEUE_MAX },
	{ 0 },
};
static const struct field quota_fields[] = {
	{ "bytes", LIMIT(agent_bytes), KIND_SIZE, 1, LIMIT_BYTES_MAX },
	{ "files", LIMIT(agent_files), KIND_COUNT, 1, LIMIT_FILES_MAX },
	{ 0 },
};
static const struct field upload_field = { "upload", LIMIT(upload), KIND_SIZE, 1, LIMIT_BYTES_MAX };

/* An agent's own: the step's fields in policy_agent.step, and its quota beside them. */
static const struct field agent_quota_fields[] = {
	{ "bytes", offsetof(struct policy_agent, bytes), KIND_SIZE, 1, LIMIT_BYTES_MAX },
	{ "files", offsetof(struct policy_agent, files), KIND_COUNT, 1, LIMIT_FILES_MAX },
	{ 0 },
};
static const char *const agent_keys[] = { "timeout", "timeout_max", "memory", "memory_max", "pids",
					  "cpus",    "open_files",  "log",    "tmp",        "file",
					  "code",    "bytes",       "files",  NULL };

static const struct field retention_fields[] = {
	{ "versions", offsetof(struct policy, retain_versions), KIND_COUNT32, 1,
	  LIMIT_VERSIONS_MAX },
	{ "logs", offsetof(struct policy, retain_logs_ns), KIND_TIME, 0, LIMIT_RETAIN_MAX_NS },
	{ "trash", offsetof(struct policy, retain_trash_ns), KIND_TIME, 0, LIMIT_RETAIN_MAX_NS },
	{ 0 },
};

static int count_parse(const char *s, uint64_t *ret)
{
	char *end = NULL;
	unsigned long long v;

	if (s[0] < '0' || s[0] > '9')
		return -EINVAL;
	errno = 0;
	v = strtoull(s, &end, 10);
	if (errno != 0)
		return -ERANGE;
	if (*end != 0)
		return -EINVAL;
	*ret = v;
	return 0;
}

/* "2", "0.5", "1.25": thousandths. */
static int cpus_parse(const char *s, uint64_t *ret)
{
	uint64_t whole = 0, frac = 0, scale = MILLI;

	if (*s < '0' || *s > '9')
		return -EINVAL;
	for (; *s >= '0' && *s <= '9'; s++) {
		whole = whole * 10 + (uint64_t)(*s - '0');
		if (whole > LIMIT_CPUS_MAX_MILLI)
			return -ERANGE;
	}
	if (*s == '.') {
		s++;
		if (*s < '0' || *s > '9')
			return -EINVAL;
		for (; *s >= '0' && *s <= '9' && scale > 1; s++) {
			scale /= 10;
			frac += (uint64_t)(*s - '0') * scale;
		}
	}
	if (*s != 0)
		return -EINVAL;
	*ret = whole * MILLI + frac;
	return 0;
}

static int value_parse(enum kind kind, const char *s, uint64_t *ret)
{
	int64_t ns = 0;
	int r;

	switch (kind) {
	case KIND_SIZE: return size_parse(s, ret);
	case KIND_TIME:
		r = clock_parse_duration(s, &ns);
		if (r == 0)
			*ret = (uint64_t)ns;
		return r;
	case KIND_COUNT:
	case KIND_COUNT32: return count_parse(s, ret);
	case KIND_CPUS: return cpus_parse(s, ret);
	}
	return -EINVAL;
}

static const char *kind_text(enum kind kind)
{
	switch (kind) {
	case KIND_SIZE: return "a size such as 512MiB";
	case KIND_TIME: return "a duration such as 30s, 5m, 24h";
	case KIND_COUNT:
	case KIND_COUNT32: return "a whole number";
	case KIND_CPUS: return "a number of cpus such as 2 or 0.5";
	}
	return "a number";
}

static void duration_text(uint64_t ns, char out[NUMBER_SIZE])
{
	static const struct {
		uint64_t ns;
		const char *unit;
	} units[] = { { 86400000000000u, "d" },
		      { 3600000000000u, "h" },
		      { 60000000000u, "m" },
		      { 1000000000u, "s" } };

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (ns >= units[i].ns && ns % units[i].ns == 0) {
			(void)snprintf(out, NUMBER_SIZE, "%llu%s",
				       (unsigned long long)(ns / units[i].ns), units[i].unit);
			return;
		}
	(void)snprintf(out, NUMBER_SIZE, "%llums", (unsigned long long)(ns / 1000000u));
}

static void value_text(enum kind kind, uint64_t v, char out[NUMBER_SIZE])
{
	char size[SIZE_TEXT_SIZE];

	switch (kind) {
	case KIND_SIZE:
		size_text(v, size);
		(void)snprintf(out, NUMBER_SIZE, "%s", size);
		return;
	case KIND_TIME: duration_text(v, out); return;
	case KIND_COUNT:
	case KIND_COUNT32: (void)snprintf(out, NUMBER_SIZE, "%llu", (unsigned long long)v); return;
	case KIND_CPUS: (void)snprintf(out, NUMBER_SIZE, "%g", (double)v / MILLI); return;
	}
}

static void value_store(const struct field *f, void *base, uint64_t v)
{
	unsigned char *at = (unsigned char *)base + f->at;
	uint32_t narrow = (uint32_t)v; /* the range of every 32-bit field fits */
	int64_t ns = (int64_t)v;

	switch (f->kind) {
	case KIND_SIZE:
	case KIND_COUNT: memcpy(at, &v, sizeof(v)); return;
	case KIND_TIME: memcpy(at, &ns, sizeof(ns)); return;
	case KIND_COUNT32:
	case KIND_CPUS: memcpy(at, &narrow, sizeof(narrow)); return;
	}
}

static int field_read(const struct yaml_node *n, const struct field *f, const char *what,
		      void *base, struct err *err)
{
	char show[YAML_SHOW_SIZE], min[NUMBER_SIZE], max[NUMBER_SIZE];
	uint64_t v = 0;
	int r;

	if (n->kind != YAML_SCALAR)
		return yaml_err(err, n, "%s must be %s", what, kind_text(f->kind));
	r = value_parse(f->kind, n->text, &v);
	if (r == 0 && v >= f->min && v <= f->max) {
		value_store(f, base, v);
		return 0;
	}
	if (r == -EINVAL)
		return yaml_err(err, n, "%s is '%s', must be %s", what, yaml_show(n->text, show),
				kind_text(f->kind));
	value_text(f->kind, f->min, min);
	value_text(f->kind, f->max, max);
	return yaml_err(err, n, "%s is '%s', permitted are %s to %s", what,
			yaml_show(n->text, show), min, max);
}

/* Read those of the fields that the mapping has; its keys have been checked. */
static int fields_read(const struct yaml_node *n, const struct field *f, void *base,
		       struct err *err)
{
	for (; f->key != NULL; f++) {
		const struct yaml_node *v = yaml_get(n, f->key);
		int r = v != NULL ? field_read(v, f, f->key, base, err) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

static int group_read(const struct yaml_node *n, const struct field *f, const char *what,
		      void *base, struct err *err)
{
	const char *keys[FIELDS_MAX + 1] = { NULL };
	int r;

	if (n == NULL)
		return 0;
	for (size_t i = 0; i < FIELDS_MAX && f[i].key != NULL; i++)
		keys[i] = f[i].key;
	r = yaml_keys(n, keys, what, err);
	return r < 0 ? r : fields_read(n, f, base, err);
}

/*
 * A limit and the most that a request may ask for. Where only one of the two is written and they cross, the other follows it; where
 * both are, that is a mistake.
 */
static int pairs_settle(const struct yaml_node *n, struct policy_step_limits *s, struct err *err)
{
	const struct yaml_node *t = yaml_get(n, "timeout"), *t_max = yaml_get(n, "timeout_max");
	const struct yaml_node *m = yaml_get(n, "memory"), *m_max = yaml_get(n, "memory_max");

	if (s->timeout_ns > s->timeout_max_ns) {
		if (t != NULL && t_max != NULL)
			return yaml_err(err, t, "timeout %s is more than timeout_max %s", t->text,
					t_max->text);
		if (t_max != NULL)
			s->timeout_ns = s->timeout_max_ns;
		else
			s->timeout_max_ns = s->timeout_ns;
	}
	if (s->memory > s->memory_max) {
		if (m != NULL && m_max != NULL)
			return yaml_err(err, m, "memory %s is more than memory_max %s", m->text,
					m_max->text);
		if (m_max != NULL)
			s->memory = s->memory_max;
		else
			s->memory_max = s->memory;
	}
	return 0;
}

void limits_default(struct policy *p)
{
	p->limits = (struct policy_limits){
		.step = {
			.timeout_ns = 30 * NS_PER_S,
			.timeout_max_ns = 180 * NS_PER_S,
			.memory = UINT64_C(1) << 30,
			.memory_max = UINT64_C(4) << 30,
			.pids = 256,
			.cpus_milli = 2 * MILLI,
			.open_files = 1024,
			.log = UINT64_C(8) << 20,
			.tmp = UINT64_C(256) << 20,
			.file = UINT64_C(2) << 30,
			.code = UINT64_C(16) << 20,
		},
		.ws_bytes = UINT64_C(10) << 30,
		.ws_files = 1000000,
		.ws_sandboxes = 16,
		.ws_steps_queued = 256,
		.agent_bytes = UINT64_C(10) << 30,
		.agent_files = 1000000,
		.upload = UINT64_C(5) << 30,
	};
	p->retain_versions = 20;
	p->retain_logs_ns = 30 * 86400 * NS_PER_S;
	p->retain_trash_ns = 3600 * NS_PER_S;
}

int limits_read(const struct yaml_node *n, struct policy *p, struct err *err)
{
	static const char *const keys[] = { "step", "workspace", "agent", "upload", NULL };
	const struct yaml_node *step = yaml_get(n, "step"), *upload = yaml_get(n, "upload");
	int r = n != NULL ? yaml_keys(n, keys, "limits", err) : 0;

	if (r == 0)
		r = group_read(step, step_fields, "limits.step", &p->limits.step, err);
	if (r == 0)
		r = pairs_settle(step, &p->limits.step, err);
	if (r == 0)
		r = group_read(yaml_get(n, "workspace"), workspace_fields, "limits.workspace",
			       &p->limits, err);
	if (r == 0)
		r = group_read(yaml_get(n, "agent"), quota_fields, "limits.agent", &p->limits, err);
	if (r == 0 && upload != NULL)
		r = field_read(upload, &upload_field, "upload", &p->limits, err);
	return r;
}

int retention_read(const struct yaml_node *n, struct policy *p, struct err *err)
{
	return group_read(n, retention_fields, "retention", p, err);
}

int agent_limits_read(const struct yaml_node *n, struct policy_agent *ret, struct err *err)
{
	int r;

	if (n == NULL)
		return 0;
	r = yaml_keys(n, agent_keys, "the agent's limits", err);
	if (r == 0)
		r = fields_read(n, step_fields, &ret->step, err);
	if (r == 0)
		r = fields_read(n, agent_quota_fields, ret, err);
	return r < 0 ? r : pairs_settle(n, &ret->step, err);
}

int timeout_read(const struct yaml_node *n, const char *what, int64_t *ret, struct err *err)
{
	static const struct field f = { "timeout", 0, KIND_TIME, LIMIT_TIMEOUT_MIN_NS,
					LIMIT_TIMEOUT_MAX_NS };

	return n != NULL ? field_read(n, &f, what, ret, err) : 0;
}
