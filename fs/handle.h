/* SPDX-License-Identifier: MIT */
/*
 * fs/handle.h - the file handles of the store, and a bounded cache of O_PATH descriptors for them.
 * A handle is opened by the keeper alone (open_by_handle_at needs a right that garth-fs has not).
 * Not here: which node has which handle (fs/node.h), opening for reading or writing (fs/act.h).
 * Thread: any. Locks: the cache's own, never held while the keeper is asked.
 */
#ifndef GARTH_FS_HANDLE_H
#define GARTH_FS_HANDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"

#define FHANDLE_MAX 32u      /* bytes; ext4 has 8, xfs 12, btrfs 20 */
#define HCACHE_FDS_MAX 4096u /* and at most a quarter of RLIMIT_NOFILE */
#define KEEPER_TIMEOUT_MS 30000

struct fhandle {
	int32_t type;
	uint32_t len;
	uint8_t b[FHANDLE_MAX];
};

bool fhandle_equal(const struct fhandle *a, const struct fhandle *b);
uint32_t fhandle_hash(const struct fhandle *h);

/* The handle of what fd (any kind, also O_PATH) refers to: 0, -EOVERFLOW a store with longer ones, errno. */
must_check int fhandle_of(int fd, struct fhandle *ret);

struct hcache;
struct hentry;

/* @keeper_fd borrowed. */
must_check int hcache_new(int keeper_fd, struct hcache **ret);
void hcache_free(struct hcache *c);

/*
 * An O_PATH descriptor for this handle, lent until hcache_put. *ret_fd stays the cache's.
 * 0, -ESTALE it is gone, -EMFILE, -EPIPE the keeper is gone.
 */
must_check int hcache_get(struct hcache *c, const struct fhandle *h, struct hentry **ret,
			  int *ret_fd);
void hcache_put(struct hcache *c, struct hentry *e); /* NULL is fine */

/* Give an O_PATH descriptor that is at hand to the cache (takes it; closes it where it has one or is full). */
void hcache_offer(struct hcache *c, const struct fhandle *h, int fd);

/* Forget it (its inode is gone), so that the disk can free it. */
void hcache_drop(struct hcache *c, const struct fhandle *h);

/* Forget what has no name any more: a descriptor keeps its blocks from being free. */
void hcache_sweep(struct hcache *c);

#endif
