/* SPDX-License-Identifier: MIT */
/*
 * api/audit_work.h - what the child of an audit does: verify the record, or export it. It may block, and asks garth-fs by a socket of
 * its own.
 * Not here: starting it and passing on what it writes (api/audit.c).
 */
#ifndef GARTH_API_AUDIT_WORK_H
#define GARTH_API_AUDIT_WORK_H

#include "core/err.h"

struct audit_job {
	const char *ws;
	const char *db;    /* path of index.db */
	const char *spool; /* folder for a copy of it */
	int fs;            /* socket to garth-fs */
	int out;           /* pipe */
};

/* Writes one JSON object. The exit status of the child. */
int audit_verify(const struct audit_job *j);
/* Writes a tar archive: W/index.db, W/policy.yaml, W/objects/<sha256>. It ends whole only where all went well. */
int audit_export(const struct audit_job *j);

#endif
