/* SPDX-License-Identifier: MIT */
/*
 * index/apply.h - one event to its rows. Pure: the same events in the same order make the same tables, wherever and whenever; the
 * writer uses it on index.db and verify on an empty database.
 *
 * An event that contradicts the rows (a second step of the same id, the end of an unknown one) changes no row but stays in the chain:
 * a fault of garth-fs must not stop the record.
 *
 * What changes and versions do to the paths that live:
 * - EV_VERSION: path lives, with this version. Renamed: its source's path lives no more.
 * - EV_CHANGE unlink: path lives no more. rename: what lived at path2 lives no more; what lives below path lives below path2; and where
 *   something lived below path2, that was an exchange, and it lives below path now (so an exchange is one event). path itself, where it is
 *   a file, is moved by the EV_VERSION renamed that follows; an exchange of two files is followed by two.
 * Not here: the chain (index/chain.h), the SQL (index/sql.h).
 */
#ifndef GARTH_INDEX_APPLY_H
#define GARTH_INDEX_APPLY_H

#include "core/event.h"
#include "index/stmt.h"

/* db has IDX_G_APPLY and an open transaction. @seq of the event in the chain. 0 or the database's error. */
must_check int apply_event(struct idx_db *db, uint64_t seq, const struct event *e, struct err *err);

/* ---- between apply.c and apply_file.c ---- */

/* ?1 seq, ?2 time. */
struct stmt apply_begin(struct idx_db *db, enum idx_stmt which, uint64_t seq, int64_t at_ns);
/* agent, sandbox, step, late, steps */
void apply_bind_who(struct stmt *s, const struct ev_who *who);
/* Count in the tally of who's step, or of each that it may have been, and name those in `among`. @id the row's key. */
must_check int apply_count(struct idx_db *db, uint64_t seq, const struct ev_who *who,
			   enum idx_stmt tally, enum event_kind kind, uint64_t id, struct err *err);
must_check int apply_total(struct idx_db *db, int64_t steps, int64_t versions, int64_t bytes,
			   int64_t violations, struct err *err);

must_check int apply_version(struct idx_db *db, uint64_t seq, int64_t at_ns,
			     const struct ev_version *v, struct err *err);
must_check int apply_version_state(struct idx_db *db, uint64_t seq,
				   const struct ev_version_state *v, struct err *err);
must_check int apply_version_turn(struct idx_db *db, uint64_t version, enum ev_state from,
				  enum ev_state to, struct err *err);
must_check int apply_change(struct idx_db *db, uint64_t seq, int64_t at_ns,
			    const struct ev_change *c, struct err *err);

#endif
