/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/policy_parse_test.c - what a policy may say, and what is told to who says something else (policy/policy.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "policy/policy.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define S 1000000000LL
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

static struct policy *parse(const char *yaml)
{
	struct policy *p = NULL;
	struct err err = { 0 };

	if (policy_parse(bytes_str(yaml), &p, &err) < 0)
		fail_msg("policy: %s", err.msg);
	return p;
}

/* The whole shape of the contract, with values that are not the defaults. */
static const char whole[] =
	"version: 1\n"
	"root: shared\n"
	"limits:\n"
	"  step:      { timeout: 1m, timeout_max: 5m, memory: 2GiB, memory_max: 8GiB, pids: 64, "
	"cpus: 1.5, open_files: 512,\n"
	"               log: 1MiB, tmp: 64MiB, file: 6GiB, code: 1MiB }\n"
	"  workspace: { bytes: 20GiB, files: 5000, sandboxes: 4, steps_queued: 8 }\n"
	"  agent:     { bytes: 3GiB, files: 1000 }\n"
	"  upload:    1GiB\n"
	"agents:\n"
	"  planner:   {}\n"
	"  reviewer:  { limits: { memory: 512MiB, bytes: 1GiB } }\n"
	"  writer:\n"
	"rules:\n"
	"  - { deny: [write], agent: reviewer, path: \"output/final/**\" }\n"
	"  - { allow: [read, write], agent: \"*\", path: \"agents/planner/private/**\" }\n"
	"hooks:\n"
	"  pre_step:  { agent: gate, run: [python3, /workspace/input/hooks/pre.py], timeout: 5s }\n"
	"  post_step: { agent: gate, run: [python3, /workspace/input/hooks/post.py] }\n"
	"  on_output: { path: \"output/**/*.csv\", agent: checker, run: [python3, \"\", a b] }\n"
	"network: none\n"
	"host_paths: [/opt/venv, /srv/models]\n"
	"retention: { versions: 5, logs: 7d, trash: 10m }\n";

#define TEXT_SIZE 512

/* All numbers as one line, so that a test compares lines and a failure shows which differs. */
static const char *step_text(const struct policy_step_limits *s, char out[TEXT_SIZE])
{
	(void)snprintf(out, TEXT_SIZE,
		       "%llds of %llds, %lluM of %lluM, %u pids, %um cpus, %u files, log %lluM, "
		       "tmp %lluM, file %lluM, code %lluM",
		       (long long)(s->timeout_ns / S), (long long)(s->timeout_max_ns / S),
		       (unsigned long long)(s->memory / MIB),
		       (unsigned long long)(s->memory_max / MIB), s->pids, s->cpus_milli,
		       s->open_files, (unsigned long long)(s->log / MIB),
		       (unsigned long long)(s->tmp / MIB), (unsigned long long)(s->file / MIB),
		       (unsigned long long)(s->code / MIB));
	return out;
}

static const char *space_text(const struct policy *p, const char *agent, char out[TEXT_SIZE])
{
	uint64_t bytes = 0, files = 0;

	policy_agent_quota(p, agent, &bytes, &files);
	(void)snprintf(out, TEXT_SIZE,
		       "ws %lluM %llu, %u sandboxes, %u queued, agent %lluM %llu, upload %lluM, %u "
		       "versions, logs %llds, trash %llds",
		       (unsigned long long)(p->limits.ws_bytes / MIB),
		       (unsigned long long)p->limits.ws_files, p->limits.ws_sandboxes,
		       p->limits.ws_steps_queued, (unsigned long long)(bytes / MIB),
		       (unsigned long long)files, (unsigned long long)(p->limits.upload / MIB),
		       p->retain_versions, (long long)(p->retain_logs_ns / S),
		       (long long)(p->retain_trash_ns / S));
	return out;
}

static void test_policy_parse_empty_gives_the_defaults(void **state)
{
	static const char *const texts[] = { "",
					     "\n",
					     "# nothing\n",
					     "---\n",
					     "{}",
					     "version: 1\n",
					     "limits:\nagents:\nrules:\nhooks:\n" };
	char text[TEXT_SIZE];

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		struct policy *p = parse(texts[i]);
		struct sha256 sha;

		sha256_of(bytes_str(texts[i]), &sha);
		assert_memory_equal(&sha, &p->sha, sizeof(sha));
		assert_false(p->root_shared || p->network || p->pre_step.set || p->post_step.set ||
			     p->on_output.set);
		assert_string_equal(step_text(policy_step_limits_of(p, "anyone"), text),
				    "30s of 180s, 1024M of 4096M, 256 pids, 2000m cpus, 1024 "
				    "files, log 8M, tmp 256M, file 2048M, code 16M");
		assert_string_equal(space_text(p, "anyone", text),
				    "ws 10240M 1000000, 16 sandboxes, 256 queued, agent 10240M "
				    "1000000, upload 5120M, "
				    "20 versions, logs 2592000s, trash 3600s");
		assert_int_equal(p->agent_count + p->rule_count + p->host_path_count, 0);
		policy_unref(p);
	}
}

static void test_policy_parse_all_limits_are_read(void **state)
{
	struct policy *p = parse(whole);
	char text[TEXT_SIZE];

	(void)state;
	assert_true(p->root_shared);
	assert_string_equal(step_text(policy_step_limits_of(p, "planner"), text),
			    "60s of 300s, 2048M of 8192M, 64 pids, 1500m cpus, 512 files, log 1M, "
			    "tmp 64M, file 6144M, code 1M");
	assert_string_equal(step_text(policy_step_limits_of(p, "reviewer"), text),
			    "60s of 300s, 512M of 8192M, 64 pids, 1500m cpus, 512 files, log 1M, "
			    "tmp 64M, file 6144M, code 1M");
	assert_string_equal(space_text(p, "planner", text),
			    "ws 20480M 5000, 4 sandboxes, 8 queued, agent 3072M 1000, upload "
			    "1024M, 5 versions, logs 604800s, trash 600s");
	assert_string_equal(space_text(p, "reviewer", text),
			    "ws 20480M 5000, 4 sandboxes, 8 queued, agent 1024M 1000, upload "
			    "1024M, 5 versions, logs 604800s, trash 600s");
	policy_unref(p);
}

static void test_policy_parse_rules_hooks_and_paths_are_read(void **state)
{
	struct policy *p = parse(whole);

	(void)state;
	assert_int_equal(p->agent_count, 3);
	assert_string_equal(p->agents[2].name, "writer");
	assert_int_equal(p->rule_count, 2);
	assert_false(p->rules[0].allow);
	assert_int_equal(p->rules[0].access, POL_WRITE);
	assert_string_equal(p->rules[0].agent, "reviewer");
	assert_int_equal(p->rules[0].line, 14);
	assert_true(p->rules[1].allow);
	assert_int_equal(p->rules[1].access, POL_READ | POL_WRITE);
	assert_string_equal(p->rules[1].path, "agents/planner/private/**");
	assert_int_equal(p->pre_step.timeout_ns, 5 * S);
	assert_null(p->pre_step.path);
	assert_int_equal(p->post_step.timeout_ns, 60 * S);
	assert_string_equal(p->on_output.path, "output/**/*.csv");
	assert_string_equal(p->on_output.argv[0], "python3");
	assert_string_equal(p->on_output.argv[1], "");
	assert_string_equal(p->on_output.argv[2], "a b");
	assert_null(p->on_output.argv[3]);
	assert_int_equal(p->on_output.line, 19);
	assert_int_equal(p->host_path_count, 2);
	assert_string_equal(p->host_paths[1], "/srv/models");
	policy_unref(p);
}

static void test_policy_parse_one_of_a_pair_takes_the_other_along(void **state)
{
	static const struct {
		const char *yaml;
		int64_t timeout, timeout_max;
		uint64_t memory, memory_max;
	} rows[] = {
		{ "limits: { step: { timeout: 10m } }", 600 * S, 600 * S, GIB, 4 * GIB },
		{ "limits: { step: { timeout_max: 10s } }", 10 * S, 10 * S, GIB, 4 * GIB },
		{ "limits: { step: { timeout: 2s } }", 2 * S, 180 * S, GIB, 4 * GIB },
		{ "limits: { step: { memory: 8GiB } }", 30 * S, 180 * S, 8 * GIB, 8 * GIB },
		{ "limits: { step: { memory_max: 64MiB } }", 30 * S, 180 * S, 64 * MIB, 64 * MIB },
		{ "agents: { a: { limits: { memory_max: 64MiB } } }", 30 * S, 180 * S, 64 * MIB,
		  64 * MIB },
		{ "agents: { a: { limits: { timeout: 1h } } }\nlimits: { step: { timeout_max: 1m } "
		  "}",
		  3600 * S, 3600 * S, GIB, 4 * GIB },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct policy *p = parse(rows[i].yaml);
		const struct policy_step_limits *s = policy_step_limits_of(p, "a");

		if (s->timeout_ns != rows[i].timeout || s->timeout_max_ns != rows[i].timeout_max ||
		    s->memory != rows[i].memory || s->memory_max != rows[i].memory_max)
			fail_msg("row %zu: '%s'", i, rows[i].yaml);
		policy_unref(p);
	}
}

struct bad {
	const char *yaml;
	const char *where; /* "line L, column C" */
	const char *says;  /* words of the message */
};

static void refuse(const struct bad *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct policy *p = NULL;
		struct err err = { 0 };
		int r = policy_parse(bytes_str(rows[i].yaml), &p, &err);
		char want[64];

		if (r == 0) {
			policy_unref(p);
			fail_msg("row %zu: accepted:\n%s", i, rows[i].yaml);
		}
		(void)snprintf(want, sizeof(want), "%s: ", rows[i].where);
		if (r != -EINVAL || err.code != r || strncmp(err.msg, want, strlen(want)) != 0 ||
		    strstr(err.msg, rows[i].says) == NULL)
			fail_msg("row %zu: %d '%s', not at %s with '%s':\n%s", i, r, err.msg,
				 rows[i].where, rows[i].says, rows[i].yaml);
	}
}

static const struct bad strict_rows[] = {
	{ "limts: {}", "line 1, column 1",
	  "unknown key 'limts' in the policy; permitted: version, root, limits" },
	{ "version: 1\nLimits: {}", "line 2, column 1", "unknown key 'Limits'" },
	{ "version: 2", "line 1, column 10", "version is '2', permitted: 1" },
	{ "root: closed\nversion:", "line 2, column 1", "version is '', permitted: 1" },
	{ "version: [1]", "line 1, column 10", "version" },
	{ "root: open", "line 1, column 7", "permitted: closed, shared" },
	{ "network: all", "line 1, column 10", "permitted: none" },
	{ "- a", "line 1, column 1", "the policy must be a mapping, not a list" },
	{ "hello", "line 1, column 1", "the policy must be a mapping, not a single value" },
	{ "limits: 5", "line 1, column 9", "limits must be a mapping" },
	{ "limits: { step: [] }", "line 1, column 17", "limits.step must be a mapping" },
	{ "limits:\n  steps: {}", "line 2, column 3", "permitted: step, workspace, agent, upload" },
	{ "limits: { step: { ram: 1 } }", "line 1, column 19", "unknown key 'ram'" },
	{ "limits: { workspace: { bytes: 1, dirs: 1 } }", "line 1, column 34",
	  "permitted: bytes, files, sandboxes, steps_queued" },
	{ "agents: [a, b]", "line 1, column 9", "agents must be a mapping, not a list" },
	{ "agents: { a: 5 }", "line 1, column 14", "an agent must be a mapping" },
	{ "agents: { a: { limit: {} } }", "line 1, column 16", "permitted: limits" },
	{ "agents: { a: { limits: { ram: 1 } } }", "line 1, column 26", "unknown key 'ram'" },
	{ "agents: { A: {} }", "line 1, column 11", "no agent's name" },
	{ "agents: { ../x: {} }", "line 1, column 11", "no agent's name" },
	{ "agents: { operator: {} }", "line 1, column 11", "reserved" },
	{ "agents:\n  a: {}\n  a: {}", "line 3, column 3",
	  "key 'a' stands twice, first on line 2" },
	{ "version: 1\nversion: 1", "line 2, column 1", "stands twice" },
	{ "rules: {}", "line 1, column 8", "rules must be a list" },
	{ "rules:\n  - deny", "line 2, column 5", "a rule must be a mapping" },
	{ "rules:\n  - { deny: [read], allow: [read], path: output }", "line 2, column 5",
	  "either 'deny' or 'allow'" },
	{ "rules:\n  - { path: output }", "line 2, column 5", "either 'deny' or 'allow'" },
	{ "rules:\n  - {}\n  -", "line 2, column 5", "either 'deny' or 'allow'" },
	{ "rules: [ { deny: read, path: output } ]", "line 1, column 18",
	  "deny must be a list of read, write" },
	{ "rules: [ { deny: [], path: output } ]", "line 1, column 18", "deny must be a list" },
	{ "rules: [ { deny: [read, exec], path: output } ]", "line 1, column 25",
	  "'exec', permitted are read, write" },
	{ "rules: [ { deny: [read, read], path: output } ]", "line 1, column 25", "twice" },
	{ "rules: [ { deny: [[read]], path: output } ]", "line 1, column 19",
	  "permitted are read, write" },
	{ "rules: [ { deny: [read] } ]", "line 1, column 10", "needs the key 'path'" },
	{ "rules: [ { deny: [read], path: [output] } ]", "line 1, column 32",
	  "path must be a single value" },
	{ "rules: [ { deny: [read], path: } ]", "line 1, column 26",
	  "path must be a single value, not nothing" },
	{ "rules: [ { deny: [read], path: \"\" } ]", "line 1, column 32", "empty path pattern" },
	{ "rules: [ { deny: [read], path: /output } ]", "line 1, column 32", "not with a slash" },
	{ "rules: [ { deny: [read], path: output/../input } ]", "line 1, column 32", "'..'" },
	{ "rules: [ { deny: [read], path: \"output/**.csv\" } ]", "line 1, column 32",
	  "whole part" },
	{ "rules: [ { deny: [read], path: \"ouptut/**\" } ]", "line 1, column 32", "in no zone" },
	{ "rules: [ { deny: [read], agent: [a], path: output } ]", "line 1, column 33",
	  "agent must be a single value" },
	{ "rules: [ { deny: [read], agent: A, path: output } ]", "line 1, column 33",
	  "no agent's name" },
	{ "rules: [ { deny: [read], agent: operator, path: output } ]", "line 1, column 33",
	  "reserved" },
	{ "rules: [ { deny: [read], agents: a, path: output } ]", "line 1, column 26",
	  "permitted: deny, allow, agent, path" },
	{ "hooks: { pre: {} }", "line 1, column 10", "permitted: pre_step, post_step, on_output" },
	{ "hooks: { pre_step: {} }", "line 1, column 20", "needs the key 'agent'" },
	{ "hooks: { pre_step: }", "line 1, column 10",
	  "pre_step must be a mapping with agent, run" },
	{ "hooks: { pre_step: { agent: g } }", "line 1, column 20", "needs the key 'run'" },
	{ "hooks: { pre_step: { agent: g, run: python3 } }", "line 1, column 37",
	  "run must be a list" },
	{ "hooks: { pre_step: { agent: g, run: [] } }", "line 1, column 37", "run must be a list" },
	{ "hooks: { pre_step: { agent: g, run: [\"\"] } }", "line 1, column 38",
	  "begins with a program" },
	{ "hooks: { pre_step: { agent: g, run: [a, [b]] } }", "line 1, column 41",
	  "run holds words" },
	{ "hooks: { pre_step: { agent: g, run: [a], path: output } }", "line 1, column 42",
	  "unknown key 'path'" },
	{ "hooks: { pre_step: { agent: operator, run: [a] } }", "line 1, column 29", "reserved" },
	{ "hooks: { pre_step: { agent: g, run: [a], timeout: soon } }", "line 1, column 51",
	  "a duration" },
	{ "hooks: { on_output: { agent: g, run: [a] } }", "line 1, column 21",
	  "needs the key 'path'" },
	{ "hooks: { on_output: { agent: g, run: [a], path: \"agents/**\" } }", "line 1, column 49",
	  "output/ alone" },
	{ "host_paths: /opt", "line 1, column 13", "host_paths must be a list" },
	{ "host_paths: [opt]", "line 1, column 14", "absolute path" },
	{ "host_paths: [/]", "line 1, column 14", "absolute path" },
	{ "host_paths: [/opt/]", "line 1, column 14", "absolute path" },
	{ "host_paths: [/opt/../etc]", "line 1, column 14", "absolute path" },
	{ "host_paths: [/proc/1]", "line 1, column 14", "meets /proc" },
	{ "host_paths: [/home]", "line 1, column 14", "meets /home/user" },
	{ "host_paths: [/workspace]", "line 1, column 14", "meets /workspace" },
	{ "host_paths: [/opt, /opt/x]", "line 1, column 20", "another of host_paths" },
	{ "retention: { logs: 4000d }", "line 1, column 20", "permitted are 0ms to 3650d" },
	{ "retention: { version: 1 }", "line 1, column 14", "permitted: versions, logs, trash" },
};

static void test_policy_parse_keys_and_kinds_are_strict(void **state)
{
	(void)state;
	refuse(strict_rows, COUNT(strict_rows));
}

static const struct bad range_rows[] = {
	{ "limits: { step: { timeout: 0 } }", "line 1, column 28", "permitted are 10ms to 7d" },
	{ "limits: { step: { timeout: 8d } }", "line 1, column 28", "permitted are 10ms to 7d" },
	{ "limits: { step: { timeout: -1s } }", "line 1, column 28", "a duration such as" },
	{ "limits: { step: { timeout: abc } }", "line 1, column 28", "a duration such as" },
	{ "limits: { step: { timeout: } }", "line 1, column 19", "timeout must be a duration" },
	{ "limits: { step: { timeout: [30s] } }", "line 1, column 28",
	  "timeout must be a duration" },
	{ "limits: { step: { timeout: 10m, timeout_max: 5m } }", "line 1, column 28",
	  "more than timeout_max 5m" },
	{ "limits: { step: { memory: 8GiB, memory_max: 1GiB } }", "line 1, column 27",
	  "more than memory_max 1GiB" },
	{ "limits: { step: { memory: 1KiB } }", "line 1, column 27", "permitted are 4.0 MiB to" },
	{ "limits: { step: { memory: lots } }", "line 1, column 27", "a size such as" },
	{ "limits: { step: { memory: 1XiB } }", "line 1, column 27", "a size such as" },
	{ "limits: { step: { memory: -1 } }", "line 1, column 27", "memory is '-1'" },
	{ "limits: { step: { memory: 99999999999999999999GiB } }", "line 1, column 27",
	  "permitted are" },
	{ "limits: { step: { pids: 0 } }", "line 1, column 25", "permitted are 1 to 4096" },
	{ "limits: { step: { pids: 4097 } }", "line 1, column 25", "permitted are 1 to 4096" },
	{ "limits: { step: { pids: 4294967297 } }", "line 1, column 25",
	  "permitted are 1 to 4096" },
	{ "limits: { step: { pids: 99999999999999999999 } }", "line 1, column 25",
	  "permitted are 1 to 4096" },
	{ "limits: { step: { pids: 1.5 } }", "line 1, column 25", "a whole number" },
	{ "limits: { step: { pids: 0x10 } }", "line 1, column 25", "a whole number" },
	{ "limits: { step: { pids: \"\" } }", "line 1, column 25", "a whole number" },
	{ "limits: { step: { cpus: 0 } }", "line 1, column 25", "permitted are 0.01 to 1024" },
	{ "limits: { step: { cpus: 1025 } }", "line 1, column 25", "permitted are 0.01 to 1024" },
	{ "limits: { step: { cpus: 99999999999999999999 } }", "line 1, column 25",
	  "permitted are 0.01 to 1024" },
	{ "limits: { step: { cpus: two } }", "line 1, column 25", "a number of cpus" },
	{ "limits: { step: { cpus: 1. } }", "line 1, column 25", "a number of cpus" },
	{ "limits: { step: { cpus: 1.2345 } }", "line 1, column 25", "a number of cpus" },
	{ "limits: { step: { open_files: 3 } }", "line 1, column 31",
	  "permitted are 16 to 1048576" },
	{ "limits: { step: { log: 0 } }", "line 1, column 24", "permitted are 1 B to" },
	{ "limits: { step: { tmp: 0 } }", "line 1, column 24", "permitted are 64.0 KiB to" },
	{ "limits: { step: { file: 0 } }", "line 1, column 25", "permitted are" },
	{ "limits: { step: { code: 1GiB } }", "line 1, column 25",
	  "permitted are 1 B to 256.0 MiB" },
	{ "limits: { workspace: { bytes: 0 } }", "line 1, column 31", "permitted are" },
	{ "limits: { workspace: { files: 0 } }", "line 1, column 31", "permitted are" },
	{ "limits: { workspace: { sandboxes: 0 } }", "line 1, column 35",
	  "permitted are 1 to 4096" },
	{ "limits: { workspace: { steps_queued: 65537 } }", "line 1, column 38",
	  "permitted are 0 to 65536" },
	{ "limits: { agent: { bytes: x } }", "line 1, column 27", "a size such as" },
	{ "limits: { upload: 0 }", "line 1, column 19", "upload is '0'" },
	{ "agents: { a: { limits: { pids: 0 } } }", "line 1, column 32",
	  "permitted are 1 to 4096" },
	{ "agents: { a: { limits: { memory: 2GiB, memory_max: 1GiB } } }", "line 1, column 34",
	  "more than memory_max" },
	{ "retention: { versions: 0 }", "line 1, column 24", "permitted are 1 to" },
	{ "retention: { logs: 11y }", "line 1, column 20", "a duration" },
};

static void test_policy_parse_numbers_have_ranges(void **state)
{
	(void)state;
	refuse(range_rows, COUNT(range_rows));
}

static void test_policy_parse_yaml_that_is_no_policy_is_refused(void **state)
{
	static const struct bad rows[] = {
		{ "a: &x 1", "line 1, column", "anchors and aliases" },
		{ "agents: &a { b: {} }", "line 1, column", "anchors and aliases" },
		{ "agents:\n  a: *b", "line 2, column", "anchors and aliases" },
		{ "limits: !!map {}", "line 1, column", "tags" },
		{ "version: !int 1", "line 1, column", "tags" },
		{ "version: 1\n---\nversion: 1", "line 2, column 1", "second document" },
		{ "? { a: b }\n: c", "line 1, column 3", "a key must be a single word" },
		{ "? [ a ]\n: c", "line 1, column 3", "a key must be a single word" },
		{ "version: \"1\\0\"", "line 1, column 10", "NUL" },
		{ "version: 1\nroot: \"\xff\"", "line 2, column 8", "0xff is not UTF-8" },
		{ "version: \xc0\x80", "line 1, column 10", "not UTF-8" },
		{ "a: \xed\xa0\x80", "line 1, column 4", "not UTF-8" },
		{ "a: \xc3\xa9\xf4\x90\x80\x80", "line 1, column 5", "not UTF-8" },
		{ "[[[[[[[[[[[[[[[[[ 1 ]]]]]]]]]]]]]]]]]", "line 1, column 17",
		  "nested deeper than 16" },
		{ "limits: {", "line ", "not YAML" },
		{ "version: 1\n  root: closed", "line 1, column 10", "not YAML" },
		{ "a: 'x", "line ", "not YAML" },
		{ "\ta: 1", "line 1", "" },
		{ "<<: {}", "line 1, column 1", "unknown key '<<'" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct policy *p = NULL;
		struct err err = { 0 };
		int r = policy_parse(bytes_str(rows[i].yaml), &p, &err);

		if (r == 0) {
			policy_unref(p);
			fail_msg("row %zu: accepted:\n%s", i, rows[i].yaml);
		}
		if (r != -EINVAL || strncmp(err.msg, rows[i].where, strlen(rows[i].where)) != 0 ||
		    strstr(err.msg, rows[i].says) == NULL)
			fail_msg("row %zu: %d '%s', not at %s with '%s'", i, r, err.msg,
				 rows[i].where, rows[i].says);
	}
}

static void test_policy_parse_nul_byte_is_refused(void **state)
{
	static const char text[] = "version: 1\nro\0ot: closed\n";
	struct policy *p = NULL;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(policy_parse(bytes_of(text, sizeof(text) - 1), &p, &err), -EINVAL);
	assert_string_equal(err.msg, "line 2, column 3: a NUL byte is not permitted");
}

/* A text of `head` and then `item` again and again. */
static char *repeated(const char *head, const char *item, size_t times)
{
	size_t a = strlen(head), b = strlen(item);
	char *text = malloc(a + b * times + 1);

	assert_non_null(text);
	memcpy(text, head, a);
	for (size_t i = 0; i < times; i++)
		memcpy(text + a + i * b, item, b);
	text[a + b * times] = 0;
	return text;
}

static void test_policy_parse_too_much_is_refused(void **state)
{
	static const struct {
		const char *head, *item;
		size_t times;
		int want;
		const char *says;
	} rows[] = {
		{ "# ", "x", POLICY_TEXT_MAX - 2, 0, "" },
		{ "# ", "x", POLICY_TEXT_MAX - 1, -EFBIG, "at most 262144 bytes" },
		{ "rules:\n", "- { deny: [read], path: output }\n", POLICY_RULES_MAX, 0, "" },
		{ "rules:\n", "- { deny: [read], path: output }\n", POLICY_RULES_MAX + 1, -EINVAL,
		  "permitted are 1024" },
		{ "rules: [ { deny: [", "read, ", 40000, -EINVAL, "" },
		{ "x: [", "1,", 80000, -EINVAL, "more than 65536 values" },
		{ "", "[", 100000, -EINVAL, "nested deeper" },
		{ "", "{a: ", 50000, -EINVAL, "nested deeper" },
		{ "", "- ", 50000, -EINVAL, "nested deeper" },
		{ "hooks: { pre_step: { agent: g, run: [", "a, ", POLICY_HOOK_ARGS_MAX + 1, -EINVAL,
		  "" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char *text = repeated(rows[i].head, rows[i].item, rows[i].times);
		struct policy *p = NULL;
		struct err err = { 0 };
		int r = policy_parse(bytes_str(text), &p, &err);

		free(text);
		if (r == 0)
			policy_unref(p);
		if (r != rows[i].want || (r < 0 && strstr(err.msg, rows[i].says) == NULL))
			fail_msg("row %zu: %d '%s'", i, r, err.msg);
	}
}

static void test_policy_parse_32_agents_are_permitted_33_are_not(void **state)
{
	(void)state;
	for (unsigned count = POLICY_AGENTS_MAX; count <= POLICY_AGENTS_MAX + 1; count++) {
		char text[2048] = "agents:\n";
		size_t len = strlen(text);
		struct policy *p = NULL;
		struct err err = { 0 };
		int r;

		for (unsigned i = 0; i < count; i++)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "  a%u: {}\n", i);
		r = policy_parse(bytes_of(text, len), &p, &err);
		assert_int_equal(r, count > POLICY_AGENTS_MAX ? -EINVAL : 0);
		if (r < 0)
			assert_non_null(
				strstr(err.msg, "line 2, column 3: 33 agents, permitted are 32"));
		policy_unref(p);
	}
}

static void test_policy_ref_keeps_it_alive(void **state)
{
	struct policy *p = parse(whole), *q = policy_ref(p);

	(void)state;
	policy_unref(p);
	assert_string_equal(q->agents[0].name, "planner"); /* under ASan: it is still there */
	policy_unref(q);
	policy_unref(NULL);
}

static void test_policy_parse_failure_without_err_is_fine(void **state)
{
	struct policy *p = NULL;

	(void)state;
	assert_int_equal(policy_parse(BYTES_LIT("x: 1"), &p, NULL), -EINVAL);
	assert_int_equal(policy_parse(BYTES_LIT("x: {"), &p, NULL), -EINVAL);
	assert_null(p);
}

/* make test runs in the repository's root */
static void test_policy_parse_the_example_is_accepted(void **state)
{
	char text[8192];
	FILE *f = fopen("examples/weather/policy.yaml", "re");
	struct policy *p = NULL;
	struct err err = { 0 };
	size_t len;

	(void)state;
	assert_non_null(f);
	len = fread(text, 1, sizeof(text), f);
	(void)fclose(f);
	if (policy_parse(bytes_of(text, len), &p, &err) < 0)
		fail_msg("%s", err.msg);
	assert_string_equal(p->on_output.agent, "checker");
	policy_unref(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_policy_parse_empty_gives_the_defaults),
		cmocka_unit_test(test_policy_parse_all_limits_are_read),
		cmocka_unit_test(test_policy_parse_rules_hooks_and_paths_are_read),
		cmocka_unit_test(test_policy_parse_one_of_a_pair_takes_the_other_along),
		cmocka_unit_test(test_policy_parse_keys_and_kinds_are_strict),
		cmocka_unit_test(test_policy_parse_numbers_have_ranges),
		cmocka_unit_test(test_policy_parse_yaml_that_is_no_policy_is_refused),
		cmocka_unit_test(test_policy_parse_nul_byte_is_refused),
		cmocka_unit_test(test_policy_parse_too_much_is_refused),
		cmocka_unit_test(test_policy_parse_32_agents_are_permitted_33_are_not),
		cmocka_unit_test(test_policy_parse_the_example_is_accepted),
		cmocka_unit_test(test_policy_ref_keeps_it_alive),
		cmocka_unit_test(test_policy_parse_failure_without_err_is_fine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
