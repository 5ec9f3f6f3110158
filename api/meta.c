/* SPDX-License-Identifier: MIT */
/*
 * api/meta.c - what the server says of itself: healthz, readyz, version, openapi.yaml, metrics.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "api/handlers.h"
#include "api/openapi_yaml.h"
#include "api/req.h"
#include "api/sandbox.h"
#include "api/step.h"

#ifndef GARTH_VERSION
#define GARTH_VERSION "0.0.0"
#endif

void h_healthz(struct req *r)
{
	req_json(r, 200, json_pack("{s:s}", "status", "ok"));
}

void h_readyz(struct req *r)
{
	if (peer_is_open(r->app->garthd) && !r->app->stopping)
		req_json(r, 200, json_pack("{s:s}", "status", "ready"));
	else
		req_fail(r, -EPIPE, "the server is starting or stopping");
}

void h_version(struct req *r)
{
	req_json(r, 200,
		 json_pack("{s:s, s:s, s:s}", "name", "garth", "version", GARTH_VERSION, "api",
			   "v1"));
}

static struct MHD_Response *text_response(char *text, size_t len, enum MHD_ResponseMemoryMode mode,
					  const char *type)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(len, text, mode);

	if (response != NULL)
		(void)response_header(response, "Content-Type", type);
	return response;
}

void h_openapi(struct req *r)
{
	char *copy = malloc(api_openapi_yaml_len + 1);

	if (copy != NULL)
		memcpy(copy, api_openapi_yaml, api_openapi_yaml_len);
	req_send(r, 200,
		 copy != NULL ? text_response(copy, api_openapi_yaml_len, MHD_RESPMEM_MUST_FREE,
					      "application/yaml")
			      : NULL);
}

static int gauge(struct buf *b, const char *name, const char *help, uint64_t v)
{
	return buf_addf(b, "# HELP garth_%s %s\n# TYPE garth_%s gauge\ngarth_%s %" PRIu64 "\n",
			name, help, name, name, v);
}

void h_metrics(struct req *r)
{
	uint64_t steps = 0, sandboxes = 0, reqs = 0;
	autobuf b;
	size_t len;
	int rc;

	buf_init(&b, 65536);
	for (const struct step *s = r->app->steps; s != NULL; s = s->next)
		steps++;
	for (const struct sb *s = r->app->sandboxes; s != NULL; s = s->next)
		sandboxes++;
	for (const struct req *q = r->app->reqs; q != NULL; q = q->next)
		reqs++;
	rc = gauge(&b, "steps_open", "Steps that wait or run.", steps);
	if (rc == 0)
		rc = gauge(&b, "sandboxes", "Sandboxes that stand.", sandboxes);
	if (rc == 0)
		rc = gauge(&b, "steps_waiting", "Steps that wait for a sandbox.",
			   slots_waiting(r->app));
	if (rc == 0)
		rc = gauge(&b, "requests_open", "HTTP requests in work.", reqs);
	if (rc == 0)
		rc = gauge(&b, "body_bytes", "Bytes of request bodies in memory.",
			   r->app->body_bytes);
	if (rc < 0) {
		req_send(r, 503, NULL);
		return;
	}
	len = b.len;
	req_send(r, 200,
		 text_response(buf_steal(&b), len, MHD_RESPMEM_MUST_FREE,
			       "text/plain; version=0.0.4"));
}
