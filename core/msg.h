/* SPDX-License-Identifier: MIT */
/*
 * core/msg.h - every message between processes of garth, and who may send it. docs/PROTOCOL.md holds the same table for people;
 * tests/unit/core_msg_test.c compares the two.
 *
 * Strings in bodies are NUL-terminated within their array, and msg_check refuses those that are not. Who receives looks the type up in
 * msg_spec and refuses what is not for it, has the wrong body size, or the wrong number of fds: -EBADMSG, the connection is closed.
 */
#ifndef GARTH_CORE_MSG_H
#define GARTH_CORE_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "core/hash.h"
#include "core/path.h"
#include "core/wire.h"

#define MSG_WHY_SIZE 128
#define MSG_JOB_SIZE 129
#define MSG_REQUEST_SIZE 129
#define MSG_KEY_SIZE 33
#define MSG_LANG_SIZE 16
#define MSG_ASKER_ALL UINT32_MAX /* asked for nobody whom modes bind */

/* Every reply's body begins so; replies without a struct of their own are exactly this. */
struct msg_status {
	int32_t status;
	uint32_t zero;
};

/* ---- up (supervisor) -> garthd ---- */
struct msg_api_new {
	uint32_t zero[2];
}; /* fd 0: garthd's end of a socketpair to a new garth-api; the one before is gone */
struct msg_stop {
	uint32_t zero[2];
}; /* end all, unmount all, then reply and exit 0 */

/* ---- garth-api -> garthd ---- */
struct msg_ws_create {
	char name[IDENT_SIZE];
}; /* -EEXIST, -ENOSPC (no ids), -EINVAL; makes the folders and reserves ids */
struct msg_ws_delete {
	char name[IDENT_SIZE];
}; /* stops its sandboxes, unmounts, removes the folder; -ENOENT, -EBUSY */
struct msg_ws_open {
	char name[IDENT_SIZE];
}; /* starts it where it is not running; reply: fd 0 a socket to its garth-fs */
struct msg_sb_create {
	uint64_t sandbox; /* id chosen by garth-api */
	char ws[IDENT_SIZE];
	char agent[IDENT_SIZE];
	uint32_t agent_block; /* 0..32, core/ids.h */
	uint32_t live;        /* 1: outlives its steps */
	uint64_t memory;      /* bytes */
	uint32_t pids;
	uint32_t cpus_milli;
	uint64_t tmp; /* bytes of /tmp */
	uint32_t open_files;
	uint32_t host_paths; /* the tail: that many NUL-terminated absolute paths */
	int64_t lifetime_ns; /* from now; garthd kills it then */
};
struct msg_sb_create_reply {
	struct msg_status s;
	uint32_t gid_base;
	uint32_t zero;
}; /* fd 0: the guest socket */
struct msg_sb_limit {
	uint64_t sandbox;
	uint64_t memory;
	uint32_t pids;
	uint32_t cpus_milli;
}; /* before a step; also restarts the peak and the counts of sb_stat */
struct msg_sb_life {
	uint64_t sandbox;
	int64_t lifetime_ns;
}; /* moves its end: from now */
struct msg_sb_stat {
	uint64_t sandbox;
};
struct msg_sb_stat_reply {
	struct msg_status s;
	uint64_t memory_peak;  /* bytes since the last sb_limit */
	uint64_t oom_kills;    /* since the last sb_limit */
	uint64_t pids_refused; /* forks refused by the limit since the last sb_limit */
	int64_t cpu_ns;        /* since the last sb_limit */
	uint32_t pids_now;
	uint32_t zero;
};
struct msg_sb_kill {
	uint64_t sandbox;
	char why[32];
}; /* reply when nothing of it is left; -ENOENT */

/* ---- garthd -> garth-api, unasked (id 0) ---- */
struct msg_sb_gone {
	uint64_t sandbox;
	char why[32];
}; /* "exited", "lifetime", "killed", "workspace" */
struct msg_sb_oom {
	uint64_t sandbox;
}; /* the kernel killed a process in it for memory, just now */
struct msg_ws_gone {
	char name[IDENT_SIZE];
}; /* its garth-fs or keeper died; a new one is being started */

/* ---- garthd <-> garth-keeper ---- */
struct msg_keeper_ready {
	uint32_t zero[2];
}; /* keeper -> garthd; fd 0: the detached mount (fsmount) */
struct msg_keeper_fail {
	int32_t code;
	uint32_t zero;
	char why[MSG_WHY_SIZE];
}; /* keeper -> garthd, then it exits */

/* ---- garthd -> garth-fs (the control socket) ---- */
struct msg_fs_client {
	uint32_t zero[2];
}; /* fd 0: a socket to garth-api */
struct msg_fs_sandbox {
	uint64_t sandbox;
	uint32_t gid_base;
	uint32_t agent_block;
	uint32_t live;
	uint32_t zero;
}; /* reply: it is known, and its task/ stands */
struct msg_fs_sandbox_end {
	uint64_t sandbox;
	uint32_t gid_base;
	uint32_t zero;
	char why[32];
}; /* reply: its gids are no longer used by anybody */
struct msg_fs_stop {
	uint32_t zero[2];
}; /* drain, commit, checkpoint; reply, then exit 0 */
/* ---- garth-fs -> garthd ---- */
struct msg_fs_ready {
	uint32_t zero[2];
}; /* it serves, the database is open and migrated; id 0 */

/* ---- garth-fs -> garth-keeper ---- */
struct msg_handle_open {
	uint32_t handle_type;
	uint32_t handle_len;
	uint8_t handle[128];
}; /* reply: fd 0 an O_PATH fd; -ESTALE */

/* ---- garth-api -> garth-fs ---- */
struct msg_agent_add {
	char name[IDENT_SIZE];
};
struct msg_agent_add_reply {
	struct msg_status s;
	uint32_t agent_block;
	uint32_t zero;
}; /* -EEXIST, -ENOSPC the 33rd */
struct msg_policy_set {
	char key[MSG_KEY_SIZE];
	char zero[7];
}; /* fd 0: memfd with YAML; -EINVAL and the tail says line and column */
struct msg_step_begin {
	uint64_t
		step; /* id_make(), made by garth-api since clients know it while the step waits; 0: garth-fs makes one */
	uint64_t sandbox;
	uint64_t parent;
	uint32_t kind;        /* enum ev_step_kind */
	uint32_t agent_block; /* must be the sandbox's */
	uint64_t log_max;     /* bytes each of stdout and stderr that are kept */
	char job[MSG_JOB_SIZE];
	char request_id[MSG_REQUEST_SIZE];
	char key[MSG_KEY_SIZE];
	char language[MSG_LANG_SIZE]; /* "python", "bash", "" for argv */
	char zero[5];
	uint32_t has_code,
		wipe; /* wipe: 1 empties task/ unless another step is open in the sandbox */
	uint32_t command_len, env_len, limits_len,
		observed_len; /* the tail: these four texts one after the other (ev_step_begin) */
};                            /* fd 0, where has_code: memfd with the code */
struct msg_step_begin_reply {
	struct msg_status s;
	uint64_t step;
	uint32_t gid; /* inside the sandbox: 60000 + k */
	uint32_t zero;
	uint64_t wiped_files, wiped_bytes;
}; /* fds 0, 1: write ends of the step's stdout and stderr; fds 2, 3: its log files, read-only (stdout, stderr) */
struct msg_step_end {
	uint64_t step;
	uint32_t reason;   /* enum ev_reason */
	int32_t exit_code; /* -1 */
	uint32_t signal;
	uint32_t
		alive; /* 1: processes of it live on (daemons in a live sandbox): do not wait for their files */
	int64_t wall_ns, cpu_ns;
	uint64_t memory_peak;
	uint32_t error_len, detail_len; /* the tail: these two texts (ev_step_end) */
};
struct msg_step_end_reply {
	struct msg_status s;
	uint64_t artifacts, violations, reads;
}; /* durable when it comes; rows are read from the index */
struct msg_log_grew {
	uint64_t step;
	uint64_t stdout_len, stderr_len;
	uint32_t stdout_done, stderr_done;
}; /* garth-fs -> garth-api, unasked: bytes in the log files now; done: the last writer has closed */
struct msg_file_open {
	uint64_t version;          /* 0: the newest with kept or live bytes */
	char sha[SHA256_HEX_SIZE]; /* of a version asked for by hash, or "" */
	char zero[7];
	uint32_t path_len; /* the tail: the workspace path */
	uint32_t
		asker; /* the agent for whom: MSG_ASKER_ALL, or its block: what it may not read by mode is -EACCES */
}; /* -ENOENT, -EISDIR (list it then), -EBUSY being written and no version yet, -ESTALE its bytes are pruned, -EAGAIN held by a hook */
struct msg_file_open_reply {
	struct msg_status s;
	uint64_t version; /* 0: no version of it is recorded (task/, logs/) */
	uint64_t size;
	int64_t mtime_ns;
	char sha[SHA256_HEX_SIZE]; /* "" where none */
	char zero[7];
}; /* fd 0: the bytes, read-only */
struct msg_dir_list {
	uint32_t path_len;
	uint32_t recursive;
	uint32_t asker; /* as of msg_file_open */
	uint32_t zero;
}; /* tail: path ("" the root). reply fd 0: memfd of struct msg_dirent + name, 8-aligned; -ENOENT, -ENOTDIR, -EACCES */
struct msg_dirent {
	uint64_t size;
	int64_t mtime_ns;
	uint32_t mode;
	uint32_t uid;
	uint32_t name_len;
	uint32_t agent_block;
}; /* name follows (recursive: path relative to the listed folder), padded to 8; agent_block ~0: nobody's */
struct msg_object_open {
	struct sha256 sha;
}; /* reply fd 0: objects/<sha>, read-only; -ENOENT */
struct msg_verdict {
	uint64_t version;
	uint64_t hook_step;
	uint32_t pass;
	uint32_t hold;
	char reason[MSG_WHY_SIZE];
}; /* hold 1: hold it back (before the hook runs); else pass says the outcome */
struct msg_flush {
	uint32_t zero[2];
}; /* reply: every event so far is durable and every closed file hashed */
struct msg_snapshot {
	uint32_t zero[2];
}; /* reply fd 0: a consistent copy of index.db, read-only, already unlinked */

/* ---- garth-api -> garth-init (the guest socket) ---- */
struct msg_spawn {
	uint64_t step;
	uint32_t uid, gid;          /* inside: 1000 (0 for operator), 60000 + k */
	uint32_t umask;             /* 002 */
	uint32_t language;          /* 0 argv, 1 python, 2 bash */
	uint64_t file_max;          /* RLIMIT_FSIZE */
	uint32_t open_files;        /* RLIMIT_NOFILE */
	uint32_t argc, envc, files; /* of the body below */
}; /* fds 0..2: stdin, stdout, stderr; fd 3: memfd of the spawn body: u32-length-prefixed (host order) strings: cwd, argv..., env ("K=V")...,
    * then code ("" where none), then for each file: name, content. Reply: msg_status when it has been started (-ENOENT, -EACCES, -E2BIG...) */
struct msg_exited {
	uint64_t step;
	int32_t status;
	uint32_t error_len;
	int64_t utime_ns, stime_ns;
	uint64_t maxrss;
	uint32_t alive;
	uint32_t zero;
};
/* garth-init -> garth-api, unasked. status: as wait(2). alive: processes with the step's gid that still live. tail: the runner's JSON, at most 32 KiB, untrusted */
struct msg_kill {
	uint64_t step;
	uint32_t gid;
	int32_t signal;
}; /* all processes of that gid; SIGKILL: reply when none is left (status: how many there were) */
struct msg_put {
	uint64_t step;
	uint32_t uid, gid;
	uint32_t replace;             /* 0: must not exist (-EEXIST) */
	uint32_t path_len;            /* tail: workspace path */
	char if_sha[SHA256_HEX_SIZE]; /* replace only what has this hash: -ESTALE; "" any */
	char zero[7];
}; /* fd 0: a regular file or memfd with the whole content. Makes parent folders. Done in a child with the step's ids, beneath /workspace, no symlinks. */
struct msg_put_reply {
	struct msg_status s;
	uint32_t created;
	uint32_t zero;
}; /* created 0: it replaced one */

/*
 * X(NAME, number, from, to, body of the request, fds of the request min..max, body of the reply or msg_none, fds of the reply)
 * from/to: up d(aemon) k(eeper) f(s) a(pi) g(uest)
 */
struct msg_none {
	char nothing;
};
/* clang-format off: a table */
#define MSG_TABLE(X)                                                             \
	X(API_NEW, 1, UP, D, msg_api_new, 1, 1, msg_status, 0)                   \
	X(STOP, 2, UP, D, msg_stop, 0, 0, msg_status, 0)                         \
	X(WS_CREATE, 10, API, D, msg_ws_create, 0, 0, msg_status, 0)             \
	X(WS_DELETE, 11, API, D, msg_ws_delete, 0, 0, msg_status, 0)             \
	X(WS_OPEN, 12, API, D, msg_ws_open, 0, 0, msg_status, 1)                 \
	X(SB_CREATE, 13, API, D, msg_sb_create, 0, 0, msg_sb_create_reply, 1)    \
	X(SB_LIMIT, 14, API, D, msg_sb_limit, 0, 0, msg_status, 0)               \
	X(SB_LIFE, 15, API, D, msg_sb_life, 0, 0, msg_status, 0)                 \
	X(SB_STAT, 16, API, D, msg_sb_stat, 0, 0, msg_sb_stat_reply, 0)          \
	X(SB_KILL, 17, API, D, msg_sb_kill, 0, 0, msg_status, 0)                 \
	X(SB_GONE, 20, D, API, msg_sb_gone, 0, 0, msg_none, 0)                   \
	X(SB_OOM, 21, D, API, msg_sb_oom, 0, 0, msg_none, 0)                     \
	X(WS_GONE, 22, D, API, msg_ws_gone, 0, 0, msg_none, 0)                   \
	X(KEEPER_READY, 30, K, D, msg_keeper_ready, 1, 1, msg_none, 0)           \
	X(KEEPER_FAIL, 31, K, D, msg_keeper_fail, 0, 0, msg_none, 0)             \
	X(FS_CLIENT, 40, D, F, msg_fs_client, 1, 1, msg_none, 0)                 \
	X(FS_SANDBOX, 41, D, F, msg_fs_sandbox, 0, 0, msg_status, 0)             \
	X(FS_SANDBOX_END, 42, D, F, msg_fs_sandbox_end, 0, 0, msg_status, 0)     \
	X(FS_STOP, 43, D, F, msg_fs_stop, 0, 0, msg_status, 0)                   \
	X(FS_READY, 44, F, D, msg_fs_ready, 0, 0, msg_none, 0)                   \
	X(HANDLE_OPEN, 50, F, K, msg_handle_open, 0, 0, msg_status, 1)           \
	X(AGENT_ADD, 60, API, F, msg_agent_add, 0, 0, msg_agent_add_reply, 0)    \
	X(POLICY_SET, 61, API, F, msg_policy_set, 1, 1, msg_status, 0)           \
	X(STEP_BEGIN, 62, API, F, msg_step_begin, 0, 1, msg_step_begin_reply, 4) \
	X(STEP_END, 63, API, F, msg_step_end, 0, 0, msg_step_end_reply, 0)       \
	X(LOG_GREW, 64, F, API, msg_log_grew, 0, 0, msg_none, 0)                 \
	X(FILE_OPEN, 65, API, F, msg_file_open, 0, 0, msg_file_open_reply, 1)    \
	X(DIR_LIST, 66, API, F, msg_dir_list, 0, 0, msg_status, 1)               \
	X(OBJECT_OPEN, 67, API, F, msg_object_open, 0, 0, msg_status, 1)         \
	X(VERDICT, 68, API, F, msg_verdict, 0, 0, msg_status, 0)                 \
	X(FLUSH, 69, API, F, msg_flush, 0, 0, msg_status, 0)                     \
	X(SNAPSHOT, 70, API, F, msg_snapshot, 0, 0, msg_status, 1)               \
	X(SPAWN, 80, API, G, msg_spawn, 4, 4, msg_status, 0)                     \
	X(EXITED, 81, G, API, msg_exited, 0, 0, msg_none, 0)                     \
	X(KILL, 82, API, G, msg_kill, 0, 0, msg_status, 0)                       \
	X(PUT, 83, API, G, msg_put, 1, 1, msg_put_reply, 0)
/* clang-format on */

#define X(name, num, from, to, body, fmin, fmax, reply, rfds) MSG_##name = (num),
enum msg_type { MSG_TABLE(X) MSG_TYPE_END };
#undef X

enum msg_peer { PEER_UP = 0, PEER_D, PEER_K, PEER_F, PEER_API, PEER_G };

struct msg_spec {
	uint16_t type;
	const char *name; /* "SB_CREATE" */
	enum msg_peer from, to;
	uint32_t body; /* sizeof of the request's struct */
	uint8_t fds_min, fds_max;
	uint32_t reply;    /* sizeof of the reply's; 0: it has none */
	uint8_t reply_fds; /* where status is 0; none else */
};

extern const struct msg_spec msg_specs[];
extern const unsigned msg_spec_count;

const struct msg_spec *msg_spec_of(uint16_t type); /* without WIRE_REPLY; NULL */

/*
 * May `m`, which came from `from` to `to`, be looked at? Direction, size, count of fds, and that replies answer something that can be
 * answered. 0 or -EBADMSG. Afterwards msg_body(m) has at least the struct, and msg_tail(m) the rest.
 */
must_check int msg_check(const struct wire_msg *m, enum msg_peer from, enum msg_peer to,
			 struct err *err);

const void *msg_body(const struct wire_msg *m);
struct bytes msg_tail(const struct wire_msg *m); /* what follows the struct of its type */
int32_t msg_status_of(const struct wire_msg *m); /* of a reply */

/* Is this array a NUL-terminated string? For every char[] of a body before it is used. */
bool msg_text_ok(const char *s, size_t size);

/* An answer without a struct of its own: status, and a sentence as the tail where it is not 0 (err may be NULL). */
must_check int msg_reply_status(int sock, const struct wire_msg *request, int status,
				const struct err *err);

/*
 * Ask and wait for the answer, for programs with one question open at a time (keeper's client, tests, tools). Other messages that
 * come meanwhile are -EBADMSG. `reply` holds the answer; 0 or its status, -ETIMEDOUT, -EPIPE.
 */
must_check int msg_ask(int sock, uint16_t type, struct bytes body, struct bytes tail,
		       const int *fds, unsigned nfds, enum msg_peer me, enum msg_peer peer,
		       struct wire_msg *reply, int timeout_ms, struct err *err);

#endif
