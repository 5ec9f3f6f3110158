/* SPDX-License-Identifier: MIT */
/*
 * cli/doctor.h - what `garth doctor` found, one thing a row.
 *     doctor.c        the command: runs all, prints
 *     doctor_host.c   the host: root, kernel, /dev/fuse, programs, what `garthd --check` says
 *     doctor_place.c  this server: config, data folder, ids, port, Python
 */
#ifndef GARTH_CLI_DOCTOR_H
#define GARTH_CLI_DOCTOR_H

#include "cli/up.h"

#define DOCTOR_ROWS_MAX 48
#define DOCTOR_TEXT_SIZE 320

enum doctor_state { DOCTOR_OK = 0, DOCTOR_WARN, DOCTOR_FAIL }; /* fail: garth can't start */

struct doctor_row {
	enum doctor_state state;
	char name[32], found[DOCTOR_TEXT_SIZE],
		todo[DOCTOR_TEXT_SIZE]; /* todo: "" where there is nothing to do */
};

struct doctor {
	struct up up; /* the config, and what is opened on the way */
	unsigned n;
	struct doctor_row rows[DOCTOR_ROWS_MAX];
};

__attribute__((format(printf, 5, 6))) void doctor_add(struct doctor *d, enum doctor_state state,
						      const char *name, const char *todo,
						      const char *fmt, ...);
void doctor_host(struct doctor *d);
void doctor_place(struct doctor *d);

/* The rows that `garthd --check` printed. Pure; lines that make no sense are left out. */
void doctor_parse(struct doctor *d, char *text);

#endif
