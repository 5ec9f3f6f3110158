/* SPDX-License-Identifier: MIT */
/*
 * fs/emit.c - events into the ring.
 */
#include "fs/emit.h"

#include "core/clock.h"
#include "fs/step.h"
#include "fs/who.h"

void emit(struct fs *fs, struct event *e)
{
	uint8_t room[RING_EVENT_MAX];
	uint64_t end = 0, had;
	size_t len = 0;

	e->at_ns = clock_wall_ns();
	invariant(event_pack(e, room, sizeof room, &len) == 0);
	invariant(ring_put(fs->ring, bytes_of(room, len), &end) == 0);
	had = atomic_load(&fs->ring_end);
	while (had < end && !atomic_compare_exchange_weak(&fs->ring_end, &had, end))
		;
}

void emit_change(struct fs *fs, const struct who *w, enum ev_op op, struct bytes path,
		 struct bytes path2)
{
	struct event e = { .kind = EV_CHANGE };

	e.u.change = (struct ev_change){
		.who = who_event(w), .op = (uint8_t)op, .path = path, .path2 = path2
	};
	emit(fs, &e);
}

void emit_violation(struct fs *fs, const struct who *w, enum ev_op op, struct bytes path, int err,
		    const char *rule)
{
	struct event e = { .kind = EV_VIOLATION };

	e.u.violation = (struct ev_violation){
		.who = who_event(w),
		.op = (uint8_t)op,
		.path = path,
		.errnum = (uint32_t)-err,
		.rule = bytes_str(rule),
		.count = 1,
	};
	if (w->step)
		atomic_fetch_add(&w->step->violations, 1);
	emit(fs, &e);
}

int emit_sync(struct fs *fs)
{
	return idx_writer_sync(fs->idx, atomic_load(&fs->ring_end));
}
