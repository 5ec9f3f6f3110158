/* SPDX-License-Identifier: MIT */
/*
 * api/spec.c - reading a step's JSON.
 */
#include "api/spec.h"

#include <stdio.h>
#include <stdlib.h>

#include "api/base64.h"
#include "api/jsonx.h"

#define DEFAULT_CWD "/workspace/task"
#define JOB_MAX (MSG_JOB_SIZE - 1)

struct fields {
	const json_t *agent, *sandbox, *job, *argv, *code, *language, *env, *input, *input64, *cwd,
		*files;
};

static int text_list(const json_t *arr, struct spec *s, struct err *err)
{
	size_t total = 0;

	s->argc = (unsigned)json_array_size(arr);
	if (s->argc == 0 || s->argc > SPEC_ARGS_MAX)
		return err_set(err, -EINVAL, "field 'argv' must hold 1 to %u strings",
			       SPEC_ARGS_MAX);
	s->argv = calloc(s->argc, sizeof *s->argv);
	if (s->argv == NULL)
		return err_set(err, -ENOMEM, "no memory");
	for (unsigned i = 0; i < s->argc; i++) {
		const json_t *v = json_array_get(arr, i);
		char name[32];
		int rc;

		(void)snprintf(name, sizeof name, "argv[%u]", i);
		if (!json_is_string(v))
			return err_set(err, -EINVAL, "field '%s' must be a string", name);
		rc = jx_text(v, name, SPEC_TEXT_MAX, &s->argv[i], err);
		if (rc < 0)
			return rc;
		total += strlen(s->argv[i]) + 1;
	}
	if (s->argv[0][0] == '\0')
		return err_set(err, -EINVAL, "field 'argv[0]' is empty");
	return total > SPEC_TEXT_MAX
		       ? err_set(err, -EINVAL, "field 'argv' has more than %u bytes", SPEC_TEXT_MAX)
		       : 0;
}

static bool env_name_ok(const char *name)
{
	if (!((name[0] >= 'A' && name[0] <= 'Z') || (name[0] >= 'a' && name[0] <= 'z') ||
	      name[0] == '_'))
		return false;
	for (const char *p = name; *p != '\0'; p++)
		if (!((*p >= 'A' && *p <= 'Z') || (*p >= 'a' && *p <= 'z') ||
		      (*p >= '0' && *p <= '9') || *p == '_'))
			return false;
	return strncmp(name, "GARTH_", 6) != 0 && strlen(name) <= 128;
}

static int env_list(const json_t *obj, struct spec *s, struct err *err)
{
	json_t *unconst = (json_t *)(uintptr_t)obj; /* as in jsonx.c */
	const char *key;
	size_t total = 0;
	json_t *v;

	if (json_object_size(obj) > SPEC_ENV_MAX)
		return err_set(err, -EINVAL, "field 'env' has more than %u names", SPEC_ENV_MAX);
	s->env = calloc(2 * json_object_size(obj) + 1, sizeof *s->env);
	if (s->env == NULL)
		return err_set(err, -ENOMEM, "no memory");
	json_object_foreach(unconst, key, v)
	{
		int rc;

		if (!env_name_ok(key))
			return err_set(err, -EINVAL,
				       "field 'env': '%.64s' is no name for a variable (GARTH_ is "
				       "reserved)",
				       key);
		if (!json_is_string(v))
			return err_set(err, -EINVAL, "field 'env.%.64s' must be a string", key);
		rc = jx_text(v, "env", SPEC_TEXT_MAX, &s->env[2 * s->envc + 1], err);
		if (rc < 0)
			return rc;
		s->env[2 * s->envc] = key;
		total += strlen(key) + json_string_length(v) + 2;
		s->envc++;
	}
	return total > SPEC_TEXT_MAX
		       ? err_set(err, -EINVAL, "field 'env' has more than %u bytes", SPEC_TEXT_MAX)
		       : 0;
}

/* Text, or base 64 decoded into a block of the spec's. */
static int content(struct spec *s, const json_t *plain, const json_t *b64, const char *where,
		   struct bytes *ret, struct err *err)
{
	struct buf *b = &s->decoded[s->decoded_count];
	struct bytes text = jx_bytes(b64);
	int rc;

	*ret = jx_bytes(plain);
	if (b64 == NULL)
		return 0;
	if (plain != NULL)
		return err_set(err, -EINVAL, "%s: give text or base 64, not both", where);
	buf_init(b, text.len / 4 * 3 + 4);
	s->decoded_count++;
	rc = base64_decode(text, b);
	if (rc < 0)
		return err_set(err, rc, "%s is no base 64", where);
	*ret = buf_view(b);
	return 0;
}

static int file_list(const json_t *arr, struct spec *s, struct err *err)
{
	size_t n = json_array_size(arr);

	if (n > SPEC_FILES_MAX)
		return err_set(err, -EINVAL, "field 'files' has more than %u entries",
			       SPEC_FILES_MAX);
	s->files = calloc(n + 1, sizeof *s->files);
	if (s->files == NULL)
		return err_set(err, -ENOMEM, "no memory");
	for (unsigned i = 0; i < n; i++) {
		const json_t *name, *plain, *b64;
		const struct jx_field f[] = { { "name", JX_STRING, true, &name },
					      { "content", JX_STRING, false, &plain },
					      { "content_base64", JX_STRING, false, &b64 } };
		char where[32];
		int rc;

		(void)snprintf(where, sizeof where, "files[%u]: ", i);
		rc = jx_fields(json_array_get(arr, i), where, f, sizeof f / sizeof f[0], err);
		if (rc < 0)
			return rc;
		where[strlen(where) - 2] = '\0';
		rc = jx_text(name, "name", PATH_LEN_MAX, &s->files[i].name, err);
		if (rc == 0)
			rc = path_check(bytes_str(s->files[i].name), err);
		if (rc == 0 && s->files[i].name[0] == '\0')
			rc = err_set(err, -EINVAL, "the name is empty");
		if (rc < 0)
			return err_wrap(err, rc, "%s", where);
		rc = content(s, plain, b64, where, &s->files[i].content, err);
		if (rc < 0)
			return rc;
		s->filec++;
	}
	return 0;
}

static int program(const struct fields *f, struct spec *s, struct err *err)
{
	const char *lang = NULL;
	int rc;

	if ((f->argv != NULL) == (f->code != NULL))
		return err_set(err, -EINVAL, "give either 'argv' or 'code' with 'language'");
	if (f->argv != NULL && f->language != NULL)
		return err_set(err, -EINVAL, "field 'language' belongs to 'code'");
	if (f->argv != NULL)
		return text_list(f->argv, s, err);
	rc = jx_text(f->language, "language", 32, &lang, err);
	if (rc < 0)
		return rc;
	s->lang = lang == NULL || strcmp(lang, "python") == 0 ? SPEC_PYTHON
		  : strcmp(lang, "bash") == 0                 ? SPEC_BASH
							      : SPEC_ARGV;
	if (s->lang == SPEC_ARGV)
		return err_set(err, -EINVAL, "field 'language' must be 'python' or 'bash'");
	s->code = jx_bytes(f->code);
	return 0;
}

static int cwd(const json_t *v, struct spec *s, struct err *err)
{
	const char *text;
	int rc = jx_text(v, "cwd", PATH_LEN_MAX, &text, err);

	s->cwd = DEFAULT_CWD;
	if (rc < 0 || text == NULL)
		return rc;
	if (text[0] == '\0')
		return err_set(err, -EINVAL, "field 'cwd' is empty");
	(void)snprintf(s->cwd_text, sizeof s->cwd_text, "%s%s",
		       text[0] == '/' ? "" : DEFAULT_CWD "/", text);
	s->cwd = s->cwd_text;
	return 0;
}

static int job_check(const char *job, struct err *err)
{
	for (const char *p = job; p != NULL && *p != '\0'; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return err_set(err, -EINVAL, "field 'job' holds a control character");
	return 0;
}

static int parse(struct spec *s, struct err *err)
{
	struct fields f;
	const struct jx_field table[] = {
		{ "agent", JX_STRING, false, &f.agent },
		{ "sandbox", JX_STRING, false, &f.sandbox },
		{ "job", JX_STRING, false, &f.job },
		{ "argv", JX_ARRAY, false, &f.argv },
		{ "code", JX_STRING, false, &f.code },
		{ "language", JX_STRING, false, &f.language },
		{ "env", JX_OBJECT, false, &f.env },
		{ "stdin", JX_STRING, false, &f.input },
		{ "stdin_base64", JX_STRING, false, &f.input64 },
		{ "cwd", JX_STRING, false, &f.cwd },
		{ "files", JX_ARRAY, false, &f.files },
		{ "timeout_s", JX_NUMBER, false, &s->timeout },
		{ "memory_bytes", JX_INTEGER, false, &s->memory },
		{ "pids", JX_INTEGER, false, &s->pids },
		{ "cpus", JX_NUMBER, false, &s->cpus },
	};
	int rc = jx_fields(s->root, "", table, sizeof table / sizeof table[0], err);

	if (rc == 0)
		rc = jx_text(f.agent, "agent", IDENT_LEN_MAX, &s->agent, err);
	if (rc == 0)
		rc = jx_text(f.sandbox, "sandbox", 32, &s->sandbox, err);
	if (rc == 0)
		rc = jx_text(f.job, "job", JOB_MAX, &s->job, err);
	if (rc == 0)
		rc = job_check(s->job, err);
	if (rc == 0)
		rc = program(&f, s, err);
	if (rc == 0)
		rc = cwd(f.cwd, s, err);
	if (rc == 0 && f.env != NULL)
		rc = env_list(f.env, s, err);
	if (rc == 0)
		rc = content(s, f.input, f.input64, "field 'stdin'", &s->input, err);
	s->has_input = f.input != NULL || f.input64 != NULL;
	if (rc == 0 && s->input.len > SPEC_STDIN_MAX)
		rc = err_set(err, -EFBIG, "field 'stdin' has more than %u bytes", SPEC_STDIN_MAX);
	if (rc == 0 && f.files != NULL)
		rc = file_list(f.files, s, err);
	return rc;
}

int spec_parse(json_t *root, struct spec *ret, struct err *err)
{
	int rc;

	*ret = (struct spec){ .root = root };
	rc = parse(ret, err);
	if (rc < 0)
		spec_fini(ret);
	return rc;
}

void spec_fini(struct spec *s)
{
	for (unsigned i = 0; i < s->decoded_count; i++)
		buf_fini(&s->decoded[i]);
	free(s->argv);
	free(s->env);
	free(s->files);
	json_decref(s->root);
	*s = (struct spec){ 0 };
}

const char *spec_lang_text(enum spec_lang l)
{
	static const char *const names[] = { "", "python", "bash" };

	return names[l];
}
