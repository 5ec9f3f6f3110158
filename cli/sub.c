/* SPDX-License-Identifier: MIT */
/*
 * cli/sub.c - commands of two words, and what all commands begin with.
 */
#include "cli/sub.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base64.h"
#include "cli/exit.h"

int sub_run(const char *command, const struct sub *subs, size_t count, int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : NULL;

	if (word && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)) {
		(void)printf("Usage: garth %s COMMAND [ARG]...\n\nCommands:\n", command);
		for (size_t i = 0; i < count; i++)
			(void)printf("  %-9s %s\n", subs[i].name, subs[i].help);
		(void)printf("\n'garth %s COMMAND --help' says more.\n", command);
		return EXIT_OK;
	}
	for (size_t i = 0; word && i < count; i++)
		if (strcmp(word, subs[i].name) == 0)
			return subs[i].run(argc - 1, argv + 1);
	if (word)
		(void)fprintf(stderr, "garth %s: there is no '%s'; there are:", command, word);
	else
		(void)fprintf(stderr, "garth %s: one of these is needed:", command);
	for (size_t i = 0; i < count; i++)
		(void)fprintf(stderr, " %s", subs[i].name);
	(void)fprintf(stderr, "\nTry 'garth %s --help'.\n", command);
	return EXIT_USAGE;
}

int client_start(struct client **ret)
{
	struct err err = { 0 };
	int r = client_open(ret, &err);

	return r < 0 ? client_broken(r, &err) : EXIT_OK;
}

int client_once(const char *method, const char *path, json_t *body, json_t **ret)
{
	autoclient c = NULL;
	int r = client_start(&c);

	if (r == EXIT_OK)
		return client_call(c, method, path, body, ret);
	json_decref(body);
	return r;
}

const char *field_text(const json_t *j, const char *name)
{
	return json_string_value(json_object_get(j, name));
}

int64_t field_int(const json_t *j, const char *name)
{
	return json_integer_value(json_object_get(j, name));
}

const char *field_number(const json_t *j, const char *name, char out[NUMBER_TEXT_SIZE])
{
	const json_t *v = json_object_get(j, name);

	if (json_is_integer(v))
		(void)snprintf(out, NUMBER_TEXT_SIZE, "%lld", (long long)json_integer_value(v));
	else
		(void)snprintf(out, NUMBER_TEXT_SIZE, "-");
	return out;
}

const char *field_time(const json_t *j, const char *name, char out[NUMBER_TEXT_SIZE])
{
	const char *t = field_text(j, name);

	if (t && strlen(t) >= 19 && t[10] == 'T')
		(void)snprintf(out, NUMBER_TEXT_SIZE, "%.10s %.8s", t, t + 11);
	else
		(void)snprintf(out, NUMBER_TEXT_SIZE, "-");
	return out;
}

char *field_path(const json_t *j, const char *name)
{
	const char *text = field_text(j, name), *coded;
	char key[64];
	struct buf b;

	if (text)
		return strdup(text);
	(void)snprintf(key, sizeof key, "%s_base64", name);
	coded = field_text(j, key);
	if (!coded)
		return NULL;
	buf_init(&b, CLIENT_PATH_MAX);
	if (b64_decode(bytes_str(coded), &b) < 0) {
		buf_fini(&b);
		return NULL;
	}
	return buf_steal(&b);
}
