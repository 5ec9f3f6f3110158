/* SPDX-License-Identifier: MIT */
/*
 * cli/table.c - rows whose columns line up (cli/print.h).
 */
#include <stdlib.h>
#include <string.h>

#include "cli/exit.h"
#include "cli/print.h"
#include "core/err.h"

#define FIRST_ROWS 32
#define GAP 2 /* blanks between columns */

struct table_row {
	enum color color;
	char *cell[TABLE_COLUMNS_MAX];
};

void table_init(struct table *t, const char *const *heads)
{
	*t = (struct table){ .heads = heads };
	while (heads[t->columns])
		t->columns++;
	invariant(t->columns <= TABLE_COLUMNS_MAX);
}

void table_fini(struct table *t)
{
	for (size_t i = 0; i < t->count; i++)
		for (unsigned c = 0; c < t->columns; c++)
			free(t->rows[i].cell[c]);
	free(t->rows);
	*t = (struct table){ .heads = NULL };
}

void table_row(struct table *t, enum color color, const char *const *cells)
{
	struct table_row *r;

	if (t->count == t->cap) {
		size_t cap = t->cap ? t->cap * 2 : FIRST_ROWS;
		struct table_row *rows = reallocarray(t->rows, cap, sizeof *rows);

		if (!rows) {
			t->failed = true;
			return;
		}
		t->rows = rows;
		t->cap = cap;
	}
	r = &t->rows[t->count++];
	r->color = color;
	for (unsigned c = 0; c < t->columns; c++) {
		r->cell[c] = print_safe_dup(cells[c] ? cells[c] : "-");
		if (!r->cell[c])
			t->failed = true;
	}
}

/* Characters, not bytes. */
static size_t width(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

static void pad(FILE *f, size_t n)
{
	while (n--)
		(void)fputc(' ', f);
}

static void line(const struct table *t, FILE *f, const char *const *cells, const size_t *widths)
{
	for (unsigned c = 0; c < t->columns; c++) {
		size_t blank = widths[c] - width(cells[c]);
		bool right = t->heads[c][0] == '>', last = c + 1 == t->columns;

		if (right)
			pad(f, blank);
		(void)fputs(cells[c], f);
		if (!last)
			pad(f, (right ? 0 : blank) + GAP);
	}
}

int table_print(const struct table *t, FILE *f)
{
	const char *heads[TABLE_COLUMNS_MAX];
	size_t widths[TABLE_COLUMNS_MAX];
	bool headed = false;

	if (t->failed) {
		(void)fprintf(stderr, "garth: no memory\n");
		return EXIT_FAILED;
	}
	for (unsigned c = 0; c < t->columns; c++) {
		heads[c] = t->heads[c] + (t->heads[c][0] == '>');
		headed = headed || heads[c][0];
		widths[c] = width(heads[c]);
		for (size_t i = 0; i < t->count; i++)
			if (width(t->rows[i].cell[c]) > widths[c])
				widths[c] = width(t->rows[i].cell[c]);
	}
	if (headed) {
		print_on(f, COLOR_BOLD);
		line(t, f, heads, widths);
		print_off(f, COLOR_BOLD);
		(void)fputc('\n', f);
	}
	for (size_t i = 0; i < t->count; i++) {
		const char *cells[TABLE_COLUMNS_MAX];

		for (unsigned c = 0; c < t->columns; c++)
			cells[c] = t->rows[i].cell[c];
		print_on(f, t->rows[i].color);
		line(t, f, cells, widths);
		print_off(f, t->rows[i].color);
		(void)fputc('\n', f);
	}
	return EXIT_OK;
}
