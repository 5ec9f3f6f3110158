/* SPDX-License-Identifier: MIT */
/*
 * index/migrations.h - the schema's steps, embedded at build from migrations/NNNN_name.sql.
 * Not here: applying them (index/db.h).
 */
#ifndef GARTH_INDEX_MIGRATIONS_H
#define GARTH_INDEX_MIGRATIONS_H

struct migration {
	unsigned number; /* 1, 2, ... without a gap; what user_version is afterwards */
	const char *name;
	const char *sql; /* one or more statements, terminated */
};

extern const struct migration migrations[];
extern const unsigned migration_count;

#endif
