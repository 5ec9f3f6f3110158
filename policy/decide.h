/* SPDX-License-Identifier: MIT */
/*
 * policy/decide.h - may this agent do this to this path? Pure: no clock, no files, no state.
 * It is the policy's half of the answer; ordinary mode bits are the backing file system's.
 * Rows of an operation on two paths are two questions; the caller answers EROFS where either is below input/.
 */
#ifndef GARTH_POLICY_DECIDE_H
#define GARTH_POLICY_DECIDE_H

#include "core/bytes.h"
#include "core/event.h"
#include "policy/policy.h"

#define VERDICT_RULE_SIZE 64

struct verdict {
	int err; /* 0 allowed; -EROFS below input/, -EACCES elsewhere, -ENOENT for reading foreign logs (no violation then) */
	bool violation; /* a refusal that the record must show */
	char rule
		[VERDICT_RULE_SIZE]; /* of an allow too: "input.readonly", "logs.readonly", "logs.own", "agents.closed", "area.foreign",
				       * "area.own", "output.open", "task.own", "root.closed", "root.shared", "special.zone", "xattr.reserved",
				       * "operator", "rules[3]" (counted from 0, with line) */
	int line; /* of the policy's rule; 0: the zone's own */
};

struct question {
	const char *agent; /* name; POLICY_OPERATOR for uploads */
	enum ev_op op;
	struct bytes path; /* workspace path */
	bool special;      /* OP_MKNOD of a socket, FIFO or device */
	bool exists; /* OP_MKDIR and such on what is already there: the answer is the same; kept for explain */
	const char *
		log_agent; /* path below logs/<step>/: whose step that is; NULL unknown. "" for logs/ itself */
	const char *xattr; /* OP_SETXATTR, OP_REMOVEXATTR: the attribute's name */
};

void policy_decide(const struct policy *p, const struct question *q, struct verdict *ret);

/* The question's access class: POL_READ for read, list, stat; POL_WRITE for the rest. */
unsigned policy_access_of(enum ev_op op);

/*
 * Can a reading rule or the zone refuse somebody a stat of an entry right below this folder? Then its entries get time-out 0.
 * In a shared root the answer is for the files beside the zones: the zones' own folders can always be stat'ed.
 */
bool policy_read_restricted(const struct policy *p, struct bytes dir_path);

#endif
