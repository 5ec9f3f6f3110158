/* SPDX-License-Identifier: MIT */
/*
 * fs/read.h - what a step has read: the first open of a file's version for reading is one EV_READ.
 * Thread: any.
 */
#ifndef GARTH_FS_READ_H
#define GARTH_FS_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "core/bytes.h"
#include "fs/fs.h"
#include "fs/who.h"

#define READSET_MAX (1u << 20) /* versions remembered a step; past it reads may be told twice */

struct node;
struct rec;
struct readset;

void readset_free(struct readset *s); /* NULL is fine */

/* Was it new? *s is made at first use. Without memory everything is new. */
bool readset_add(struct readset **s, uint64_t key);

/* The caller opens n for reading. @c its record, or NULL: then nothing is told. */
void read_note(struct fs *fs, const struct who *w, struct rec *c, const struct node *n);

#endif
