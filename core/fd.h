/* SPDX-License-Identifier: MIT */
/*
 * core/fd.h - descriptors that close themselves, and whole reads and writes.
 * Not here: messages with descriptors in them (core/wire.h), paths (core/path.h).
 */
#ifndef GARTH_CORE_FD_H
#define GARTH_CORE_FD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

#include "core/buf.h"
#include "core/err.h"

static inline void fd_closep(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		(void)close(*fd); /* not retried on EINTR: Linux has closed it */
	*fd = -1;
	errno = saved;
}
#define autofd __attribute__((cleanup(fd_closep))) int

static inline int fd_steal(int *fd)
{
	int out = *fd;

	*fd = -1;
	return out;
}

/* Whole transfers, EINTR retried. 0, -ENODATA the end came first, else the errno. */
must_check int fd_read_full(int fd, void *p, size_t len);
must_check int fd_write_full(int fd, const void *p, size_t len);
must_check int fd_pwrite_full(int fd, const void *p, size_t len, off_t off);

/* All bytes up to the end, from the present offset. -EFBIG past b->max. */
must_check int fd_read_all(int fd, struct buf *b);

/* A sealed (no write, grow, shrink) memfd with these bytes, offset 0. */
must_check int fd_memfd(const char *name, struct bytes data, int *ret_fd);

/* The bytes of a memfd that a peer sent: checks that it is sealed against shrinking; -EBADMSG else. -EFBIG past b->max. */
must_check int fd_memfd_read(int fd, struct buf *b);

/* A pair of connected SOCK_SEQPACKET sockets, CLOEXEC. */
must_check int fd_seqpair(int ret_fds[2]);

must_check int fd_set_nonblock(int fd, bool on);
must_check int fd_set_cloexec(int fd, bool on);

#endif
