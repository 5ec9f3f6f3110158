/* SPDX-License-Identifier: MIT */
/*
 * index/writer_in.h - the writer's own struct, for the files that are the writer: writer.c, recover.c, load.c.
 * Not here: the contract (index/writer.h).
 */
#ifndef GARTH_INDEX_WRITER_IN_H
#define GARTH_INDEX_WRITER_IN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "index/store.h"
#include "index/writer.h"

struct idx_writer {
	/* the thread of run, and before and after it whoever opened */
	struct store store;
	int dir_fd;        /* owned; holds the lock that says there is one writer */
	struct ring *ring; /* borrowed */
	uint8_t *room;     /* RING_EVENT_MAX: the event being read */
	uint64_t pos;      /* next to read */
	uint64_t stored;   /* everything before it is committed */
	uint64_t synced;   /* everything before it is durable: the thread's copy of `durable` */

	_Atomic uint64_t want; /* everything before it is to be made durable; only grows */

	pthread_mutex_t lock;
	pthread_cond_t cond;
	uint64_t durable; /* guarded by lock */
	int failing;      /* guarded by lock: 0 or the errno of the last attempt */
	bool stop;        /* guarded by lock */
	bool dead;        /* guarded by lock: run is over */
};

#endif
