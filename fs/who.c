/* SPDX-License-Identifier: MIT */
/*
 * fs/who.c - who a FUSE request is from, as its uid and gid say.
 */
#include "fs/who.h"

#include <string.h>

#include "core/pack.h"
#include "fs/agent.h"
#include "fs/step.h"

/* Which step's gid that is; or the only open one; or all of them, named. */
static void find_step(struct fs *fs, struct who *w)
{
	uint64_t ids[IDS_STEPS_MAX];
	struct pack k;
	int slot = ids_step_slot(w->sb->gid_base, w->gid);

	w->step = step_in_slot(fs->steps, w->sb, slot, &w->late);
	if (w->step)
		return;
	w->nsteps = steps_open_in(fs->steps, w->sb, ids, IDS_STEPS_MAX, &w->step);
	if (w->nsteps <= 1) {
		w->nsteps = 0;
		return;
	}
	pack_begin(&k, w->steps, sizeof w->steps);
	for (unsigned i = 0; i < w->nsteps; i++)
		pack_u64(&k, ids[i]);
}

static void clear(struct who *w, uint32_t uid, uint32_t gid)
{
	memset(w, 0, offsetof(struct who, steps)); /* steps has nsteps ids, no more */
	w->uid = uid;
	w->gid = gid;
	w->agent = EV_NOBODY;
}

int who_of(struct fs *fs, uint32_t uid, uint32_t gid, struct who *ret)
{
	uint32_t block;

	clear(ret, uid, gid);
	if (uid == 0) {
		ret->kind = WHO_HOST;
		return 0;
	}
	if (!ids_agent_of(fs->uid_base, uid, &block))
		return -EACCES;
	ret->sb = sandbox_by_gid(fs->steps, gid);
	if (!ret->sb)
		return -EACCES;
	ret->name = agent_name(fs->agents, block);
	if (ret->sb->agent != block || !ret->name) {
		sandbox_put(fs->steps, ret->sb);
		ret->sb = NULL;
		return -EACCES;
	}
	ret->kind = WHO_AGENT;
	ret->agent = block;
	ret->inner_root = uid == ids_agent_uid(fs->uid_base, block, IDS_UID_ROOT);
	find_step(fs, ret);
	ret->policy = ret->step ? policy_ref(ret->step->policy) : steps_policy(fs->steps);
	return 0;
}

void who_put(struct fs *fs, struct who *w)
{
	step_put(fs->steps, w->step);
	sandbox_put(fs->steps, w->sb);
	policy_unref(w->policy);
	w->step = NULL;
	w->sb = NULL;
	w->policy = NULL;
}

void who_copy(struct fs *fs, const struct who *from, struct who *ret)
{
	memcpy(ret, from, offsetof(struct who, steps) + (size_t)from->nsteps * 8);
	ret->sb = sandbox_ref(fs->steps, from->sb);
	ret->step = step_ref(fs->steps, from->step);
	ret->policy = from->policy ? policy_ref(from->policy) : NULL;
}

struct ev_who who_event(const struct who *w)
{
	return (struct ev_who){
		.agent = w->agent,
		.sandbox = w->sb ? w->sb->id : 0,
		.step = who_step_id(w),
		.late = w->late,
		.steps = bytes_of(w->steps, (size_t)w->nsteps * 8),
	};
}

uint64_t who_step_id(const struct who *w)
{
	return w->step ? w->step->id : 0;
}

uint32_t who_acts(const struct fs *fs, const struct who *w, uint32_t owner)
{
	uint32_t block;

	if (w->kind != WHO_AGENT)
		return owner == fs->uid || ids_agent_of(fs->uid_base, owner, &block) ? owner
										     : fs->uid;
	if (w->inner_root && ids_agent_of(fs->uid_base, owner, &block) && block == w->agent)
		return owner;
	return w->uid;
}

uint32_t who_block(const struct fs *fs, const struct who *w)
{
	(void)fs;
	return w->inner_root ? w->uid : 0;
}
