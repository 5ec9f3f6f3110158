/* SPDX-License-Identifier: MIT */
/*
 * index/squash.h - equal violations of one batch as one, with their count: a loop of refused calls costs the record one row.
 * Equal: the same in all fields but time and count. The time is the first one's.
 * Not here: equal ones of different batches (index/apply.h).
 * Thread: the writer's. Limits: IDX_BATCH_EVENTS different ones.
 */
#ifndef GARTH_INDEX_SQUASH_H
#define GARTH_INDEX_SQUASH_H

#include "core/event.h"

struct squash;

struct squash *squash_new(void); /* NULL: no memory */
void squash_free(struct squash *q);
void squash_reset(struct squash *q);

/* Count this EV_VIOLATION. Its bytes are copied. 0, -ENOMEM, -EFBIG too many different ones. */
must_check int squash_add(struct squash *q, const struct event *e);

/* The i-th, in the order of their first; its bytes live until the next reset. 1, 0 past the last, -EBADMSG. */
must_check int squash_get(const struct squash *q, unsigned i, struct event *ret);

#endif
