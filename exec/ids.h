/* SPDX-License-Identifier: MIT */
/*
 * exec/ids.h - which workspace holds which uids (DIR/ids, kept for ever), and which sandbox which gids (memory, while it lives).
 *
 * DIR/ids holds one line each, appended and synced before the ids are used; the last word on a name counts:
 *     range FIRST COUNT      written by `garth up` when it gave DIR its range
 *     ws NAME UID_BASE
 *     free NAME UID_BASE
 * A last line without a newline was cut off by a crash; what it reserved was never used, so it is dropped.
 * Uid blocks are taken from the bottom of the range (behind its first block, which is garth-api's), gid blocks from the top.
 * Not here: what an id inside a block means (core/ids.h), which server of the host holds which range (`garth up`).
 */
#ifndef GARTH_EXEC_IDS_H
#define GARTH_EXEC_IDS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "core/path.h"

#define IDS_FILE_MAX (4u * 1024 * 1024) /* bytes of DIR/ids */

struct ids_ws {
	char name[IDENT_SIZE];
	uint32_t uid_base;
};

struct ids {
	int fd; /* of DIR/ids, for appending; -1 in tests of the pure parts */
	uint32_t first, count;
	unsigned ws_count;
	struct ids_ws *ws;
	uint8_t *gid_used; /* one byte a block of the range, counted from its top */
	uint32_t gid_blocks, gid_next;
};

/* Read, or make, DIR/ids. -EINVAL a line that makes no sense (the message names it) or a range that is too small. */
must_check int ids_open(int dir_fd, uint32_t first, uint32_t count, struct ids *ret,
			struct err *err);
void ids_close(struct ids *x);

/* The pure part of it: take these lines. */
must_check int ids_parse(struct ids *x, struct bytes text, struct err *err);

const struct ids_ws *ids_find(const struct ids *x, const char *name);

/* Reserve the uids of a new workspace. -EEXIST, -ENOSPC no ids left. Durable when it returns. */
must_check int ids_reserve(struct ids *x, const char *name, uint32_t *ret_uid_base,
			   struct err *err);
must_check int ids_release(struct ids *x, const char *name, struct err *err);

/* A gid block; the one that was free the longest comes first. -ENOSPC. */
must_check int ids_gid_take(struct ids *x, uint32_t *ret_gid_base);
void ids_gid_put(struct ids *x, uint32_t gid_base);

#endif
