/* SPDX-License-Identifier: MIT */
/*
 * cli/run_stream.h - the events of a running step, one JSON object a line: its output goes through as it comes.
 * Not here: the request (cli/run_body.h), its end (cli/run_end.h).
 * Thread: one. Limits: STREAM_LINE_MAX bytes a line.
 */
#ifndef GARTH_CLI_RUN_STREAM_H
#define GARTH_CLI_RUN_STREAM_H

#include <jansson.h>

#include "core/buf.h"

#define STREAM_LINE_MAX (256u * 1024 * 1024) /* the last one has the step with all its output */

struct run_stream {
	struct buf line;
	struct buf decoded;
	int out_fd, err_fd;
	json_t *step; /* of "ended"; NULL before */
	char id[32];  /* of "started"; "" before */
};

void run_stream_init(struct run_stream *s, int out_fd, int err_fd);
void run_stream_fini(struct run_stream *s);

/* A step object in place of a stream: its output goes through, it is the end. The same errors. */
must_check int run_stream_whole(struct run_stream *s, json_t *step);

/* More bytes. 0, -EBADMSG nonsense, -EPIPE and the like where the output can't be written. */
must_check int run_stream_take(struct run_stream *s, struct bytes data);

#endif
