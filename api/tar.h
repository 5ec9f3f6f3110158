/* SPDX-License-Identifier: MIT */
/*
 * api/tar.h - writing a tar archive (ustar; sizes past 8 GiB in base 256, as GNU and BSD tar read them) to a descriptor.
 * Blocks: for a child process alone.
 */
#ifndef GARTH_API_TAR_H
#define GARTH_API_TAR_H

#include <stdint.h>

#include "core/bytes.h"
#include "core/err.h"

#define TAR_BLOCK 512u
#define TAR_NAME_MAX 99u

/* The header alone; pure. -ENAMETOOLONG. */
must_check int tar_header(const char *name, uint64_t size, int64_t mtime_s, unsigned mode,
			  uint8_t out[TAR_BLOCK]);

must_check int tar_bytes(int out_fd, const char *name, int64_t mtime_s, struct bytes data);
/* The whole file from offset 0; -EIO where it has another size than fstat said. */
must_check int tar_file(int out_fd, const char *name, int64_t mtime_s, int fd);
must_check int tar_end(int out_fd);

#endif
