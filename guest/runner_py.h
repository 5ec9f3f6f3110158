/* SPDX-License-Identifier: MIT */
/*
 * guest/runner_py.h - the text of guest/runner.py, embedded at build.
 * Not here: placing and starting it (guest/spawn.h).
 */
#ifndef GARTH_GUEST_RUNNER_PY_H
#define GARTH_GUEST_RUNNER_PY_H

#include <stddef.h>

extern const char guest_runner_py[];     /* terminated */
extern const size_t guest_runner_py_len; /* without the terminator */

#endif
