/* SPDX-License-Identifier: MIT */
/*
 * index/verify_objects.c - the kept bytes: versions of output/, code, policies, each under its own hash.
 * Not here: which of them must be there is asked of the rebuilt tables (index/sql.h, OBJECTS).
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "core/fd.h"
#include "index/verify_in.h"

static int open_in_folder(int dir_fd, const struct sha256 *sha)
{
	char hex[SHA256_HEX_SIZE];
	int fd;

	sha256_hex(sha, hex);
	/* a FIFO in its place must not hang us */
	fd = openat(dir_fd, hex, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

static int check_object(struct verify *v, const struct sha256 *sha, uint64_t event)
{
	char hex[SHA256_HEX_SIZE];
	struct sha256 own;
	struct stat st;
	autofd fd =
		v->open_object ? v->open_object(v->ctx, sha) : open_in_folder(v->objects_fd, sha);

	sha256_hex(sha, hex);
	if (fd < 0)
		return verify_bad(v, event, "object %s can't be opened: %s", hex, strerror(-fd));
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return verify_bad(v, event, "object %s is no file", hex);
	if (sha256_fd(fd, &own, NULL) < 0)
		return verify_bad(v, event, "object %s can't be read", hex);
	if (memcmp(&own, sha, sizeof own) != 0)
		return verify_bad(v, event, "object %s: its bytes have changed", hex);
	v->ret->objects++;
	return 0;
}

static int count_objects(struct verify *v, uint64_t *ret)
{
	struct stmt s = stmt_begin(&v->own, IDX_OBJECTS);
	int rc;

	*ret = 0;
	while ((rc = stmt_row(&v->own, &s, v->err)) > 0)
		(*ret)++;
	stmt_end(&s);
	return rc;
}

int verify_objects(struct verify *v)
{
	struct stmt s;
	uint64_t all = 0;
	int rc;
	int got = 0;

	if (v->objects_fd < 0 && !v->open_object)
		return 0;
	rc = count_objects(v, &all);
	s = stmt_begin(&v->own, IDX_OBJECTS);
	while (rc == 0 && (got = stmt_row(&v->own, &s, v->err)) > 0) {
		struct sha256 sha;

		if (!stmt_col_sha(&s, 0, &sha))
			rc = verify_bad(v, stmt_col_u64(&s, 1), "a hash is none");
		else
			rc = check_object(v, &sha, stmt_col_u64(&s, 1));
		if (v->progress)
			v->progress(v->ctx, v->ret->events + v->ret->objects, v->ret->events + all);
	}
	stmt_end(&s);
	return rc ? rc : got;
}
