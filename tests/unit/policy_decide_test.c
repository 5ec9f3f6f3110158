/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/policy_decide_test.c - the table of zones (docs/POLICY.md), row by row: who, what, where, and what comes of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "policy/decide.h"
#include "policy/explain.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define RO (-EROFS)
#define NO (-EACCES)
#define HIDDEN (-ENOENT)

struct row {
	const char *agent;
	enum ev_op op;
	const char *path;
	int want;
	const char *rule;
	const char *extra; /* the attribute's name; "special"; "log:<agent>" */
};

static struct policy *parse(const char *yaml)
{
	struct policy *p = NULL;
	struct err err = { 0 };

	if (policy_parse(bytes_str(yaml), &p, &err) < 0)
		fail_msg("policy: %s", err.msg);
	return p;
}

static void ask(const struct policy *p, const struct row *r, struct verdict *v)
{
	struct question q = { .agent = r->agent, .op = r->op, .path = bytes_str(r->path) };

	if (r->extra != NULL && strcmp(r->extra, "special") == 0)
		q.special = true;
	else if (r->extra != NULL && strncmp(r->extra, "log:", 4) == 0)
		q.log_agent = r->extra + 4;
	else
		q.xattr = r->extra;
	policy_decide(p, &q, v);
}

static void hold(const char *yaml, const struct row *rows, size_t count)
{
	struct policy *p = parse(yaml);

	for (size_t i = 0; i < count; i++) {
		struct verdict v;
		bool violation = rows[i].want == RO || rows[i].want == NO;

		ask(p, &rows[i], &v);
		if (v.err != rows[i].want || strcmp(v.rule, rows[i].rule) != 0 ||
		    v.violation != violation)
			fail_msg("row %zu: %s %s '%s' is %d by %s%s, not %d by %s", i,
				 rows[i].agent, ev_op_text(rows[i].op), rows[i].path, v.err, v.rule,
				 v.violation ? ", a violation" : "", rows[i].want, rows[i].rule);
	}
	policy_unref(p);
}

#define HOLD(yaml, rows) hold(yaml, rows, COUNT(rows))

static void test_decide_default_reading_table_holds(void **state)
{
	static const struct row rows[] = {
		{ "a", OP_READ, "input/x", 0, "input.readonly", NULL },
		{ "a", OP_LIST, "input", 0, "input.readonly", NULL },
		{ "a", OP_STAT, "input/x", 0, "input.readonly", NULL },
		{ "a", OP_READ, "task/x", 0, "task.own", NULL },
		{ "a", OP_LIST, "task", 0, "task.own", NULL },
		{ "a", OP_READ, "output/b/x", 0, "output.open", NULL },
		{ "a", OP_LIST, "output", 0, "output.open", NULL },
		{ "a", OP_STAT, "agents", 0, "agents.closed", NULL },
		{ "a", OP_LIST, "agents", 0, "agents.closed", NULL },
		{ "a", OP_READ, "agents/a/x", 0, "area.own", NULL },
		{ "a", OP_READ, "agents/b/x", 0, "area.foreign", NULL },
		{ "a", OP_LIST, "agents/b", 0, "area.foreign", NULL },
		{ "a", OP_STAT, "agents/b/x", 0, "area.foreign", NULL },
		{ "a", OP_LIST, "logs", 0, "logs.readonly", "log:" },
		{ "a", OP_STAT, "logs", 0, "logs.readonly", "log:" },
		{ "a", OP_STAT, "logs/s_1", 0, "logs.own", "log:a" },
		{ "a", OP_READ, "logs/s_1/stdout", 0, "logs.own", "log:a" },
		{ "a", OP_STAT, "logs/s_2", HIDDEN, "logs.own", "log:b" },
		{ "a", OP_LIST, "logs/s_2", HIDDEN, "logs.own", "log:b" },
		{ "a", OP_READ, "logs/s_2/stdout", HIDDEN, "logs.own", "log:b" },
		{ "a", OP_READ, "logs/s_3/stdout", HIDDEN, "logs.own", NULL },
		{ "a", OP_READ, "logs/s_3/stdout", HIDDEN, "logs.own", "log:" },
		{ "a", OP_READ, "logs/s_3/stdout", HIDDEN, "logs.own", "log:operator" },
		{ "a", OP_LIST, "", 0, "root.closed", NULL },
		{ "a", OP_STAT, "", 0, "root.closed", NULL },
		{ "a", OP_STAT, "nothing", 0, "root.closed", NULL },
		{ "operator", OP_READ, "input/x", 0, "operator", NULL },
		{ "operator", OP_READ, "output/x", 0, "operator", NULL },
		{ "operator", OP_READ, "agents/a/x", 0, "operator", NULL },
		{ "operator", OP_READ, "logs/s_1/stdout", 0, "operator", "log:a" },
		{ "operator", OP_LIST, "logs/s_1", 0, "operator", NULL },
		{ "operator", OP_READ, "task/x", 0, "operator", NULL },
		{ "operator", OP_LIST, "", 0, "operator", NULL },
	};

	(void)state;
	HOLD("", rows);
}

static const struct row writing_rows[] = {
	/* input: the operator alone */
	{ "a", OP_CREATE, "input/x", RO, "input.readonly", NULL },
	{ "a", OP_WRITE, "input/x", RO, "input.readonly", NULL },
	{ "a", OP_CHMOD, "input", RO, "input.readonly", NULL },
	{ "a", OP_RMDIR, "input", RO, "input.readonly", NULL },
	{ "a", OP_RENAME, "input", RO, "input.readonly", NULL },
	{ "a", OP_UTIMES, "input", RO, "input.readonly", NULL },
	{ "a", OP_LINK, "input/x", RO, "input.readonly", NULL },
	{ "a", OP_SETXATTR, "input/x", RO, "input.readonly", "user.garth.step" },
	{ "a", OP_MKNOD, "input/s", RO, "input.readonly", "special" },
	{ "operator", OP_CREATE, "input/x", 0, "operator", NULL },
	{ "operator", OP_WRITE, "input/x", 0, "operator", NULL },
	{ "operator", OP_TRUNCATE, "input/x", 0, "operator", NULL },
	{ "operator", OP_MKDIR, "input/d/e", 0, "operator", NULL },
	{ "operator", OP_RMDIR, "input/d", 0, "operator", NULL },
	{ "operator", OP_UNLINK, "input/x", 0, "operator", NULL },
	{ "operator", OP_RENAME, "input/x", 0, "operator", NULL },
	{ "operator", OP_CHMOD, "input/x", 0, "operator", NULL },
	{ "operator", OP_SETXATTR, "input/x", 0, "operator", "user.mine" },
	{ "operator", OP_SETXATTR, "input/x", RO, "xattr.reserved", "user.garth.sha256" },
	{ "operator", OP_MKNOD, "input/s", RO, "special.zone", "special" },
	{ "operator", OP_RMDIR, "input", RO, "input.readonly", NULL },
	{ "operator", OP_RENAME, "input", RO, "input.readonly", NULL },
	/* output: any agent, not the operator */
	{ "a", OP_CREATE, "output/x", 0, "output.open", NULL },
	{ "a", OP_MKNOD, "output/x", 0, "output.open", NULL },
	{ "a", OP_MKNOD, "output/s", NO, "special.zone", "special" },
	{ "a", OP_SETXATTR, "output/x", 0, "output.open", "user.garthless" },
	{ "a", OP_SETXATTR, "output/x", NO, "xattr.reserved", "user.garth.agent" },
	{ "a", OP_REMOVEXATTR, "output/x", NO, "xattr.reserved", "user.garth.sha256" },
	{ "a", OP_UTIMES, "output", 0, "output.open", NULL },
	{ "a", OP_RMDIR, "output", NO, "root.closed", NULL },
	{ "a", OP_RENAME, "output", NO, "root.closed", NULL },
	{ "a", OP_SYMLINK, "output", NO, "root.closed", NULL },
	{ "operator", OP_CREATE, "output/x", NO, "operator", NULL },
	{ "operator", OP_UNLINK, "output/x", NO, "operator", NULL },
	/* task: the sandbox's own steps */
	{ "a", OP_CREATE, "task/x", 0, "task.own", NULL },
	{ "a", OP_MKNOD, "task/s", 0, "task.own", "special" },
	{ "a", OP_CHMOD, "task", 0, "task.own", NULL },
	{ "a", OP_RMDIR, "task", NO, "root.closed", NULL },
	{ "a", OP_RENAME, "task", NO, "root.closed", NULL },
	{ "a", OP_SETXATTR, "task/x", NO, "xattr.reserved", "user.garth.x" },
	{ "operator", OP_CREATE, "task/x", 0, "operator", NULL },
	/* areas: their owners */
	{ "a", OP_CREATE, "agents/a/x", 0, "area.own", NULL },
	{ "a", OP_CHMOD, "agents/a", 0, "area.own", NULL },
	{ "a", OP_RMDIR, "agents/a", NO, "agents.closed", NULL },
	{ "a", OP_RENAME, "agents/a", NO, "agents.closed", NULL },
	{ "a", OP_MKNOD, "agents/a/s", NO, "special.zone", "special" },
	{ "a", OP_SETXATTR, "agents/a/x", NO, "xattr.reserved", "user.garth.x" },
	{ "a", OP_CREATE, "agents/b/x", NO, "area.foreign", NULL },
	{ "a", OP_CHMOD, "agents/b", NO, "area.foreign", NULL },
	{ "a", OP_RENAME, "agents/b", NO, "agents.closed", NULL },
	{ "a", OP_MKDIR, "agents/new", NO, "agents.closed", NULL },
	{ "a", OP_CREATE, "agents/A", NO, "agents.closed", NULL },
	{ "a", OP_CREATE, "agents/ab/x", NO, "area.foreign", NULL },
	{ "a", OP_CREATE, "agents/.a/x", NO, "area.foreign", NULL },
	{ "a", OP_CHMOD, "agents", NO, "agents.closed", NULL },
	{ "a", OP_RMDIR, "agents", NO, "agents.closed", NULL },
	{ "operator", OP_CREATE, "agents/a/x", NO, "area.foreign", NULL },
	{ "operator", OP_CREATE, "agents/operator/x", NO, "area.foreign", NULL },
	{ "operator", OP_MKDIR, "agents/operator", NO, "agents.closed", NULL },
	/* logs: garth alone */
	{ "a", OP_WRITE, "logs/s_1/stdout", NO, "logs.readonly", "log:a" },
	{ "a", OP_CREATE, "logs/x", NO, "logs.readonly", NULL },
	{ "a", OP_UNLINK, "logs/s_1/stdout", NO, "logs.readonly", "log:a" },
	{ "a", OP_RMDIR, "logs", NO, "logs.readonly", NULL },
	{ "a", OP_CHMOD, "logs", NO, "logs.readonly", NULL },
	{ "operator", OP_WRITE, "logs/s_1/stdout", NO, "logs.readonly", NULL },
	/* the root: nobody */
	{ "a", OP_CREATE, "x", NO, "root.closed", NULL },
	{ "a", OP_MKDIR, "inputs", NO, "root.closed", NULL },
	{ "a", OP_MKNOD, "s", NO, "root.closed", "special" },
	{ "a", OP_SYMLINK, "x", NO, "root.closed", NULL },
	{ "a", OP_CHMOD, "", NO, "root.closed", NULL },
	{ "a", OP_CREATE, ".garth.task.1", NO, "root.closed", NULL },
	{ "operator", OP_CREATE, "x", NO, "root.closed", NULL },
	{ "operator", OP_CHMOD, "", NO, "root.closed", NULL },
};

static void test_decide_default_writing_table_holds(void **state)
{
	(void)state;
	HOLD("", writing_rows);
}

/* Each writing operation against each zone, for the owner, another agent and the operator. */
static void test_decide_every_writing_operation_is_bound_by_its_zone(void **state)
{
	static const struct {
		const char *path;
		int owner, other, upload;
	} zones[] = {
		{ "input/d/x", RO, RO, 0 },        { "task/d/x", 0, 0, 0 },
		{ "output/d/x", 0, 0, NO },        { "agents/a/d/x", 0, NO, NO },
		{ "logs/s_1/stdout", NO, NO, NO }, { "x/y", NO, NO, NO },
	};
	struct policy *p = parse("");
	size_t asked = 0;

	(void)state;
	for (int op = OP_CREATE; op < OP_COUNT; op++)
		for (size_t i = 0; i < COUNT(zones); i++) {
			const struct {
				const char *agent;
				int want;
			} who[] = { { "a", zones[i].owner },
				    { "b", zones[i].other },
				    { "operator", zones[i].upload } };

			for (size_t k = 0; k < COUNT(who); k++) {
				struct row row = { who[k].agent,
						   (enum ev_op)op,
						   zones[i].path,
						   who[k].want,
						   "",
						   NULL };
				struct verdict v;

				ask(p, &row, &v);
				asked++;
				if (v.err != who[k].want || v.violation != (v.err != 0) ||
				    policy_rule_text(v.rule)[0] == 0)
					fail_msg("%s %s '%s' is %d by %s, not %d", who[k].agent,
						 ev_op_text((enum ev_op)op), zones[i].path, v.err,
						 v.rule, who[k].want);
			}
		}
	assert_true(asked > 300);
	policy_unref(p);
}

static void test_decide_rules_first_match_decides(void **state)
{
	static const char yaml[] =
		"rules:\n"
		"  - { allow: [write], agent: reviewer, path: \"output/final/notes/**\" }\n"
		"  - { deny: [write], agent: reviewer, path: \"output/final/**\" }\n"
		"  - { deny: [read], agent: \"*\", path: \"agents/planner/private/**\" }\n"
		"  - { deny: [read, write], agent: b, path: \"**/secret/**\" }\n"
		"  - { allow: [read], agent: auditor, path: \"logs/**\" }\n"
		"  - { deny: [read], path: \"logs/*/stderr\" }\n"
		"  - { deny: [write], agent: c, path: \"**\" }\n";
	static const struct row rows[] = {
		{ "reviewer", OP_CREATE, "output/final/x", NO, "rules[1]", NULL },
		{ "reviewer", OP_UNLINK, "output/final/x", NO, "rules[1]", NULL },
		{ "reviewer", OP_CHMOD, "output/final", NO, "rules[1]", NULL },
		{ "reviewer", OP_MKDIR, "output/final", NO, "rules[1]", NULL },
		{ "reviewer", OP_CREATE, "output/final/notes/x", 0, "rules[0]", NULL },
		{ "reviewer", OP_READ, "output/final/x", 0, "output.open", NULL },
		{ "reviewer", OP_CREATE, "output/finally", 0, "output.open", NULL },
		{ "a", OP_CREATE, "output/final/x", 0, "output.open", NULL },
		{ "a", OP_READ, "agents/planner/private/x", NO, "rules[2]", NULL },
		{ "a", OP_STAT, "agents/planner/private", NO, "rules[2]", NULL },
		{ "a", OP_LIST, "agents/planner/private", NO, "rules[2]", NULL },
		{ "a", OP_STAT, "agents/planner/public", 0, "area.foreign", NULL },
		{ "a", OP_WRITE, "agents/planner/private/x", NO, "area.foreign", NULL },
		{ "planner", OP_READ, "agents/planner/private/x", 0, "area.own", NULL },
		{ "planner", OP_WRITE, "agents/planner/private/x", 0, "area.own", NULL },
		{ "operator", OP_READ, "agents/planner/private/x", 0, "operator", NULL },
		{ "b", OP_READ, "input/secret/x", RO, "rules[3]", NULL },
		{ "b", OP_STAT, "input/secret", RO, "rules[3]", NULL },
		{ "b", OP_WRITE, "input/secret/x", RO, "input.readonly", NULL },
		{ "b", OP_READ, "output/secret/x", NO, "rules[3]", NULL },
		{ "b", OP_WRITE, "agents/b/secret/x", NO, "rules[3]", NULL },
		{ "b", OP_READ, "agents/b/secret/x", NO, "rules[3]", NULL },
		{ "b", OP_WRITE, "task/secret/x", NO, "rules[3]", NULL },
		{ "a", OP_READ, "input/secret/x", 0, "input.readonly", NULL },
		{ "auditor", OP_READ, "logs/s_1/stdout", 0, "rules[4]", "log:a" },
		{ "auditor", OP_STAT, "logs/s_1", 0, "rules[4]", NULL },
		{ "auditor", OP_READ, "logs/s_1/stderr", 0, "rules[4]", "log:a" },
		{ "auditor", OP_WRITE, "logs/s_1/stdout", NO, "logs.readonly", "log:auditor" },
		{ "a", OP_READ, "logs/s_1/stderr", NO, "rules[5]", "log:a" },
		{ "a", OP_READ, "logs/s_2/stderr", HIDDEN, "logs.own", "log:b" },
		{ "a", OP_READ, "logs/s_1/stdout", 0, "logs.own", "log:a" },
		{ "c", OP_CREATE, "output/x", NO, "rules[6]", NULL },
		{ "c", OP_CREATE, "agents/c/x", NO, "rules[6]", NULL },
		{ "c", OP_CREATE, "task/x", NO, "rules[6]", NULL },
		{ "c", OP_CREATE, "input/x", RO, "input.readonly", NULL },
		{ "c", OP_CREATE, "agents/a/x", NO, "area.foreign", NULL },
		{ "c", OP_READ, "output/x", 0, "output.open", NULL },
	};

	(void)state;
	HOLD(yaml, rows);
}

static void test_decide_rules_never_give_write_access(void **state)
{
	static const char yaml[] = "root: closed\n"
				   "rules:\n"
				   "  - { allow: [read, write], agent: \"*\", path: \"**\" }\n"
				   "  - { allow: [write], agent: a, path: \"input/**\" }\n";
	static const struct row rows[] = {
		{ "a", OP_CREATE, "input/x", RO, "input.readonly", NULL },
		{ "a", OP_CHMOD, "input", RO, "input.readonly", NULL },
		{ "a", OP_WRITE, "logs/s_1/stdout", NO, "logs.readonly", "log:a" },
		{ "a", OP_CREATE, "agents/b/x", NO, "area.foreign", NULL },
		{ "a", OP_MKDIR, "agents/new", NO, "agents.closed", NULL },
		{ "a", OP_CREATE, "x", NO, "root.closed", NULL },
		{ "a", OP_RENAME, "output", NO, "root.closed", NULL },
		{ "a", OP_MKNOD, "output/s", NO, "special.zone", "special" },
		{ "a", OP_SETXATTR, "output/x", NO, "xattr.reserved", "user.garth.step" },
		{ "operator", OP_CREATE, "output/x", NO, "operator", NULL },
		{ "a", OP_CREATE, "output/x", 0, "rules[0]", NULL },
		{ "a", OP_READ, "logs/s_2/stdout", 0, "rules[0]", "log:b" },
	};

	(void)state;
	HOLD(yaml, rows);
}

static void test_decide_stat_of_zone_tops_is_always_permitted(void **state)
{
	static const char yaml[] = "rules: [ { deny: [read, write], path: \"**\" } ]\n";
	static const struct row rows[] = {
		{ "a", OP_STAT, "", 0, "root.closed", NULL },
		{ "a", OP_STAT, "input", 0, "input.readonly", NULL },
		{ "a", OP_STAT, "task", 0, "task.own", NULL },
		{ "a", OP_STAT, "output", 0, "output.open", NULL },
		{ "a", OP_STAT, "agents", 0, "agents.closed", NULL },
		{ "a", OP_STAT, "agents/b", 0, "area.foreign", NULL },
		{ "a", OP_STAT, "logs", 0, "logs.readonly", NULL },
		{ "a", OP_LIST, "input", RO, "rules[0]", NULL },
		{ "a", OP_LIST, "output", NO, "rules[0]", NULL },
		{ "a", OP_LIST, "", NO, "rules[0]", NULL },
		{ "a", OP_STAT, "output/x", NO, "rules[0]", NULL },
		{ "operator", OP_LIST, "output", 0, "operator", NULL },
		{ "operator", OP_WRITE, "input/x", 0, "operator", NULL },
	};

	(void)state;
	HOLD(yaml, rows);
}

static void test_decide_shared_root_gives_names_beside_the_zones(void **state)
{
	static const struct row rows[] = {
		{ "a", OP_CREATE, "pyproject.toml", 0, "root.shared", NULL },
		{ "a", OP_MKDIR, "src", 0, "root.shared", NULL },
		{ "a", OP_CREATE, "src/x.py", 0, "root.shared", NULL },
		{ "a", OP_UNLINK, "src/x.py", 0, "root.shared", NULL },
		{ "a", OP_RENAME, "inputs", 0, "root.shared", NULL },
		{ "a", OP_MKNOD, "s", NO, "special.zone", "special" },
		{ "a", OP_SETXATTR, "src/x.py", NO, "xattr.reserved", "user.garth.step" },
		{ "a", OP_RENAME, "input", RO, "input.readonly", NULL },
		{ "a", OP_RENAME, "output", NO, "root.closed", NULL },
		{ "a", OP_RMDIR, "task", NO, "root.closed", NULL },
		{ "a", OP_RENAME, "agents", NO, "agents.closed", NULL },
		{ "a", OP_RMDIR, "logs", NO, "logs.readonly", NULL },
		{ "a", OP_CHMOD, "", NO, "root.closed", NULL },
		{ "a", OP_CREATE, ".garth.task.7", NO, "root.closed", NULL },
		{ "operator", OP_CREATE, "x", NO, "operator", NULL },
		{ "a", OP_READ, "src/x.py", 0, "root.shared", NULL },
	};

	(void)state;
	HOLD("root: shared\n", rows);
}

static void test_decide_verdict_names_the_line_of_the_rule(void **state)
{
	struct policy *p = parse("version: 1\n\nrules:\n  # why\n  - deny: [write]\n    agent: a\n "
				 "   path: output/x\n");
	struct row row = { "a", OP_UNLINK, "output/x", NO, "rules[0]", NULL };
	struct question q = { .agent = "a", .op = OP_UNLINK, .path = BYTES_LIT("output/x") };
	struct verdict v;
	autobuf out;

	(void)state;
	buf_init(&out, 4096);
	ask(p, &row, &v);
	assert_int_equal(v.line, 5);
	assert_int_equal(policy_explain(p, &q, &v, &out), 0);
	assert_string_equal(buf_str(&out),
			    "refused with EACCES: unlink output/x by a\n"
			    "rule rules[0], line 5: deny [write] to a on output/x\n");
	row.path = "output/y";
	ask(p, &row, &v);
	assert_int_equal(v.line, 0);
	policy_unref(p);
}

static void test_explain_operations_parse_back(void **state)
{
	(void)state;
	for (int op = OP_READ; op < OP_COUNT; op++)
		assert_int_equal(policy_op_parse(ev_op_text((enum ev_op)op)), op);
	assert_int_equal(policy_op_parse("fly"), OP_NONE);
	assert_int_equal(policy_op_parse(""), OP_NONE);
}

static void test_read_restricted_table_holds(void **state)
{
	static const char rules[] =
		"rules:\n"
		"  - { deny: [read], agent: b, path: \"agents/planner/private/**\" }\n"
		"  - { deny: [write], path: \"output/**\" }\n"
		"  - { allow: [read], path: \"output/**\" }\n";
	static const struct {
		const char *yaml, *dir;
		bool want;
	} rows[] = {
		{ "", "", false },
		{ "", "input", false },
		{ "", "agents", false },
		{ "", "agents/x", false },
		{ "", "logs", true },
		{ "", "logs/s_1", true },
		{ rules, "", false },
		{ rules, "agents", false },
		{ rules, "agents/planner", true },
		{ rules, "agents/planner/private", true },
		{ rules, "agents/planner/private/a", true },
		{ rules, "agents/planner/public", false },
		{ rules, "agents/other", false },
		{ rules, "output", false },
		{ "rules: [ { deny: [read], path: \"**\" } ]", "", false },
		{ "rules: [ { deny: [read], path: \"**\" } ]", "agents", false },
		{ "rules: [ { deny: [read], path: \"**\" } ]", "task", true },
		{ "root: shared\nrules: [ { deny: [read], path: \"**\" } ]", "", true },
		{ "root: shared\nrules: [ { deny: [read], path: \"src/**\" } ]", "src/a", true },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct policy *p = parse(rows[i].yaml);

		if (policy_read_restricted(p, bytes_str(rows[i].dir)) != rows[i].want)
			fail_msg("row %zu: '%s' != %d", i, rows[i].dir, rows[i].want);
		policy_unref(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decide_default_reading_table_holds),
		cmocka_unit_test(test_decide_default_writing_table_holds),
		cmocka_unit_test(test_decide_every_writing_operation_is_bound_by_its_zone),
		cmocka_unit_test(test_decide_rules_first_match_decides),
		cmocka_unit_test(test_decide_rules_never_give_write_access),
		cmocka_unit_test(test_decide_stat_of_zone_tops_is_always_permitted),
		cmocka_unit_test(test_decide_shared_root_gives_names_beside_the_zones),
		cmocka_unit_test(test_decide_verdict_names_the_line_of_the_rule),
		cmocka_unit_test(test_explain_operations_parse_back),
		cmocka_unit_test(test_read_restricted_table_holds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
