/* SPDX-License-Identifier: MIT */
/*
 * core/fd.c - descriptors: whole reads and writes, sealed memfds, socket pairs.
 * Not here: messages with descriptors in them (core/wire.c), paths (core/path.c).
 */
#include "core/fd.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define READ_PIECE 65536u
#define MEMFD_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

int fd_read_full(int fd, void *p, size_t len)
{
	char *at = p;

	while (len) {
		ssize_t n = read(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -ENODATA;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

int fd_write_full(int fd, const void *p, size_t len)
{
	const char *at = p;

	while (len) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

int fd_pwrite_full(int fd, const void *p, size_t len, off_t off)
{
	const char *at = p;

	while (len) {
		ssize_t n = pwrite(fd, at, len, off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		off += n;
		len -= (size_t)n;
	}
	return 0;
}

int fd_read_all(int fd, struct buf *b)
{
	for (;;) {
		size_t want = b->max - b->len < READ_PIECE ? b->max - b->len : READ_PIECE;
		char *room, one;
		ssize_t n;
		int r;

		if (want == 0) { /* full: is there more? */
			n = read(fd, &one, 1);
		} else {
			r = buf_reserve(b, want, &room);
			if (r < 0)
				return r;
			n = read(fd, room, want);
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		if (want == 0)
			return -EFBIG;
		b->len += (size_t)n;
		b->p[b->len] = '\0';
	}
}

int fd_memfd(const char *name, struct bytes data, int *ret_fd)
{
	autofd fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int r;

	if (fd < 0)
		return -errno;
	r = fd_pwrite_full(fd, data.p, data.len, 0);
	if (r < 0)
		return r;
	if (fcntl(fd, F_ADD_SEALS, MEMFD_SEALS) < 0)
		return -errno;
	*ret_fd = fd_steal(&fd);
	return 0;
}

int fd_memfd_read(int fd, struct buf *b)
{
	int seals = fcntl(fd, F_GET_SEALS);
	size_t size, got = 0;
	struct stat st;
	char *room;
	int r;

	if (seals < 0 || !(seals & F_SEAL_SHRINK))
		return -EBADMSG;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size < 0 || (uintmax_t)st.st_size > b->max - b->len)
		return -EFBIG;
	size = (size_t)st.st_size;
	r = buf_reserve(b, size, &room);
	if (r < 0)
		return r;
	while (got < size) {
		ssize_t n = pread(fd, room + got, size - got, (off_t)got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EBADMSG;
		got += (size_t)n;
	}
	b->len += size;
	b->p[b->len] = '\0';
	return 0;
}

int fd_seqpair(int ret_fds[2])
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret_fds) < 0 ? -errno : 0;
}

static int set_flag(int fd, int get, int set, int flag, bool on)
{
	int now = fcntl(fd, get);

	if (now < 0 || fcntl(fd, set, on ? now | flag : now & ~flag) < 0)
		return -errno;
	return 0;
}

int fd_set_nonblock(int fd, bool on)
{
	return set_flag(fd, F_GETFL, F_SETFL, O_NONBLOCK, on);
}

int fd_set_cloexec(int fd, bool on)
{
	return set_flag(fd, F_GETFD, F_SETFD, FD_CLOEXEC, on);
}
