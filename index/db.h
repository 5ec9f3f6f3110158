/* SPDX-License-Identifier: MIT */
/*
 * index/db.h - opening index.db: settings, schema, version.
 * Not here: statements (index/stmt.h), who may write (index/writer.h).
 * Thread: one a connection.
 */
#ifndef GARTH_INDEX_DB_H
#define GARTH_INDEX_DB_H

#include <stdbool.h>

#include "index/stmt.h"

#define IDX_APP_ID 0x47525448 /* "GRTH", in the file's header: file(1) and garth know it by that */
#define IDX_FILE "index.db"

/* All: db is zeroed before; after a failure idx_db_close is due too. */

/* The writer's: WAL, brought to the newest schema. The file exists. -EPROTO of a newer garth, -EBADMSG damaged or no index. */
must_check int idx_db_open_write(struct idx_db *db, const char *path, unsigned groups,
				 struct err *err);

/*
 * A reader's: mode=ro. -ENOENT, -EPROTO of another garth (message says which), -EBADMSG.
 * @still: nobody writes it: a copy without -shm is then opened without making one.
 */
must_check int idx_db_open_read(struct idx_db *db, const char *path, bool still, unsigned groups,
				struct err *err);

/* A second connection beside the writer's, to copy from; no statements. @path as the writer's. */
must_check int idx_db_open_copy(struct idx_db *db, const char *path, struct err *err);

/* An empty one of the newest schema that vanishes at close. */
must_check int idx_db_open_scratch(struct idx_db *db, unsigned groups, struct err *err);

void idx_db_close(struct idx_db *db); /* zeroed is fine */

#endif
