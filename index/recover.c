/* SPDX-License-Identifier: MIT */
/*
 * index/recover.c - the writer's birth and death: the file, the lock, what a dead process left in the ring; and copies of the whole.
 * Not here: the index thread (index/writer.c).
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "core/fd.h"
#include "core/path.h"
#include "index/at.h"
#include "index/db.h"
#include "index/writer_in.h"

#define IDX_MODE 0640

/* A descriptor of the folder that is ours alone, with the lock that says there is one writer. */
static int lock_folder(int dir_fd, int *ret_fd, struct err *err)
{
	autofd fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return err_sys(err, "the workspace's folder");
	/* not on index.db: closing a descriptor of it would drop SQLite's own locks */
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? err_set(err, -EBUSY, "index.db has another writer")
					    : err_sys(err, "lock the workspace's folder");
	*ret_fd = fd_steal(&fd);
	return 0;
}

/* index.db exists, with the mode that readers need. @ret_new it was made now. */
static int make_file(int dir_fd, bool *ret_new, struct err *err)
{
	autofd fd = openat(dir_fd, IDX_FILE, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
			   IDX_MODE);

	*ret_new = fd >= 0;
	if (fd < 0 && errno == EEXIST)
		return 0;
	if (fd < 0)
		return err_sys(err, "make " IDX_FILE);
	if (fchmod(fd, IDX_MODE) < 0) /* whatever the umask is */
		return err_sys(err, "make " IDX_FILE);
	return fsync(dir_fd) < 0 ? err_sys(err, "sync the workspace's folder") : 0;
}

static int recover_batch(struct idx_writer *w, uint64_t *holes, bool *ret_more, struct err *err)
{
	unsigned n = 0;
	int rc = store_begin(&w->store, err);

	*ret_more = true;
	while (rc == 0 && *ret_more && n < IDX_BATCH_EVENTS) {
		uint64_t from = w->pos;
		size_t len = 0;
		int got = ring_get(w->ring, &w->pos, true, w->room, &len);

		if (got > 0) {
			uint64_t slots = (len + RING_SLOT_DATA - 1) / RING_SLOT_DATA;

			rc = store_event(&w->store, bytes_of(w->room, len), err);
			*holes += w->pos - from - slots;
			if (rc == -EBADMSG) { /* a slot of nonsense: as if it never was */
				*holes += slots;
				rc = 0;
			}
			n++;
		} else {
			*holes += w->pos - from;
			*ret_more = got < 0;
		}
	}
	if (rc == 0)
		rc = store_commit(&w->store, w->pos, err);
	if (rc < 0)
		store_rollback(&w->store);
	return rc;
}

/* @is_new: the ring can't be this database's: what stands in it is of a workspace that is gone. */
static int recover(struct idx_writer *w, bool is_new, uint64_t *ret_holes, struct err *err)
{
	uint64_t stored = 0;
	uint64_t tail = ring_tail(w->ring);
	uint64_t head = ring_head(w->ring);
	bool more = !is_new;
	int rc = store_meta(&w->store, STORE_RING, &stored, err);

	if (rc < 0)
		return rc;
	*ret_holes = 0;
	/* a new ring counts from 0, the database goes on from where it was */
	w->pos = is_new || stored > head ? stored : stored > tail ? stored : tail;
	/* released by a writer whose commits the database has lost since: it is an older copy, or lost power */
	if (w->pos > stored && !is_new)
		*ret_holes = w->pos - stored;
	more = more && w->pos < head;
	while (more) {
		rc = recover_batch(w, ret_holes, &more, err);
		if (rc < 0)
			return rc;
	}
	w->stored = w->pos;
	ring_restart(w->ring, w->pos);
	return 0;
}

static int open_all(struct idx_writer *w, int dir_fd, uint64_t *ret_holes, struct err *err)
{
	const unsigned groups = IDX_G_TX | IDX_G_CHAIN | IDX_G_APPLY | IDX_G_LOAD | IDX_G_READ;
	char path[AT_PATH_SIZE];
	bool is_new = false;
	int rc = at_install(err);

	if (rc == 0)
		rc = lock_folder(dir_fd, &w->dir_fd, err);
	if (rc == 0)
		rc = make_file(w->dir_fd, &is_new, err);
	if (rc == 0)
		rc = at_path(w->dir_fd, IDX_FILE, path);
	if (rc == 0)
		rc = idx_db_open_write(&w->store.db, path, groups, err);
	if (rc == 0)
		rc = store_init(&w->store, err);
	return rc < 0 ? rc : recover(w, is_new, ret_holes, err);
}

static int sync_parts(struct idx_writer *w)
{
	pthread_condattr_t attr;
	int rc;

	if (pthread_mutex_init(&w->lock, NULL) != 0)
		return -ENOMEM;
	rc = pthread_condattr_init(&attr);
	if (rc == 0) {
		(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
		rc = pthread_cond_init(&w->cond, &attr);
		(void)pthread_condattr_destroy(&attr);
	}
	if (rc != 0)
		(void)pthread_mutex_destroy(&w->lock);
	return rc == 0 ? 0 : -ENOMEM;
}

int idx_writer_open(int dir_fd, struct ring *ring, struct idx_writer **ret, uint64_t *ret_holes,
		    struct err *err)
{
	struct idx_writer *w = calloc(1, sizeof *w);
	int rc;

	if (!w)
		return err_set(err, -ENOMEM, "index: no memory");
	w->dir_fd = -1;
	w->ring = ring;
	w->room = malloc(RING_EVENT_MAX);
	if (!w->room || sync_parts(w) < 0) {
		free(w->room);
		free(w);
		return err_set(err, -ENOMEM, "index: no memory");
	}
	rc = open_all(w, dir_fd, ret_holes, err);
	if (rc < 0) {
		idx_writer_close(w);
		return rc;
	}
	*ret = w;
	return 0;
}

void idx_writer_close(struct idx_writer *w)
{
	if (!w)
		return;
	idx_db_close(&w->store.db);
	store_fini(&w->store);
	fd_closep(&w->dir_fd); /* after the database: its path goes through it */
	(void)pthread_cond_destroy(&w->cond);
	(void)pthread_mutex_destroy(&w->lock);
	free(w->room);
	free(w);
}

/* The copy itself: `name` is an empty file of ours. */
static int copy_into(struct idx_writer *w, const char *name, struct err *err)
{
	struct idx_db db = { 0 };
	struct stmt s = { 0 };
	char from[AT_PATH_SIZE];
	char to[AT_PATH_SIZE];
	int rc;

	if (at_path(w->dir_fd, IDX_FILE, from) < 0 || at_path(w->dir_fd, name, to) < 0)
		return err_set(err, -ENAMETOOLONG, "the name is too long");
	rc = idx_db_open_copy(&db, from, err);
	if (rc == 0 && sqlite3_prepare_v2(db.h, IDX_SQL_SNAPSHOT, -1, &s.st, NULL) != SQLITE_OK)
		rc = stmt_fail(&db, SQLITE_ERROR, err);
	if (rc == 0) {
		stmt_text(&s, bytes_str(to));
		rc = stmt_run(&db, &s, err);
	}
	(void)sqlite3_finalize(s.st);
	idx_db_close(&db);
	return rc;
}

int idx_writer_snapshot(struct idx_writer *w, const char *name, struct err *err)
{
	int rc = name_check(name);
	autofd fd = -1;

	if (rc < 0)
		return err_set(err, rc, "snapshot: '%s' is no name", name);
	rc = idx_writer_sync(w, ring_head(w->ring));
	if (rc < 0)
		return err_set(err, rc, "snapshot: the record's writer has failed");
	/* made here, since SQLite would let everybody read it */
	fd = openat(w->dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return err_sys(err, "snapshot");
	rc = copy_into(w, name, err);
	if (rc < 0) {
		(void)unlinkat(w->dir_fd, name, 0);
		return err_wrap(err, rc, "snapshot");
	}
	return 0;
}
