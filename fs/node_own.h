/* SPDX-License-Identifier: MIT */
/*
 * fs/node_own.h - the node table from inside. For fs/node.c and fs/nodepath.c alone.
 */
#ifndef GARTH_FS_NODE_OWN_H
#define GARTH_FS_NODE_OWN_H

#include <pthread.h>

#include "fs/node.h"

#define NODE_BUCKETS 4096u /* at first; a power of two */

struct node_slot {
	struct node *node;
	uint32_t gen;
	uint32_t next_free; /* 0: none */
};

struct nodes {
	pthread_mutex_t lock; /* guards everything here, and what struct node says */
	struct node_slot *slot;
	uint32_t slots, used; /* room; first number never given out */
	uint32_t free_head;
	struct node **bucket; /* by handle */
	uint32_t buckets, hashed;
	void (*at_end)(void *ctx, struct node *n);
	void *at_end_ctx;
	struct node *graves; /* dead, with a descriptor that is closed outside the lock */
};

#endif
