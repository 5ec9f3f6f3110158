/* SPDX-License-Identifier: MIT */
/*
 * core/ring.h - the event ring: many writers, one reader, in shared memory that outlives the process which writes it.
 *
 * The file (RING_FILE_SIZE bytes, /run/garth/.../W.ring) is one header page and RING_SLOTS slots of 256 bytes. A writer takes k
 * consecutive slots by one fetch-add on `head`, fills them, and commits each by storing its number + 1 into `seq` (release). The
 * reader takes slots in order and publishes `tail` (everything before it is durable in the database); a writer that would pass
 * tail + RING_SLOTS sleeps on a futex until there is room: events are never dropped.
 * After a crash the reader calls ring_recover: slots that were taken and never committed are holes and are skipped; what they would
 * have told was never acknowledged, since a reply is sent after its event is committed.
 *
 * Positions are absolute slot numbers, never wrapped; the database keeps the next position to read in the same transaction as the rows.
 * Not here: what an event says (core/event.h), storing it (index/writer.h).
 * Thread: ring_put any; the others the one reader.
 */
#ifndef GARTH_CORE_RING_H
#define GARTH_CORE_RING_H

#include <stdint.h>

#include "core/bytes.h"
#include "core/err.h"

#define RING_SLOTS 65536u
#define RING_SLOT_SIZE 256u
#define RING_SLOT_DATA 240u /* bytes of an event in one slot */
#define RING_FILE_SIZE (4096u + (size_t)RING_SLOTS * RING_SLOT_SIZE)
#define RING_EVENT_MAX 32768u /* bytes of one event */

struct ring; /* opaque: a mapping */

/* Size and format the file where it is new (all zero); map it. 0, -EBADMSG another format, -ENOMEM, errno. fd is borrowed. */
must_check int ring_open(int fd, struct ring **ret, struct err *err);
void ring_close(struct ring *r);

/* Write one event; blocks while the ring is full. @ret_end the position behind it (for ring waits); may be NULL. -EMSGSIZE. */
must_check int ring_put(struct ring *r, struct bytes event, uint64_t *ret_end);

/*
 * The next event at *pos, copied into room (RING_EVENT_MAX bytes); *pos moves behind it. 1 an event, 0 none yet (not committed),
 * -EBADMSG a slot that makes no sense (*pos moves on). @recover: holes are skipped, and 0 means the end was reached.
 */
must_check int ring_get(struct ring *r, uint64_t *pos, bool recover, void *room, size_t *ret_len);

/* Give slots before pos back to the writers (after the commit). Wakes sleepers. */
void ring_release(struct ring *r, uint64_t pos);

uint64_t ring_head(const struct ring *r);
uint64_t ring_tail(const struct ring *r);

/* Sleep until something is written past pos, ring_wake is called, or timeout_ms (-1: no limit) passes. */
void ring_wait(struct ring *r, uint64_t pos, int timeout_ms);
void ring_wake(struct ring *r);

/* Before anything else uses a ring that a dead process left: after all was read with recover, set head = tail = pos. */
void ring_restart(struct ring *r, uint64_t pos);

#endif
