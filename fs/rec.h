/* SPDX-License-Identifier: MIT */
/*
 * fs/rec.h - what the record knows of each live file in input/, output/ and the areas: its names, its newest version, whether
 * it has changed since, who is writing it, and whether its inode is also an object.
 *
 * dirty    it was opened for writing (or truncated) since its last version was cut
 * written  something was really written since then
 * busy     a thread is cutting a version of it, or copying its object: nobody may begin to write
 * linked   its inode is objects/<sha>: before it may change, the object must get a copy
 *
 * Not here: cutting and copying (fs/cut.h), when (fs/seal.h), the rows (index/).
 * Thread: any. Lock: recs->lock. Events about names are put into the ring under it, so that the record's order is the true one:
 * the ring waits only for the index thread, which needs no lock of ours.
 */
#ifndef GARTH_FS_REC_H
#define GARTH_FS_REC_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/event.h"
#include "fs/fs.h"
#include "fs/handle.h"
#include "fs/who.h"
#include "index/writer.h"

#define REC_HANDOVERS_MAX 16u /* rows that authors who take turns make between two cuts */
#define REC_QUIET_NS \
	5000000000LL /* after the last close a version is cut, whatever the step does */

struct rec;

struct rname {
	char *path;
	size_t len;
	uint64_t version;      /* newest row of this path; 0: none */
	uint64_t open_version; /* that row's state is `open`: the next cut closes it; 0: none */
	bool existed;          /* it took the place of a file that had versions */
	struct rec *rec;
	struct rname *next, *chain;
};

/* All guarded by recs->lock, which may be held when steps->lock is taken; but what never changes: h, ino. */
struct rec {
	struct fhandle h;
	uint64_t ino;
	_Atomic uint32_t uid;
	unsigned refs; /* names, open files, those who work on it */
	struct rname *names;
	unsigned writers;
	bool dirty, written, busy, linked, held, kept, has_sha;
	uint8_t state; /* ev_state of the newest version */
	struct sha256 sha;
	uint64_t size, gen;
	uint32_t agent; /* of the newest version; EV_NOBODY */
	uint64_t step;
	struct who *
		last; /* who wrote last; where nobody has written yet, who opened it last; only while dirty */
	unsigned handovers; /* since the last cut */
	int spare_fd;       /* of a writer, where the owner may not read; -1 */
	int64_t quiet_ns;   /* when it is to be cut; 0: it has writers */
	struct rec *chain;
	struct rec *dprev, *dnext; /* the dirty ones, those closed last at the end */
};

struct recs;

must_check int recs_new(struct recs **ret);
void recs_free(struct fs *fs, struct recs *r);

void recs_lock(struct recs *r);
void recs_unlock(struct recs *r);
void recs_wait(struct recs *r);  /* under the lock: until some rec is not busy any more */
void recs_freed(struct recs *r); /* under the lock: busy has ended */

/* Counted, or NULL. */
struct rec *rec_of(struct recs *r, const struct fhandle *h);
struct rec *rec_by_path(struct recs *r, struct bytes path);
void rec_put(struct fs *fs, struct rec *c); /* NULL is fine; not under the lock */

/* Under the lock: the one of this inode, made where it is new, with this name added (len 0: none). Counted. 0, -ENOMEM. */
must_check int rec_enter_locked(struct fs *fs, const struct fhandle *h, uint64_t ino, uint32_t uid,
				struct bytes path, struct rec **ret);

/* What the record said of it when garth-fs began (at start alone). */
must_check int rec_load(struct fs *fs, const struct fhandle *h, uint32_t uid,
			const struct idx_load_file *f, bool linked, struct rec **ret);

#define MUST_WAIT (-9999) /* no errno: a thread that may wait has to go on with it */

/* Begin to write: 0; MUST_WAIT it must be cut or copied first (cut_mend). Ends with rec_write_end. */
must_check int rec_write_begin(struct fs *fs, struct rec *c, const struct who *w);
void rec_write_end(struct fs *fs, struct rec *c, int spare_fd); /* takes spare_fd; -1: none */
/*
 * w has written it: the version that is cut next is w's. Where somebody else has written since the last one, that one's row is put
 * first and stays `open`: nobody saw these bytes alone. @mapped the bytes came through a mapping: the kernel writes them through
 * whichever handle it finds, so with several writers they say nothing about who.
 */
void rec_written(struct fs *fs, struct rec *c, struct who *w, bool mapped);

/* Must a reader of another step wait for a cut first? */
bool rec_read_wants_cut(struct recs *r, struct rec *c, const struct who *w);

/* Is somebody else writing it? */
bool rec_has_other_writer(struct recs *r, struct rec *c, const struct who *w);
bool rec_is_linked(struct recs *r, struct rec *c);
bool rec_is_only_name(
	struct recs *r,
	struct rec *c); /* has it one name, or none? Whatever links objects/ has of it */

/* Whose files are at or below a folder: a bit for each agent's block. Takes the lock; looks at all names. */
uint64_t rec_owners_below(struct fs *fs, struct bytes dir);

/* Names, for fs/track.c: under the lock. The events (EV_CHANGE, EV_VERSION of the new name) are put here. */
must_check int rec_linked(struct fs *fs, const struct who *w, struct rec *c, struct bytes from,
			  struct bytes to);
void rec_unlinked(struct fs *fs, const struct who *w, enum ev_op op, struct bytes path);
/*
 * @dir the thing moved is a folder: all below it moves (the index moves their rows by the folder's event). @exchange the two swap
 * places. A file gets a row under its new name at once; what comes into output/ and isn't kept is cut anew at its step's end.
 */
void rec_renamed(struct fs *fs, const struct who *w, struct bytes from, struct bytes to, bool dir,
		 bool exchange);

/* Under the lock: as if w had just written it. */
must_check int rec_touch(struct fs *fs, struct rec *c, const struct who *w);

/* Under the lock: the name of this path, or NULL. */
struct rname *rname_find(struct recs *r, struct bytes path);

/* Under the lock: is there something that its newest version doesn't say? */
bool rec_has_news(const struct rec *c);

/* Under the lock: put c among the clean again. */
void rec_clean(struct fs *fs, struct recs *r, struct rec *c);

/*
 * The dirty ones (counted, in an array for the caller to free): of this step, or of all where step is 0. @writers those that are
 * open for writing too. 0, -ENOMEM.
 */
must_check int recs_dirty(struct recs *r, uint64_t step, bool writers, struct rec ***ret,
			  size_t *ret_n);

/* One that has been quiet long enough (counted), or NULL and when to ask again (WORK_NEVER: none waits). */
struct rec *recs_quiet(struct recs *r, int64_t now_ns, int64_t *ret_next_ns);

#endif
