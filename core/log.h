/* SPDX-License-Identifier: MIT */
/*
 * core/log.h - one line an event on stderr: "level program msg key=value ...".
 * Library code never logs; the top of each process does. Text from outside goes through log_esc.
 */
#ifndef GARTH_CORE_LOG_H
#define GARTH_CORE_LOG_H

#include "core/bytes.h"

enum log_level { LOG_ERROR = 0, LOG_WARN, LOG_INFO, LOG_DEBUG };

void log_init(const char *program, enum log_level level); /* program: a string that stays */
__attribute__((format(printf, 2, 3))) void log_line(enum log_level level, const char *fmt, ...);

#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)
#define log_warn(...) log_line(LOG_WARN, __VA_ARGS__)
#define log_info(...) log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_DEBUG, __VA_ARGS__)

#define LOG_ESC_SIZE 256
/* The one escaper: printable ASCII stays, the rest becomes \xNN, cut with "..." to fit; always terminated. Returns out. */
const char *log_esc(struct bytes text, char out[LOG_ESC_SIZE]);

#endif
