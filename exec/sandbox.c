/* SPDX-License-Identifier: MIT */
/*
 * exec/sandbox.c - checking requests for sandboxes.
 */
#include "exec/sandbox.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/ids.h"

int sb_limits_make(uint64_t memory, uint32_t pids, uint32_t cpus_milli, struct cgroup_limits *ret,
		   struct err *err)
{
	if (memory < SB_MEMORY_MIN || memory > SB_MEMORY_MAX)
		return err_set(err, -EINVAL,
			       "memory: %" PRIu64 " bytes is not between %llu and %llu", memory,
			       SB_MEMORY_MIN, SB_MEMORY_MAX);
	if (pids == 0 || pids > SB_PIDS_MAX - SB_PIDS_OWN)
		return err_set(err, -EINVAL, "pids: %" PRIu32 " is not between 1 and %u", pids,
			       SB_PIDS_MAX - SB_PIDS_OWN);
	if (cpus_milli < SB_CPUS_MILLI_MIN || cpus_milli > SB_CPUS_MILLI_MAX)
		return err_set(err, -EINVAL,
			       "cpus: %" PRIu32 " thousandths is not between %u and %u", cpus_milli,
			       SB_CPUS_MILLI_MIN, SB_CPUS_MILLI_MAX);
	*ret = (struct cgroup_limits){ .memory = memory,
				       .pids = pids + SB_PIDS_OWN,
				       .cpus_milli = cpus_milli };
	return 0;
}

/* Is `path` dir itself, or below it? */
static bool below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return strncmp(path, dir, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

int sb_host_path_check(const char *path, struct err *err)
{
	static const char *const own[] = { "/proc", "/sys",     "/dev",       "/tmp",
					   "/run",  "/var/run", "/workspace", "/home/user",
					   "/etc",  "/root",    "/boot" };
	size_t len = strlen(path);

	if (path[0] != '/' || len < 2)
		return err_set(err, -EINVAL, "host_paths: '%s' is not an absolute path below /",
			       path);
	if (len > PATH_LEN_MAX || path_check(bytes_of(path + 1, len - 1), NULL) < 0)
		return err_set(err, -EINVAL, "host_paths: '%s' has an empty, '.' or '..' part",
			       path);
	for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
		if (below(path, own[i]))
			return err_set(err, -EINVAL, "host_paths: %s can not be shown in a sandbox",
				       own[i]);
	if (strcmp(path, "/usr") == 0 || strcmp(path, "/home") == 0 || strcmp(path, "/var") == 0)
		return err_set(
			err, -EINVAL,
			"host_paths: %s is a place of the sandbox's own; name a folder below it",
			path);
	return 0;
}

static int host_paths(const struct msg_sb_create *m, struct bytes tail, struct sb_plan *p,
		      struct err *err)
{
	const char *at;
	size_t left = tail.len;

	if (m->host_paths > POLICY_HOST_PATHS_MAX)
		return err_set(err, -EINVAL, "host_paths: more than %u", POLICY_HOST_PATHS_MAX);
	if (m->host_paths == 0)
		return left ? err_set(err, -EINVAL, "host_paths: bytes behind the last") : 0;
	p->host_text = malloc(left ? left : 1);
	if (!p->host_text)
		return err_set(err, -ENOMEM, "no memory for a sandbox");
	if (left)
		memcpy(p->host_text, tail.p, left);
	at = p->host_text;
	for (unsigned i = 0; i < m->host_paths; i++) {
		const char *end = left ? memchr(at, '\0', left) : NULL;
		int r = end ? sb_host_path_check(at, err)
			    : err_set(err, -EINVAL, "host_paths: cut short");

		if (r < 0)
			return r;
		p->host_paths[p->host_path_count++] = at;
		left -= (size_t)(end - at) + 1;
		at = end + 1;
	}
	return left ? err_set(err, -EINVAL, "host_paths: bytes behind the last") : 0;
}

static int numbers(const struct msg_sb_create *m, struct err *err)
{
	if (m->sandbox == 0 || m->sandbox >> 62)
		return err_set(err, -EINVAL, "sandbox: no id");
	if (m->agent_block >= IDS_AGENTS_MAX)
		return err_set(err, -EINVAL, "agent_block: %" PRIu32 " is not below %u",
			       m->agent_block, IDS_AGENTS_MAX);
	if (m->live > 1)
		return err_set(err, -EINVAL, "live: neither 0 nor 1");
	if (m->tmp < SB_TMP_MIN || m->tmp > SB_MEMORY_MAX)
		return err_set(err, -EINVAL, "tmp: %" PRIu64 " bytes is not between %llu and %llu",
			       m->tmp, SB_TMP_MIN, SB_MEMORY_MAX);
	if (m->open_files < SB_OPEN_FILES_MIN || m->open_files > SB_OPEN_FILES_MAX)
		return err_set(err, -EINVAL, "open_files: %" PRIu32 " is not between %u and %u",
			       m->open_files, SB_OPEN_FILES_MIN, SB_OPEN_FILES_MAX);
	if (m->lifetime_ns <= 0 || m->lifetime_ns > SB_LIFETIME_MAX_NS)
		return err_set(err, -EINVAL, "lifetime: not between 1 ns and 366 days");
	return 0;
}

int sb_plan_make(const struct msg_sb_create *m, struct bytes tail, uint32_t uid_base,
		 struct sb_plan *ret, struct err *err)
{
	struct sb_plan p = { .sandbox = m->sandbox,
			     .agent_block = m->agent_block,
			     .uid_base = uid_base,
			     .live = m->live == 1,
			     .tmp = m->tmp,
			     .open_files = m->open_files,
			     .lifetime_ns = m->lifetime_ns };
	int r;

	if (!msg_text_ok(m->ws, sizeof m->ws) || !msg_text_ok(m->agent, sizeof m->agent))
		return err_set(err, -EINVAL, "ws, agent: no text");
	r = ident_check(m->ws, "workspace", err);
	if (r == 0)
		r = ident_check(m->agent, "agent", err);
	if (r == 0)
		r = numbers(m, err);
	if (r == 0)
		r = sb_limits_make(m->memory, m->pids, m->cpus_milli, &p.limits, err);
	if (r == 0)
		r = host_paths(m, tail, &p, err);
	if (r < 0) {
		sb_plan_fini(&p);
		return r;
	}
	memcpy(p.ws, m->ws, sizeof p.ws);
	memcpy(p.agent, m->agent, sizeof p.agent);
	id_text(ID_SANDBOX, m->sandbox, p.name);
	*ret = p;
	return 0;
}

void sb_plan_gids(struct sb_plan *p, uint32_t gid_base)
{
	uint32_t uid = ids_agent_uid(p->uid_base, p->agent_block, 0);

	p->gid_base = gid_base;
	(void)snprintf(p->uid_map, sizeof p->uid_map, IDS_UID_MAP_FMT, uid, uid + IDS_BLOCK - 1);
	(void)snprintf(p->gid_map, sizeof p->gid_map, IDS_GID_MAP_FMT, gid_base, gid_base + 4031u,
		       gid_base + IDS_BLOCK - 1, ids_ws_gid(p->uid_base));
	(void)snprintf(p->task, sizeof p->task, ".garth.task.%" PRIu32, gid_base);
}

void sb_plan_fini(struct sb_plan *p)
{
	free(p->host_text);
	p->host_text = NULL;
	p->host_path_count = 0;
}
