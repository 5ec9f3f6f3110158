/* SPDX-License-Identifier: MIT */
/*
 * core/id.h - ids of steps and sandboxes: 62 bits, time first, so that they sort by birth.
 * Text: a prefix and 13 characters of Crockford's base 32, lower case ("s_0c5m8w3k9d2fa").
 * Not here: versions of files, which count from 1 in each workspace (fs).
 */
#ifndef GARTH_CORE_ID_H
#define GARTH_CORE_ID_H

#include <stdint.h>

#define ID_TEXT_SIZE 18
#define ID_STEP "s_"
#define ID_SANDBOX "sb_"

/* Milliseconds since 1970 << 20 | 20 random bits; never 0. */
uint64_t id_make(void);
void id_text(const char *prefix, uint64_t id, char out[ID_TEXT_SIZE]);
int id_parse(const char *prefix, const char *text, uint64_t *ret); /* 0 or -EINVAL */

#endif
