/* SPDX-License-Identifier: MIT */
/*
 * fs/track.h - names that come, go and move, in the node table, in the record of files and in the ring at once.
 * Each is one step under recs->lock, with the paths as they are in that moment: so the events' order is an order in which it can have
 * happened, whatever renames of folders above go on beside it. (Two changes of one folder the kernel orders itself: it holds the
 * folder's lock until it has the answer.)
 * Not here: the store (fs/op_*.c), which has changed when these are called.
 * Thread: any. Lock order: recs->lock, then the node table's.
 */
#ifndef GARTH_FS_TRACK_H
#define GARTH_FS_TRACK_H

#include <stdbool.h>

#include "core/event.h"
#include "fs/fs.h"
#include "fs/node.h"
#include "fs/rec.h"
#include "fs/who.h"

/* The record of a file: *ret counted, or NULL where none is kept of it. 0, -ENOMEM, -ENAMETOOLONG. */
must_check int track_file(struct fs *fs, struct node *n, struct rec **ret);

/* A folder, a link or (mknod) a file was made. @text of a symlink, or NULL. */
must_check int track_made(struct fs *fs, const struct who *w, enum ev_op op, struct node *n,
			  const char *text);

/* n got another name. */
must_check int track_linked(struct fs *fs, const struct who *w, struct node *n, struct node *dir,
			    const char *name);

/* dir/name is gone; n was it (NULL: the table doesn't know it), and this was its last name (`gone`). */
void track_removed(struct fs *fs, const struct who *w, enum ev_op op, struct node *dir,
		   const char *name, struct node *n, bool gone);

struct track_move {
	struct node *from_dir, *to_dir;
	const char *from, *to;
	struct node *what, *victim; /* NULL: the table doesn't know it, or nothing was there */
	bool dir;                   /* what moved is a folder */
	bool exchange;
	bool victim_gone; /* that was its last name */
};
void track_moved(struct fs *fs, const struct who *w, const struct track_move *m);

#endif
