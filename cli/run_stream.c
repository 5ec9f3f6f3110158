/* SPDX-License-Identifier: MIT */
/*
 * cli/run_stream.c - the events of a running step.
 */
#include "cli/run_stream.h"

#include <stdio.h>
#include <string.h>

#include "cli/base64.h"
#include "cli/sub.h"
#include "core/fd.h"

void run_stream_init(struct run_stream *s, int out_fd, int err_fd)
{
	*s = (struct run_stream){ .out_fd = out_fd, .err_fd = err_fd };
	buf_init(&s->line, STREAM_LINE_MAX);
	buf_init(&s->decoded, STREAM_LINE_MAX);
}

void run_stream_fini(struct run_stream *s)
{
	buf_fini(&s->line);
	buf_fini(&s->decoded);
	json_decref(s->step);
	s->step = NULL;
}

/* name: text, or name_base64: bytes. */
static int output(struct run_stream *s, int fd, const json_t *event, const char *name)
{
	const json_t *text = json_object_get(event, name);
	const char *coded;
	char key[32];
	int r;

	(void)snprintf(key, sizeof key, "%s_base64", name);
	coded = field_text(event, key);

	if (json_is_string(text))
		return fd_write_full(fd, json_string_value(text), json_string_length(text));
	if (!coded)
		return -EBADMSG;
	buf_reset(&s->decoded);
	r = b64_decode(bytes_str(coded), &s->decoded);
	if (r < 0)
		return r == -EINVAL ? -EBADMSG : r;
	return fd_write_full(fd, buf_str(&s->decoded), s->decoded.len);
}

static int event(struct run_stream *s, json_t *e)
{
	const char *name = field_text(e, "event"), *id;

	if (!name)
		return -EBADMSG;
	if (strcmp(name, "stdout") == 0)
		return output(s, s->out_fd, e, "data");
	if (strcmp(name, "stderr") == 0)
		return output(s, s->err_fd, e, "data");
	if (strcmp(name, "started") == 0) {
		id = field_text(e, "step");
		(void)snprintf(s->id, sizeof s->id, "%s", id ? id : "");
	}
	if (strcmp(name, "ended") == 0) {
		json_decref(s->step);
		s->step = json_incref(json_object_get(e, "step"));
		return json_is_object(s->step) ? 0 : -EBADMSG;
	}
	return 0; /* heartbeat, and what a later server adds */
}

static int line(struct run_stream *s)
{
	json_t *e;
	int r;

	if (s->line.len == 0)
		return 0;
	e = json_loadb(buf_str(&s->line), s->line.len, JSON_ALLOW_NUL, NULL);
	r = e ? event(s, e) : -EBADMSG;
	json_decref(e);
	buf_reset(&s->line);
	return r;
}

int run_stream_take(struct run_stream *s, struct bytes data)
{
	const char *p = data.p, *end = p + data.len;

	while (p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		int r = buf_add(&s->line, p, (size_t)((newline ? newline : end) - p));

		if (r < 0)
			return r;
		if (!newline)
			return 0;
		r = line(s);
		if (r < 0)
			return r;
		p = newline + 1;
	}
	return 0;
}

int run_stream_whole(struct run_stream *s, json_t *step)
{
	int r = output(s, s->out_fd, step, "stdout");

	if (r == 0 || r == -EBADMSG) /* a step that never began has no output */
		r = output(s, s->err_fd, step, "stderr");
	json_decref(s->step);
	s->step = json_incref(step);
	return r == -EBADMSG ? 0 : r;
}
