/* SPDX-License-Identifier: MIT */
/*
 * index/sql.h - every statement of garth, in one table: X(group, name, text). No SQL text stands anywhere else but in migrations/.
 * Not here: preparing and running them (index/stmt.h).
 *
 * Filters of queries (index/query.h) use the same numbers in all their statements, NULL where not asked for:
 *   ?1 path or folder   ?2 folder + "/"   ?3 folder + "0" (the first name behind all that is below)
 *   ?4 agent   ?5 step   ?6 n   ?7 sha   ?8 newest   ?9 after   ?10 limit   ?11 since   ?12 job   ?13 open
 */
#ifndef GARTH_INDEX_SQL_H
#define GARTH_INDEX_SQL_H

/* Which statements a connection prepares. */
#define IDX_G_TX 1u      /* transactions */
#define IDX_G_CHAIN 2u   /* the writer's own */
#define IDX_G_APPLY 4u   /* events to rows */
#define IDX_G_LOAD 8u    /* what garth-fs asks at its start */
#define IDX_G_READ 16u   /* queries */
#define IDX_G_VERIFY 32u /* whole tables */

#define IDX_SQL_OPEN                                                                            \
	"PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY;" \
	"PRAGMA foreign_keys = OFF; PRAGMA cache_size = -16384;"
#define IDX_SQL_OPEN_RW                                           \
	"PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;" \
	"PRAGMA wal_autocheckpoint = 1000; PRAGMA journal_size_limit = 67108864;"
/* The database that verify rebuilds: in memory up to the cache, then a nameless temporary file. */
#define IDX_SQL_OPEN_SCRATCH \
	"PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA cache_size = -131072;"
#define IDX_SQL_SYNC_FULL "PRAGMA synchronous = FULL"
#define IDX_SQL_SYNC_NORMAL "PRAGMA synchronous = NORMAL"
#define IDX_SQL_APP_ID "PRAGMA application_id"
#define IDX_SQL_APP_ID_SET "PRAGMA application_id = %d"
#define IDX_SQL_VERSION "PRAGMA user_version"
#define IDX_SQL_VERSION_SET "PRAGMA user_version = %u"
#define IDX_SQL_BEGIN "BEGIN IMMEDIATE"
#define IDX_SQL_COMMIT "COMMIT"
#define IDX_SQL_ROLLBACK "ROLLBACK"
#define IDX_SQL_SCHEMA_COUNT "SELECT count(*) FROM sqlite_schema"
#define IDX_SQL_INTEGRITY "PRAGMA integrity_check(1)"
#define IDX_SQL_SCHEMA \
	"SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema ORDER BY type, name"
#define IDX_SQL_SNAPSHOT "VACUUM INTO ?1"

/* Who did it: the same five columns in four tables. */
#define SQL_WHO "agent, sandbox, step, late, steps"

/* An agent's name as people know it. */
#define SQL_AGENT_NAME(t) "coalesce(a.name, iif(" t ".agent = 0, 'operator', ''))"

/* The columns of struct idx_step, in its order (index/query_step.c reads them). */
#define SQL_STEP                                                                                  \
	"SELECT s.step, s.parent, s.sandbox, s.agent, " SQL_AGENT_NAME(                           \
		"s") ", s.kind, s.job,"                                                           \
		     " s.request_id, s.key, s.command, s.language, s.env, s.limits, s.observed, " \
		     "s.code,"                                                                    \
		     " s.policy, s.begun_ns, s.ended_ns, s.reason, s.exit_code, s.signal, "       \
		     "s.wall_ns, s.cpu_ns,"                                                       \
		     " s.memory_peak, s.stdout_bytes, s.stderr_bytes, s.stdout_cut, "             \
		     "s.stderr_cut, s.error,"                                                     \
		     " s.detail, s.wiped_files, s.wiped_bytes, s.beside, coalesce(t.reads, 0),"   \
		     " coalesce(t.artifacts, 0), coalesce(t.changes, 0), coalesce(t.violations, " \
		     "0)"                                                                         \
		     " FROM step s LEFT JOIN agent a ON a.agent = s.agent LEFT JOIN tally t ON "  \
		     "t.step = s.step"
#define SQL_STEP_WHERE                                                  \
	" (?9 IS NULL OR s.step < ?9) AND (?4 IS NULL OR s.agent = ?4)" \
	" AND (?12 IS NULL OR s.job = ?12) AND (?13 IS NULL OR s.ended_ns = 0)"
#define SQL_STEP_END " ORDER BY s.step DESC LIMIT ?10"

/* The columns of struct idx_version, in its order (index/query_version.c); p says whose path and n. */
#define SQL_VERSION(p)                                                                             \
	"SELECT v.version, " p ".n, " p ".path, v.step, v.agent, " SQL_AGENT_NAME(                 \
		"v") ","                                                                           \
		     " v.action, v.state, v.late, v.sha, v.kept,"                                  \
		     " (SELECT live.version FROM live WHERE live.path = " p ".path) IS v.version," \
		     " v.size, v.source, v.media_type,"                                            \
		     " iif(v.state = 3, (SELECT reason FROM verdict WHERE verdict.version = "      \
		     "v.version"                                                                   \
		     " ORDER BY event DESC LIMIT 1), ''), v.at_ns, v.event, v.cut FROM "
#define SQL_VERSION_JOIN " LEFT JOIN agent a ON a.agent = v.agent WHERE "
#define SQL_BELOW(p) p " >= ?1 AND " p " < ?3 AND (" p " = ?1 OR " p " >= ?2)"
/* The same, or an exact path, or none, where another index drives. */
#define SQL_IN(p) "(?1 IS NULL OR " p " = ?1 OR (" p " >= ?2 AND " p " < ?3))"
/* What the driving index did not decide. */
#define SQL_VERSION_REST(p)                                                                \
	" (?4 IS NULL OR v.agent = ?4) AND (?5 IS NULL OR v.step = ?5)"                    \
	" AND (?6 IS NULL OR " p ".n = ?6) AND (?7 IS NULL OR v.sha = ?7)"                 \
	" AND (?8 IS NULL OR (SELECT live.version FROM live WHERE live.path = " p ".path)" \
	" IS v.version)"
#define SQL_VERSION_AFTER " AND (?9 IS NULL OR v.version > ?9)"
#define SQL_VERSION_BELOW " AND " SQL_IN("v.path")
#define SQL_VERSION_END " ORDER BY v.version LIMIT ?10"

/* The columns of struct idx_violation, in its order (index/query_row.c). */
#define SQL_VIOLATION(how)                                                    \
	"SELECT o.event, o.step, o.sandbox, o.agent, " SQL_AGENT_NAME(        \
		"o") ", o.op, o.late,"                                        \
		     " o.path, o.rule, o.errnum, o.at_ns, o.last_ns, o.count" \
		     " FROM violation o " how " LEFT JOIN agent a ON a.agent = o.agent WHERE "
#define SQL_VIOLATION_REST                                               \
	" (?4 IS NULL OR o.agent = ?4) AND (?9 IS NULL OR o.event > ?9)" \
	" AND (?11 IS NULL OR o.last_ns >= ?11)"                         \
	" AND " SQL_IN("o.path") " ORDER BY o.event LIMIT ?10"

#define IDX_STMTS(X)                                                                               \
	X(TX, BEGIN, "BEGIN")                                                                      \
	X(TX, BEGIN_WRITE, IDX_SQL_BEGIN)                                                          \
	X(TX, COMMIT, IDX_SQL_COMMIT)                                                              \
	X(TX, ROLLBACK, IDX_SQL_ROLLBACK)                                                          \
                                                                                                   \
	/* The chain, and where the writer is */                                                   \
	X(CHAIN, EVENT_ADD,                                                                        \
	  "INSERT INTO event(seq, prev_hash, hash, body) VALUES (?1, ?2, ?3, ?4)")                 \
	X(CHAIN, META_GET, "SELECT value FROM meta WHERE name = ?1")                               \
	X(CHAIN, META_SET, "UPDATE meta SET value = ?2 WHERE name = ?1")                           \
	X(CHAIN, META_BUMP, "UPDATE meta SET value = value + 1 WHERE name = ?1")                   \
	X(CHAIN, VIOLATION_TALLY, "SELECT violation_rows FROM tally WHERE step = ?1")              \
	X(CHAIN, VIOLATION_HAS,                                                                    \
	  "SELECT 1 FROM violation WHERE step = ?1 AND path = ?2 AND op = ?3 AND rule = ?4"        \
	  " AND errnum = ?5 AND agent = ?6 AND sandbox = ?7 AND late = ?8 AND steps = ?9")         \
                                                                                                   \
	/* Events to rows: ?1 is the event's seq, ?2 its time. The first of an id wins. */         \
	X(APPLY, WORKSPACE_ADD,                                                                    \
	  "INSERT OR IGNORE INTO workspace(event, at_ns, id, name, uid_base, gid)"                 \
	  " VALUES (?1, ?2, 1, ?3, ?4, ?5)")                                                       \
	X(APPLY, START_ADD,                                                                        \
	  "INSERT INTO start(event, at_ns, crashed, holes, version) VALUES (?1, ?2, ?3, ?4, ?5)")  \
	X(APPLY, POLICY_ADD, "INSERT INTO policy(event, at_ns, sha, key) VALUES (?1, ?2, ?3, ?4)") \
	X(APPLY, AGENT_ADD,                                                                        \
	  "INSERT OR IGNORE INTO agent(event, at_ns, agent, name) VALUES (?1, ?2, ?3, ?4)")        \
	X(APPLY, SANDBOX_ADD,                                                                      \
	  "INSERT OR IGNORE INTO sandbox(event, begun_ns, sandbox, agent, live, ended_ns, why)"    \
	  " VALUES (?1, ?2, ?3, ?4, ?5, 0, '')")                                                   \
	X(APPLY, SANDBOX_END,                                                                      \
	  "UPDATE sandbox SET ended_ns = ?2, why = ?4 WHERE sandbox = ?3 AND ended_ns = 0")        \
	X(APPLY, STEP_ADD,                                                                         \
	  "INSERT OR IGNORE INTO step(event, begun_ns, step, kind, parent, sandbox, agent, gid,"   \
	  " job, request_id, key, command, language, code, policy, env, limits, observed,"         \
	  " wiped_files, wiped_bytes, beside, end_event, ended_ns, reason, exit_code, signal,"     \
	  " wall_ns, cpu_ns, memory_peak, stdout_bytes, stderr_bytes, stdout_cut, stderr_cut,"     \
	  " error, detail)"                                                                        \
	  " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,"   \
	  " ?18, ?19, ?20, ?21, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0, 0, '', '')")                     \
	X(APPLY, STEP_END,                                                                         \
	  "UPDATE step SET end_event = ?1, ended_ns = ?2, reason = ?4, exit_code = ?5,"            \
	  " signal = ?6, wall_ns = ?7, cpu_ns = ?8, memory_peak = ?9, stdout_bytes = ?10,"         \
	  " stderr_bytes = ?11, stdout_cut = ?12, stderr_cut = ?13, error = ?14, detail = ?15"     \
	  " WHERE step = ?3 AND end_event = 0")                                                    \
	X(APPLY, TALLY_ADD,                                                                        \
	  "INSERT OR IGNORE INTO tally(step, reads, artifacts, changes, violations,"               \
	  " violation_rows) VALUES (?1, 0, 0, 0, 0, 0)")                                           \
	X(APPLY, TALLY_READ, "UPDATE tally SET reads = reads + 1 WHERE step = ?1")                 \
	X(APPLY, TALLY_ARTIFACT, "UPDATE tally SET artifacts = artifacts + 1 WHERE step = ?1")     \
	X(APPLY, TALLY_CHANGE, "UPDATE tally SET changes = changes + 1 WHERE step = ?1")           \
	X(APPLY, TALLY_VIOLATION,                                                                  \
	  "UPDATE tally SET violations = violations + ?2, violation_rows = violation_rows + ?3"    \
	  " WHERE step = ?1")                                                                      \
	X(APPLY, TOTAL_ADD,                                                                        \
	  "UPDATE total SET steps = steps + ?1, versions = versions + ?2, bytes = bytes + ?3,"     \
	  " violations = violations + ?4 WHERE id = 1")                                            \
	X(APPLY, AMONG_ADD,                                                                        \
	  "INSERT OR IGNORE INTO among(event, step, kind, id) VALUES (?1, ?2, ?3, ?4)")            \
	X(APPLY, VERSION_ADD,                                                                      \
	  "INSERT OR IGNORE INTO version(event, at_ns, " SQL_WHO ", version, cut, path, n,"        \
	  " action, state, sha, size, media_type, source, ino, gen, kept)"                         \
	  " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,"   \
	  " ?18, ?19, ?20)")                                                                       \
	X(APPLY, VERSION_STATE,                                                                    \
	  "UPDATE version SET cut = iif(cut = 0 AND ?3 != 0, ?1, cut), state = ?3,"                \
	  " sha = ?4, size = ?5, kept = ?6 WHERE version = ?2")                                    \
	X(APPLY, VERSION_IS, "SELECT path, state, sha, size FROM version WHERE version = ?1")      \
	X(APPLY, VERSION_TURN, "UPDATE version SET state = ?3 WHERE version = ?1 AND state = ?2")  \
	X(APPLY, NAME_NEXT, "SELECT coalesce(max(n), 0) + 1 FROM name WHERE path = ?1")            \
	X(APPLY, NAME_ADD, "INSERT INTO name(event, path, n, version) VALUES (?1, ?2, ?3, ?4)")    \
	X(APPLY, LIVE_IS,                                                                          \
	  "SELECT l.version, v.size FROM live l"                                                   \
	  " JOIN version v ON v.version = l.version WHERE l.path = ?1")                            \
	X(APPLY, LIVE_SET,                                                                         \
	  "INSERT OR REPLACE INTO live(event, path, version) VALUES (?1, ?2, ?3)")                 \
	X(APPLY, LIVE_DROP, "DELETE FROM live WHERE path = ?1")                                    \
	/* All that is below ?2/ goes below ?3/; marked by ?1, the event. substr is by bytes. */   \
	X(APPLY, LIVE_MOVE,                                                                        \
	  "UPDATE OR REPLACE live SET event = ?1,"                                                 \
	  " path = CAST(?3 || substr(path, length(?2) + 1) AS BLOB)"                               \
	  " WHERE path >= CAST(?2 || '/' AS BLOB) AND path < CAST(?2 || '0' AS BLOB)")             \
	X(APPLY, MOVED_NAMES,                                                                      \
	  "INSERT INTO name(event, path, n, version) SELECT ?1, l.path,"                           \
	  " (SELECT coalesce(max(n), 0) + 1 FROM name WHERE name.path = l.path), l.version"        \
	  " FROM live l WHERE l.path >= CAST(?2 || '/' AS BLOB)"                                   \
	  " AND l.path < CAST(?2 || '0' AS BLOB) AND l.event = ?1")                                \
	X(APPLY, MOVED_VERSIONS,                                                                   \
	  "UPDATE version SET path = m.path, n = m.n FROM (SELECT l.version, l.path,"              \
	  " (SELECT max(n) FROM name WHERE name.path = l.path) AS n"                               \
	  " FROM live l WHERE l.path >= CAST(?2 || '/' AS BLOB)"                                   \
	  " AND l.path < CAST(?2 || '0' AS BLOB) AND l.event = ?1) AS m"                           \
	  " WHERE version.version = m.version")                                                    \
	X(APPLY, USED_ADD,                                                                         \
	  "INSERT INTO used(event, at_ns, " SQL_WHO ", version, path, open)"                       \
	  " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")                                     \
	X(APPLY, CHANGE_ADD,                                                                       \
	  "INSERT INTO change(event, at_ns, " SQL_WHO ", op, path, path2)"                         \
	  " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")                                     \
	X(APPLY, VIOLATION_ADD,                                                                    \
	  "INSERT INTO violation(event, at_ns, last_ns, " SQL_WHO ", op, path, errnum, rule,"      \
	  " count) VALUES (?1, ?2, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"                 \
	  " ON CONFLICT(step, path, op, rule, errnum, agent, sandbox, late, steps)"                \
	  " DO UPDATE SET last_ns = ?2, count = count + ?12 RETURNING event")                      \
	X(APPLY, DOUBT_ADD,                                                                        \
	  "INSERT INTO doubt(event, at_ns, step, version, path, why)"                              \
	  " VALUES (?1, ?2, ?3, ?4, ?5, ?6)")                                                      \
	X(APPLY, VERDICT_ADD,                                                                      \
	  "INSERT INTO verdict(event, at_ns, version, hook_step, pass, reason)"                    \
	  " VALUES (?1, ?2, ?3, ?4, ?5, ?6)")                                                      \
                                                                                                   \
	/* What garth-fs asks at its start */                                                      \
	X(LOAD, LOAD_STATE,                                                                        \
	  "SELECT (SELECT coalesce(max(version), 0) + 1 FROM version),"                            \
	  " (SELECT coalesce(max(agent), 0) + 1 FROM agent),"                                      \
	  " EXISTS (SELECT 1 FROM workspace),"                                                     \
	  " (SELECT sha FROM policy ORDER BY event DESC LIMIT 1)")                                 \
	X(LOAD, LOAD_FILES,                                                                        \
	  "SELECT l.path, v.version, v.step, v.size, v.ino, v.gen, v.agent, v.state, v.kept,"      \
	  " v.sha FROM live l JOIN version v ON v.version = l.version ORDER BY l.path")            \
	X(LOAD, LOAD_OPEN_STEPS,                                                                   \
	  "SELECT step, sandbox, agent FROM step WHERE ended_ns = 0 ORDER BY step")                \
	/* ?1 keep. Not named: versions whose bytes something else still needs. */                 \
	X(LOAD, LOAD_PRUNABLE,                                                                     \
	  "WITH old AS MATERIALIZED (SELECT version, sha FROM version v"                           \
	  " INDEXED BY version_kept WHERE kept = 1 AND sha IS NOT NULL"                            \
	  " AND n < coalesce((SELECT n FROM name WHERE name.path = v.path"                         \
	  " ORDER BY n DESC LIMIT 1 OFFSET ?1 - 1), 0))"                                           \
	  " SELECT o.version, o.sha FROM old o WHERE"                                              \
	  " NOT EXISTS (SELECT 1 FROM version w WHERE w.sha = o.sha AND w.kept = 1"                \
	  " AND w.version NOT IN (SELECT version FROM old))"                                       \
	  " AND NOT EXISTS (SELECT 1 FROM step WHERE step.code = o.sha)"                           \
	  " AND NOT EXISTS (SELECT 1 FROM policy WHERE policy.sha = o.sha) ORDER BY o.version")    \
                                                                                                   \
	/* Queries */                                                                              \
	X(READ, EVENT_HEAD, "SELECT seq, hash FROM event ORDER BY seq DESC LIMIT 1")               \
	X(READ, AGENTS, "SELECT agent, name, at_ns FROM agent ORDER BY agent")                     \
	X(READ, AGENT_BY_NAME, "SELECT agent FROM agent WHERE name = ?1")                          \
	X(READ, POLICY_NOW, "SELECT sha, at_ns FROM policy ORDER BY event DESC LIMIT 1")           \
	X(READ, WORKSPACE,                                                                         \
	  "SELECT w.at_ns, t.steps, t.versions, t.bytes, t.violations FROM total t"                \
	  " JOIN workspace w ON w.id = t.id WHERE t.id = 1")                                       \
	X(READ, STEP_ONE, SQL_STEP " WHERE s.step = ?5 AND" SQL_STEP_WHERE SQL_STEP_END)           \
	X(READ, STEPS_AGENT, SQL_STEP " WHERE s.agent = ?4 AND" SQL_STEP_WHERE SQL_STEP_END)       \
	X(READ, STEPS_JOB,                                                                         \
	  SQL_STEP " WHERE s.job = ?12 AND s.job != '' AND" SQL_STEP_WHERE SQL_STEP_END)           \
	X(READ, STEPS_OPEN, SQL_STEP " WHERE s.ended_ns = 0 AND" SQL_STEP_WHERE SQL_STEP_END)      \
	X(READ, STEPS_ALL,                                                                         \
	  SQL_STEP                                                                                 \
	  " WHERE s.step < coalesce(?9, 9223372036854775807) AND" SQL_STEP_WHERE SQL_STEP_END)     \
	X(READ, STEP_HOOKS,                                                                        \
	  "SELECT step FROM step WHERE parent = ?1 AND parent != 0 ORDER BY step")                 \
	X(READ, VERSION_ONE, SQL_VERSION("v") "version v" SQL_VERSION_JOIN "v.version = ?1")       \
	X(READ, VERSIONS_PATH,                                                                     \
	  SQL_VERSION("m") "name m JOIN version v ON v.version = m.version" SQL_VERSION_JOIN       \
			   "m.path = ?1 AND" SQL_VERSION_REST(                                     \
				   "m") " AND m.n > coalesce((SELECT max(n)"                       \
					" FROM name WHERE path = ?1 AND version = ?9), 0) ORDER "  \
					"BY m.n LIMIT ?10")                                        \
	X(READ, VERSIONS_BELOW,                                                                    \
	  SQL_VERSION("m") "name m JOIN version v ON v.version = m.version" SQL_VERSION_JOIN       \
		  SQL_BELOW("m.path") " AND" SQL_VERSION_REST("m") SQL_VERSION_AFTER               \
	  " ORDER BY v.version, m.path, m.n LIMIT ?10")                                            \
	X(READ, VERSIONS_LIVE_BELOW,                                                               \
	  SQL_VERSION("v") "live l CROSS JOIN version v ON v.version = l.version" SQL_VERSION_JOIN \
		  SQL_BELOW("l.path") " AND" SQL_VERSION_REST("v")                                 \
			  SQL_VERSION_AFTER SQL_VERSION_END)                                       \
	X(READ, VERSIONS_LIVE,                                                                     \
	  SQL_VERSION("v") "live l CROSS JOIN version v ON v.version = l.version" SQL_VERSION_JOIN \
		  SQL_VERSION_REST("v") SQL_VERSION_AFTER SQL_VERSION_END)                         \
	X(READ, VERSIONS_SHA,                                                                      \
	  SQL_VERSION("v") "version v" SQL_VERSION_JOIN                                            \
			   "v.sha = ?7 AND v.sha IS NOT NULL AND" SQL_VERSION_REST("v")            \
				   SQL_VERSION_BELOW SQL_VERSION_AFTER SQL_VERSION_END)            \
	X(READ, VERSIONS_STEP,                                                                     \
	  SQL_VERSION("v") "version v" SQL_VERSION_JOIN "v.step = ?5 AND" SQL_VERSION_REST("v")    \
		  SQL_VERSION_BELOW SQL_VERSION_AFTER SQL_VERSION_END)                             \
	X(READ, VERSIONS_AGENT,                                                                    \
	  SQL_VERSION("v") "version v" SQL_VERSION_JOIN "v.agent = ?4 AND" SQL_VERSION_REST("v")   \
		  SQL_VERSION_BELOW SQL_VERSION_AFTER SQL_VERSION_END)                             \
	X(READ, VERSIONS_ALL,                                                                      \
	  SQL_VERSION("v") "version v" SQL_VERSION_JOIN                                            \
			   "v.version > coalesce(?9, 0) AND" SQL_VERSION_REST("v")                 \
				   SQL_VERSION_END)                                                \
	X(READ, VIOLATIONS_STEP,                                                                   \
	  SQL_VIOLATION(                                                                           \
		  "") "(o.step = ?5 OR o.event IN (SELECT id FROM among WHERE among.step = ?5"     \
		      " AND among.kind = 13)) AND" SQL_VIOLATION_REST)                             \
	X(READ, VIOLATIONS_AGENT, SQL_VIOLATION("") "o.agent = ?4 AND" SQL_VIOLATION_REST)         \
	X(READ, VIOLATIONS_SINCE,                                                                  \
	  SQL_VIOLATION("INDEXED BY violation_last") "o.last_ns >= ?11 AND" SQL_VIOLATION_REST)    \
	X(READ, VIOLATIONS_ALL,                                                                    \
	  SQL_VIOLATION("") "o.event > coalesce(?9, 0) AND" SQL_VIOLATION_REST)                    \
	X(READ, READS,                                                                             \
	  "SELECT u.version, coalesce((SELECT max(m.n) FROM name m WHERE m.path = u.path"          \
	  " AND m.version = u.version), v.n, 0), u.path, u.open, u.at_ns, v.sha"                   \
	  " FROM used u LEFT JOIN version v ON v.version = u.version"                              \
	  " WHERE u.step = ?1 OR u.event IN (SELECT id FROM among WHERE among.step = ?1"           \
	  " AND among.kind = 11) ORDER BY u.event")                                                \
	X(READ, CHANGES,                                                                           \
	  "SELECT c.op, c.path, c.path2, c.at_ns FROM change c"                                    \
	  " WHERE c.step = ?1 OR c.event IN (SELECT id FROM among WHERE among.step = ?1"           \
	  " AND among.kind = 12) ORDER BY c.event")                                                \
	/* Lineage: ?2 and ?3 bound the events: what is between two cuts of one step */            \
	X(READ, NAME_NEWEST, "SELECT version FROM name WHERE path = ?1 ORDER BY n DESC LIMIT 1")   \
	X(READ, NAME_AT, "SELECT version FROM name WHERE path = ?1 AND n = ?2")                    \
	X(READ, LIVE_AT, "SELECT version FROM live WHERE path = ?1")                               \
	X(READ, VERSION_MADE,                                                                      \
	  "SELECT v.step, v.source, iif(v.cut = 0, 9223372036854775807, v.cut), v.steps"           \
	  " FROM version v WHERE v.version = ?1")                                                  \
	X(READ, STEP_USED,                                                                         \
	  "SELECT u.version, u.open FROM used u WHERE (u.step = ?1"                                \
	  " OR u.event IN (SELECT id FROM among WHERE among.step = ?1 AND among.kind = 11))"       \
	  " AND u.version != 0 AND u.event > ?2 AND u.event <= ?3 ORDER BY u.event")               \
	X(READ, VERSION_USED,                                                                      \
	  "SELECT u.step, u.event, u.open, u.steps FROM used u"                                    \
	  " WHERE u.version = ?1 AND u.version != 0 ORDER BY u.event")                             \
	X(READ, STEP_MADE,                                                                         \
	  "SELECT v.version FROM version v WHERE (v.step = ?1 OR v.version IN"                     \
	  " (SELECT id FROM among WHERE among.step = ?1 AND among.kind = 9))"                      \
	  " AND iif(v.cut = 0, 9223372036854775807, v.cut) > ?2"                                   \
	  " AND iif(v.cut = 0, 9223372036854775807, v.cut) <= ?3 ORDER BY v.version")              \
	X(READ, VERSION_COPIES,                                                                    \
	  "SELECT version FROM version WHERE source = ?1 AND source != 0 ORDER BY version")        \
                                                                                                   \
	/* Whole tables, in the order of their keys, for verify */                                 \
	X(VERIFY, EVENTS, "SELECT seq, prev_hash, hash, body FROM event ORDER BY seq")             \
	X(VERIFY, EVENT_LAST, "SELECT coalesce(max(seq), 0) FROM event")                           \
	X(VERIFY, ALL_WORKSPACE, "SELECT * FROM workspace ORDER BY id")                            \
	X(VERIFY, ALL_START, "SELECT * FROM start ORDER BY event")                                 \
	X(VERIFY, ALL_POLICY, "SELECT * FROM policy ORDER BY event")                               \
	X(VERIFY, ALL_AGENT, "SELECT * FROM agent ORDER BY agent")                                 \
	X(VERIFY, ALL_SANDBOX, "SELECT * FROM sandbox ORDER BY sandbox")                           \
	X(VERIFY, ALL_STEP, "SELECT * FROM step ORDER BY step")                                    \
	X(VERIFY, ALL_VERSION, "SELECT * FROM version ORDER BY version")                           \
	X(VERIFY, ALL_NAME, "SELECT * FROM name ORDER BY path, n")                                 \
	X(VERIFY, ALL_LIVE, "SELECT * FROM live ORDER BY path")                                    \
	X(VERIFY, ALL_USED, "SELECT * FROM used ORDER BY event")                                   \
	X(VERIFY, ALL_CHANGE, "SELECT * FROM change ORDER BY event")                               \
	X(VERIFY, ALL_VIOLATION, "SELECT * FROM violation ORDER BY event")                         \
	X(VERIFY, ALL_AMONG, "SELECT * FROM among ORDER BY step, kind, id")                        \
	X(VERIFY, ALL_DOUBT, "SELECT * FROM doubt ORDER BY event")                                 \
	X(VERIFY, ALL_VERDICT, "SELECT * FROM verdict ORDER BY event")                             \
	X(VERIFY, ALL_TALLY, "SELECT * FROM tally ORDER BY step")                                  \
	X(VERIFY, ALL_TOTAL, "SELECT * FROM total ORDER BY id")                                    \
	/* Every object that must be there, with an event that names it */                         \
	X(VERIFY, OBJECTS,                                                                         \
	  "SELECT sha, min(event) FROM ("                                                          \
	  "SELECT sha, event FROM version WHERE kept = 1 AND state != 5 AND sha IS NOT NULL"       \
	  " UNION ALL SELECT code, event FROM step WHERE code IS NOT NULL"                         \
	  " UNION ALL SELECT sha, event FROM policy) GROUP BY sha ORDER BY 2")

#endif
