/* SPDX-License-Identifier: MIT */
/*
 * policy/yaml.h - a small strict YAML: one document of mappings, lists and scalars, each with its place in the text.
 * Refused: anchors, aliases, tags, a second document, keys that are no scalars or stand twice, NUL, bytes that are no UTF-8,
 * more depth or nodes than the limits below. So a document is never larger than its text.
 * Not here: what the keys mean (policy/policy.h; the server's own config is read with this too).
 * Thread: any, one document each. Memory: the tree lives in the caller's pool and borrows nothing from the text.
 */
#ifndef GARTH_POLICY_YAML_H
#define GARTH_POLICY_YAML_H

#include <stdbool.h>
#include <stdint.h>

#include "core/bytes.h"
#include "core/err.h"
#include "policy/pool.h"

#define YAML_DEPTH_MAX 16
#define YAML_NODES_MAX 65536u
#define YAML_KEYS_MAX 1024u /* of one mapping */

enum yaml_kind {
	YAML_NULL = 0,
	YAML_SCALAR,
	YAML_LIST,
	YAML_MAP
}; /* YAML_NULL: nothing, or ~ or null without quotes */

struct yaml_node {
	enum yaml_kind kind;
	int line, column; /* from 1; column in characters */
	const char *text; /* of a scalar: no NUL in it, one behind it; else "" */
	const char *key;  /* in a mapping; else NULL */
	int key_line, key_column;
	struct yaml_node *first, *last; /* what a list or mapping holds, in the order of the text */
	struct yaml_node *next;
	unsigned count;
};

/* 0; -EINVAL "line L, column C: ..." ; -ENOMEM. An empty text gives a YAML_NULL at line 1. */
must_check int yaml_read(struct bytes text, struct pool *pool, struct yaml_node **ret,
			 struct err *err);

/* The value of a key of a mapping; NULL where it is not there, or n is NULL or no mapping. */
struct yaml_node *yaml_get(const struct yaml_node *n, const char *key);

/* "line L, column C: " and the sentence, at the node or at its key; gives back -EINVAL. */
__attribute__((format(printf, 3, 4))) int yaml_err(struct err *err, const struct yaml_node *n,
						   const char *fmt, ...);
__attribute__((format(printf, 3, 4))) int yaml_key_err(struct err *err, const struct yaml_node *n,
						       const char *fmt, ...);

/* The kind must be this one; for lists and mappings YAML_NULL passes too (a heading with nothing below it). @what names it. */
must_check int yaml_expect(const struct yaml_node *n, enum yaml_kind kind, const char *what,
			   struct err *err);

/* A mapping whose keys are all among these (NULL-terminated); YAML_NULL passes. */
must_check int yaml_keys(const struct yaml_node *n, const char *const *keys, const char *what,
			 struct err *err);

/* The text of a scalar as an error message shows it: cut, printable. */
#define YAML_SHOW_SIZE 48
const char *yaml_show(const char *text, char out[YAML_SHOW_SIZE]);

#endif
