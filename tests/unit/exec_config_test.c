/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/exec_config_test.c - garth.yaml: cli/config.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cli/config.h"

#define SHA "e43b7a6dad790cf4b97b76554f22b4da6d7af27a829c2f45d6489cf08ead9a3c"

static void test_config_whole(void **state)
{
	static const char text[] =
		"data: /srv/garth\nlisten: \"[::1]:81\"\nids: [200000, 1000000]\nlimits: { "
		"sandboxes: 9, queue: 0 }\n"
		"keys:\n  - { role: auditor, workspace: w, label: x, sha256: " SHA
		" }\n  - { role: admin, sha256: " SHA " }\n";
	struct config *c = calloc(1, sizeof *c);
	struct err err = { 0 };

	(void)state;
	config_default(c);
	assert_int_equal(c->port, 7420);
	assert_false(c->ids_given);
	if (config_parse(bytes_str(text), c, &err) < 0)
		fail_msg("%s", err.msg);
	assert_string_equal(c->data, "/srv/garth");
	assert_string_equal(c->addr, "::1");
	assert_int_equal(c->port, 81);
	assert_int_equal(c->ids_first, 200000);
	assert_int_equal(c->ids_count, 1000000);
	assert_true(c->ids_given);
	assert_int_equal(c->sandboxes, 9);
	assert_int_equal(c->queue, 0);
	assert_int_equal(c->key_count, 2);
	assert_string_equal(c->keys[0].role, "auditor");
	assert_int_equal(config_parse(bytes_str(""), c, &err), 0);
	free(c);
}

static void test_config_errors_name_the_place(void **state)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "data: /x\ncolour: red\n", "line 2, column 1" },
		{ "listen: 7420\n", "line 1, column 9" },
		{ "listen: 1.2.3:80\n", "line 1, column 9" },
		{ "listen: 127.0.0.1:70000\n", "line 1" },
		{ "ids: [1, 100000]\n", "line 1, column 7" },
		{ "ids: [200000]\n", "FIRST, COUNT" },
		{ "ids: [4294900000, 4000000000]\n", "line 1" },
		{ "ids: 7\n", "line 1" },
		{ "limits:\n  sandboxes: 0\n", "line 2, column 14" },
		{ "limits:\n  sandboxes: 1.5\n", "line 2" },
		{ "limits:\n  queue: -1\n", "line 2" },
		{ "limits:\n  queues: 1\n", "line 2, column 3" },
		{ "keys: [ { role: king, sha256: " SHA " } ]\n", "role" },
		{ "keys: [ { role: admin, sha256: abc } ]\n", "sha256" },
		{ "keys: [ { role: agent, workspace: w, sha256: " SHA " } ]\n", "agent" },
		{ "keys: [ { role: reader, sha256: " SHA " } ]\n", "workspace" },
		{ "keys: [ { role: admin, label: \"a b\", sha256: " SHA " } ]\n", "label" },
		{ "data: [a]\n", "data" },
		{ "data: ''\n", "data" },
		{ "- a\n", "line 1" },
	};
	struct config *c = calloc(1, sizeof *c);

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct err err = { 0 };

		config_default(c);
		if (config_parse(bytes_str(rows[i].text), c, &err) != -EINVAL)
			fail_msg("row %zu: accepted", i);
		if (!strstr(err.msg, rows[i].want))
			fail_msg("row %zu: '%s' does not say '%s'", i, err.msg, rows[i].want);
		if (c->port != 7420 || c->key_count != 0)
			fail_msg("row %zu: half of it was taken", i);
	}
	free(c);
}

static void test_config_listen(void **state)
{
	static const struct {
		const char *text, *addr;
		int port; /* -1: refused */
	} rows[] = {
		{ "127.0.0.1:0", "127.0.0.1", 0 },
		{ "0.0.0.0:80", "0.0.0.0", 80 },
		{ "[::]:65535", "::", 65535 },
		{ "localhost:1", "127.0.0.1", 1 },
		{ "::1:80", "", -1 },
		{ "127.0.0.1", "", -1 },
		{ ":80", "", -1 },
		{ "[]:80", "", -1 },
		{ "example.org:80", "", -1 },
		{ "127.0.0.1:", "", -1 },
		{ "127.0.0.1:-1", "", -1 },
		{ "127.0.0.1:80x", "", -1 },
		{ "", "", -1 },
	};
	struct config *c = calloc(1, sizeof *c);

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		int r = config_listen(rows[i].text, c, NULL);

		if ((r == 0) != (rows[i].port >= 0))
			fail_msg("row %zu: '%s' gives %d", i, rows[i].text, r);
		if (r == 0 && (strcmp(c->addr, rows[i].addr) != 0 || c->port != rows[i].port))
			fail_msg("row %zu: %s %u", i, c->addr, c->port);
	}
	free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_config_whole),
		cmocka_unit_test(test_config_errors_name_the_place),
		cmocka_unit_test(test_config_listen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
