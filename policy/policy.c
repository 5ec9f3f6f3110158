/* SPDX-License-Identifier: MIT */
/*
 * policy/policy.c - the document's sections, put together; the defaults are those of "no file".
 */
#include "policy/policy.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "policy/limits.h"
#include "policy/rules.h"
#include "policy/yaml.h"

struct policy_own {
	atomic_uint refs;
	struct pool pool; /* all texts and arrays */
};

/* "version", "root", "network": one of a few words. */
static int word_read(const struct yaml_node *n, const char *what, const char *const *words,
		     unsigned *ret, struct err *err)
{
	char show[YAML_SHOW_SIZE], list[YAML_SHOW_SIZE] = "";
	size_t len = 0;

	if (n == NULL)
		return 0;
	for (unsigned i = 0; words[i] != NULL; i++) {
		if (n->kind == YAML_SCALAR && strcmp(n->text, words[i]) == 0) {
			*ret = i;
			return 0;
		}
		if (len < sizeof(list))
			len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s",
						i > 0 ? ", " : "", words[i]);
	}
	return yaml_err(err, n, "%s is '%s', permitted: %s", what, yaml_show(n->text, show), list);
}

static int agent_read(const struct yaml_node *n, struct policy *p, struct pool *pool,
		      struct policy_agent *ret, struct err *err)
{
	static const char *const keys[] = { "limits", NULL };
	struct yaml_node at_key = { .line = n->key_line, .column = n->key_column };
	int r = agent_name_check(&at_key, n->key, "agent", err);

	if (r == 0)
		r = yaml_keys(n, keys, "an agent", err);
	if (r == 0)
		r = text_keep(pool, n->key, &ret->name, err);
	if (r < 0)
		return r;
	ret->step = p->limits.step;
	ret->bytes = p->limits.agent_bytes;
	ret->files = p->limits.agent_files;
	return agent_limits_read(yaml_get(n, "limits"), ret, err);
}

static int agents_read(const struct yaml_node *n, struct policy *p, struct pool *pool,
		       struct err *err)
{
	int r = n != NULL ? yaml_expect(n, YAML_MAP, "agents", err) : 0;

	if (n == NULL || r < 0 || n->count == 0)
		return r;
	if (n->count > POLICY_AGENTS_MAX)
		return yaml_err(err, n, "%u agents, permitted are %d", n->count, POLICY_AGENTS_MAX);
	p->agents = pool_get(pool, n->count * sizeof(p->agents[0]));
	if (p->agents == NULL)
		return err_set(err, -ENOMEM, "no memory for the policy");
	for (const struct yaml_node *e = n->first; e != NULL; e = e->next) {
		r = agent_read(e, p, pool, &p->agents[p->agent_count], err);
		if (r < 0)
			return r;
		p->agent_count++;
	}
	return 0;
}

/* Is path this folder, or below it, or above it? Each would hide one from the other. */
static bool paths_meet(const char *path, const char *folder)
{
	size_t a = strlen(path), b = strlen(folder), n = a < b ? a : b;

	return strncmp(path, folder, n) == 0 && (a == b || (a < b ? folder[n] : path[n]) == '/');
}

static int host_path_check(const struct yaml_node *n, const struct policy *p, struct err *err)
{
	static const char *const own[] = { "/proc",  "/sys",    "/dev",       "/run",
					   "/etc",   "/tmp",    "/workspace", "/usr",
					   "/bin",   "/sbin",   "/lib",       "/lib32",
					   "/lib64", "/libx32", "/home/user", NULL };
	char show[YAML_SHOW_SIZE];

	if (n->kind != YAML_SCALAR)
		return yaml_err(err, n, "host_paths holds paths such as /opt/venv");
	if (n->text[0] != '/' || path_check(bytes_str(n->text + 1), NULL) < 0 || n->text[1] == 0)
		return yaml_err(err, n,
				"'%s' must be an absolute path without '.', '..' or empty parts",
				yaml_show(n->text, show));
	for (size_t i = 0; own[i] != NULL; i++)
		if (paths_meet(n->text, own[i]))
			return yaml_err(err, n, "'%s' meets %s, which the sandbox has of its own",
					yaml_show(n->text, show), own[i]);
	for (unsigned i = 0; i < p->host_path_count; i++)
		if (paths_meet(n->text, p->host_paths[i]))
			return yaml_err(err, n, "'%s' lies in, or holds, another of host_paths",
					yaml_show(n->text, show));
	return 0;
}

static int host_paths_read(const struct yaml_node *n, struct policy *p, struct pool *pool,
			   struct err *err)
{
	int r = n != NULL ? yaml_expect(n, YAML_LIST, "host_paths", err) : 0;

	if (n == NULL || r < 0 || n->count == 0)
		return r;
	if (n->count > POLICY_HOST_PATHS_MAX)
		return yaml_err(err, n, "%u host_paths, permitted are %d", n->count,
				POLICY_HOST_PATHS_MAX);
	p->host_paths = pool_get(pool, n->count * sizeof(p->host_paths[0]));
	if (p->host_paths == NULL)
		return err_set(err, -ENOMEM, "no memory for the policy");
	for (const struct yaml_node *e = n->first; e != NULL; e = e->next) {
		r = host_path_check(e, p, err);
		if (r == 0)
			r = text_keep(pool, e->text, &p->host_paths[p->host_path_count], err);
		if (r < 0)
			return r;
		p->host_path_count++;
	}
	return 0;
}

static int words_read(const struct yaml_node *n, struct policy *p, struct err *err)
{
	static const char *const versions[] = { "1", NULL };
	static const char *const roots[] = { "closed", "shared", NULL };
	static const char *const networks[] = { "none", NULL };
	unsigned version = 0, root = 0, network = 0;
	int r = word_read(yaml_get(n, "version"), "version", versions, &version, err);

	if (r == 0)
		r = word_read(yaml_get(n, "root"), "root", roots, &root, err);
	if (r == 0)
		r = word_read(yaml_get(n, "network"), "network", networks, &network, err);
	p->root_shared = root == 1;
	p->network = false;
	return r;
}

/* Limits before agents, agents before hooks: the later take their defaults from the earlier, wherever they stand in the text. */
static int document_read(const struct yaml_node *n, struct policy *p, struct err *err)
{
	static const char *const keys[] = { "version",   "root",  "limits",  "agents",
					    "rules",     "hooks", "network", "host_paths",
					    "retention", NULL };
	struct pool *pool = &p->own->pool;
	int r = yaml_keys(n, keys, "the policy", err);

	if (r == 0)
		r = words_read(n, p, err);
	if (r == 0)
		r = limits_read(yaml_get(n, "limits"), p, err);
	if (r == 0)
		r = retention_read(yaml_get(n, "retention"), p, err);
	if (r == 0)
		r = agents_read(yaml_get(n, "agents"), p, pool, err);
	if (r == 0)
		r = host_paths_read(yaml_get(n, "host_paths"), p, pool, err);
	if (r == 0)
		r = rules_read(yaml_get(n, "rules"), p, pool, err);
	if (r == 0)
		r = hooks_read(yaml_get(n, "hooks"), p, pool, err);
	return r;
}

static struct policy *policy_new(void)
{
	struct policy *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return NULL;
	p->own = calloc(1, sizeof(*p->own));
	if (p->own == NULL) {
		free(p);
		return NULL;
	}
	atomic_init(&p->own->refs, 1);
	limits_default(p);
	return p;
}

int policy_parse(struct bytes yaml, struct policy **ret, struct err *err)
{
	struct pool pool = { 0 };
	struct yaml_node *doc = NULL;
	struct policy *p;
	int r;

	if (yaml.len > POLICY_TEXT_MAX)
		return err_set(err, -EFBIG, "a policy has at most %u bytes, this one %zu",
			       POLICY_TEXT_MAX, yaml.len);
	p = policy_new();
	if (p == NULL)
		return err_set(err, -ENOMEM, "no memory for the policy");
	sha256_of(yaml, &p->sha);
	r = yaml_read(yaml, &pool, &doc, err);
	if (r == 0)
		r = document_read(doc, p, err);
	pool_fini(&pool);
	if (r < 0)
		policy_unref(p);
	else
		*ret = p;
	return r;
}

struct policy *policy_ref(struct policy *p)
{
	(void)atomic_fetch_add_explicit(&p->own->refs, 1, memory_order_relaxed);
	return p;
}

void policy_unref(struct policy *p)
{
	if (p == NULL || atomic_fetch_sub_explicit(&p->own->refs, 1, memory_order_acq_rel) != 1)
		return;
	pool_fini(&p->own->pool);
	free(p->own);
	free(p);
}

static const struct policy_agent *agent_find(const struct policy *p, const char *agent)
{
	for (unsigned i = 0; i < p->agent_count; i++)
		if (strcmp(p->agents[i].name, agent) == 0)
			return &p->agents[i];
	return NULL;
}

const struct policy_step_limits *policy_step_limits_of(const struct policy *p, const char *agent)
{
	const struct policy_agent *a = agent_find(p, agent);

	return a != NULL ? &a->step : &p->limits.step;
}

void policy_agent_quota(const struct policy *p, const char *agent, uint64_t *ret_bytes,
			uint64_t *ret_files)
{
	const struct policy_agent *a = agent_find(p, agent);

	*ret_bytes = a != NULL ? a->bytes : p->limits.agent_bytes;
	*ret_files = a != NULL ? a->files : p->limits.agent_files;
}
