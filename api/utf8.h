/* SPDX-License-Identifier: MIT */
/*
 * api/utf8.h - is it text? Strict UTF-8 (no surrogates, no overlong forms, at most U+10FFFF). Pure.
 */
#ifndef GARTH_API_UTF8_H
#define GARTH_API_UTF8_H

#include "core/bytes.h"

bool utf8_ok(struct bytes b);

/*
 * How many bytes from the start are whole characters? All of them, or less by the 1..3 bytes of one character that is cut off at
 * the end; *ret_bad where a byte is wrong whatever may follow (the number is then of the good bytes before it).
 */
size_t utf8_whole(struct bytes b, bool *ret_bad);

/* Cut to at most max bytes at a character's edge. */
size_t utf8_cut(struct bytes b, size_t max);

#endif
