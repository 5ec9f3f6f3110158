/* SPDX-License-Identifier: MIT */
/*
 * policy/glob.h - path patterns: `*` any bytes within a part, `?` one byte within a part, `**` any number of whole parts, also none.
 * The characters [ { \ stand for themselves. A pattern that ends in a whole-part `**` matches the folder before it too.
 * A pattern that glob_check refuses matches nothing.
 * Time: parts of the pattern times parts of the path at most, whatever both hold.
 */
#ifndef GARTH_POLICY_GLOB_H
#define GARTH_POLICY_GLOB_H

#include "core/bytes.h"
#include "core/err.h"

#define GLOB_PARTS_MAX 63

/* 0, or -EINVAL with what is wrong ("**" must be a whole part, no leading or double slash, no "." or "..", at most
 * GLOB_PARTS_MAX parts). */
must_check int glob_check(const char *pattern, struct err *err);
bool glob_match(const char *pattern, struct bytes path);

/* Could the pattern match dir itself or something below it? */
bool glob_reaches(const char *pattern, struct bytes dir);

/* Could the pattern match something right below dir? */
bool glob_matches_child(const char *pattern, struct bytes dir);

#endif
