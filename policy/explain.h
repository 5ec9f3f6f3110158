/* SPDX-License-Identifier: MIT */
/*
 * policy/explain.h - a verdict in words: what `garth policy explain` and error hints say.
 * Not here: the verdict (policy/decide.h).
 */
#ifndef GARTH_POLICY_EXPLAIN_H
#define GARTH_POLICY_EXPLAIN_H

#include "core/buf.h"
#include "policy/decide.h"

/* "allowed", "refused with EACCES", "hidden (ENOENT)": never NULL. */
const char *policy_verdict_text(const struct verdict *v);

/* One sentence on what a rule of the zones says ("input.readonly" ...); for "rules[3]" a general one; "" for an unknown name. */
const char *policy_rule_text(const char *rule);

/* The name of an operation as in the record ("create", "setxattr", ...): its number, or OP_NONE. */
enum ev_op policy_op_parse(const char *text);

/*
 * The whole answer, of one to three lines, each with its newline:
 *   refused with EACCES: write output/final/a by reviewer
 *   rule rules[0], line 12: deny [write] to reviewer on output/final/x
 * 0, -ENOMEM, -EFBIG.
 */
must_check int policy_explain(const struct policy *p, const struct question *q,
			      const struct verdict *v, struct buf *out);

#endif
