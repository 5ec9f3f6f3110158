/* SPDX-License-Identifier: MIT */
/*
 * cli/key_file.h - which key a client shows: GARTH_API_KEY, else the server's admin.key where it can be read.
 */
#ifndef GARTH_CLI_KEY_FILE_H
#define GARTH_CLI_KEY_FILE_H

#include "core/err.h"

#define KEY_LEN_MAX 512
#define DATA_DEFAULT "/var/lib/garth"

/* *ret is the caller's to free(). 0, -ENOENT there is none, -EINVAL one that cannot stand in a header, -ENOMEM. */
must_check int key_find(char **ret, struct err *err);

#endif
