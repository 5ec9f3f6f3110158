/* SPDX-License-Identifier: MIT */
/*
 * core/media.h - the media type of a file, by the end of its name alone (its bytes are an agent's and prove nothing).
 */
#ifndef GARTH_CORE_MEDIA_H
#define GARTH_CORE_MEDIA_H

#include "core/bytes.h"

/* "application/octet-stream" where it is not known. */
const char *media_type(struct bytes path);

#endif
