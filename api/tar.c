/* SPDX-License-Identifier: MIT */
/*
 * api/tar.c - headers of 512 bytes, contents padded to blocks.
 */
#include "api/tar.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/fd.h"

#define OCTAL_MAX ((uint64_t)1 << 33) /* 11 octal digits */
#define COPY_PIECE 65536u

static void number(uint8_t *at, size_t width, uint64_t v)
{
	char text[24];

	if (v >= OCTAL_MAX) {
		for (size_t i = width; i-- > 1; v >>= 8)
			at[i] = (uint8_t)v;
		at[0] = 0x80;
		return;
	}
	(void)snprintf(text, sizeof text, "%0*" PRIo64, (int)width - 1, v);
	memcpy(at, text, width - 1);
}

int tar_header(const char *name, uint64_t size, int64_t mtime_s, unsigned mode,
	       uint8_t out[TAR_BLOCK])
{
	unsigned sum = 0;
	char text[16];

	if (strlen(name) > TAR_NAME_MAX)
		return -ENAMETOOLONG;
	memset(out, 0, TAR_BLOCK);
	memcpy(out, name, strlen(name));
	number(out + 100, 8, mode);
	number(out + 108, 8, 0);
	number(out + 116, 8, 0);
	number(out + 124, 12, size);
	number(out + 136, 12, mtime_s > 0 ? (uint64_t)mtime_s : 0);
	memset(out + 148, ' ', 8);
	out[156] = '0';
	memcpy(out + 257, "ustar\00000", 8);
	memcpy(out + 265, "garth", 5);
	memcpy(out + 297, "garth", 5);
	for (unsigned i = 0; i < TAR_BLOCK; i++)
		sum += out[i];
	(void)snprintf(text, sizeof text, "%06o", sum);
	memcpy(out + 148, text, 7); /* with its NUL; a blank follows */
	return 0;
}

static int pad(int out_fd, uint64_t size)
{
	static const uint8_t zero[TAR_BLOCK];
	size_t over = (size_t)(size % TAR_BLOCK);

	return over > 0 ? fd_write_full(out_fd, zero, TAR_BLOCK - over) : 0;
}

int tar_bytes(int out_fd, const char *name, int64_t mtime_s, struct bytes data)
{
	uint8_t head[TAR_BLOCK];
	int rc = tar_header(name, data.len, mtime_s, 0644, head);

	if (rc == 0)
		rc = fd_write_full(out_fd, head, sizeof head);
	if (rc == 0 && data.len > 0)
		rc = fd_write_full(out_fd, data.p, data.len);
	return rc == 0 ? pad(out_fd, data.len) : rc;
}

int tar_file(int out_fd, const char *name, int64_t mtime_s, int fd)
{
	uint8_t head[TAR_BLOCK], piece[COPY_PIECE];
	uint64_t at = 0, size;
	struct stat st;
	int rc;

	if (fstat(fd, &st) < 0)
		return -errno;
	size = (uint64_t)st.st_size;
	rc = tar_header(name, size, mtime_s, 0644, head);
	if (rc == 0)
		rc = fd_write_full(out_fd, head, sizeof head);
	while (rc == 0 && at < size) {
		size_t want = size - at < sizeof piece ? (size_t)(size - at) : sizeof piece;
		ssize_t n = pread(fd, piece, want, (off_t)at);

		if (n <= 0)
			return n < 0 && errno != EINTR ? -errno : -EIO;
		rc = fd_write_full(out_fd, piece, (size_t)n);
		at += (uint64_t)n;
	}
	return rc == 0 ? pad(out_fd, size) : rc;
}

int tar_end(int out_fd)
{
	static const uint8_t zero[2 * TAR_BLOCK];

	return fd_write_full(out_fd, zero, sizeof zero);
}
