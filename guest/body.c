/* SPDX-License-Identifier: MIT */
/*
 * guest/body.c - parses the body of a SPAWN message.
 * Not here: running what it says (guest/spawn.c).
 */
#include "guest/body.h"

#include <stdbool.h>
#include <stdlib.h>

#include "core/path.h"
#include "guest/layout.h"

#define LEAD_MAX 4u /* strings before the request's arguments: interpreter, runner, report, code */
#define DEFAULTS 3u /* variables */

struct reader {
	const uint8_t *p;
	size_t len;
	char *text; /* where the next string goes, NUL-terminated */
};

static int next_bytes(struct reader *in, struct bytes *ret)
{
	uint32_t n;

	if (in->len < sizeof n)
		return -EBADMSG;
	memcpy(&n, in->p, sizeof n);
	if (n > in->len - sizeof n)
		return -EBADMSG;
	*ret = bytes_of(in->p + sizeof n, n);
	in->p += sizeof n + n;
	in->len -= sizeof n + n;
	return 0;
}

/* A copy with a NUL behind it. There is room: a copy takes 1 byte more than the string, its length took 4 in the message. */
static int next_string(struct reader *in, char **ret, struct err *err)
{
	struct bytes b = { 0 };
	int r = next_bytes(in, &b);

	if (r < 0)
		return err_set(err, r, "spawn: cut short");
	if (b.len && memchr(b.p, '\0', b.len))
		return err_set(err, -EINVAL, "an argument or variable has a NUL byte");
	*ret = in->text;
	if (b.len)
		memcpy(in->text, b.p, b.len);
	in->text[b.len] = '\0';
	in->text += b.len + 1;
	return 0;
}

/* A constant as argv wants it; nobody writes through argv before exec, and there it is copied. */
static char *constant(const char *s)
{
	char *p;

	memcpy(&p, &s, sizeof p);
	return p;
}

static unsigned put_lead(uint32_t language, const char *report, char **at)
{
	unsigned n = 0;

	if (language == BODY_LANG_PYTHON) {
		at[n++] = constant(GUEST_PYTHON);
		at[n++] = constant(GUEST_RUNNER);
		at[n++] = constant(report);
		at[n++] = constant(GUEST_CODE_PY);
	} else if (language == BODY_LANG_BASH) {
		at[n++] = constant(GUEST_BASH);
		at[n++] = constant(GUEST_CODE_SH);
	}
	return n;
}

static int parse_args(struct reader *in, const struct msg_spawn *m, const char *report,
		      struct body *b, struct err *err)
{
	unsigned n = put_lead(m->language, report, b->argv);
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < m->argc; i++)
		r = next_string(in, &b->argv[n++], err);
	return r;
}

const char *body_env(char *const *env, const char *name)
{
	size_t len = strlen(name);

	for (; *env; env++)
		if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
			return *env + len + 1;
	return NULL;
}

static int parse_env(struct reader *in, const struct msg_spawn *m, struct body *b, struct err *err)
{
	static const struct {
		const char *name, *line;
	} defaults[DEFAULTS] = { { "PATH", GUEST_ENV_PATH },
				 { "HOME", GUEST_ENV_HOME },
				 { "LANG", GUEST_ENV_LANG } };
	uint32_t n = 0;

	for (; n < m->envc; n++) {
		int r = next_string(in, &b->env[n], err);

		if (r < 0)
			return r;
		if (b->env[n][0] == '=' || !strchr(b->env[n], '='))
			return err_set(err, -EINVAL, "variable %u is not NAME=VALUE", n + 1);
	}
	for (unsigned i = 0; i < DEFAULTS; i++)
		if (!body_env(b->env, defaults[i].name))
			b->env[n++] = constant(defaults[i].line);
	return 0;
}

static int parse_files(struct reader *in, const struct msg_spawn *m, struct body *b,
		       struct err *err)
{
	if (next_bytes(in, &b->code) < 0)
		return err_set(err, -EBADMSG, "spawn: no code");
	for (uint32_t i = 0; i < m->files; i++) {
		struct body_file *f = &b->files[i];
		int r;

		if (next_bytes(in, &f->name) < 0 || next_bytes(in, &f->content) < 0)
			return err_set(err, -EBADMSG, "spawn: file %u is cut short", i + 1);
		if (f->name.len == 0)
			return err_set(err, -EINVAL, "file %u has no name", i + 1);
		r = path_check(f->name, err);
		if (r < 0)
			return err_wrap(err, r, "file %u", i + 1);
	}
	b->nfiles = m->files;
	return in->len == 0 ? 0 : err_set(err, -EBADMSG, "spawn: %zu bytes are left over", in->len);
}

static int check_counts(const struct msg_spawn *m, struct bytes bytes, struct err *err)
{
	if (bytes.len > GUEST_BODY_MAX)
		return err_set(err, -E2BIG, "code and files are more than %u MiB",
			       GUEST_BODY_MAX >> 20);
	if (m->argc > GUEST_ARGS_MAX || m->envc > GUEST_ARGS_MAX)
		return err_set(err, -E2BIG, "more than %u arguments or variables", GUEST_ARGS_MAX);
	if (m->files > GUEST_FILES_MAX)
		return err_set(err, -E2BIG, "more than %u files", GUEST_FILES_MAX);
	if (m->language > BODY_LANG_BASH || (m->language == BODY_LANG_ARGV && m->argc == 0))
		return err_set(err, -EINVAL, "nothing to run");
	/* each string has a length of 4 bytes: refuse before memory is asked for */
	if ((2ULL + m->argc + m->envc + 2ULL * m->files) * sizeof(uint32_t) > bytes.len)
		return err_set(err, -EBADMSG, "spawn: cut short");
	return 0;
}

int body_parse(const struct msg_spawn *m, struct bytes bytes, const char *report, struct body *ret,
	       struct err *err)
{
	size_t nargv = (size_t)m->argc + LEAD_MAX + 1, nenv = (size_t)m->envc + DEFAULTS + 1;
	struct reader in = { .p = bytes.p, .len = bytes.len };
	struct body b = { 0 };
	char *cwd;
	int r = check_counts(m, bytes, err);

	if (r < 0)
		return r;
	/* the strings' copies take fewer bytes than the message; code and files are not copied, which this doesn't count on */
	b.block =
		calloc(1, (nargv + nenv) * sizeof(char *) + m->files * sizeof *b.files + bytes.len);
	if (!b.block)
		return err_set(err, -ENOMEM, "no memory for the step's arguments");
	b.argv = b.block;
	b.env = b.argv + nargv;
	b.files = (struct body_file *)(b.env + nenv);
	in.text = (char *)(b.files + m->files);
	r = next_string(&in, &cwd, err);
	if (r == 0 && cwd[0] != '/')
		r = err_set(err, -EINVAL, "cwd must be absolute");
	if (r == 0)
		r = parse_args(&in, m, report, &b, err);
	if (r == 0)
		r = parse_env(&in, m, &b, err);
	if (r == 0)
		r = parse_files(&in, m, &b, err);
	if (r < 0) {
		body_fini(&b);
		return r;
	}
	b.cwd = cwd;
	*ret = b;
	return 0;
}

void body_fini(struct body *b)
{
	if (!b)
		return;
	free(b->block);
	*b = (struct body){ 0 };
}
