/* SPDX-License-Identifier: MIT */
/*
 * core/size.h - sizes as people write them: "512MiB", "1G", "1.5GiB", "4096".
 * K, M, G, T and KiB, MiB, GiB, TiB are powers of 1024; KB, MB, GB, TB powers of 1000 (as docker and coreutils read them).
 */
#ifndef GARTH_CORE_SIZE_H
#define GARTH_CORE_SIZE_H

#include <stdint.h>

#define SIZE_TEXT_SIZE 24

int size_parse(const char *s, uint64_t *ret);         /* 0, -EINVAL, -ERANGE */
void size_text(uint64_t n, char out[SIZE_TEXT_SIZE]); /* "1.0 GiB", "512 B" */

#endif
