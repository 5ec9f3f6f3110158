/* SPDX-License-Identifier: MIT */
/*
 * cli/run_body.h - the options of `garth run` as the JSON of POST steps.
 */
#ifndef GARTH_CLI_RUN_BODY_H
#define GARTH_CLI_RUN_BODY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/opts.h"

struct run_args {
	const char *ws, *agent;
	const char *python, *bash, *code; /* of --python, --bash, -c */
	const char *cwd, *job, *sandbox;
	struct opt_list env, files;
	int64_t timeout_ns; /* 0: not said */
	uint64_t memory, pids;
	uint32_t cpus_milli;
	bool use_stdin, detach, as_json;
	char **argv; /* of the program */
	int argc;
};

/* EXIT_OK and the object, or the exit code after a sentence: reads the files that are named. */
must_check int run_body(const struct opt_usage *u, const struct run_args *a, json_t **ret);

#endif
