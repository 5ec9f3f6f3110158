/* SPDX-License-Identifier: MIT */
/*
 * fs/node.h - the node table: what the kernel knows of the mount, one node an inode.
 * A node's id is its slot and the slot's generation; a node holds a file handle, never a descriptor, and the names by which it
 * was reached (a folder has one; a file with hard links several; none once it is unlinked: then the last stays, for the record).
 * Not here: descriptors (fs/handle.h), what a path means (fs/place.h), versions of files (fs/rec.h).
 * Thread: any. Locks: the table's own, never held across a system call.
 * Life: a node lives while the kernel counts look-ups of it, something is open on it, or a child names it as its parent.
 */
#ifndef GARTH_FS_NODE_H
#define GARTH_FS_NODE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "core/bytes.h"
#include "core/err.h"
#include "core/path.h"
#include "fs/handle.h"

#define NODE_ROOT_ID 1u
#define NODES_MAX (16u * 1024 * 1024)
#define NODE_NAMELESS "#tmpfile" /* how an O_TMPFILE file is called until it has a name */

enum node_kind {
	NODE_PLAIN = 0,
	NODE_ROOT,
	NODE_HOLDER, /* `task` in the root: what sandboxes mount theirs on */
	NODE_TASK,   /* a sandbox's task/ */
};

struct task; /* fs/task.h: one life of a sandbox's task/, between two wipes */
struct node;

struct nname {
	struct node *parent; /* pinned */
	char *name;
	struct nname *next;
};

struct node {
	uint64_t id;
	enum node_kind kind;
	struct fhandle h; /* guarded by the table's lock for NODE_TASK; else it never changes */
	uint64_t ino;     /* in the store */
	_Atomic uint32_t mode,
		uid; /* written under the table's lock; both at once by node_look() */
	/* guarded by the table's lock */
	uint64_t lookups;
	unsigned pins;          /* children's names, open files, the table itself */
	struct nname *names;    /* the first is the latest */
	_Atomic unsigned opens; /* files open on it */
	int keep_fd;            /* O_PATH, of an inode whose last name is going; -1 */
	atomic_bool gone;       /* unlinked: names is the last that it had */
	struct task *task;      /* counted; NULL outside task/ */
	struct rec
		*rec; /* counted; of a file whose last name is gone: its inode may be an object */
	/* guarded by the quota's lock */
	bool leaving;    /* its last name went: it gives back what it holds when it ends */
	int64_t charged; /* bytes of it that count in the quota; -1: not known yet */
	struct node *chain, *chain_dead; /* the table's own */
};

/* What is asked of a node at once. */
struct node_look {
	uint32_t mode, uid;
	bool gone;
};

struct nodes;
struct rec;

must_check int nodes_new(struct nodes **ret);
void nodes_free(struct nodes *t);

/* Called for each node that ends, outside the lock: nobody refers to it any more. Gives back what it holds of other parts. */
void nodes_at_end(struct nodes *t, void (*fn)(void *ctx, struct node *n), void *ctx);

/* The node with this id, or NULL. The kernel keeps it alive while it has a request for it under way. */
struct node *nodes_get(struct nodes *t, uint64_t id);

/* Make one that no look-up makes: the root, the holder, a sandbox's task. Pinned once; `parent` NULL only for the root. */
must_check int nodes_make(struct nodes *t, enum node_kind kind, const struct fhandle *h,
			  const struct stat *st, struct node *parent, const char *name,
			  struct task *task, struct node **ret);

/*
 * The node of this handle, reached as parent/name (name NULL: it has none, O_TMPFILE); made where it is new, with the mode and owner of
 * st (later node_set alone changes them). Its look-up count grows by one.
 * The names of a folder that is known, and of what is unlinked, are left alone: whoever renames tells them, and a look-up may be older
 * than a rename that has been told. *ret_named: a name is new, and whoever looked it up sees whether it is still there.
 * 0, -ENOMEM, -ENFILE.
 */
must_check int nodes_enter(struct nodes *t, struct node *parent, const char *name,
			   const struct fhandle *h, const struct stat *st, struct node **ret,
			   bool *ret_named);

void node_looked_up(struct nodes *t, struct node *n); /* the kernel got its id once more */
void node_pin(struct nodes *t, struct node *n);
void node_unpin(struct nodes *t, struct node *n);           /* may end it */
void node_forget(struct nodes *t, uint64_t id, uint64_t n); /* may end it */
void node_look(struct nodes *t, const struct node *n, struct node_look *ret);
void node_set(struct nodes *t, struct node *n,
	      const struct stat *st); /* mode and owner have changed */

/* A sandbox's task/ now is this folder. Takes over the count of `task`, gives back the one before. */
struct task *node_repoint(struct nodes *t, struct node *n, const struct fhandle *h, uint64_t ino,
			  struct task *task);
void node_handle(struct nodes *t, const struct node *n,
		 struct fhandle *ret);                         /* right for NODE_TASK too */
struct task *node_task(struct nodes *t, const struct node *n); /* counted, or NULL */

/* The node of this handle where the table knows it (pinned), or NULL. */
struct node *nodes_find(struct nodes *t, const struct fhandle *h);

/*
 * The last name of n is about to go: requests for it that are under way still find its inode. Takes fd (O_PATH); it ends with n, or
 * when it is taken back with -1.
 */
bool node_keep(struct nodes *t, struct node *n, int fd); /* was one kept before? */
int node_kept(struct nodes *t, const struct node *n);    /* a duplicate, or -1 */
/* Its last name is gone: n keeps what the record knows of it (takes the count) until its end. The one before is given back, or NULL. */
struct rec *node_keep_rec(struct nodes *t, struct node *n, struct rec *c);

/* Names come and go. */
must_check int node_link(struct nodes *t, struct node *n, struct node *parent, const char *name);
void node_unlink(struct nodes *t, struct node *n, struct node *parent, const char *name, bool gone);

/* The path of a node, or of a name in it (name may be NULL): 0, -ENAMETOOLONG. The task node's is "task". */
must_check int node_path(struct nodes *t, const struct node *n, const char *name,
			 char room[PATH_LEN_MAX + 1], size_t *ret_len);

/* The number of names known; the path of the i-th. -ENOENT past the end. */
must_check int node_path_nth(struct nodes *t, const struct node *n, unsigned i,
			     char room[PATH_LEN_MAX + 1], size_t *ret_len);

/*
 * May a caller reach n, by the search bits of the folders above it? @as is the fsuid with which it acts, `block` != 0: it acts as
 * the owner of whatever the 4,096 ids from there on own. n itself is not asked. @self: n's own search bits count too.
 */
bool node_searchable(struct nodes *t, const struct node *n, uint32_t as, uint32_t block, bool self);

/* Is there a folder above n (or n itself, where self) that not all agents may search? */
bool node_hidden(struct nodes *t, const struct node *n, bool self);

/* The owner of the folder logs/<step> that n is in or is; false where n is not below such a folder. */
bool node_log_owner(struct nodes *t, const struct node *n, uint32_t *ret_uid);

/* Every known node below n, n too: fn gets the id. Called under the lock: fn must not block. */
void node_below(struct nodes *t, const struct node *n, void (*fn)(void *ctx, uint64_t id),
		void *ctx);

#endif
