/* SPDX-License-Identifier: MIT */
/*
 * policy/decide.c - the zone's own rule, then the policy's rules where they have a say. docs/POLICY.md has the table.
 */
#include "policy/decide.h"

#include <stdio.h>

#include "policy/glob.h"
#include "policy/zone.h"

#define XATTR_RESERVED "user.garth."
#define ROOT_RESERVED ".garth." /* names in the root that garth itself uses */

static void allow(struct verdict *v, const char *rule)
{
	*v = (struct verdict){ 0 };
	(void)snprintf(v->rule, sizeof(v->rule), "%s", rule);
}

static void refuse(struct verdict *v, const struct zone_place *at, const char *rule)
{
	*v = (struct verdict){ .err = at->zone == ZONE_INPUT ? -EROFS : -EACCES,
			       .violation = true };
	(void)snprintf(v->rule, sizeof(v->rule), "%s", rule);
}

static bool is_operator(const struct question *q)
{
	return strcmp(q->agent, POLICY_OPERATOR) == 0;
}

/*
 * Does the rule speak of this agent? "*" is everybody, but for reading in an area, where it is everybody else: what others may not
 * read there its owner may.
 */
static bool rule_binds(const struct policy_rule *r, const struct question *q,
		       const struct zone_place *at, unsigned access)
{
	if (strcmp(r->agent, "*") != 0)
		return strcmp(r->agent, q->agent) == 0;
	return access == POL_WRITE || at->zone != ZONE_AREA || strcmp(at->owner, q->agent) != 0;
}

/* The first rule that speaks of this access; NULL: none, or the operator asks, whom no rule binds. */
static const struct policy_rule *rule_find(const struct policy *p, const struct question *q,
					   const struct zone_place *at, unsigned access)
{
	if (is_operator(q))
		return NULL;
	for (unsigned i = 0; i < p->rule_count; i++) {
		const struct policy_rule *r = &p->rules[i];

		if ((r->access & access) != 0 && rule_binds(r, q, at, access) &&
		    glob_match(r->path, q->path))
			return r;
	}
	return NULL;
}

static void by_rule(const struct policy *p, const struct policy_rule *r,
		    const struct zone_place *at, struct verdict *v)
{
	char name[VERDICT_RULE_SIZE];

	(void)snprintf(name, sizeof(name), "rules[%zu]", (size_t)(r - p->rules));
	if (r->allow)
		allow(v, name);
	else
		refuse(v, at, name);
	v->line = r->line;
}

/* The name of the zone's own rule, as it reads for this agent. */
static const char *zone_rule(const struct policy *p, const struct question *q,
			     const struct zone_place *at)
{
	switch (at->zone) {
	case ZONE_INPUT: return "input.readonly";
	case ZONE_TASK: return "task.own";
	case ZONE_OUTPUT: return "output.open";
	case ZONE_AGENTS: return "agents.closed";
	case ZONE_AREA:
		return strcmp(at->owner, q->agent) == 0 && !is_operator(q) ? "area.own"
									   : "area.foreign";
	case ZONE_LOGS: return "logs.readonly";
	case ZONE_ROOT:
	case ZONE_COUNT: break;
	}
	return p->root_shared ? "root.shared" : "root.closed";
}

/* Below logs/ what isn't one's own is as if it were not there, so that looking around is no violation. */
static void read_logs(const struct policy *p, const struct question *q, const struct zone_place *at,
		      struct verdict *v)
{
	const struct policy_rule *r = rule_find(p, q, at, POL_READ);
	bool own = q->log_agent != NULL && strcmp(q->log_agent, q->agent) == 0;

	if (r != NULL && (own || r->allow)) {
		by_rule(p, r, at, v);
		return;
	}
	allow(v, "logs.own");
	if (!own)
		v->err = -ENOENT;
}

static void decide_read(const struct policy *p, const struct question *q,
			const struct zone_place *at, struct verdict *v)
{
	const struct policy_rule *r;

	if (is_operator(q)) {
		allow(v, "operator");
		return;
	}
	if (at->top && q->op == OP_STAT) {
		allow(v, zone_rule(p, q, at));
		return;
	}
	if (at->zone == ZONE_LOGS && !at->top) {
		read_logs(p, q, at, v);
		return;
	}
	r = rule_find(p, q, at, POL_READ);
	if (r != NULL)
		by_rule(p, r, at, v);
	else
		allow(v, zone_rule(p, q, at));
}

/* Operations on a name: they change the folder above it. */
static bool is_name_op(enum ev_op op)
{
	return op == OP_CREATE || op == OP_MKDIR || op == OP_RMDIR || op == OP_UNLINK ||
	       op == OP_RENAME || op == OP_LINK || op == OP_SYMLINK || op == OP_MKNOD;
}

static bool starts_with(struct bytes path, const char *prefix)
{
	size_t len = strlen(prefix);

	return path.len >= len && memcmp(path.p, prefix, len) == 0;
}

static const char *root_refuses(const struct policy *p, const struct question *q,
				const struct zone_place *at)
{
	if (!p->root_shared || at->top || starts_with(q->path, ROOT_RESERVED))
		return "root.closed";
	return is_operator(q) ? "operator" : NULL;
}

/*
 * Who may write here at all, by the zone alone: the name of the rule that refuses it, or NULL. No rule of a policy changes this.
 */
static const char *zone_refuses(const struct policy *p, const struct question *q,
				const struct zone_place *at)
{
	bool top_name =
		at->top && is_name_op(q->op); /* would make, move or remove the zone itself */

	switch (at->zone) {
	case ZONE_INPUT: return !is_operator(q) || top_name ? "input.readonly" : NULL;
	case ZONE_TASK: return top_name ? "root.closed" : NULL;
	case ZONE_OUTPUT:
		if (top_name)
			return "root.closed";
		return is_operator(q) ? "operator" : NULL;
	case ZONE_AREA:
		if (top_name)
			return "agents.closed";
		return strcmp(zone_rule(p, q, at), "area.own") == 0 ? NULL : "area.foreign";
	case ZONE_AGENTS:
	case ZONE_LOGS: return zone_rule(p, q, at);
	case ZONE_ROOT:
	case ZONE_COUNT: break;
	}
	return root_refuses(p, q, at);
}

static bool is_reserved_xattr(const struct question *q)
{
	return (q->op == OP_SETXATTR || q->op == OP_REMOVEXATTR) && q->xattr != NULL &&
	       strncmp(q->xattr, XATTR_RESERVED, strlen(XATTR_RESERVED)) == 0;
}

static void decide_write(const struct policy *p, const struct question *q,
			 const struct zone_place *at, struct verdict *v)
{
	const char *refuser = zone_refuses(p, q, at);
	const struct policy_rule *r;

	if (is_reserved_xattr(q) && (at->zone != ZONE_INPUT || refuser == NULL))
		refuser = "xattr.reserved";
	else if (refuser == NULL && q->special && at->zone != ZONE_TASK)
		refuser = "special.zone";
	if (refuser != NULL) {
		refuse(v, at, refuser);
		return;
	}
	r = rule_find(p, q, at, POL_WRITE);
	if (r != NULL)
		by_rule(p, r, at, v);
	else
		allow(v, is_operator(q) ? "operator" : zone_rule(p, q, at));
}

void policy_decide(const struct policy *p, const struct question *q, struct verdict *ret)
{
	struct zone_place at;

	zone_of(q->path, &at);
	if (policy_access_of(q->op) == POL_READ)
		decide_read(p, q, &at, ret);
	else
		decide_write(p, q, &at, ret);
}

unsigned policy_access_of(enum ev_op op)
{
	return op == OP_READ || op == OP_LIST || op == OP_STAT ? POL_READ : POL_WRITE;
}

bool policy_read_restricted(const struct policy *p, struct bytes dir_path)
{
	struct zone_place at;

	zone_of(dir_path, &at);
	if (at.zone == ZONE_LOGS)
		return true;
	if (at.zone == ZONE_AGENTS || (at.zone == ZONE_ROOT && !p->root_shared))
		return false; /* what is right below it can always be stat'ed */
	for (unsigned i = 0; i < p->rule_count; i++)
		if (!p->rules[i].allow && (p->rules[i].access & POL_READ) != 0 &&
		    glob_matches_child(p->rules[i].path, dir_path))
			return true;
	return false;
}
