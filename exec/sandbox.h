/* SPDX-License-Identifier: MIT */
/*
 * exec/sandbox.h - what a sandbox shall be: a request checked and turned into numbers and strings, before anything happens.
 * Not here: making it (exec/clone.h, exec/root.h), its life (exec/life.h).
 * Thread: any; pure. Memory: a plan owns its host paths.
 */
#ifndef GARTH_EXEC_SANDBOX_H
#define GARTH_EXEC_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "core/id.h"
#include "core/msg.h"
#include "exec/cgroup.h"
#include "policy/policy.h"

#define SB_MEMORY_MIN (4ull * 1024 * 1024)
#define SB_MEMORY_MAX (1ull << 46)
#define SB_PIDS_MAX 4194304u
#define SB_PIDS_OWN 2u /* garth-init, and the child it makes to write a file */
#define SB_CPUS_MILLI_MIN 10u
#define SB_CPUS_MILLI_MAX 1024000u
#define SB_TMP_MIN 65536ull
#define SB_OPEN_FILES_MIN 16u
#define SB_OPEN_FILES_MAX 1048576u
#define SB_LIFETIME_MAX_NS (366 * 86400 * 1000000000LL)

struct sb_plan {
	uint64_t sandbox;
	char name[ID_TEXT_SIZE]; /* "sb_...": of its cgroups */
	char ws[IDENT_SIZE], agent[IDENT_SIZE];
	uint32_t agent_block, uid_base, gid_base;
	bool live;
	struct cgroup_limits limits; /* pids: garth's own included */
	uint64_t tmp;                /* bytes, of each of /tmp, /dev/shm and /home/user */
	uint32_t open_files;
	int64_t lifetime_ns;
	unsigned host_path_count;
	const char *host_paths[POLICY_HOST_PATHS_MAX]; /* into host_text */
	char *host_text;
	char uid_map[64], gid_map[160];
	char task[32]; /* the name by which garth-fs shows root the sandbox's own task/ */
};

/* Check the request; gid_base comes with sb_plan_gids. 0, -EINVAL with a sentence that names the field, -ENOMEM. */
must_check int sb_plan_make(const struct msg_sb_create *m, struct bytes tail, uint32_t uid_base,
			    struct sb_plan *ret, struct err *err);
void sb_plan_gids(struct sb_plan *p, uint32_t gid_base);
void sb_plan_fini(struct sb_plan *p);

/* May this tree of the host be shown? Absolute, clean, none of the sandbox's own places. -EINVAL with a sentence. */
must_check int sb_host_path_check(const char *path, struct err *err);

/* The limits as the kernel gets them; also for sb_limit. */
must_check int sb_limits_make(uint64_t memory, uint32_t pids, uint32_t cpus_milli,
			      struct cgroup_limits *ret, struct err *err);

#endif
