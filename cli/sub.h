/* SPDX-License-Identifier: MIT */
/*
 * cli/sub.h - commands of two words ("agent add"), and what all commands begin with.
 */
#ifndef GARTH_CLI_SUB_H
#define GARTH_CLI_SUB_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/client.h"

struct sub {
	const char *name;
	int (*run)(int argc, char **argv); /* argv[0] is the second word */
	const char *help;
};

/* Find argv[1] in subs and run it; --help lists them. */
int sub_run(const char *command, const struct sub *subs, size_t count, int argc, char **argv);

/* client_open, with its failure said on stderr: EXIT_OK or the exit code. */
must_check int client_start(struct client **ret);

/* client_start and client_call, for a command that asks once. */
must_check int client_once(const char *method, const char *path, json_t *body, json_t **ret);

static inline void client_closep(struct client **c)
{
	client_close(*c);
}
#define autoclient __attribute__((cleanup(client_closep))) struct client *

#define autojson __attribute__((cleanup(json_decrefp))) json_t *

/* Fields of an answer, forgiving: what is missing or of another type is NULL or 0. */
const char *field_text(const json_t *j, const char *name);
int64_t field_int(const json_t *j, const char *name);

#define NUMBER_TEXT_SIZE 24
/* The number as text; "-" where there is none. */
const char *field_number(const json_t *j, const char *name, char out[NUMBER_TEXT_SIZE]);

/* "2026-11-30T08:00:00.123456Z" as "2026-11-30 08:00:00"; "-" where there is none. */
const char *field_time(const json_t *j, const char *name, char out[NUMBER_TEXT_SIZE]);

/* A name or path of the workspace; one that is no UTF-8 comes as NAME_base64 and is shown as its bytes. *ret is the caller's to free(); NULL: none. */
char *field_path(const json_t *j, const char *name);

#endif
