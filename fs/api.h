/* SPDX-License-Identifier: MIT */
/*
 * fs/api.h - what garth-api may ask of garth-fs (docs/PROTOCOL.md). Each answers the request itself, now or later.
 * Thread: control; what takes time goes to the sealer or the desk.
 */
#ifndef GARTH_FS_API_H
#define GARTH_FS_API_H

#include "core/msg.h"
#include "fs/client.h"
#include "fs/fs.h"

#define API_COMMAND_MAX 4096u /* bytes of the texts of a step */
#define API_ENV_MAX 8192u
#define API_LIMITS_MAX 4096u
#define API_OBSERVED_MAX 4096u
#define API_ERROR_MAX (24u * 1024)
#define API_DETAIL_MAX 1024u
#define API_CODE_MAX (64u * 1024 * 1024)

struct step;

/* A request that was checked by msg_check. Takes descriptors out of m. */
void api_handle(struct fs *fs, struct client *c, struct wire_msg *m);

/* This client is gone: its open steps end `lost`. */
void api_client_gone(struct fs *fs, struct client *c);

/* ---- by file ---- */
void api_agent_add(struct fs *fs, struct client *c, struct wire_msg *m); /* api_set.c */
void api_policy_set(struct fs *fs, struct client *c, struct wire_msg *m);
void api_verdict(struct fs *fs, struct client *c, struct wire_msg *m);
void api_step_begin(struct fs *fs, struct client *c, struct wire_msg *m); /* api_step.c */
void api_step_end(struct fs *fs, struct client *c, struct wire_msg *m);
void api_step_lost(struct fs *fs, struct step *st);
void api_file_open(struct fs *fs, struct client *c, struct wire_msg *m); /* desk.c */
void api_dir_list(struct fs *fs, struct client *c, struct wire_msg *m);
void api_object_open(struct fs *fs, struct client *c, struct wire_msg *m);
void api_snapshot(struct fs *fs, struct client *c, struct wire_msg *m);

/* agents/<name>, owned by its agent: made where it is missing. */
must_check int api_make_area(struct fs *fs, const char *name, uint32_t block, struct err *err);

#endif
