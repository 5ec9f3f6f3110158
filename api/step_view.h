/* SPDX-License-Identifier: MIT */
/*
 * api/step_view.h - the step object of a step that the record does not hold (yet): it waits, or it was lost, or it ended while it
 * waited. The last GHOSTS_MAX of those are remembered, since their clients were given their ids.
 * Not here: steps of the record (api/view.h).
 */
#ifndef GARTH_API_STEP_VIEW_H
#define GARTH_API_STEP_VIEW_H

#include <jansson.h>

#include "api/step.h"

#define GHOSTS_MAX 256u

/* Of a step as it is now: state queued, running, or ended with its reason. NULL: no memory. */
json_t *step_view(const struct step *st);

/* Remember one that ended without a record. */
void ghost_add(struct app *app, const struct step *st);
json_t *ghost_find(struct app *app, const struct ws *ws, uint64_t step); /* a new reference; NULL */
void ghosts_free(struct app *app);

#endif
