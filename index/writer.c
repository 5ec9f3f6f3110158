/* SPDX-License-Identifier: MIT */
/*
 * index/writer.c - the index thread: drains the ring in batches, makes them durable when somebody waits for it, and goes on trying
 * while the disk is full.
 * Not here: opening and recovery (index/recover.c), one batch's rows (index/store.c), what garth-fs asks (index/load.c).
 */
#include <time.h>

#include "core/clock.h"
#include "index/writer_in.h"

#define RETRY_MS 1000         /* after a failure that may pass */
#define SYNC_PATIENCE_MS 5000 /* how long idx_writer_sync bears a writer that fails */
#define STOP_TRIES 50 /* batches that a taken slot without an event is waited for at the end */

static bool stopping(struct idx_writer *w)
{
	bool stop;

	(void)pthread_mutex_lock(&w->lock);
	stop = w->stop;
	(void)pthread_mutex_unlock(&w->lock);
	return stop;
}

static struct timespec after_ms(int ms)
{
	int64_t at = clock_mono_ns() + ms * NS_PER_MS;

	return (struct timespec){ .tv_sec = at / NS_PER_S, .tv_nsec = at % NS_PER_S };
}

/* Somebody waits for events that are all read. */
static bool sync_is_due(struct idx_writer *w)
{
	return atomic_load(&w->want) > w->synced && w->pos >= atomic_load(&w->want);
}

/* Events into the open transaction, until the batch is full, its time is over or somebody waits. */
static int drain(struct idx_writer *w, struct err *err)
{
	int64_t end = clock_mono_ns() + IDX_BATCH_MS * NS_PER_MS;
	unsigned n = 0;

	while (n < IDX_BATCH_EVENTS) {
		size_t len = 0;
		int64_t left;
		int rc = ring_get(w->ring, &w->pos, false, w->room, &len);

		if (rc < 0)
			return err_set(err, -EBADMSG, "event ring: a slot makes no sense");
		if (rc > 0) {
			rc = store_event(&w->store, bytes_of(w->room, len), err);
			if (rc < 0)
				return rc;
			n++;
			continue;
		}
		left = (end - clock_mono_ns()) / NS_PER_MS;
		if (left <= 0 || sync_is_due(w) || stopping(w))
			break;
		ring_wait(w->ring, w->pos, (int)left);
	}
	return 0;
}

static int batch(struct idx_writer *w, struct err *err)
{
	int rc = store_begin(&w->store, err);

	if (rc == 0)
		rc = drain(w, err);
	if (rc == 0)
		rc = store_commit(&w->store, w->pos, err);
	if (rc < 0) {
		store_rollback(&w->store);
		w->pos = w->stored;
		return rc;
	}
	w->stored = w->pos;
	ring_release(w->ring, w->stored);
	return 0;
}

static int sync_now(struct idx_writer *w, struct err *err)
{
	int rc = store_sync(&w->store, err);

	if (rc < 0)
		return rc;
	w->synced = w->stored;
	(void)pthread_mutex_lock(&w->lock);
	w->durable = w->stored;
	w->failing = 0;
	(void)pthread_cond_broadcast(&w->cond);
	(void)pthread_mutex_unlock(&w->lock);
	return 0;
}

/* Sleep until there is something to do. False: there never will be. */
static bool wait_for_work(struct idx_writer *w, unsigned *tries)
{
	for (;;) {
		bool stop = stopping(w); /* first: what was put before the stop is then seen */

		if (sync_is_due(w))
			return true;
		if (ring_head(w->ring) > w->pos)
			return !stop || (*tries)++ < STOP_TRIES;
		if (stop)
			return false;
		ring_wait(w->ring, w->pos, -1);
	}
}

/* A full disk or a slow card may come back; a database or ring that contradicts itself will not. */
static bool may_pass(int code)
{
	return code == -ENOSPC || code == -EIO || code == -EBUSY || code == -ENOMEM;
}

/* Tell who waits, and sleep. False: give up. */
static bool bear_failure(struct idx_writer *w, int code, bool at_sync)
{
	struct timespec until = after_ms(RETRY_MS);
	bool go_on;

	(void)pthread_mutex_lock(&w->lock);
	/* after a failed fsync a second one may say yes to pages that are gone */
	if (!may_pass(code) || (at_sync && code == -EIO) || w->stop)
		w->dead = true;
	w->failing = code;
	(void)pthread_cond_broadcast(&w->cond);
	while (!w->dead && !w->stop &&
	       pthread_cond_timedwait(&w->cond, &w->lock, &until) != ETIMEDOUT)
		;
	go_on = !w->dead;
	(void)pthread_mutex_unlock(&w->lock);
	return go_on;
}

static void tell(struct idx_writer *w, int code, bool dead)
{
	(void)pthread_mutex_lock(&w->lock);
	w->failing = code;
	w->dead = w->dead || dead;
	(void)pthread_cond_broadcast(&w->cond);
	(void)pthread_mutex_unlock(&w->lock);
}

/* Durable, and in the database's own file: a copy of that alone is whole. */
static int settle(struct idx_writer *w, struct err *err)
{
	int rc = sync_now(w, err);

	if (rc < 0)
		return rc;
	/* readers may keep it from finishing: the WAL then stays, which is no loss */
	(void)sqlite3_wal_checkpoint_v2(w->store.db.h, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
	return 0;
}

int idx_writer_run(struct idx_writer *w, struct err *err)
{
	unsigned tries = 0;
	int rc = 0;

	while (wait_for_work(w, &tries)) {
		bool at_sync = false;

		rc = 0;
		if (ring_head(w->ring) > w->pos)
			rc = batch(w, err);
		if (rc == 0 && sync_is_due(w)) {
			at_sync = true;
			rc = sync_now(w, err);
		}
		if (rc == 0)
			tell(w, 0, false);
		else if (!bear_failure(w, rc, at_sync))
			return rc;
	}
	rc = settle(w, err);
	tell(w, rc, true);
	return rc;
}

int idx_writer_sync(struct idx_writer *w, uint64_t pos)
{
	int64_t patience = clock_mono_ns() + SYNC_PATIENCE_MS * NS_PER_MS;
	int rc = 0;

	(void)pthread_mutex_lock(&w->lock);
	if (w->durable < pos) {
		if (atomic_load(&w->want) < pos)
			atomic_store(&w->want, pos);
		ring_wake(w->ring);
	}
	while (w->durable < pos) {
		struct timespec until = after_ms(RETRY_MS);

		if (w->dead || (w->failing && clock_mono_ns() >= patience)) {
			rc = w->failing == -ENOSPC ? -ENOSPC : -EIO;
			break;
		}
		(void)pthread_cond_timedwait(&w->cond, &w->lock, &until);
	}
	(void)pthread_mutex_unlock(&w->lock);
	return rc;
}

void idx_writer_stop(struct idx_writer *w)
{
	(void)pthread_mutex_lock(&w->lock);
	w->stop = true;
	(void)pthread_cond_broadcast(&w->cond);
	(void)pthread_mutex_unlock(&w->lock);
	ring_wake(w->ring);
}
