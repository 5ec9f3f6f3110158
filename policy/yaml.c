/* SPDX-License-Identifier: MIT */
/*
 * policy/yaml.c - libfyaml's events made into a tree. Events, not its documents: so depth, nodes and anchors are refused
 * while they are read, before anything is built from them.
 */
#include "policy/yaml.h"

#include <libfyaml.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/log.h"

#define YAML_SENTENCE_SIZE 224

struct builder {
	struct pool *pool;
	struct err *err;
	struct yaml_node *open[YAML_DEPTH_MAX]; /* lists and mappings not yet ended */
	unsigned depth, nodes, docs;
	struct yaml_node *root;
	const char *key; /* read, its value not yet */
	int key_line, key_column;
	int line, column; /* of the last event that said where it is */
};

__attribute__((format(printf, 4, 0))) static int place_err(struct err *err, int line, int column,
							   const char *fmt, va_list ap)
{
	char text[YAML_SENTENCE_SIZE];

	(void)vsnprintf(text, sizeof(text), fmt, ap);
	return err_set(err, -EINVAL, "line %d, column %d: %s", line, column, text);
}

int yaml_err(struct err *err, const struct yaml_node *n, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = place_err(err, n->line, n->column, fmt, ap);
	va_end(ap);
	return r;
}

int yaml_key_err(struct err *err, const struct yaml_node *n, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = place_err(err, n->key != NULL ? n->key_line : n->line,
		      n->key != NULL ? n->key_column : n->column, fmt, ap);
	va_end(ap);
	return r;
}

__attribute__((format(printf, 4, 5))) static int at_err(struct err *err, int line, int column,
							const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = place_err(err, line, column, fmt, ap);
	va_end(ap);
	return r;
}

#define here_err(b, ...) at_err((b)->err, (b)->line, (b)->column, __VA_ARGS__)

const char *yaml_show(const char *text, char out[YAML_SHOW_SIZE])
{
	char esc[LOG_ESC_SIZE];
	size_t len;

	len = strlen(log_esc(bytes_str(text), esc));
	if (len < YAML_SHOW_SIZE) {
		memcpy(out, esc, len + 1);
		return out;
	}
	memcpy(out, esc, YAML_SHOW_SIZE - 4);
	memcpy(out + YAML_SHOW_SIZE - 4, "...", 4);
	return out;
}

/* How many bytes a character has that begins so; 0: none does. */
static size_t utf8_lead(unsigned char c)
{
	if (c < 0x80)
		return 1;
	if (c < 0xc2)
		return 0;
	if (c < 0xe0)
		return 2;
	if (c < 0xf0)
		return 3;
	return c < 0xf5 ? 4 : 0;
}

/* How many bytes the character at p has; 0: not UTF-8 (also overlong forms, surrogates, past U+10FFFF). */
static size_t utf8_len(const unsigned char *p, size_t left)
{
	size_t n = utf8_lead(p[0]);

	if (n == 0 || n > left)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if (n == 3 && ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f)))
		return 0;
	if (n == 4 && ((p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f)))
		return 0;
	return n;
}

static int text_check(struct bytes text, struct err *err)
{
	const unsigned char *p = text.p;
	int line = 1, column = 1;

	for (size_t i = 0; i < text.len;) {
		size_t n = utf8_len(p + i, text.len - i);

		if (n == 0)
			return at_err(err, line, column, "byte 0x%02x is not UTF-8", p[i]);
		if (p[i] == 0)
			return at_err(err, line, column, "a NUL byte is not permitted");
		column++;
		if (p[i] == '\n') {
			line++;
			column = 1;
		}
		i += n;
	}
	return 0;
}

/*
 * Where an event begins, from 1. A value that is left out has no place of its own: then it is where the last one was. libfyaml counts a
 * quoted text from behind its quote.
 */
static void mark_of(struct builder *b, struct fy_event *e)
{
	const struct fy_mark *m = fy_event_start_mark(e);
	enum fy_scalar_style style = FYSS_PLAIN;

	size_t len = 1;

	if (m == NULL)
		return;
	if (e->type == FYET_SCALAR && e->scalar.value != NULL) {
		style = fy_token_scalar_style(e->scalar.value);
		(void)fy_token_get_text(e->scalar.value, &len);
	}
	if (len == 0 && style == FYSS_PLAIN)
		return; /* an empty value is where its key is: newer libfyaml gives it a place */
	b->line = m->line + 1;
	b->column =
		m->column + (style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED ? 0 : 1);
	if (b->column < 1)
		b->column = 1;
}

/* Anchors and tags of the three events that can carry them. */
static int bare_check(const struct builder *b, const struct fy_event *e)
{
	const struct fy_token *anchor = NULL, *tag = NULL;

	if (e->type == FYET_SCALAR) {
		anchor = e->scalar.anchor;
		tag = e->scalar.tag;
	} else if (e->type == FYET_SEQUENCE_START) {
		anchor = e->sequence_start.anchor;
		tag = e->sequence_start.tag;
	} else if (e->type == FYET_MAPPING_START) {
		anchor = e->mapping_start.anchor;
		tag = e->mapping_start.tag;
	}
	if (anchor == NULL && tag == NULL && e->type != FYET_ALIAS)
		return 0;
	if (tag != NULL)
		return here_err(b, "tags (!...) are not permitted");
	return here_err(
		b,
		"anchors and aliases (&..., *...) are not permitted; quote a text that starts so");
}

static bool is_null(const char *text, enum fy_scalar_style style)
{
	static const char *const forms[] = { "", "~", "null", "Null", "NULL" };

	if (style != FYSS_PLAIN)
		return false;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (strcmp(text, forms[i]) == 0)
			return true;
	return false;
}

/* Hang n below the innermost open node, or make it the root. */
static int node_hang(struct builder *b, struct yaml_node *n)
{
	struct yaml_node *up = b->depth > 0 ? b->open[b->depth - 1] : NULL;

	if (up == NULL) {
		b->root = n;
		return 0;
	}
	if (up->kind == YAML_MAP) {
		n->key = b->key;
		n->key_line = b->key_line;
		n->key_column = b->key_column;
		b->key = NULL;
	}
	if (up->last != NULL)
		up->last->next = n;
	else
		up->first = n;
	up->last = n;
	up->count++;
	return 0;
}

static int node_new(struct builder *b, enum yaml_kind kind, struct yaml_node **ret)
{
	struct yaml_node *n;

	if (++b->nodes > YAML_NODES_MAX)
		return here_err(b, "more than %u values", YAML_NODES_MAX);
	n = pool_get(b->pool, sizeof(*n));
	if (n == NULL)
		return err_set(b->err, -ENOMEM, "no memory for the document");
	n->kind = kind;
	n->line = b->line;
	n->column = b->column;
	n->text = "";
	*ret = n;
	return 0;
}

static bool wants_key(const struct builder *b)
{
	return b->depth > 0 && b->open[b->depth - 1]->kind == YAML_MAP && b->key == NULL;
}

static int on_key(struct builder *b, const char *text)
{
	const struct yaml_node *map = b->open[b->depth - 1];
	char show[YAML_SHOW_SIZE];

	if (map->count >= YAML_KEYS_MAX)
		return here_err(b, "more than %u keys in one mapping", YAML_KEYS_MAX);
	for (const struct yaml_node *n = map->first; n != NULL; n = n->next)
		if (strcmp(n->key, text) == 0)
			return here_err(b, "key '%s' stands twice, first on line %d",
					yaml_show(text, show), n->key_line);
	b->key = text;
	b->key_line = b->line;
	b->key_column = b->column;
	return 0;
}

static int on_scalar(struct builder *b, struct fy_event *e)
{
	size_t len = 0;
	const char *p = e->scalar.value != NULL ? fy_token_get_text(e->scalar.value, &len) : "";
	enum fy_scalar_style style =
		e->scalar.value != NULL ? fy_token_scalar_style(e->scalar.value) : FYSS_PLAIN;
	struct yaml_node *n = NULL;
	char *text;
	int r;

	if (p == NULL)
		return err_set(b->err, -ENOMEM, "no memory for the document");
	if (memchr(p, 0, len) != NULL)
		return here_err(b, "a NUL character is not permitted");
	text = pool_text(b->pool, bytes_of(p, len));
	if (text == NULL)
		return err_set(b->err, -ENOMEM, "no memory for the document");
	if (wants_key(b))
		return on_key(b, text);
	r = node_new(b, is_null(text, style) ? YAML_NULL : YAML_SCALAR, &n);
	if (r < 0)
		return r;
	n->text = text;
	return node_hang(b, n);
}

static int on_open(struct builder *b, enum yaml_kind kind)
{
	struct yaml_node *n = NULL;
	int r;

	if (wants_key(b))
		return here_err(b, "a key must be a single word");
	if (b->depth == YAML_DEPTH_MAX)
		return here_err(b, "nested deeper than %d", YAML_DEPTH_MAX);
	r = node_new(b, kind, &n);
	if (r == 0)
		r = node_hang(b, n);
	if (r == 0)
		b->open[b->depth++] = n;
	return r;
}

static int on_event(struct builder *b, struct fy_event *e)
{
	int r;

	mark_of(b, e);
	r = bare_check(b, e);
	if (r < 0)
		return r;
	switch (e->type) {
	case FYET_DOCUMENT_START:
		return b->docs++ == 0 ? 0 : here_err(b, "a second document is not permitted");
	case FYET_SCALAR: return on_scalar(b, e);
	case FYET_SEQUENCE_START: return on_open(b, YAML_LIST);
	case FYET_MAPPING_START: return on_open(b, YAML_MAP);
	case FYET_SEQUENCE_END:
	case FYET_MAPPING_END:
		if (b->depth > 0)
			b->depth--;
		return 0;
	case FYET_NONE:
	case FYET_STREAM_START:
	case FYET_STREAM_END:
	case FYET_DOCUMENT_END:
	case FYET_ALIAS: /* bare_check has refused it */ return 0;
	}
	return 0;
}

/* libfyaml writes some errors to stderr even where they are collected; a library does not. */
static void say_nothing(struct fy_diag *diag, void *user, const char *text, size_t len)
{
	(void)diag;
	(void)user;
	(void)text;
	(void)len;
}

/* What libfyaml found wrong, in its words and at its place. */
static int syntax_err(struct fy_diag *diag, struct err *err)
{
	void *at = NULL;
	const struct fy_diag_error *e = fy_diag_errors_iterate(diag, &at);
	char show[YAML_SENTENCE_SIZE];

	if (e == NULL || e->msg == NULL)
		return err_set(err, -EINVAL, "line 1, column 1: this is not YAML");
	(void)snprintf(show, sizeof(show), "%s", e->msg);
	return at_err(err, e->line > 0 ? e->line : 1, e->column > 0 ? e->column : 1, "not YAML: %s",
		      show);
}

static int events_read(struct fy_parser *fyp, struct fy_diag *diag, struct builder *b)
{
	struct fy_event *e;
	bool ended = false;
	int r = 0;

	while (r == 0 && (e = fy_parser_parse(fyp)) != NULL) {
		ended = e->type == FYET_STREAM_END;
		r = on_event(b, e);
		fy_parser_event_free(fyp, e);
		if (ended)
			break;
	}
	if (r == 0 && (!ended || fy_parser_get_stream_error(fyp)))
		r = syntax_err(diag, b->err);
	return r;
}

static int empty_node(struct builder *b)
{
	struct yaml_node *n = pool_get(b->pool, sizeof(*n));

	if (n == NULL)
		return err_set(b->err, -ENOMEM, "no memory for the document");
	n->line = n->column = 1;
	n->text = "";
	b->root = n;
	return 0;
}

static int text_read(struct bytes text, struct builder *b)
{
	struct fy_parse_cfg cfg = { .flags = FYPCF_QUIET | FYPCF_COLLECT_DIAG |
					     FYPCF_DEFAULT_VERSION_1_2 | FYPCF_JSON_NONE };
	struct fy_parser *fyp = NULL;
	struct fy_diag_cfg quiet = { 0 };
	int r;

	fy_diag_cfg_default(&quiet);
	quiet.fp = NULL;
	quiet.output_fn = say_nothing;
	cfg.diag = fy_diag_create(&quiet);
	if (cfg.diag != NULL) {
		fy_diag_set_collect_errors(cfg.diag, true);
		fyp = fy_parser_create(&cfg);
	}
	if (fyp == NULL || fy_parser_set_string(fyp, text.p, text.len) != 0)
		r = err_set(b->err, -ENOMEM, "no memory for the document");
	else
		r = events_read(fyp, cfg.diag, b);
	fy_parser_destroy(fyp);
	fy_diag_destroy(cfg.diag);
	return r;
}

int yaml_read(struct bytes text, struct pool *pool, struct yaml_node **ret, struct err *err)
{
	struct builder b = { .pool = pool, .err = err, .line = 1, .column = 1 };
	int r = text_check(text, err);

	if (r == 0 && text.len > 0)
		r = text_read(text, &b);
	if (r == 0 && b.root == NULL)
		r = empty_node(&b);
	if (r == 0)
		*ret = b.root;
	return r;
}

struct yaml_node *yaml_get(const struct yaml_node *n, const char *key)
{
	if (n == NULL || n->kind != YAML_MAP)
		return NULL;
	for (struct yaml_node *e = n->first; e != NULL; e = e->next)
		if (strcmp(e->key, key) == 0)
			return e;
	return NULL;
}

static const char *kind_text(enum yaml_kind kind)
{
	switch (kind) {
	case YAML_NULL: return "nothing";
	case YAML_SCALAR: return "a single value";
	case YAML_LIST: return "a list";
	case YAML_MAP: return "a mapping";
	}
	return "nothing";
}

int yaml_expect(const struct yaml_node *n, enum yaml_kind kind, const char *what, struct err *err)
{
	if (n->kind == kind || (n->kind == YAML_NULL && kind != YAML_SCALAR))
		return 0;
	return yaml_err(err, n, "%s must be %s, not %s", what, kind_text(kind), kind_text(n->kind));
}

int yaml_keys(const struct yaml_node *n, const char *const *keys, const char *what, struct err *err)
{
	char list[YAML_SENTENCE_SIZE] = "", show[YAML_SHOW_SIZE];
	int r = yaml_expect(n, YAML_MAP, what, err);

	if (r < 0)
		return r;
	for (const struct yaml_node *e = n->first; e != NULL; e = e->next) {
		size_t i = 0, len = 0;

		while (keys[i] != NULL && strcmp(keys[i], e->key) != 0)
			i++;
		if (keys[i] != NULL)
			continue;
		for (i = 0; keys[i] != NULL && len < sizeof(list); i++) {
			int k = snprintf(list + len, sizeof(list) - len, "%s%s", i > 0 ? ", " : "",
					 keys[i]);

			len += k > 0 ? (size_t)k : 0;
		}
		return yaml_key_err(err, e, "unknown key '%s' in %s; permitted: %s",
				    yaml_show(e->key, show), what, list);
	}
	return 0;
}
