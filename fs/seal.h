/* SPDX-License-Identifier: MIT */
/*
 * fs/seal.h - the end of a step: the barrier, its versions, its row, the answer; and the versions that time cuts.
 * Not here: how a version is cut (fs/cut.h).
 * Thread: any posts; the sealer does it.
 */
#ifndef GARTH_FS_SEAL_H
#define GARTH_FS_SEAL_H

#include "core/err.h"
#include "core/event.h"
#include "fs/client.h"
#include "fs/fs.h"

#define SEAL_BARRIER_NS 5000000000LL /* a step's last closes are waited for so long */

struct step;

struct seal;

must_check int seal_new(struct seal **ret);
void seal_free(struct seal *s);

/*
 * End this step; takes its reference. @end borrowed (its texts are copied); @client to answer (may be NULL), id of the request.
 * @alive: processes live on, so nothing is waited for. 0, -ENOMEM.
 */
must_check int seal_step(struct fs *fs, struct step *st, const struct ev_step_end *end, bool alive,
			 struct client *client, uint64_t id);

/* A step that is ending has closed its last writable file. */
void seal_hint(struct fs *fs);

int64_t seal_tick(struct fs *fs); /* for work_new */

/* Cut everything that is closed, then make the record durable, then answer (client NULL: nobody). */
must_check int seal_flush(struct fs *fs, struct client *client, uint16_t type, uint64_t id);

/* The last: ends the sealer's thread, then ends every step that is ending, and cuts whatever is closed. Thread: main. */
void seal_last(struct fs *fs);

#endif
