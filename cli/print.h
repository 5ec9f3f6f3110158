/* SPDX-License-Identifier: MIT */
/*
 * cli/print.h - text for people: tables, colours on a terminal only, and names from elsewhere made harmless.
 * NO_COLOR (not empty) turns colours off; TERM=dumb too.
 * Not here: the programs' own output, which goes through untouched (cli/cmd_run.c).
 */
#ifndef GARTH_CLI_PRINT_H
#define GARTH_CLI_PRINT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#define TABLE_COLUMNS_MAX 10

enum color { COLOR_NONE = 0, COLOR_RED, COLOR_GREEN, COLOR_YELLOW, COLOR_DIM, COLOR_BOLD };

bool print_colored(FILE *f); /* are colours wanted there? */
void print_on(FILE *f, enum color c);
void print_off(FILE *f, enum color c);

/* Text that a terminal shows and does not obey: control characters, bytes that are no UTF-8, and marks that turn the line around become \xNN. */
void print_safe(FILE *f, const char *text);
/* The same as a string; the caller's to free(); NULL: no memory. */
char *print_safe_dup(const char *text);

/* A table: the cells of all rows are kept until it is printed, so that columns line up. */
struct table {
	const char *const
		*heads; /* NULL-terminated; "" no heading; a leading '>' aligns to the right */
	unsigned columns;
	struct table_row *rows;
	size_t count, cap;
	bool failed; /* no memory */
};
void table_init(struct table *t, const char *const *heads);
void table_fini(struct table *t);
/* @cells as many as columns; NULL is "-". */
void table_row(struct table *t, enum color c, const char *const *cells);
int table_print(const struct table *t, FILE *f); /* EXIT_OK, EXIT_FAILED (said on stderr) */
#define autotable __attribute__((cleanup(table_fini))) struct table

/* JSON to stdout: indented on a terminal, one line else. EXIT_OK or EXIT_FAILED. */
int print_json(const json_t *j);
/* {"items": [...]} */
int print_items(json_t *items);

/* stdout is flushed, and a failure to write (a full disk) is said. Gives code, or EXIT_FAILED. */
int print_done(int code);

#endif
