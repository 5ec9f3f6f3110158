/* SPDX-License-Identifier: MIT */
/*
 * fs/fs.h - what all of garth-fs shares: its ids, its descriptors, and one pointer to each part.
 * Set up before the threads start and never changed after; what changes is inside the parts, under their own locks.
 */
#ifndef GARTH_FS_FS_H
#define GARTH_FS_FS_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/path.h"
#include "core/ring.h"
#include "index/writer.h"

/* The descriptors that garth-fs is born with (docs/PROTOCOL.md). */
enum { FD_CONTROL = 3, FD_KEEPER = 4, FD_FUSE = 5, FD_RING = 6, FD_STORE = 7, FD_PROC = 8 };

#define TTL_LONG 31536000.0 /* seconds: everything changes through the mount alone */

struct claims;
struct fuse_session;
struct retain;

struct fs {
	char ws[IDENT_SIZE];
	uint32_t uid_base;
	uint32_t uid, gid;                                    /* its own; gid is the workspace's */
	int store_fd, data_fd, objects_fd, task_fd, trash_fd; /* folders */
	struct ring *ring;
	struct idx_writer *idx;
	struct hcache *hcache;
	struct nodes *nodes;
	struct node *root, *holder, *agents_node, *logs_node; /* pinned */
	struct agents *agents;
	struct steps *steps;
	struct recs *recs;
	struct seal *seal;
	struct quota *quota;
	struct claims *claims;
	struct retain *retain;
	struct logs *logs;
	struct work *sealer; /* cuts versions, ends steps */
	struct work *mender; /* requests that must wait for a file to be cut or copied */
	struct work *desk;   /* questions of garth-api that take time */
	struct work *teller; /* tells the kernel what it must forget */
	struct work *trash;  /* empties trash/ */
	struct fuse_session *se;
	_Atomic uint64_t next_version;
	_Atomic uint64_t ring_end; /* behind the last event that was put */
	atomic_uint handover;
	atomic_uint releasing; /* RELEASEs that have come and aren't done */
};

/*
 * A file opened by one thread is used by another as soon as the kernel has the answer: the kernel orders that, and this tells the
 * compiler. Before an answer that lends or gives back an open file, and after a request has come.
 */
static inline void fs_handover(struct fs *fs)
{
	(void)atomic_fetch_add_explicit(&fs->handover, 1, memory_order_acq_rel);
}

#endif
