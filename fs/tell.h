/* SPDX-License-Identifier: MIT */
/*
 * fs/tell.h - telling the kernel what it must forget. Never done by a request's own thread (the kernel may hold the folder's lock).
 */
#ifndef GARTH_FS_TELL_H
#define GARTH_FS_TELL_H

#include <stdint.h>

struct fs;
struct node;

/* Attributes of this node (and its cached bytes or listing, where `data`). */
void tell_inode(struct fs *fs, uint64_t id, int data);

/* A name in a folder: also where it was known not to exist. */
void tell_entry(struct fs *fs, uint64_t parent, const char *name);

/* The attributes of every known node below n. */
void tell_below(struct fs *fs, const struct node *n);

#endif
