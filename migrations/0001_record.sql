-- SPDX-License-Identifier: MIT
--
-- 0001_record.sql - the record of one workspace: what happened (event), and what follows from it (all other tables).
--
-- Every row of every table but `meta` is a pure function of the events in their order (index/apply.c), so the hash chain over the
-- events vouches for all of them; index/verify.c rebuilds them and compares. `event` in a table is the seq of the event that made
-- the row: the answer to "which event does this row belong to".
-- Paths are BLOB: a name is any bytes. Numbers are the values of core/event.h, times nanoseconds since 1970.

-- Not evidence: where the writer is. 'ring': the next ring position to read; 'syncs': bumped so that a durable commit has a row.
CREATE TABLE meta (
	name TEXT NOT NULL PRIMARY KEY,
	value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO meta(name, value) VALUES ('ring', 0), ('syncs', 0);

-- hash = SHA-256("garth.event.v1" || 0x00 || prev_hash || seq as u64 big-endian || body); prev_hash of seq 1 is 32 zeros.
CREATE TABLE event (
	seq INTEGER PRIMARY KEY,
	prev_hash BLOB NOT NULL,
	hash BLOB NOT NULL,
	body BLOB NOT NULL
) STRICT;

CREATE TABLE workspace (
	id INTEGER PRIMARY KEY CHECK (id = 1),
	event INTEGER NOT NULL,
	at_ns INTEGER NOT NULL,
	name TEXT NOT NULL,
	uid_base INTEGER NOT NULL,
	gid INTEGER NOT NULL
) STRICT;

-- Sums that would else need a scan. bytes: the sizes of what lives now.
CREATE TABLE total (
	id INTEGER PRIMARY KEY CHECK (id = 1),
	steps INTEGER NOT NULL,
	versions INTEGER NOT NULL,
	bytes INTEGER NOT NULL,
	violations INTEGER NOT NULL
) STRICT;
INSERT INTO total(id, steps, versions, bytes, violations) VALUES (1, 0, 0, 0, 0);

CREATE TABLE start (
	event INTEGER PRIMARY KEY,
	at_ns INTEGER NOT NULL,
	crashed INTEGER NOT NULL,
	holes INTEGER NOT NULL,
	version TEXT NOT NULL
) STRICT;

CREATE TABLE policy (
	event INTEGER PRIMARY KEY,
	at_ns INTEGER NOT NULL,
	sha BLOB NOT NULL,
	key TEXT NOT NULL
) STRICT;
CREATE INDEX policy_sha ON policy(sha);

CREATE TABLE agent (
	agent INTEGER PRIMARY KEY,
	event INTEGER NOT NULL,
	at_ns INTEGER NOT NULL,
	name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE sandbox (
	sandbox INTEGER PRIMARY KEY,
	event INTEGER NOT NULL,
	agent INTEGER NOT NULL,
	live INTEGER NOT NULL,
	begun_ns INTEGER NOT NULL,
	ended_ns INTEGER NOT NULL,
	why TEXT NOT NULL
) STRICT;

CREATE TABLE step (
	step INTEGER PRIMARY KEY,
	event INTEGER NOT NULL,
	end_event INTEGER NOT NULL,
	kind INTEGER NOT NULL,
	parent INTEGER NOT NULL,
	sandbox INTEGER NOT NULL,
	agent INTEGER NOT NULL,
	gid INTEGER NOT NULL,
	job TEXT NOT NULL,
	request_id TEXT NOT NULL,
	key TEXT NOT NULL,
	command TEXT NOT NULL,
	language TEXT NOT NULL,
	code BLOB,
	policy BLOB NOT NULL,
	env TEXT NOT NULL,
	limits TEXT NOT NULL,
	observed TEXT NOT NULL,
	wiped_files INTEGER NOT NULL,
	wiped_bytes INTEGER NOT NULL,
	beside BLOB NOT NULL,
	begun_ns INTEGER NOT NULL,
	ended_ns INTEGER NOT NULL,
	reason INTEGER NOT NULL,
	exit_code INTEGER NOT NULL,
	signal INTEGER NOT NULL,
	wall_ns INTEGER NOT NULL,
	cpu_ns INTEGER NOT NULL,
	memory_peak INTEGER NOT NULL,
	stdout_bytes INTEGER NOT NULL,
	stderr_bytes INTEGER NOT NULL,
	stdout_cut INTEGER NOT NULL,
	stderr_cut INTEGER NOT NULL,
	error TEXT NOT NULL,
	detail TEXT NOT NULL
) STRICT;
CREATE INDEX step_agent ON step(agent);
CREATE INDEX step_job ON step(job) WHERE job != '';
CREATE INDEX step_parent ON step(parent) WHERE parent != 0;
CREATE INDEX step_open ON step(step) WHERE ended_ns = 0;
CREATE INDEX step_code ON step(code) WHERE code IS NOT NULL;

-- What a step did, counted: its own row stays narrow. Row 0: what belongs to no one step.
CREATE TABLE tally (
	step INTEGER PRIMARY KEY,
	reads INTEGER NOT NULL,
	artifacts INTEGER NOT NULL,
	changes INTEGER NOT NULL,
	violations INTEGER NOT NULL,
	violation_rows INTEGER NOT NULL
) STRICT;
INSERT INTO tally(step, reads, artifacts, changes, violations, violation_rows) VALUES (0, 0, 0, 0, 0, 0);

-- path and n are its last name: a renamed folder carries its files along. cut: the event at which its content was fixed; 0: still open.
CREATE TABLE version (
	version INTEGER PRIMARY KEY,
	event INTEGER NOT NULL,
	cut INTEGER NOT NULL,
	at_ns INTEGER NOT NULL,
	agent INTEGER NOT NULL,
	sandbox INTEGER NOT NULL,
	step INTEGER NOT NULL,
	late INTEGER NOT NULL,
	steps BLOB NOT NULL,
	path BLOB NOT NULL,
	n INTEGER NOT NULL,
	action INTEGER NOT NULL,
	state INTEGER NOT NULL,
	sha BLOB,
	size INTEGER NOT NULL,
	media_type TEXT NOT NULL,
	source INTEGER NOT NULL,
	ino INTEGER NOT NULL,
	gen INTEGER NOT NULL,
	kept INTEGER NOT NULL
) STRICT;
CREATE INDEX version_step ON version(step);
CREATE INDEX version_agent ON version(agent);
CREATE INDEX version_sha ON version(sha) WHERE sha IS NOT NULL;
CREATE INDEX version_source ON version(source) WHERE source != 0;
CREATE INDEX version_kept ON version(path, n) WHERE kept = 1;

-- All names a version has had, numbered for each path: what people call "version 3 of output/a.csv".
CREATE TABLE name (
	path BLOB NOT NULL,
	n INTEGER NOT NULL,
	version INTEGER NOT NULL,
	event INTEGER NOT NULL,
	PRIMARY KEY (path, n)
) STRICT, WITHOUT ROWID;

-- The paths that exist now, and the newest version of each.
CREATE TABLE live (
	path BLOB NOT NULL PRIMARY KEY,
	version INTEGER NOT NULL,
	event INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE used (
	event INTEGER PRIMARY KEY,
	at_ns INTEGER NOT NULL,
	agent INTEGER NOT NULL,
	sandbox INTEGER NOT NULL,
	step INTEGER NOT NULL,
	late INTEGER NOT NULL,
	steps BLOB NOT NULL,
	version INTEGER NOT NULL,
	path BLOB NOT NULL,
	open INTEGER NOT NULL
) STRICT;
CREATE INDEX used_step ON used(step);
CREATE INDEX used_version ON used(version) WHERE version != 0;

CREATE TABLE change (
	event INTEGER PRIMARY KEY,
	at_ns INTEGER NOT NULL,
	agent INTEGER NOT NULL,
	sandbox INTEGER NOT NULL,
	step INTEGER NOT NULL,
	late INTEGER NOT NULL,
	steps BLOB NOT NULL,
	op INTEGER NOT NULL,
	path BLOB NOT NULL,
	path2 BLOB NOT NULL
) STRICT;
CREATE INDEX change_step ON change(step);

-- Equal attempts of one step are one row with a count; at_ns the first, last_ns the last.
CREATE TABLE violation (
	event INTEGER PRIMARY KEY,
	at_ns INTEGER NOT NULL,
	last_ns INTEGER NOT NULL,
	agent INTEGER NOT NULL,
	sandbox INTEGER NOT NULL,
	step INTEGER NOT NULL,
	late INTEGER NOT NULL,
	steps BLOB NOT NULL,
	op INTEGER NOT NULL,
	path BLOB NOT NULL,
	errnum INTEGER NOT NULL,
	rule TEXT NOT NULL,
	count INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX violation_equal ON violation(step, path, op, rule, errnum, agent, sandbox, late, steps);
CREATE INDEX violation_agent ON violation(agent);
CREATE INDEX violation_last ON violation(last_ns);

-- Where garth could not tell which of several open steps it was: each of them, with the row it may have made.
-- kind: 9 version, 11 used, 12 change, 13 violation (the kinds of core/event.h); id: that row's key.
CREATE TABLE among (
	step INTEGER NOT NULL,
	kind INTEGER NOT NULL,
	id INTEGER NOT NULL,
	event INTEGER NOT NULL,
	PRIMARY KEY (step, kind, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE doubt (
	event INTEGER PRIMARY KEY,
	at_ns INTEGER NOT NULL,
	step INTEGER NOT NULL,
	version INTEGER NOT NULL,
	path BLOB NOT NULL,
	why TEXT NOT NULL
) STRICT;
CREATE INDEX doubt_step ON doubt(step);

CREATE TABLE verdict (
	event INTEGER PRIMARY KEY,
	at_ns INTEGER NOT NULL,
	version INTEGER NOT NULL,
	hook_step INTEGER NOT NULL,
	pass INTEGER NOT NULL,
	reason TEXT NOT NULL
) STRICT;
CREATE INDEX verdict_version ON verdict(version);
