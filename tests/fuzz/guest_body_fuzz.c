/* SPDX-License-Identifier: MIT */
/*
 * tests/fuzz/guest_body_fuzz.c - libFuzzer target: any bytes as the body of a SPAWN. What is understood must hold its promises.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/path.h"
#include "guest/body.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check(const struct body *b, const struct msg_spawn *m)
{
	if (b->cwd[0] != '/' || b->nfiles != m->files || !b->argv[0])
		abort();
	for (char *const *v = b->env; *v; v++)
		if (!strchr(*v, '='))
			abort();
	for (uint32_t i = 0; i < b->nfiles; i++)
		if (b->files[i].name.len == 0 || path_check(b->files[i].name, NULL) != 0)
			abort();
	if (!body_env(b->env, "PATH") || !body_env(b->env, "HOME"))
		abort();
}

/* The first bytes are the counts, the rest is the body. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct msg_spawn m = { 0 };
	struct body b;

	if (len < 4)
		return 0;
	m.language = data[0] % 4;
	m.argc = data[1];
	m.envc = data[2];
	m.files = data[3];
	if (body_parse(&m, bytes_of(data + 4, len - 4), "/run/garth/report/1", &b, NULL) < 0)
		return 0;
	check(&b, &m);
	body_fini(&b);
	return 0;
}
