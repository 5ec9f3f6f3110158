/* SPDX-License-Identifier: MIT */
/*
 * fs/retain.h - what the policy's `retention` lets go when a workspace starts: bytes of old versions, folders of old logs.
 * Rows stay: a pruned version has its hash and the state `pruned`.
 * Thread: main, at start. retain_load before the index thread runs, retain_apply while it runs.
 */
#ifndef GARTH_FS_RETAIN_H
#define GARTH_FS_RETAIN_H

#include "core/err.h"
#include "fs/start.h"

must_check int retain_load(struct fs *fs, struct left *l);
void retain_apply(struct fs *fs, struct left *l);

#endif
