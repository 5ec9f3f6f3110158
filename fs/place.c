/* SPDX-License-Identifier: MIT */
/*
 * fs/place.c - where a node is, and whether the policy lets a caller do something there.
 */
#include "fs/place.h"

#include <string.h>

#include "fs/agent.h"
#include "fs/emit.h"
#include "fs/step.h"
#include "fs/task.h"
#include "policy/decide.h"

int place_of(struct fs *fs, const struct node *n, const char *name, struct place *ret)
{
	return node_path(fs->nodes, n, name, ret->path, &ret->len);
}

enum zone place_zone(const struct place *p)
{
	struct zone_place at;

	zone_of(place_bytes(p), &at);
	return at.zone;
}

bool place_recorded(const struct place *p)
{
	enum zone z = place_zone(p);

	return z == ZONE_INPUT || z == ZONE_OUTPUT || z == ZONE_AREA;
}

bool place_apart(const struct place *a, const struct place *b)
{
	return place_recorded(a) != place_recorded(b);
}

static const char *log_agent(struct fs *fs, const struct node *n, const char *name)
{
	uint32_t uid, block;

	if (n == fs->logs_node && !name)
		return "";
	if (!node_log_owner(fs->nodes, n, &uid) || !ids_agent_of(fs->uid_base, uid, &block))
		return NULL;
	return agent_name(fs->agents, block);
}

/* A sandbox's task/ is its own; what a wipe has put away changes no more. */
static int ask_task(struct fs *fs, const struct who *w, const struct ask *a, const struct node *n,
		    const struct place *at)
{
	struct task *k = node_task(fs->nodes, n);
	int r = 0;

	if (!k)
		return 0;
	if (k->sandbox != w->sb->id) {
		r = -EACCES;
		if (!a->quiet)
			emit_violation(fs, w, a->op, place_bytes(at), r, "task.own");
	} else if (atomic_load(&k->dead) && policy_access_of(a->op) == POL_WRITE) {
		r = -ENOENT;
	}
	task_unref(k);
	return r;
}

static int ask_policy(struct fs *fs, const struct who *w, const struct ask *a, const struct node *n,
		      const char *name, const struct place *at)
{
	struct question q = {
		.agent = w->name,
		.op = a->op,
		.path = place_bytes(at),
		.special = a->special,
		.xattr = a->xattr,
		.log_agent = log_agent(fs, n, name),
	};
	struct verdict v;

	policy_decide(w->policy, &q, &v);
	if (v.err != 0 && v.violation && !a->quiet)
		emit_violation(fs, w, a->op, q.path, v.err, v.rule);
	return v.err;
}

/* The other names of a file: the strictest answer holds. */
static int ask_other_names(struct fs *fs, const struct who *w, const struct ask *a,
			   const struct node *n)
{
	struct place at;
	int r = 0;

	for (unsigned i = 1; r == 0; i++) {
		r = node_path_nth(fs->nodes, n, i, at.path, &at.len);
		if (r == -ENOENT)
			return 0;
		if (r == 0)
			r = ask_policy(fs, w, a, n, NULL, &at);
	}
	return r;
}

static int ask_host(const struct ask *a)
{
	return policy_access_of(a->op) == POL_READ ? 0 : -EACCES;
}

/* The policy's half alone. */
static int ask(struct fs *fs, const struct who *w, const struct ask *a, struct node *n,
	       const char *name, struct place *at)
{
	int r = place_of(fs, n, name, at);

	if (r < 0)
		return r;
	if (w->kind == WHO_HOST)
		return ask_host(a);
	r = ask_task(fs, w, a, n, at);
	if (r == 0)
		r = ask_policy(fs, w, a, n, name, at);
	if (r == 0 && !name)
		r = ask_other_names(fs, w, a, n);
	return r;
}

static int ask_search(struct fs *fs, const struct who *w, const struct node *n)
{
	if (w->kind == WHO_HOST || node_searchable(fs->nodes, n, w->uid, who_block(fs, w), false))
		return 0;
	return -EACCES;
}

int place_ask(struct fs *fs, const struct who *w, const struct ask *a, struct node *n,
	      const char *name, struct place *ret)
{
	struct place own;
	int r = ask(fs, w, a, n, name, ret ? ret : &own);

	return r < 0 ? r : ask_search(fs, w, n);
}

/* One attempt is one violation, though both of its paths be refused: that of the path whose errno is answered. */
int place_ask2(struct fs *fs, const struct who *w, const struct ask *a, struct node *n1,
	       const char *name1, struct node *n2, const char *name2, struct place *ret1,
	       struct place *ret2)
{
	struct ask silent = *a;
	int r1, r2;

	silent.quiet = true;
	r1 = ask(fs, w, &silent, n1, name1, ret1);
	r2 = ask(fs, w, &silent, n2, name2, ret2);
	if (r1 < 0 && (r1 == -EROFS || r2 != -EROFS))
		return ask(fs, w, a, n1, name1, ret1);
	if (r2 < 0)
		return ask(fs, w, a, n2, name2, ret2);
	r1 = ask_search(fs, w, n1);
	return r1 < 0 ? r1 : ask_search(fs, w, n2);
}

bool place_owner_may_write(struct fs *fs, const struct who *w, uint32_t owner,
			   const struct place *to)
{
	struct question q = { .op = OP_WRITE, .path = place_bytes(to) };
	struct verdict v;
	uint32_t block;

	if (w->kind != WHO_AGENT)
		return true;
	if (!ids_agent_of(fs->uid_base, owner, &block))
		return false;
	q.agent = agent_name(fs->agents, block);
	if (block == w->agent || !q.agent)
		return true;
	policy_decide(w->policy, &q, &v);
	return v.err == 0;
}

bool place_in_logs(struct fs *fs, const struct node *n)
{
	uint32_t uid;

	return node_log_owner(fs->nodes, n, &uid);
}

bool place_open_to_all(struct fs *fs, const struct node *n)
{
	struct place at;
	struct policy *p;
	char *slash;
	bool open = true;

	if (node_hidden(fs->nodes, n, false) || place_in_logs(fs, n) || n == fs->logs_node)
		return false;
	if (n->kind == NODE_TASK || n->kind == NODE_ROOT || n->kind == NODE_HOLDER)
		return n->kind != NODE_TASK;
	p = steps_policy(fs->steps);
	if (p->rule_count > 0) {
		open = place_of(fs, n, NULL, &at) == 0;
		slash = open ? memrchr(at.path, '/', at.len) : NULL;
		at.len = slash ? (size_t)(slash - at.path) : 0;
		open = open && !policy_read_restricted(p, place_bytes(&at));
	}
	policy_unref(p);
	return open;
}
