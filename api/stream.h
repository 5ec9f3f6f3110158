/* SPDX-License-Identifier: MIT */
/*
 * api/stream.h - a step as it runs, one JSON object a line (application/x-ndjson):
 *   {"event":"started","step":..,"sandbox":..}  {"event":"stdout","data":..} or "data_base64"  {"event":"stderr",..}
 *   {"event":"heartbeat"} after STREAM_BEAT_MS of silence  {"event":"ended","step":{..}}
 * It reads from the step's log files as fast as the client takes it, so a slow one holds nothing up and costs no memory.
 * Not here: running the step (api/step.h).
 */
#ifndef GARTH_API_STREAM_H
#define GARTH_API_STREAM_H

#include "api/req.h"
#include "api/step.h"

#define STREAM_CHUNK 16384u /* bytes of output in one line */
#define STREAM_BEAT_MS 10000

struct stream;

/*
 * The step has begun: answer the request with the stream. NULL: no memory, nothing was answered. A client that goes away kills the
 * step; closed is called when the stream is freed, whatever happened.
 */
struct stream *stream_begin(struct req *r, struct step *st, void (*closed)(void *ctx), void *ctx);
void stream_grew(struct stream *s); /* there may be more in the logs */
void stream_end(struct stream *s,
		json_t *step); /* takes it; what is left in the logs comes before it */

/* The pure part: how much of a piece of output goes into the next line, and as text or as base 64? 0: wait for more. */
size_t stream_cut(struct bytes piece, bool last, bool *ret_text);

#endif
