/* SPDX-License-Identifier: MIT */
/*
 * core/ids.h - how uids and gids say who is asking: the one place with the arithmetic. docs/ARCHITECTURE.md "Identity".
 *
 * A workspace holds IDS_WS_BLOCKS contiguous uid blocks from uid_base on: block 0 the reserved agent "operator", 1..32 the agents in
 * the order they were added, 33 garth's own (garth-fs, the keeper, and the workspace's one gid).
 * A sandbox holds one gid block from gid_base on. uids and gids are two number spaces; they may overlap.
 */
#ifndef GARTH_CORE_IDS_H
#define GARTH_CORE_IDS_H

#include <stdbool.h>
#include <stdint.h>

#define IDS_BLOCK 4096u
#define IDS_AGENTS_MAX 33u /* blocks 0..32 */
#define IDS_OWN_BLOCK 33u
#define IDS_WS_BLOCKS 34u
#define IDS_FIRST_DEFAULT 1879048192u
#define IDS_COUNT_DEFAULT 268304384u

/* Inside a sandbox */
#define IDS_UID_ROOT 0u    /* garth-init; acts as the owner of its agent's files */
#define IDS_UID_USER 1000u /* "user": steps */
#define IDS_INSIDE_LAST 4094u
#define IDS_NOBODY 65534u   /* is block + 4095 */
#define IDS_GID_LAST 4030u  /* gids 0..4030 are block + gid */
#define IDS_STEP_GID 60000u /* step k: 60000 + k inside, gid_base + 4031 + k outside */
#define IDS_STEPS_MAX 64u
#define IDS_WS_GID_INSIDE 70000u /* shows the workspace's gid; no identity */

static inline uint32_t ids_fs_uid(uint32_t uid_base)
{
	return uid_base + IDS_OWN_BLOCK * IDS_BLOCK;
}
static inline uint32_t ids_keeper_uid(uint32_t uid_base)
{
	return uid_base + IDS_OWN_BLOCK * IDS_BLOCK + 1;
}
static inline uint32_t ids_ws_gid(uint32_t uid_base)
{
	return uid_base + IDS_OWN_BLOCK * IDS_BLOCK + 2;
}
static inline uint32_t ids_agent_uid(uint32_t uid_base, uint32_t block, uint32_t inside)
{
	return uid_base + block * IDS_BLOCK + inside;
}

/* Which agent's block holds this host uid: true and ret_block, or false (host users, root, garth's own). */
static inline bool ids_agent_of(uint32_t uid_base, uint32_t uid, uint32_t *ret_block)
{
	if (uid < uid_base || uid - uid_base >= IDS_AGENTS_MAX * IDS_BLOCK)
		return false;
	*ret_block = (uid - uid_base) / IDS_BLOCK;
	return true;
}

/* Which step slot this host gid is in the sandbox at gid_base: 0..63, or -1 (another gid of the block). */
static inline int ids_step_slot(uint32_t gid_base, uint32_t gid)
{
	uint32_t off = gid - gid_base;

	return off >= 4031u && off < 4031u + IDS_STEPS_MAX ? (int)(off - 4031u) : -1;
}

/* The lines for /proc/PID/uid_map and gid_map of a sandbox: "inside outside count" */
#define IDS_UID_MAP_FMT "0 %u 4095\n65534 %u 1\n" /* block, block + 4095 */
#define IDS_GID_MAP_FMT \
	"0 %u 4031\n60000 %u 64\n65534 %u 1\n70000 %u 1\n" /* base, base + 4031, base + 4095, workspace gid */

#endif
