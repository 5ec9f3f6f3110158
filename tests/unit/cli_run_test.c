/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/cli_run_test.c - garth run's parts: events in any pieces, exit codes, options, the graph of a lineage answer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <string.h>
#include <sys/mman.h>

#include "cli/exit.h"
#include "cli/graph.h"
#include "cli/opts.h"
#include "cli/run_end.h"
#include "cli/run_stream.h"
#include "core/fd.h"

static const char events[] =
	"{\"event\":\"started\",\"step\":\"s_1\"}\n"
	"{\"event\":\"stdout\",\"data\":\"a\\u0000\\u00e9\"}\n"
	"\n"
	"{\"event\":\"stderr\",\"data\":\"e\"}\n"
	"{\"event\":\"heartbeat\"}\n"
	"{\"event\":\"stdout\",\"data_base64\":\"//4=\"}\n"
	"{\"event\":\"ended\",\"step\":{\"reason\":\"exited\",\"exit_code\":3}}\n";

static void test_run_stream_gives_the_same_for_every_cut(void **state)
{
	(void)state;
	for (size_t piece = 1; piece <= sizeof events; piece++) {
		autofd out = memfd_create("out", MFD_CLOEXEC);
		autofd err = memfd_create("err", MFD_CLOEXEC);
		struct run_stream s;
		char got[16] = "";

		run_stream_init(&s, out, err);
		for (size_t at = 0; at < sizeof events - 1; at += piece) {
			size_t n = sizeof events - 1 - at < piece ? sizeof events - 1 - at : piece;

			if (run_stream_take(&s, bytes_of(events + at, n)) != 0)
				fail_msg("pieces of %zu are refused at %zu", piece, at);
		}
		if (pread(out, got, sizeof got, 0) != 6 ||
		    memcmp(got, "a\0\xc3\xa9\xff\xfe", 6) != 0)
			fail_msg("pieces of %zu: another stdout", piece);
		if (pread(err, got, sizeof got, 0) != 1 || got[0] != 'e')
			fail_msg("pieces of %zu: another stderr", piece);
		if (strcmp(s.id, "s_1") != 0 || !s.step || run_end_code(s.step) != 3)
			fail_msg("pieces of %zu: another end", piece);
		run_stream_fini(&s);
	}
}

static void test_run_stream_nonsense_is_refused(void **state)
{
	static const char *const bad[] = { "x\n",
					   "[]\n",
					   "{}\n",
					   "{\"event\":5}\n",
					   "{\"event\":\"stdout\"}\n",
					   "{\"event\":\"stdout\",\"data_base64\":\"/\"}\n",
					   "{\"event\":\"ended\"}\n",
					   "{\"event\":\"ended\",\"step\":5}\n",
					   "{\"event\":\"heartbeat\"}}\n" };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct run_stream s;

		run_stream_init(&s, -1, -1);
		if (run_stream_take(&s, bytes_str(bad[i])) != -EBADMSG)
			fail_msg("row %zu is taken", i);
		run_stream_fini(&s);
	}
}

static void test_run_end_code_table(void **state)
{
	static const struct {
		const char *step;
		int want;
	} rows[] = {
		{ "{\"reason\":\"exited\",\"exit_code\":0}", 0 },
		{ "{\"reason\":\"exited\",\"exit_code\":255}", 255 },
		{ "{\"reason\":\"signaled\",\"signal\":\"SIGSEGV\"}", 139 },
		{ "{\"reason\":\"signaled\",\"signal\":\"SIGTERM\"}", 143 },
		{ "{\"reason\":\"signaled\",\"signal\":6}", 134 },
		{ "{\"reason\":\"signaled\",\"signal\":\"SIGNONE\"}", 137 },
		{ "{\"reason\":\"killed\",\"signal\":null}", 137 },
		{ "{\"reason\":\"timeout\",\"exit_code\":0}", 124 },
		{ "{\"reason\":\"lost\"}", 125 },
		{ "{\"reason\":\"refused\"}", 4 },
		{ "{\"reason\":\"memory\",\"exit_code\":1}", 137 },
		{ "{\"reason\":\"disk\",\"exit_code\":1}", 137 },
		{ "{\"reason\":\"pids\",\"exit_code\":1}", 137 },
		{ "{\"reason\":null}", 125 },
		{ "{}", 125 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		json_t *j = json_loads(rows[i].step, 0, NULL);

		assert_non_null(j);
		if (run_end_code(j) != rows[i].want)
			fail_msg("row %zu: %s gives %d", i, rows[i].step, run_end_code(j));
		json_decref(j);
	}
}

static void test_opts_of_all_kinds_are_parsed_and_what_follows_is_the_programs(void **state)
{
	static char arg[][24] = { "run",  "-w", "w1", "--timeout=1m", "--mem", "2K",  "--cpus",
				  "1.25", "-v", "-e", "A=1",          "-e",    "B=2", "--",
				  "prog", "-v" };
	char *argv[sizeof arg / sizeof arg[0] + 1] = { NULL }, **args;
	const char *ws = NULL, *agent = NULL;
	struct opt_list env = { .n = 0 };
	int64_t timeout = 0;
	uint64_t mem = 0;
	uint32_t cpus = 0;
	bool verbose = false;
	const struct opt opts[] = { { OPT_WORKSPACE, 'w', "workspace", "W", "", &ws, true },
				    { OPT_AGENT, 'a', "agent", "A", "", &agent, true },
				    { OPT_DURATION, 0, "timeout", "T", "", &timeout, false },
				    { OPT_SIZE, 0, "mem", "S", "", &mem, false },
				    { OPT_CPUS, 0, "cpus", "N", "", &cpus, false },
				    { OPT_LIST, 'e', "env", "K=V", "", &env, false },
				    { OPT_FLAG, 'v', "verbose", NULL, "", &verbose, false },
				    { 0 } };
	const struct opt_usage u = { "run", "", "", NULL, opts, 0, -1, true };
	int n = 0;

	(void)state;
	for (size_t i = 0; i < sizeof arg / sizeof arg[0]; i++)
		argv[i] = arg[i];
	assert_int_equal(setenv("GARTH_AGENT", "from-env", 1), 0);
	assert_int_equal(opts_parse(&u, (int)(sizeof arg / sizeof arg[0]), argv, &args, &n),
			 OPTS_DONE);
	assert_int_equal(unsetenv("GARTH_AGENT"), 0);
	assert_string_equal(ws, "w1");
	assert_string_equal(agent, "from-env");
	assert_true(timeout == 60000000000LL && mem == 2048 && cpus == 1250 && verbose);
	assert_int_equal(env.n, 2);
	assert_string_equal(env.v[1], "B=2");
	assert_int_equal(n, 2);
	assert_string_equal(args[0], "prog");
	assert_string_equal(args[1], "-v");
}

static json_t *chain(unsigned steps)
{
	json_t *nodes = json_array(), *edges = json_array();

	for (unsigned i = 0; i < steps; i++) {
		(void)json_array_append_new(nodes,
					    json_pack("{s:i, s:s, s:o, s:i}", "id", (int)(2 * i),
						      "kind", "version", "path",
						      json_sprintf("output/%u", i), "version", 1));
		(void)json_array_append_new(nodes,
					    json_pack("{s:i, s:s, s:s}", "id", (int)(2 * i + 1),
						      "kind", "step", "step", "s_x"));
		(void)json_array_append_new(edges, json_pack("{s:s, s:i, s:i}", "kind", "generated",
							     "from", (int)(2 * i), "to",
							     (int)(2 * i + 1)));
		if (i + 1 < steps)
			(void)json_array_append_new(
				edges, json_pack("{s:s, s:i, s:i}", "kind", "used", "from",
						 (int)(2 * i + 1), "to", (int)(2 * i + 2)));
	}
	return json_pack("{s:o, s:o}", "nodes", nodes, "edges", edges);
}

static void test_graph_a_very_long_chain_and_a_ring_end(void **state)
{
	json_t *j = chain(20000);
	struct graph g = { 0 };
	FILE *f = tmpfile();
	size_t lines = 0;
	int c;

	(void)state;
	assert_non_null(f);
	(void)json_array_append_new(json_object_get(j, "edges"),
				    json_pack("{s:s, s:i, s:i}", "kind", "used", "from", 39999,
					      "to", 0));
	assert_int_equal(graph_init(&g, j, "output/0", false), 0);
	assert_int_equal(graph_tree(&g, f), 0);
	rewind(f);
	while ((c = getc(f)) != EOF)
		lines += c == '\n';
	assert_int_equal(lines, 40001); /* the ring's last edge names its target once more */
	(void)fclose(f);
	graph_fini(&g);
	json_decref(j);
}

static void test_graph_answers_that_are_none_are_refused(void **state)
{
	static const char *const bad[] = {
		"{}",
		"{\"nodes\":[],\"edges\":[]}",
		"{\"nodes\":[{}],\"edges\":[]}",
		"{\"nodes\":[{\"id\":1}],\"edges\":[{\"from\":1,\"to\":2,\"kind\":\"used\"}]}",
		"{\"nodes\":[{\"id\":1}],\"edges\":[{}]}",
		"{\"nodes\":[{\"id\":1}]}"
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		json_t *j = json_loads(bad[i], 0, NULL);
		struct graph g = { 0 };

		assert_non_null(j);
		if (graph_init(&g, j, "x", false) != -EBADMSG)
			fail_msg("row %zu is taken", i);
		graph_fini(&g);
		json_decref(j);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_run_stream_gives_the_same_for_every_cut),
		cmocka_unit_test(test_run_stream_nonsense_is_refused),
		cmocka_unit_test(test_run_end_code_table),
		cmocka_unit_test(
			test_opts_of_all_kinds_are_parsed_and_what_follows_is_the_programs),
		cmocka_unit_test(test_graph_a_very_long_chain_and_a_ring_end),
		cmocka_unit_test(test_graph_answers_that_are_none_are_refused),
	};

	return cmocka_run_group_tests_name("cli_run", tests, NULL, NULL);
}
