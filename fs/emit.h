/* SPDX-License-Identifier: MIT */
/*
 * fs/emit.h - events into the ring. An event is there when the function returns; a change is answered after that.
 * Not here: what an event says (core/event.h), the database (index/writer.h).
 * Thread: any. A full ring blocks.
 */
#ifndef GARTH_FS_EMIT_H
#define GARTH_FS_EMIT_H

#include "core/event.h"
#include "fs/fs.h"

struct who;

/* Fills at_ns. An event that is too large for the ring is a fault of ours: its texts were to be cut before. */
void emit(struct fs *fs, struct event *e);

void emit_change(struct fs *fs, const struct who *w, enum ev_op op, struct bytes path,
		 struct bytes path2);
void emit_violation(struct fs *fs, const struct who *w, enum ev_op op, struct bytes path, int err,
		    const char *rule);

/* Wait until all that was put so far is durable. 0, -EIO. */
must_check int emit_sync(struct fs *fs);

#endif
