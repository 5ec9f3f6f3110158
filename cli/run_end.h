/* SPDX-License-Identifier: MIT */
/*
 * cli/run_end.h - how a step ended: the exit code of `garth run`, and the sentence on stderr. Pure but for that.
 */
#ifndef GARTH_CLI_RUN_END_H
#define GARTH_CLI_RUN_END_H

#include <jansson.h>
#include <stdio.h>

/* The exit code of a step object that has ended. */
int run_end_code(const json_t *step);

/* "garth: ended: timeout (...)" where it did not end by itself; on a terminal also what was refused, and the hint. */
void run_end_say(const json_t *step, FILE *f);

#endif
