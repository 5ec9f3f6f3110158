/* SPDX-License-Identifier: MIT */
/*
 * fs/cred.h - as whom a thread acts on the store: its fsuid.
 * The server acts as the caller or as a file's owner, never with rights of its own; CAP_SETUID of its user namespace lets it.
 * setfsuid fails silently for an id that is not mapped, so ids are checked against the workspace's blocks first; and it costs 2 us,
 * so a thread stays who it was until it must be another.
 * Not here: who asks (fs/who.h).
 */
#ifndef GARTH_FS_CRED_H
#define GARTH_FS_CRED_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"

struct fs;

/* Act as this host uid: an agent's, or garth-fs's own. 0, -EACCES any other. */
must_check int cred_as(const struct fs *fs, uint32_t uid);

void cred_own(const struct fs *fs);

/* Keep two capabilities, set the umask to 0, and see whether setfsuid works. Once, before any thread. 0, -EPERM with a sentence. */
must_check int cred_check(const struct fs *fs, struct err *err);

/* Change the owner of what fd refers to (O_PATH will do), within the workspace's ids: CAP_CHOWN is raised for this call alone. */
must_check int cred_chown(const struct fs *fs, int fd, uint32_t uid);

#endif
