/* SPDX-License-Identifier: MIT */
/*
 * api/stream.c - lines made when the client has room for them.
 */
#include "api/stream.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/base64.h"
#include "api/jsonx.h"
#include "api/utf8.h"
#include "core/fd.h"

#define STREAM_BLOCK 32768u /* bytes that libmicrohttpd asks for at once */
#define STREAM_LINE_MAX (256u << 20)

struct stream {
	struct req *r;
	struct step *st; /* NULL: over */
	int log_fd[2];
	off_t off[2];
	struct buf line;
	size_t sent; /* of line */
	json_t *ended;
	bool over, dead, finished;
	struct timer beat;
	void (*closed)(void *ctx);
	void *ctx;
};

/* ---- cutting ---- */

/* Bytes at the end that begin a character without ending it. */
static size_t partial(struct bytes b)
{
	const unsigned char *p = b.p;

	for (size_t back = 1; back <= 3 && back <= b.len; back++) {
		unsigned char c = p[b.len - back];

		if (c < 0x80)
			return 0;
		if (c > 0xf4)
			return 0;
		if (c >= 0xc2)
			return (c >= 0xf0 ? 4u : c >= 0xe0 ? 3u : 2u) > back ? back : 0;
	}
	return 0;
}

size_t stream_cut(struct bytes piece, bool last, bool *ret_text)
{
	bool bad;
	size_t n = utf8_whole(piece, &bad), rest;

	*ret_text = true;
	if (!bad && n > 0)
		return n;
	if (!bad && !last)
		return 0;
	*ret_text = false;
	rest = last ? 0 : partial(piece);
	return piece.len - rest > 0 ? piece.len - rest : piece.len;
}

/* ---- lines ---- */

static void line_add(struct stream *s, json_t *j)
{
	char *text = j != NULL ? json_dumps(j, JSON_COMPACT) : NULL;

	json_decref(j);
	if (text == NULL || buf_add_str(&s->line, text) < 0 || buf_add_char(&s->line, '\n') < 0)
		s->dead = true; /* half a stream must not look like a whole one */
	free(text);
}

static bool line_from_log(struct stream *s, int i)
{
	char piece[STREAM_CHUNK], *coded;
	ssize_t n = s->log_fd[i] >= 0 ? pread(s->log_fd[i], piece, sizeof piece, s->off[i]) : 0;
	const char *name = i == 0 ? "stdout" : "stderr";
	bool text, last = s->over && n >= 0 && (size_t)n < sizeof piece;
	size_t cut;

	if (n <= 0)
		return false;
	cut = stream_cut(bytes_of(piece, (size_t)n), last, &text);
	if (cut == 0)
		return false;
	s->off[i] += (off_t)cut;
	if (text) {
		line_add(s, json_pack("{s:s, s:s%}", "event", name, "data", piece, cut));
		return true;
	}
	coded = base64_encode(bytes_of(piece, cut));
	line_add(s,
		 json_pack("{s:s, s:s}", "event", name, "data_base64", coded != NULL ? coded : ""));
	free(coded);
	return true;
}

static void line_next(struct stream *s)
{
	buf_reset(&s->line);
	s->sent = 0;
	if (line_from_log(s, 0) || line_from_log(s, 1) || !s->over || s->finished)
		return;
	s->finished = true;
	line_add(s, json_pack("{s:s, s:o}", "event", "ended", "step",
			      s->ended != NULL ? s->ended : json_null()));
	s->ended = NULL;
}

static void beat(void *ctx)
{
	struct stream *s = ctx;

	if (s->over)
		return;
	if (s->sent == s->line.len && s->r->suspended) {
		buf_reset(&s->line);
		s->sent = 0;
		line_add(s, json_pack("{s:s}", "event", "heartbeat"));
		req_resume(s->r);
	}
	timer_set(s->r->app->loop, &s->beat, STREAM_BEAT_MS, beat, s);
}

static ssize_t reader(void *cls, uint64_t pos, char *out, size_t max)
{
	struct stream *s = cls;
	size_t n;

	(void)pos;
	if (s->sent == s->line.len && !s->dead)
		line_next(s);
	if (s->dead)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	n = s->line.len - s->sent;
	if (n == 0) {
		if (s->finished)
			return MHD_CONTENT_READER_END_OF_STREAM;
		req_suspend(s->r);
		return 0;
	}
	if (n > max)
		n = max;
	memcpy(out, s->line.p + s->sent, n);
	s->sent += n;
	if (!s->over)
		timer_set(s->r->app->loop, &s->beat, STREAM_BEAT_MS, beat, s);
	return (ssize_t)n;
}

/* ---- life ---- */

static void give_up(struct stream *s)
{
	struct step *st = s->st;

	s->st = NULL;
	s->dead = true;
	if (st == NULL)
		return;
	step_kill(st, REASON_KILLED, "its client, who went away");
}

static void client_gone(void *ctx)
{
	struct stream *s = ctx;

	give_up(s);
	req_resume(s->r);
}

static void stream_fini(void *own)
{
	struct stream *s = own;

	give_up(s);
	if (s->closed != NULL)
		s->closed(s->ctx);
	timer_stop(s->r->app->loop, &s->beat);
	for (int i = 0; i < 2; i++)
		fd_closep(&s->log_fd[i]);
	buf_fini(&s->line);
	json_decref(s->ended);
	loop_free_later(s->r->app->loop, s);
}

struct stream *stream_begin(struct req *r, struct step *st, void (*closed)(void *ctx), void *ctx)
{
	struct stream *s = calloc(1, sizeof *s);
	struct MHD_Response *response;

	if (s == NULL)
		return NULL;
	s->r = r;
	s->st = st;
	buf_init(&s->line, STREAM_LINE_MAX);
	for (int i = 0; i < 2; i++)
		s->log_fd[i] = st->log_fd[i] >= 0 ? fcntl(st->log_fd[i], F_DUPFD_CLOEXEC, 0) : -1;
	line_add(s, json_pack("{s:s, s:o, s:o}", "event", "started", "step", jx_id(ID_STEP, st->id),
			      "sandbox", jx_id(ID_SANDBOX, st->sandbox_id)));
	response =
		MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, reader, s, NULL);
	if (response == NULL) {
		s->st = NULL;
		stream_fini(s);
		return NULL;
	}
	(void)response_header(response, "Content-Type", "application/x-ndjson");
	(void)response_header(response, "Cache-Control", "no-store");
	s->closed = closed;
	s->ctx = ctx;
	r->gone = client_gone;
	r->gone_ctx = s;
	r->fini = stream_fini;
	r->own = s;
	timer_set(r->app->loop, &s->beat, STREAM_BEAT_MS, beat, s);
	req_send(r, 200, response);
	return s;
}

void stream_grew(struct stream *s)
{
	req_resume(s->r);
}

void stream_end(struct stream *s, json_t *step)
{
	s->st = NULL;
	s->over = true;
	s->ended = step;
	timer_stop(s->r->app->loop, &s->beat);
	req_resume(s->r);
}
