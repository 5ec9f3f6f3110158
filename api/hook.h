/* SPDX-License-Identifier: MIT */
/*
 * api/hook.h - a policy's hooks: steps of their own, before and after a step, that say yes or no by their exit status.
 *   pre_step   no, a time-out or a crash: the step is refused
 *   on_output  one run for each artifact that its pattern fits; held back from downloads until it passes
 *   post_step  is only told
 * Hooks, and uploads, trigger none. What a hook reads on stdin: docs/API.md "Hooks".
 * Not here: running a step (api/step.h).
 */
#ifndef GARTH_API_HOOK_H
#define GARTH_API_HOOK_H

#include "api/step.h"

#define HOOK_REASON_MAX 120u /* bytes of the first line of its stdout that are kept */

/* True: the step waits; step_run or step_ended (refused) is called later. */
bool hook_pre(struct step *st);

/* The step is recorded: run what is to run, then step_finish. */
void hook_after(struct step *st);

void hook_stop(struct step *st, const char *who); /* end the hook that runs now, as a no */
void hook_free(struct step *st);

/* Is this version still to be judged by an on_output hook of a step that has not come to its verdicts? */
bool hook_pending(struct app *app, const struct ws *ws, uint64_t step, struct bytes path);

#endif
