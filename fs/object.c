/* SPDX-License-Identifier: MIT */
/*
 * fs/object.c - objects/: bytes under the name of their SHA-256.
 */
#include "fs/object.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/fd.h"
#include "core/id.h"
#include "fs/act.h"
#include "fs/claim.h"
#include "fs/cred.h"
#include "fs/quota.h"

#define OBJECT_MODE 0440 /* of a copy; what agents may not read of each other stays so */
#define TMP_SIZE 40
#define COPY_CHUNK (64u * 1024 * 1024)
#define BUF_SIZE (128u * 1024)
#define RENAME_KEEP 1u /* RENAME_NOREPLACE */

static void tmp_name(char out[TMP_SIZE])
{
	char id[ID_TEXT_SIZE];

	id_text("", id_make(), id);
	(void)snprintf(out, TMP_SIZE, "tmp.%s", id);
}

static int copy_by_hand(int from, int to, off_t at)
{
	char buf[BUF_SIZE];
	ssize_t n;

	for (;;) {
		n = pread(from, buf, sizeof buf, at);
		if (n <= 0)
			return n < 0 ? -errno : 0;
		int r = fd_pwrite_full(to, buf, (size_t)n, at);

		if (r < 0)
			return r;
		at += n;
	}
}

/* Shared extents where the store has them; holes stay no holes, which does no harm. */
static int copy_all(int from, int to)
{
	loff_t in = 0, out = 0;
	ssize_t n;

	do
		n = copy_file_range(from, &in, to, &out, COPY_CHUNK, 0);
	while (n > 0);
	if (n == 0)
		return in == 0 ? copy_by_hand(from, to, 0) : 0;
	if (errno == EXDEV || errno == EOPNOTSUPP || errno == EINVAL || errno == ENOSYS)
		return copy_by_hand(from, to, in);
	return -errno;
}

/* What is downloaded shows when it was written. */
static void copy_time(int from, int to)
{
	struct stat st;

	if (fstat(from, &st) == 0)
		(void)futimens(to, (struct timespec[2]){ st.st_atim, st.st_mtim });
}

/* A new file in objects/, owned by uid, with what `from` holds. -ENOSPC also where the disk's reserve would have to give. */
static int make_copy(struct fs *fs, uint32_t uid, int from, char tmp[TMP_SIZE], int *ret_fd)
{
	autofd fd = -1;
	struct stat st;
	int r = fstat(from, &st) < 0 ? -errno : quota_room_disk(fs, (uint64_t)st.st_blocks * 512);

	if (r == 0)
		r = cred_as(fs, uid);

	if (r < 0)
		return r;
	tmp_name(tmp);
	fd = openat(fs->objects_fd, tmp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
		    OBJECT_MODE & (st.st_mode | S_IRUSR));
	if (fd < 0)
		return -errno;
	r = copy_all(from, fd);
	if (r == 0)
		copy_time(from, fd);
	if (r < 0) {
		(void)unlinkat(fs->objects_fd, tmp, 0);
		return r;
	}
	*ret_fd = fd_steal(&fd);
	return 0;
}

static void charge(struct fs *fs, uint32_t uid, int fd)
{
	struct stat st;

	if (fstat(fd, &st) == 0)
		quota_add(fs, uid, NULL, (int64_t)st.st_blocks * 512, 0);
}

/* Give tmp its name, unless an equal object is there. It is claimed. */
static int name_claimed(struct fs *fs, uint32_t uid, int fd, const char *tmp,
			const struct sha256 *sha)
{
	char hex[SHA256_HEX_SIZE];

	sha256_hex(sha, hex);
	if (syscall(SYS_renameat2, fs->objects_fd, tmp, fs->objects_fd, hex, RENAME_KEEP) == 0) {
		charge(fs, uid, fd);
		return 0;
	}
	int r = errno == EEXIST ? 0 : -errno;

	(void)unlinkat(fs->objects_fd, tmp, 0);
	return r;
}

/* The claim comes first: from then on nobody removes an object of that name. */
static int name_it(struct fs *fs, uint32_t uid, int fd, const char *tmp, const struct sha256 *sha)
{
	int r = claim_take(fs->claims, sha);

	if (r < 0) {
		(void)unlinkat(fs->objects_fd, tmp, 0);
		return r;
	}
	r = name_claimed(fs, uid, fd, tmp, sha);
	if (r < 0)
		claim_drop(fs->claims, sha);
	return r;
}

int object_copy(struct fs *fs, uint32_t uid, int fd, struct sha256 *ret_sha)
{
	char tmp[TMP_SIZE];
	autofd to = -1;
	int r = make_copy(fs, uid, fd, tmp, &to);

	if (r < 0)
		return r;
	r = sha256_fd(to, ret_sha, NULL);
	if (r < 0) {
		(void)unlinkat(fs->objects_fd, tmp, 0);
		return r;
	}
	return name_it(fs, uid, to, tmp, ret_sha);
}

static int copy_as(struct fs *fs, uint32_t uid, int fd, const struct sha256 *sha)
{
	char tmp[TMP_SIZE];
	autofd to = -1;
	int r = make_copy(fs, uid, fd, tmp, &to);

	return r < 0 ? r : name_claimed(fs, uid, to, tmp, sha);
}

static int link_claimed(struct fs *fs, uint32_t uid, const struct fhandle *h, int fd, bool readable,
			const struct sha256 *sha, bool *ret_linked)
{
	char hex[SHA256_HEX_SIZE], name[ACT_NAME_SIZE];
	struct hentry *e = NULL;
	int path_fd = -1;
	int r;

	sha256_hex(sha, hex);
	if (faccessat(fs->objects_fd, hex, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return 0; /* an equal one is kept */
	if (!readable)
		return copy_as(fs, uid, fd, sha);
	r = hcache_get(fs->hcache, h, &e, &path_fd);
	if (r < 0)
		return r;
	r = cred_as(fs, uid);
	if (r == 0 &&
	    linkat(AT_FDCWD, act_name(path_fd, name), fs->objects_fd, hex, AT_SYMLINK_FOLLOW) < 0)
		r = -errno;
	hcache_put(fs->hcache, e);
	if (r == 0)
		*ret_linked = true;
	else if (r == -EEXIST)
		r = 0;
	else
		r = copy_as(fs, uid, fd, sha); /* EMLINK, EPERM */
	return r;
}

int object_link(struct fs *fs, uint32_t uid, const struct fhandle *h, int fd, bool readable,
		const struct sha256 *sha, bool *ret_linked)
{
	int r = claim_take(fs->claims, sha);

	*ret_linked = false;
	if (r < 0)
		return r;
	r = link_claimed(fs, uid, h, fd, readable, sha, ret_linked);
	if (r < 0)
		claim_drop(fs->claims, sha);
	return r;
}

int object_replace(struct fs *fs, uint32_t uid, int fd, const struct sha256 *sha)
{
	char tmp[TMP_SIZE], hex[SHA256_HEX_SIZE];
	autofd to = -1;
	int r = make_copy(fs, uid, fd, tmp, &to);

	if (r < 0)
		return r;
	sha256_hex(sha, hex);
	if (renameat(fs->objects_fd, tmp, fs->objects_fd, hex) < 0) {
		r = -errno;
		(void)unlinkat(fs->objects_fd, tmp, 0);
		return r;
	}
	charge(fs, uid, to);
	return 0;
}

int object_store(struct fs *fs, struct bytes data, struct sha256 *ret)
{
	char tmp[TMP_SIZE];
	autofd fd = -1;
	int r;

	cred_own(fs);
	sha256_of(data, ret);
	tmp_name(tmp);
	fd = openat(fs->objects_fd, tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
		    OBJECT_MODE);
	if (fd < 0)
		return -errno;
	r = fd_write_full(fd, data.p, data.len);
	if (r == 0 && fdatasync(fd) < 0)
		r = -errno;
	if (r < 0) {
		(void)unlinkat(fs->objects_fd, tmp, 0);
		return r;
	}
	return name_it(fs, fs->uid, fd, tmp, ret);
}

int object_open(struct fs *fs, const struct sha256 *sha, int *ret_fd)
{
	char hex[SHA256_HEX_SIZE];
	autofd fd = -1;
	struct stat st;
	int r;

	sha256_hex(sha, hex);
	fd = openat(fs->objects_fd, hex, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOENT;
	r = act_reopen(fs, st.st_uid, fd, O_RDONLY,
		       ret_fd); /* a linked one has its file's mode: its owner reads it */
	return r;
}
