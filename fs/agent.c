/* SPDX-License-Identifier: MIT */
/*
 * fs/agent.c - the agents of the workspace: which block has which name.
 */
#include "fs/agent.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/ids.h"
#include "core/path.h"
#include "policy/policy.h"

struct agents {
	/* Written once each by the control thread, before the pointer; so readers need no lock. */
	char text[IDS_AGENTS_MAX][IDENT_SIZE];
	_Atomic(const char *) name[IDS_AGENTS_MAX];
};

int agents_new(struct agents **ret)
{
	struct agents *a = calloc(1, sizeof *a);

	if (!a)
		return -ENOMEM;
	atomic_store(&a->name[0], POLICY_OPERATOR);
	*ret = a;
	return 0;
}

void agents_free(struct agents *a)
{
	free(a);
}

const char *agent_name(struct agents *a, uint32_t block)
{
	return block < IDS_AGENTS_MAX ? atomic_load(&a->name[block]) : NULL;
}

int agent_block(struct agents *a, const char *name, uint32_t *ret)
{
	for (uint32_t i = 0; i < IDS_AGENTS_MAX; i++) {
		const char *had = agent_name(a, i);

		if (had && strcmp(had, name) == 0) {
			*ret = i;
			return 0;
		}
	}
	return -ENOENT;
}

int agent_add(struct agents *a, struct bytes name, uint32_t block, uint32_t *ret_block)
{
	uint32_t at = 1, had;

	if (name.len == 0 || name.len >= IDENT_SIZE || block >= IDS_AGENTS_MAX)
		return -EINVAL;
	if (block != 0)
		at = block;
	else
		while (at < IDS_AGENTS_MAX && agent_name(a, at))
			at++;
	if (at >= IDS_AGENTS_MAX)
		return -ENOSPC;
	if (agent_name(a, at))
		return -EEXIST;
	memcpy(a->text[at], name.p, name.len);
	a->text[at][name.len] = '\0';
	if (agent_block(a, a->text[at], &had) == 0)
		return -EEXIST;
	atomic_store(&a->name[at], a->text[at]);
	*ret_block = at;
	return 0;
}
