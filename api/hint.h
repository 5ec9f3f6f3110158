/* SPDX-License-Identifier: MIT */
/*
 * api/hint.h - a step's `error`: what the runner said, made safe, or what the server knows of a step's end, with one line that
 * lets its author repair it. Pure.
 * Hints of Python exceptions are the runner's (guest/hints.py); those of ends are here: end.timeout, end.memory, ...
 */
#ifndef GARTH_API_HINT_H
#define GARTH_API_HINT_H

#include <jansson.h>

#include "api/reason.h"

#define HINT_TEXT_MAX 300u  /* bytes of a hint's text, one line */
#define HINT_DATA_MAX 2048u /* bytes of its data as JSON */
#define HINT_NAME_MAX 200u
#define HINT_VALUE_MAX 4096u
#define HINT_TRACEBACK_MAX 16384u

struct hint_facts {
	struct end end;
	const char *who;         /* who stopped it, why it was refused; "" */
	const char *spawn_error; /* why the program did not start; NULL: it did */
	bool python;             /* the step was Python code */
	int64_t limit_ns, limit_max_ns, wall_ns, cpu_ns;
	uint64_t memory, memory_peak, file; /* bytes */
	bool too_big;                       /* it said itself that a file was too large */
	uint32_t pids, cpus_milli;
};

/* The runner's JSON, untrusted: bounded, unknown fields dropped; NULL where it makes no sense. */
json_t *hint_from_runner(struct bytes text);

/* The error object of an ended step, or NULL: it ended well. Takes runner (may be NULL). */
json_t *hint_error(const struct hint_facts *f, json_t *runner);

/* The hint for a step that ended well and left nothing at all; else NULL. */
json_t *hint_silent(void);

#endif
