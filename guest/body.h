/* SPDX-License-Identifier: MIT */
/*
 * guest/body.h - the body of a SPAWN message: bytes -> what to run. Pure.
 * Not here: where the bytes come from (guest/init.h), running it (guest/spawn.h).
 * Memory: one heap block for argv and the environment; code and files borrow from the bytes.
 */
#ifndef GARTH_GUEST_BODY_H
#define GARTH_GUEST_BODY_H

#include <stdint.h>

#include "core/bytes.h"
#include "core/err.h"
#include "core/msg.h"

#define BODY_LANG_ARGV 0u /* msg_spawn.language */
#define BODY_LANG_PYTHON 1u
#define BODY_LANG_BASH 2u

struct body_file {
	struct bytes name; /* relative to task/, checked (core/path.h) */
	struct bytes content;
};

struct body {
	const char *cwd; /* absolute */
	char **argv;     /* NULL-terminated: with interpreter and runner where a language says so */
	char **env;      /* NULL-terminated: the request's, and the defaults that it left out */
	struct bytes code;
	struct body_file *files;
	uint32_t nfiles;
	void *block;
};

/*
 * @bytes   borrowed until body_fini.
 * @report  path of the report that the Python runner gets; used for BODY_LANG_PYTHON alone.
 *
 * 0; -EBADMSG lengths that don't add up (the peer is broken); -EINVAL, -E2BIG what it says can't be done (with a sentence); -ENOMEM.
 */
must_check int body_parse(const struct msg_spawn *m, struct bytes bytes, const char *report,
			  struct body *ret, struct err *err);
void body_fini(struct body *b);

/* The value in a NULL-terminated environment; NULL where it is not set. */
const char *body_env(char *const *env, const char *name);

#endif
