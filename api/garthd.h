/* SPDX-License-Identifier: MIT */
/*
 * api/garthd.h - the connection to garthd, and what it says by itself: a sandbox is gone, was short of memory, a workspace is gone.
 */
#ifndef GARTH_API_GARTHD_H
#define GARTH_API_GARTHD_H

#include "api/app.h"

/* Takes fd. When garthd goes, the loop is stopped: everything is started anew. */
must_check int garthd_start(struct app *app, int fd, struct err *err);

#endif
