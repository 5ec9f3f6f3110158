/* SPDX-License-Identifier: MIT */
/*
 * api/stop.c - ending steps, and looking whether they are over.
 */
#include "api/stop.h"

#include "api/step.h"
#include "core/clock.h"
#include "core/log.h"

#define STOP_LOOK_MS 20

static void look(void *ctx)
{
	struct app *app = ctx;

	if (app->steps == NULL || clock_mono_ns() > app->stop_until_ns)
		loop_stop(app->loop);
	else
		timer_set(app->loop, &app->stop_clock, STOP_LOOK_MS, look, app);
}

/* One that still can be; NULL: none. An upload that is under way is short, and whole or not there. */
static struct step *to_end(const struct app *app)
{
	struct step *st = app->steps;

	while (st != NULL && (st->phase >= STEP_ENDING || st->forced != REASON_NONE ||
			      (st->put != NULL && st->phase >= STEP_STARTING)))
		st = st->next;
	return st;
}

void stop_begin(struct app *app)
{
	struct step *st;

	if (app->stopping) {
		loop_stop(app->loop);
		return;
	}
	log_info("stopping");
	app->stopping = true;
	app->stop_until_ns = clock_mono_ns() + STOP_MS * NS_PER_MS;
	while ((st = to_end(app)) !=
	       NULL) /* from the start each time: one that ends may end others, its hooks */
		step_kill(st, REASON_LOST, STOP_WHY);
	timer_set(app->loop, &app->stop_clock, STOP_LOOK_MS, look, app);
}
