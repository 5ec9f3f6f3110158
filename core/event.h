/* SPDX-License-Identifier: MIT */
/*
 * core/event.h - what garth-fs tells the record: one struct per kind of event, and its canonical bytes.
 * The same bytes travel through the ring (core/ring.h), are hashed into the chain (index/chain.h) and stand in event.body; every
 * row of every other table follows from them (index/apply.h), so the chain vouches for all tables.
 * Fields are written in the order they stand here (core/pack.h); a kind's number and fields never change, new kinds are added.
 * Not here: how to ship them (core/ring.h), what rows they become (index/apply.h).
 * Memory: a struct event borrows all its bytes.
 */
#ifndef GARTH_CORE_EVENT_H
#define GARTH_CORE_EVENT_H

#include <stdint.h>

#include "core/bytes.h"
#include "core/err.h"
#include "core/hash.h"

enum event_kind {
	EV_NONE = 0,
	EV_WORKSPACE = 1,
	EV_START = 2,
	EV_POLICY = 3,
	EV_AGENT = 4,
	EV_SANDBOX = 5,
	EV_SANDBOX_END = 6,
	EV_STEP_BEGIN = 7,
	EV_STEP_END = 8,
	EV_VERSION = 9,
	EV_VERSION_STATE = 10,
	EV_READ = 11,
	EV_CHANGE = 12,
	EV_VIOLATION = 13,
	EV_DOUBT = 14,
	EV_VERDICT = 15,
	EV_KIND_COUNT
};

/* The closed lists of the record; the texts are API (docs/API.md) and stand in core/event.c. */
enum ev_reason {
	REASON_NONE = 0,
	REASON_EXITED,
	REASON_SIGNALED,
	REASON_TIMEOUT,
	REASON_MEMORY,
	REASON_DISK,
	REASON_PIDS,
	REASON_KILLED,
	REASON_REFUSED,
	REASON_LOST,
	REASON_COUNT
};
enum ev_step_kind {
	STEP_RUN = 0,
	STEP_UPLOAD,
	STEP_PRE_HOOK,
	STEP_POST_HOOK,
	STEP_OUTPUT_HOOK,
	STEP_KIND_COUNT
};
enum ev_action { ACTION_CREATED = 0, ACTION_MODIFIED, ACTION_RENAMED, ACTION_LINKED, ACTION_COUNT };
enum ev_state {
	STATE_OPEN = 0, /* a writer still has it open: no hash */
	STATE_SEALED,   /* hashed; in output/ its bytes are kept as objects/<sha256> */
	STATE_UNHASHED, /* its owner could not read it */
	STATE_HELD,     /* sealed, and an on_output hook holds it back from downloads */
	STATE_DOUBT,    /* changed in a step that a crash cut off */
	STATE_PRUNED,   /* sealed once; retention has removed its bytes */
	STATE_COUNT
};
enum ev_op { /* what a program tried; of violations and changes */
	     OP_NONE = 0,
	     OP_READ,
	     OP_LIST,
	     OP_STAT,
	     OP_CREATE,
	     OP_WRITE,
	     OP_TRUNCATE,
	     OP_MKDIR,
	     OP_RMDIR,
	     OP_UNLINK,
	     OP_RENAME,
	     OP_LINK,
	     OP_SYMLINK,
	     OP_MKNOD,
	     OP_CHMOD,
	     OP_CHOWN,
	     OP_UTIMES,
	     OP_SETXATTR,
	     OP_REMOVEXATTR,
	     OP_FALLOCATE,
	     OP_COPY,
	     OP_IOCTL,
	     OP_COUNT
};

const char *ev_reason_text(enum ev_reason r); /* NULL for REASON_NONE */
const char *
ev_step_kind_text(enum ev_step_kind k); /* run, upload, pre_step, post_step, on_output */
const char *ev_action_text(enum ev_action a);
const char *ev_state_text(enum ev_state s);
const char *ev_op_text(enum ev_op o);

/* Who did it, as the caller's uid and gid say. */
struct ev_who {
	uint32_t
		agent; /* its block, 0..32; 0 is the reserved agent "operator"; EV_NOBODY garth itself */
	uint64_t sandbox; /* 0: none */
	uint64_t step;    /* 0: garth itself, or not one but several: then `steps` names them */
	uint8_t late;     /* 1: a process of a step that had ended */
	struct bytes
		steps; /* where step is 0 for being ambiguous: big-endian u64 ids of all open steps; else empty */
};
#define EV_NOBODY UINT32_MAX

struct ev_workspace {
	struct bytes name;
	uint32_t uid_base;
	uint32_t gid;
};
struct ev_start {
	uint8_t crashed;
	uint64_t holes;
	struct bytes version;
}; /* garth-fs began to serve; crashed: the one before did not end well */
struct ev_policy {
	struct sha256 sha;
	struct bytes key;
}; /* its YAML is objects/<sha>; key: id of the API key, empty at init */
struct ev_agent {
	uint32_t agent;
	struct bytes name;
};
struct ev_sandbox {
	uint64_t sandbox;
	uint32_t agent;
	uint8_t live;
};
struct ev_sandbox_end {
	uint64_t sandbox;
	struct bytes why;
};
struct ev_step_begin {
	uint64_t step;
	uint8_t kind;    /* ev_step_kind */
	uint64_t parent; /* the step a hook belongs to; 0 */
	uint64_t sandbox;
	uint32_t agent;
	uint32_t gid;     /* inside: 60000 + k */
	struct bytes job; /* the caller's label; empty: none */
	struct bytes request_id;
	struct bytes key;      /* id of the API key */
	struct bytes command;  /* JSON array of argv, cut to 4096 bytes; empty for code */
	struct bytes language; /* "python", "bash", or empty for argv */
	uint8_t has_code;
	struct sha256 code; /* objects/<sha> holds it, where has_code */
	struct sha256 policy;
	struct bytes env; /* names, blank-separated, never values */
	struct bytes
		limits; /* JSON: timeout_ms, memory_bytes, pids, cpus, ... as they hold for this step */
	struct bytes observed;             /* JSON, interface "observed" */
	uint64_t wiped_files, wiped_bytes; /* what task/ held before; 0 where it was shared */
	struct bytes beside; /* big-endian u64 ids of steps that were open in this sandbox */
};
struct ev_step_end {
	uint64_t step;
	uint8_t reason;    /* ev_reason */
	int64_t exit_code; /* of an exit; -1 */
	uint32_t signal;   /* 0 */
	int64_t wall_ns, cpu_ns;
	uint64_t memory_peak;
	uint64_t stdout_bytes, stderr_bytes; /* all that was written, also what was cut */
	uint8_t stdout_cut, stderr_cut;
	struct bytes error; /* JSON {name, value, traceback, hint} or empty */
	struct bytes
		detail; /* one line for people, e.g. "limit 1.0 GiB, peak 1.0 GiB"; may be empty */
};
struct ev_version {
	uint64_t version; /* unique in the workspace, given by garth-fs, from 1 */
	struct ev_who who;
	struct bytes path;
	uint8_t action, state;
	uint8_t has_sha;
	struct sha256 sha;
	uint64_t size;
	struct bytes media_type;
	uint64_t source; /* the version it is a rename or link of; 0 */
	uint64_t ino;    /* inode in the store */
	uint64_t gen;    /* a number that tells reuse of ino: the file's birth time in ns */
	uint8_t kept;    /* 1: the bytes are objects/<sha> */
};
struct ev_version_state {
	uint64_t version;
	uint8_t state;
	uint8_t has_sha;
	struct sha256 sha;
	uint64_t size;
	uint8_t kept;
};
struct ev_read {
	struct ev_who who;
	uint64_t version;
	struct bytes path;
	uint8_t open;
}; /* version 0: no version of it is known; open: somebody was writing it */
struct ev_change {
	struct ev_who who;
	uint8_t op;
	struct bytes path, path2;
}; /* unlink, rmdir, rename, mkdir, link, symlink; path2: the new name, or the link's text */
struct ev_violation {
	struct ev_who who;
	uint8_t op;
	struct bytes path;
	uint32_t errnum;
	struct bytes rule;
	uint64_t count;
};
struct ev_doubt {
	uint64_t step;
	uint64_t version;
	struct bytes path;
	struct bytes why;
};
struct ev_verdict {
	uint64_t version;
	uint64_t hook_step;
	uint8_t pass;
	struct bytes reason;
};

struct event {
	enum event_kind kind;
	int64_t at_ns; /* wall clock */
	union {
		struct ev_workspace workspace;
		struct ev_start start;
		struct ev_policy policy;
		struct ev_agent agent;
		struct ev_sandbox sandbox;
		struct ev_sandbox_end sandbox_end;
		struct ev_step_begin step_begin;
		struct ev_step_end step_end;
		struct ev_version version;
		struct ev_version_state version_state;
		struct ev_read read;
		struct ev_change change;
		struct ev_violation violation;
		struct ev_doubt doubt;
		struct ev_verdict verdict;
	} u;
};

/*
 * Canonical bytes: kind u8, at_ns i64, then the fields. A sha256 is `bytes` of length 32, or 0 where its has_ flag is 0.
 * -EMSGSIZE where room is too small, -EINVAL a value out of its list (our own mistake).
 */
must_check int event_pack(const struct event *e, void *room, size_t cap, size_t *ret_len);

/* The reverse; strict: -EBADMSG for an unknown kind, a value out of its list, bytes missing or left over. Borrows from `from`. */
must_check int event_unpack(struct bytes from, struct event *ret);

#endif
