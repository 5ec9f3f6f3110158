/* SPDX-License-Identifier: MIT */
/*
 * guest/hints_py.h - the text of guest/hints.py, embedded at build.
 * Not here: placing it (guest/place.h); who loads it (guest/runner.py, when a program has failed).
 */
#ifndef GARTH_GUEST_HINTS_PY_H
#define GARTH_GUEST_HINTS_PY_H

#include <stddef.h>

extern const char guest_hints_py[];     /* terminated */
extern const size_t guest_hints_py_len; /* without the terminator */

#endif
