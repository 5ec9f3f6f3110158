/* SPDX-License-Identifier: MIT */
/*
 * fs/agent.h - the agents of the workspace: which block has which name.
 * Thread: any. A name, once given, stays for the life of the process.
 */
#ifndef GARTH_FS_AGENT_H
#define GARTH_FS_AGENT_H

#include <stdint.h>

#include "core/bytes.h"
#include "core/err.h"

struct agents;

must_check int agents_new(struct agents **ret); /* holds "operator" as block 0 */
void agents_free(struct agents *a);

/* The name of a block, NULL where no agent has it. */
const char *agent_name(struct agents *a, uint32_t block);

/* 0, -ENOENT. */
must_check int agent_block(struct agents *a, const char *name, uint32_t *ret);

/* At this block, as the record has it; or (block 0) at the first free one. 0, -EEXIST, -ENOSPC, -EINVAL. */
must_check int agent_add(struct agents *a, struct bytes name, uint32_t block, uint32_t *ret_block);

#endif
