/* SPDX-License-Identifier: MIT */
/*
 * policy/rules.c - who may read and write what, and the commands that are run around steps.
 */
#include "policy/rules.h"

#include <stdio.h>

#include "policy/glob.h"
#include "policy/limits.h"
#include "policy/zone.h"

int text_keep(struct pool *pool, const char *text, const char **ret, struct err *err)
{
	const char *copy = pool_text(pool, bytes_str(text));

	if (copy == NULL)
		return err_set(err, -ENOMEM, "no memory for the policy");
	*ret = copy;
	return 0;
}

int agent_name_check(const struct yaml_node *n, const char *name, const char *what, struct err *err)
{
	char show[YAML_SHOW_SIZE];

	if (strcmp(name, POLICY_OPERATOR) == 0)
		return yaml_err(err, n,
				"%s '" POLICY_OPERATOR
				"' is reserved for uploads; no policy names it",
				what);
	if (ident_check(name, "agent", NULL) < 0)
		return yaml_err(err, n, "%s '%s' is no agent's name: [a-z0-9][a-z0-9_-]{0,62}",
				what, yaml_show(name, show));
	return 0;
}

static int scalar_need(const struct yaml_node *map, const char *key, const char *what,
		       struct err *err)
{
	const struct yaml_node *n = yaml_get(map, key);

	if (n == NULL)
		return yaml_err(err, map, "%s needs the key '%s'", what, key);
	return yaml_expect(n, YAML_SCALAR, key, err);
}

/* A pattern whose first part is a plain word must begin in a zone: else a slip of the pen makes a rule that never holds. */
static int pattern_zone_check(const struct yaml_node *n, bool root_shared, struct err *err)
{
	const char *slash = strchr(n->text, '/');
	size_t len = slash != NULL ? (size_t)(slash - n->text) : strlen(n->text);
	struct zone_place at;
	char show[YAML_SHOW_SIZE];

	if (root_shared || memchr(n->text, '*', len) != NULL || memchr(n->text, '?', len) != NULL)
		return 0;
	zone_of(bytes_of(n->text, len), &at);
	if (at.zone != ZONE_ROOT)
		return 0;
	return yaml_err(
		err, n,
		"path '%s' is in no zone; paths begin with input, task, output, agents or logs",
		yaml_show(n->text, show));
}

static int pattern_read(const struct yaml_node *map, const char *what, struct policy *p,
			struct pool *pool, const char **ret, struct err *err)
{
	const struct yaml_node *n = yaml_get(map, "path");
	struct err why = { 0 };
	int r = scalar_need(map, "path", what, err);

	if (n == NULL || r < 0)
		return r;
	r = glob_check(n->text, &why);
	if (r < 0)
		return yaml_err(err, n, "path: %s", why.msg);
	r = pattern_zone_check(n, p->root_shared, err);
	return r < 0 ? r : text_keep(pool, n->text, ret, err);
}

static int access_read(const struct yaml_node *n, const char *what, unsigned *ret, struct err *err)
{
	char show[YAML_SHOW_SIZE];
	unsigned set = 0;

	if (n->kind != YAML_LIST || n->count == 0)
		return yaml_err(err, n, "%s must be a list of read, write", what);
	for (const struct yaml_node *e = n->first; e != NULL; e = e->next) {
		unsigned bit = strcmp(e->text, "read") == 0    ? POL_READ
			       : strcmp(e->text, "write") == 0 ? POL_WRITE
							       : 0;

		if (bit == 0)
			return yaml_err(err, e, "%s holds '%s', permitted are read, write", what,
					yaml_show(e->text, show));
		if ((set & bit) != 0)
			return yaml_err(err, e, "%s holds '%s' twice", what, e->text);
		set |= bit;
	}
	*ret = set;
	return 0;
}

static int rule_agent_read(const struct yaml_node *n, struct pool *pool, struct policy_rule *ret,
			   struct err *err)
{
	int r;

	if (n == NULL || strcmp(n->text, "*") == 0)
		return text_keep(pool, "*", &ret->agent, err);
	r = yaml_expect(n, YAML_SCALAR, "agent", err);
	if (r == 0)
		r = agent_name_check(n, n->text, "agent", err);
	return r < 0 ? r : text_keep(pool, n->text, &ret->agent, err);
}

static int rule_read(const struct yaml_node *n, struct policy *p, struct pool *pool,
		     struct policy_rule *ret, struct err *err)
{
	static const char *const keys[] = { "deny", "allow", "agent", "path", NULL };
	const struct yaml_node *deny, *permit;
	int r = yaml_keys(n, keys, "a rule", err);

	if (r < 0)
		return r;
	deny = yaml_get(n, "deny");
	permit = yaml_get(n, "allow");
	if ((deny == NULL) == (permit == NULL))
		return yaml_err(err, n,
				"a rule needs either 'deny' or 'allow', a list of read, write");
	ret->allow = permit != NULL;
	ret->line = n->line;
	r = access_read(deny != NULL ? deny : permit, deny != NULL ? "deny" : "allow", &ret->access,
			err);
	if (r == 0)
		r = rule_agent_read(yaml_get(n, "agent"), pool, ret, err);
	return r < 0 ? r : pattern_read(n, "a rule", p, pool, &ret->path, err);
}

int rules_read(const struct yaml_node *n, struct policy *p, struct pool *pool, struct err *err)
{
	int r = n != NULL ? yaml_expect(n, YAML_LIST, "rules", err) : 0;

	if (n == NULL || r < 0 || n->count == 0)
		return r;
	if (n->count > POLICY_RULES_MAX)
		return yaml_err(err, n, "%u rules, permitted are %d", n->count, POLICY_RULES_MAX);
	p->rules = pool_get(pool, n->count * sizeof(p->rules[0]));
	if (p->rules == NULL)
		return err_set(err, -ENOMEM, "no memory for the policy");
	for (const struct yaml_node *e = n->first; e != NULL; e = e->next) {
		r = rule_read(e, p, pool, &p->rules[p->rule_count], err);
		if (r < 0)
			return r;
		p->rule_count++;
	}
	return 0;
}

static int argv_read(const struct yaml_node *hook, const char *what, struct pool *pool,
		     struct policy_hook *ret, struct err *err)
{
	const struct yaml_node *n = yaml_get(hook, "run");
	unsigned count = 0;

	if (n == NULL)
		return yaml_err(err, hook, "%s needs the key 'run'", what);
	if (n->kind != YAML_LIST || n->count == 0 || n->count > POLICY_HOOK_ARGS_MAX)
		return yaml_err(err, n, "run must be a list of 1 to %d words, the program first",
				POLICY_HOOK_ARGS_MAX);
	for (const struct yaml_node *e = n->first; e != NULL; e = e->next) {
		int r;

		if (e->kind != YAML_SCALAR)
			return yaml_err(err, e, "run holds words; quote an empty one");
		if (count == 0 && e->text[0] == 0)
			return yaml_err(err, e,
					"run begins with a program, not with an empty word");
		r = text_keep(pool, e->text, &ret->argv[count++], err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int hook_agent_read(const struct yaml_node *hook, const char *what, struct pool *pool,
			   struct policy_hook *ret, struct err *err)
{
	const struct yaml_node *n = yaml_get(hook, "agent");
	int r = scalar_need(hook, "agent", what, err);

	if (n == NULL || r < 0)
		return r;
	r = agent_name_check(n, n->text, "agent", err);
	return r < 0 ? r : text_keep(pool, n->text, &ret->agent, err);
}

static int hook_path_read(const struct yaml_node *hook, const char *what, struct policy *p,
			  struct pool *pool, struct policy_hook *ret, struct err *err)
{
	int r = pattern_read(hook, what, p, pool, &ret->path, err);

	if (r == 0 && !glob_reaches(ret->path, BYTES_LIT("output")))
		r = yaml_err(err, yaml_get(hook, "path"),
			     "%s looks at output/ alone: its path must begin so", what);
	return r;
}

static int hook_read(const struct yaml_node *n, const char *what, struct policy *p,
		     struct pool *pool, struct policy_hook *ret, struct err *err)
{
	static const char *const with_path[] = { "agent", "run", "timeout", "path", NULL };
	static const char *const without[] = { "agent", "run", "timeout", NULL };
	bool output = ret == &p->on_output;
	int r;

	if (n == NULL)
		return 0;
	if (n->kind != YAML_MAP)
		return yaml_err(err, n, "%s must be a mapping with agent, run%s", what,
				output ? ", path" : "");
	r = yaml_keys(n, output ? with_path : without, what, err);
	if (r == 0)
		r = hook_agent_read(n, what, pool, ret, err);
	if (r == 0)
		r = argv_read(n, what, pool, ret, err);
	if (r == 0 && output)
		r = hook_path_read(n, what, p, pool, ret, err);
	if (r < 0)
		return r;
	ret->set = true;
	ret->line = n->key_line;
	ret->timeout_ns = policy_step_limits_of(p, ret->agent)->timeout_ns;
	return timeout_read(yaml_get(n, "timeout"), "timeout", &ret->timeout_ns, err);
}

int hooks_read(const struct yaml_node *n, struct policy *p, struct pool *pool, struct err *err)
{
	static const char *const keys[] = { "pre_step", "post_step", "on_output", NULL };
	int r;

	if (n == NULL)
		return 0;
	r = yaml_keys(n, keys, "hooks", err);
	if (r == 0)
		r = hook_read(yaml_get(n, "pre_step"), "pre_step", p, pool, &p->pre_step, err);
	if (r == 0)
		r = hook_read(yaml_get(n, "post_step"), "post_step", p, pool, &p->post_step, err);
	if (r == 0)
		r = hook_read(yaml_get(n, "on_output"), "on_output", p, pool, &p->on_output, err);
	return r;
}
