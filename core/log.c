/* SPDX-License-Identifier: MIT */
/*
 * core/log.c - one line an event on stderr.
 * The level and the program's name are the only mutable state of file scope in core/: set once, before threads start.
 */
#include "core/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LINE_SIZE 1024

static const char *const level_names[] = { "error", "warn", "info", "debug" };

static enum log_level log_level_now = LOG_INFO;
static const char *log_program = "garth";

void log_init(const char *program, enum log_level level)
{
	const char *env = getenv("GARTH_LOG");

	log_program = program;
	log_level_now = level;
	for (unsigned i = 0; env && i < sizeof level_names / sizeof level_names[0]; i++)
		if (strcmp(env, level_names[i]) == 0)
			log_level_now = (enum log_level)i;
}

void log_line(enum log_level level, const char *fmt, ...)
{
	char line[LINE_SIZE];
	size_t room = sizeof line - 1; /* for the newline */
	size_t len;
	va_list ap;
	int n;

	if (level > log_level_now)
		return;
	n = snprintf(line, room, "%s %s ", level_names[level], log_program);
	len = n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
	va_start(ap, fmt);
	n = vsnprintf(line + len, room - len, fmt, ap);
	va_end(ap);
	if (n > 0)
		len += (size_t)n < room - len ? (size_t)n : room - len - 1;
	for (size_t i = 0; i < len; i++) /* one event stays one line, whatever came in */
		if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
			line[i] = ' ';
	line[len++] = '\n';
	if (write(STDERR_FILENO, line, len) < 0)
		return; /* nobody to tell */
}

const char *log_esc(struct bytes text, char out[LOG_ESC_SIZE])
{
	static const char hex[] = "0123456789abcdef";
	const unsigned char *p = text.p;
	size_t at = 0, cut = 0;

	for (size_t i = 0; i < text.len; i++) {
		bool plain = p[i] >= 0x20 && p[i] < 0x7f && p[i] != '\\';
		size_t need = plain ? 1 : 4;

		if (at + need >= LOG_ESC_SIZE) {
			memcpy(out + cut, "...", 4);
			return out;
		}
		if (plain) {
			out[at] = (char)p[i];
		} else {
			out[at] = '\\';
			out[at + 1] = 'x';
			out[at + 2] = hex[p[i] >> 4];
			out[at + 3] = hex[p[i] & 15];
		}
		at += need;
		if (at + 4 <= LOG_ESC_SIZE)
			cut = at; /* where "..." still fits */
	}
	out[at] = '\0';
	return out;
}
