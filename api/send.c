/* SPDX-License-Identifier: MIT */
/*
 * api/send.c - the headers of a download.
 */
#include "api/send.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/base64.h"
#include "api/range.h"
#include "core/clock.h"
#include "core/fd.h"
#include "core/media.h"
#include "core/path.h"

#define ETAG_SIZE (SHA256_HEX_SIZE + 16)

static void digest_header(struct MHD_Response *response, const char *sha)
{
	struct sha256 h;
	char line[128], *coded;

	if (sha256_parse(sha, &h) < 0)
		return;
	coded = base64_encode(bytes_of(h.b, sizeof h.b));
	(void)snprintf(line, sizeof line, "sha-256=:%s:", coded != NULL ? coded : "");
	if (coded != NULL)
		(void)response_header(response, "Repr-Digest", line);
	free(coded);
}

static void validators(struct MHD_Response *response, const struct sending *s, const char *etag)
{
	char date[HTTP_DATE_SIZE];

	if (etag[0] != '\0')
		(void)response_header(response, "ETag", etag);
	if (s->mtime_ns != 0) {
		http_date(s->mtime_ns, date);
		(void)response_header(response, "Last-Modified", date);
	}
	(void)response_header(response, "Accept-Ranges", "bytes");
	(void)response_header(response, "Cache-Control", "private, no-cache");
}

static void describe(struct MHD_Response *response, const struct sending *s)
{
	char line[64 + 4 * (NAME_LEN_MAX + 1)], number[24];

	content_disposition(s->name, line);
	(void)response_header(response, "Content-Disposition", line);
	(void)response_header(response, "Content-Type",
			      s->media != NULL ? s->media : media_type(s->name));
	(void)response_header(response, "Content-Security-Policy", "sandbox; default-src 'none'");
	if (s->sha[0] != '\0')
		digest_header(response, s->sha);
	if (s->step != NULL)
		(void)response_header(response, "X-Garth-Step", s->step);
	if (s->lineage != NULL)
		(void)response_header(response, "Link", s->lineage);
	if (s->version == 0)
		return;
	(void)snprintf(number, sizeof number, "%" PRIu64, s->version);
	(void)response_header(response, "X-Garth-Version", number);
}

/* 200 go on, 304, 412. */
static unsigned precondition(const struct req *r, const struct sending *s, const char *etag)
{
	const char *match = req_header(r, "If-Match"), *none = req_header(r, "If-None-Match");
	const char *since = req_header(r, "If-Modified-Since");
	int64_t at;

	if (match != NULL && !etag_listed(match, etag, false))
		return 412;
	if (none != NULL)
		return etag_listed(none, etag, true) ? 304 : 200;
	if (since != NULL && s->mtime_ns != 0 && http_date_parse(since, &at) == 0 &&
	    s->mtime_ns / NS_PER_S <= at)
		return 304;
	return 200;
}

/* Is the range to be honoured, or is it for another version of the file? */
static bool range_holds(const struct req *r, const struct sending *s, const char *etag)
{
	const char *cond = req_header(r, "If-Range");
	int64_t at;

	if (r->head_only)
		return false;
	if (cond == NULL)
		return true;
	if (cond[0] == '"')
		return etag[0] != '\0' && strcmp(cond, etag) == 0;
	return s->mtime_ns != 0 && http_date_parse(cond, &at) == 0 && s->mtime_ns / NS_PER_S == at;
}

static void send_bytes(struct req *r, struct sending *s, const char *etag, unsigned status,
		       uint64_t from, uint64_t len)
{
	static char nothing[1];
	struct MHD_Response *response;
	char line[80];

	if (len == 0)
		response = MHD_create_response_from_buffer(0, nothing, MHD_RESPMEM_PERSISTENT);
	else
		response = MHD_create_response_from_fd_at_offset64(len, s->fd, from);
	if (response != NULL && len > 0)
		s->fd = -1; /* the response's */
	if (response != NULL) {
		validators(response, s, etag);
		describe(response, s);
	}
	if (response != NULL && status == 206) {
		(void)snprintf(line, sizeof line, "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, from,
			       from + len - 1, s->size);
		(void)response_header(response, "Content-Range", line);
	}
	req_send(r, status, response);
}

static void not_satisfiable(struct req *r, const struct sending *s)
{
	char line[48];

	req_fail_code(r, "range_not_satisfiable", "the file has %" PRIu64 " bytes", s->size);
	(void)snprintf(line, sizeof line, "bytes */%" PRIu64, s->size);
	(void)response_header(r->response, "Content-Range", line);
}

void send_file(struct req *r, struct sending *s)
{
	uint64_t from = 0, len = s->size;
	char etag[ETAG_SIZE] = "";
	unsigned status;
	int range = 1;

	if (s->sha[0] != '\0')
		(void)snprintf(etag, sizeof etag, "\"sha256:%s\"", s->sha);
	status = precondition(r, s, etag);
	if (status == 200 && range_holds(r, s, etag))
		range = range_parse(req_header(r, "Range"), s->size, &from, &len);
	if (status == 412) {
		req_fail_code(r, "precondition_failed", "the file is now %s",
			      etag[0] != '\0' ? etag : "without a hash");
	} else if (status == 304) {
		req_empty(r, status);
		validators(r->response, s, etag);
	} else if (range == -ERANGE) {
		not_satisfiable(r, s);
	} else {
		send_bytes(r, s, etag, range == 0 ? 206 : 200, from, len);
	}
	fd_closep(&s->fd);
}
