/* SPDX-License-Identifier: MIT */
/*
 * cli/zone_path.h - paths of a workspace as people type them: "output/", "/workspace/output/a.csv" and "output/a.csv" are understood. Pure.
 */
#ifndef GARTH_CLI_ZONE_PATH_H
#define GARTH_CLI_ZONE_PATH_H

#include "core/path.h"

#define ZONE_PATH_SIZE (PATH_LEN_MAX + 1)

/* 0 or -EINVAL, -ENAMETOOLONG with a sentence. A slash at the end is dropped; "" and "/" are the root. */
must_check int zone_path(const char *typed, char out[ZONE_PATH_SIZE], struct err *err);

/* Does it name a zone or something below one? "input", "output/x"; not "inputs". */
bool zone_path_known(const char *path);

#endif
