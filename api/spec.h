/* SPDX-License-Identifier: MIT */
/*
 * api/spec.h - what a step is asked to be: from the JSON of POST steps to a checked struct, and from there to the bytes that
 * garth-init and garth-fs get. Pure: no descriptors, no clock.
 * Not here: running it (api/step.h).
 * Memory: a spec owns its JSON and what was decoded from it; spec_fini frees all.
 */
#ifndef GARTH_API_SPEC_H
#define GARTH_API_SPEC_H

#include <jansson.h>

#include "core/buf.h"
#include "core/msg.h"
#include "policy/policy.h"

#define SPEC_ARGS_MAX 1024u
#define SPEC_ENV_MAX 256u
#define SPEC_FILES_MAX 256u
#define SPEC_TEXT_MAX \
	(128u *       \
	 1024) /* bytes of argv, or of env, together: the kernel's own limit for one string */
#define SPEC_STDIN_MAX (64u << 20) /* bytes; a pre_step hook reads a whole request there */
#define SPEC_COMMAND_MAX 4096u     /* bytes of the recorded argv */

enum spec_lang { SPEC_ARGV = 0, SPEC_PYTHON, SPEC_BASH }; /* msg_spawn.language */

struct spec_file {
	const char *name;
	struct bytes content;
};

struct spec {
	const char *agent;   /* NULL: the key's own */
	const char *sandbox; /* text of an id; NULL: a fresh one */
	const char *job;     /* NULL */
	const char *cwd;     /* absolute; default /workspace/task */
	enum spec_lang lang;
	const char **argv; /* argc of them */
	const char **env;  /* name, value, name, value; envc pairs */
	struct spec_file *files;
	unsigned argc, envc, filec;
	struct bytes code, input; /* input: stdin */
	bool has_input;
	struct policy_step_limits lim;                /* filled by spec_limits */
	const json_t *timeout, *memory, *pids, *cpus; /* as asked; NULL */
	/* private */
	json_t *root;
	struct buf decoded[SPEC_FILES_MAX + 2];
	unsigned decoded_count;
	char cwd_text[PATH_LEN_MAX + 32];
};

/* Takes root. 0, or -EINVAL, -EFBIG, -ENOMEM with a message that names the field; then nothing is kept. */
must_check int spec_parse(json_t *root, struct spec *ret, struct err *err);
void spec_fini(struct spec *s); /* zeroed is fine */

/* The limits that hold: the policy's for this agent, less where less is asked, more up to *_max. -EINVAL names the field. */
must_check int spec_limits(struct spec *s, const struct policy *p, const char *agent,
			   struct err *err);

/* What the step finds in its environment beside its own. */
struct spec_ids {
	const char *workspace, *agent, *step, *sandbox;
};

/* The spawn body of core/msg.h. */
must_check int spec_spawn_body(const struct spec *s, const struct spec_ids *ids, struct buf *out,
			       unsigned *ret_envc);

/* The four texts of STEP_BEGIN: argv as a JSON array (cut), names of the environment, limits, what was observable. */
must_check int spec_record_texts(const struct spec *s, struct buf *command, struct buf *env,
				 struct buf *limits, struct buf *observed);

const char *spec_lang_text(enum spec_lang l); /* "", "python", "bash" */

#endif
