/* SPDX-License-Identifier: MIT */
/*
 * fs/place.h - where a node is, and whether the policy lets a caller do something there. A refusal is in the ring when it returns.
 * A file with several names is asked by each of them: the strictest answer holds.
 * Not here: the policy's own logic (policy/decide.h), mode bits (the store's, through fs/cred.h).
 * Thread: any.
 */
#ifndef GARTH_FS_PLACE_H
#define GARTH_FS_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/event.h"
#include "core/path.h"
#include "fs/fs.h"
#include "fs/node.h"
#include "fs/who.h"
#include "policy/zone.h"

struct place {
	size_t len;
	char path[PATH_LEN_MAX + 1];
};

static inline struct bytes place_bytes(const struct place *p)
{
	return bytes_of(p->path, p->len);
}

/* The path of n, or of name in n. 0, -ENAMETOOLONG. */
must_check int place_of(struct fs *fs, const struct node *n, const char *name, struct place *ret);

enum zone place_zone(const struct place *p);

/* Are versions of what lies here kept in the record: input/, output/, areas? */
bool place_recorded(const struct place *p);

/*
 * Between what the record follows and what it doesn't (the root, where the policy opens it) nothing is renamed or linked: EXDEV, as
 * between task/ and the rest. A file open for writing there would be sealed with a writer that nobody counts, and a sealed one
 * that went there would be changed together with its object.
 */
bool place_apart(const struct place *a, const struct place *b);

struct ask {
	enum ev_op op;
	bool special;      /* OP_MKNOD of a socket, FIFO or device */
	bool quiet;        /* access(2): no violation */
	const char *xattr; /* OP_SETXATTR, OP_REMOVEXATTR */
};

/*
 * May `w` do this to n (name NULL), or to `name` in the folder n? The policy, then the search bits above n.
 * 0, -EROFS, -EACCES, -ENOENT, -ENAMETOOLONG. *ret (may be NULL) is the path.
 */
must_check int place_ask(struct fs *fs, const struct who *w, const struct ask *a, struct node *n,
			 const char *name, struct place *ret);

/* The same for two names at once (rename, link): EROFS where either is below input/. */
must_check int place_ask2(struct fs *fs, const struct who *w, const struct ask *a, struct node *n1,
			  const char *name1, struct node *n2, const char *name2, struct place *ret1,
			  struct place *ret2);

/* May attributes of n be cached by the kernel for everybody? */
bool place_open_to_all(struct fs *fs, const struct node *n);

/*
 * May the agent that owns something go on writing it when w has put it at `to`? Else w would take it from its owner, and book
 * the refusals on the owner. True for what is w's agent's own.
 */
bool place_owner_may_write(struct fs *fs, const struct who *w, uint32_t owner,
			   const struct place *to);

/* Is n in logs/ (not logs/ itself)? */
bool place_in_logs(struct fs *fs, const struct node *n);

#endif
