/* SPDX-License-Identifier: MIT */
/*
 * core/err.c - filling a struct err, and the end of the world for our own mistakes.
 * Not here: logging (core/log.c).
 */
#include "core/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* the functions themselves, not what the header makes of them */
#undef err_set
#undef err_wrap
#undef err_errno

#define MSG_SIZE sizeof(((struct err *)NULL)->msg)

static void put(struct err *err, int code, const char *text)
{
	size_t len = strnlen(text, sizeof err->msg - 1);

	err->code = code;
	memmove(err->msg, text, len);
	err->msg[len] = '\0';
}

int err_set(struct err *err, int code, const char *fmt, ...)
{
	char text[MSG_SIZE];
	va_list ap;

	if (!err)
		return code;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	put(err, code, text);
	return code;
}

int err_wrap(struct err *err, int code, const char *fmt, ...)
{
	char text[MSG_SIZE * 2];
	va_list ap;
	int n;

	if (!err)
		return code;
	va_start(ap, fmt);
	n = vsnprintf(text, MSG_SIZE, fmt, ap);
	va_end(ap);
	if (n < 0)
		n = 0;
	if ((size_t)n >= MSG_SIZE)
		n = (int)MSG_SIZE - 1;
	if (err->code != 0 && err->msg[0])
		(void)snprintf(text + n, sizeof text - (size_t)n, ": %s", err->msg);
	put(err, code, text);
	return code;
}

int err_errno(struct err *err, int code, const char *fmt, ...)
{
	char text[MSG_SIZE * 2];
	const char *why =
		strerrordesc_np(-code); /* unlike strerror: safe in threads, never localized */
	va_list ap;
	int n;

	if (!err)
		return code;
	va_start(ap, fmt);
	n = vsnprintf(text, MSG_SIZE, fmt, ap);
	va_end(ap);
	if (n < 0)
		n = 0;
	if ((size_t)n >= MSG_SIZE)
		n = (int)MSG_SIZE - 1;
	if (why)
		(void)snprintf(text + n, sizeof text - (size_t)n, ": %s", why);
	else
		(void)snprintf(text + n, sizeof text - (size_t)n, ": error %d", -code);
	put(err, code, text);
	return code;
}

void invariant_failed(const char *what, const char *file, int line)
{
	(void)fprintf(stderr, "error invariant failed: %s at %s:%d\n", what, file, line);
	abort();
}
