/* SPDX-License-Identifier: MIT */
/*
 * policy/explain.c - the words for verdicts and rules.
 */
#include "policy/explain.h"

#include <stdlib.h>

#include "core/log.h"

const char *policy_verdict_text(const struct verdict *v)
{
	if (v->err == 0)
		return "allowed";
	if (v->err == -EROFS)
		return "refused with EROFS";
	return v->err == -ENOENT ? "hidden (ENOENT, no violation)" : "refused with EACCES";
}

const char *policy_rule_text(const char *rule)
{
	static const struct {
		const char *rule, *text;
	} texts[] = {
		{ "input.readonly", "input/ is given data: all read it, only uploads change it" },
		{ "logs.readonly", "logs/ is written by garth alone" },
		{ "logs.own", "an agent sees the logs of its own steps" },
		{ "agents.closed",
		  "agents/ itself belongs to nobody: areas are made with the agent" },
		{ "area.foreign", "an agent's area is written by its owner alone; others read it" },
		{ "area.own", "an agent writes its own area" },
		{ "output.open", "every agent writes output/" },
		{ "task.own", "task/ belongs to the sandbox's own steps" },
		{ "root.closed", "beside the zones nothing can be made, and the zones stay" },
		{ "root.shared", "agents may make files beside the zones" },
		{ "special.zone", "sockets, FIFOs and device nodes can be made only below task/" },
		{ "xattr.reserved", "attributes that begin with user.garth. are garth's record" },
		{ "operator", "the operator writes input/ and reads everything" },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (strcmp(rule, texts[i].rule) == 0)
			return texts[i].text;
	return strncmp(rule, "rules[", 6) == 0 ? "a rule of the workspace's policy" : "";
}

enum ev_op policy_op_parse(const char *text)
{
	for (int i = OP_NONE + 1; i < OP_COUNT; i++) {
		const char *t = ev_op_text((enum ev_op)i);

		if (t != NULL && strcmp(t, text) == 0)
			return (enum ev_op)i;
	}
	return OP_NONE;
}

static const char *access_text(unsigned access)
{
	if (access == (POL_READ | POL_WRITE))
		return "read, write";
	return access == POL_READ ? "read" : "write";
}

/* Which of the policy's rules a name such as "rules[3]" means; NULL where it is none. */
static const struct policy_rule *rule_of(const struct policy *p, const char *name)
{
	char *end = NULL;
	unsigned long i;

	if (strncmp(name, "rules[", 6) != 0)
		return NULL;
	errno = 0;
	i = strtoul(name + 6, &end, 10);
	if (errno != 0 || end == name + 6 || strcmp(end, "]") != 0 || i >= p->rule_count)
		return NULL;
	return &p->rules[i];
}

int policy_explain(const struct policy *p, const struct question *q, const struct verdict *v,
		   struct buf *out)
{
	const struct policy_rule *rule = rule_of(p, v->rule);
	const char *op = ev_op_text(q->op);
	char esc[LOG_ESC_SIZE];
	int r;

	r = buf_addf(out, "%s: %s %s by %s\n", policy_verdict_text(v), op != NULL ? op : "?",
		     q->path.len > 0 ? log_esc(q->path, esc) : "the root", q->agent);
	if (r < 0)
		return r;
	if (rule == NULL)
		return buf_addf(out, "rule %s: %s\n", v->rule, policy_rule_text(v->rule));
	return buf_addf(out, "rule %s, line %d: %s [%s] to %s on %s\n", v->rule, v->line,
			rule->allow ? "allow" : "deny", access_text(rule->access),
			strcmp(rule->agent, "*") == 0 ? "all" : rule->agent, rule->path);
}
