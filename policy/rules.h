/* SPDX-License-Identifier: MIT */
/*
 * policy/rules.h - reading the policy's `rules` and `hooks`. Inside policy/ only.
 */
#ifndef GARTH_POLICY_RULES_H
#define GARTH_POLICY_RULES_H

#include "policy/policy.h"
#include "policy/yaml.h"

/* n NULL: absent, fine. Texts and arrays go into the pool. Limits and agents have been read before. */
must_check int rules_read(const struct yaml_node *n, struct policy *p, struct pool *pool,
			  struct err *err);
must_check int hooks_read(const struct yaml_node *n, struct policy *p, struct pool *pool,
			  struct err *err);

/* An agent's name at this node, not the reserved one. @what names the key. */
must_check int agent_name_check(const struct yaml_node *n, const char *name, const char *what,
				struct err *err);

/* A copy in the pool; -ENOMEM. */
must_check int text_keep(struct pool *pool, const char *text, const char **ret, struct err *err);

#endif
