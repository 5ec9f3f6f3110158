/* SPDX-License-Identifier: MIT */
/*
 * api/stop.h - the end in order: what runs is ended and recorded as lost to the stop, then the loop ends.
 * Not here: sandboxes and mounts, which garthd cleans up; open requests (api/listen.h).
 */
#ifndef GARTH_API_STOP_H
#define GARTH_API_STOP_H

#include "api/app.h"

#define STOP_MS \
	8000 /* for steps to end and be recorded; those that are late are lost all the same */
#define STOP_WHY "the server was stopped"

/* From a signal. Again: at once. No step is started any more (step_start). */
void stop_begin(struct app *app);

#endif
