/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/core_msg_test.c - core/msg.h: the table against docs/PROTOCOL.md, and what msg_check lets through.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/wait.h>

#include "core/fd.h"
#include "core/msg.h"

#ifndef GARTH_SOURCE
#define GARTH_SOURCE "." /* tests run from the repository's root */
#endif

#define DOC_MAX (256u * 1024)
#define X(name, num, from, to, body, fmin, fmax, reply, rfds)                            \
	"| " #num " | " #name " | " #from " | " #to " | `" #body "` | " #fmin ".." #fmax \
	" | `" #reply "` | " #rfds " |\n"
static const char table[] = MSG_TABLE(X);
#undef X

static void test_msg_table_is_that_of_the_protocol_page(void **state)
{
	const char *doc_path = getenv("GARTH_PROTOCOL");
	autofd fd =
		open(doc_path ? doc_path : GARTH_SOURCE "/docs/PROTOCOL.md", O_RDONLY | O_CLOEXEC);
	const char *at, *line = table;
	autobuf doc;

	(void)state;
	assert_true(fd >= 0);
	buf_init(&doc, DOC_MAX);
	assert_int_equal(fd_read_all(fd, &doc), 0);
	at = strstr(buf_str(&doc), "| number | name |");
	assert_non_null(at);
	at = strchr(strchr(at, '\n') + 1, '\n') + 1;
	while (*line) {
		size_t len = strcspn(line, "\n") + 1;

		if (strncmp(at, line, len) != 0)
			fail_msg("code: %.*sdocs: %.*s", (int)len, line, (int)strcspn(at, "\n") + 1,
				 at);
		line += len;
		at += len;
	}
	if (*at == '|')
		fail_msg("docs/PROTOCOL.md has a row more: %.*s", (int)strcspn(at, "\n"), at);
}

static void test_msg_types_are_unique_and_small_enough(void **state)
{
	(void)state;
	for (unsigned i = 0; i < msg_spec_count; i++) {
		const struct msg_spec *s = &msg_specs[i];

		assert_ptr_equal(msg_spec_of(s->type), s);
		assert_true(s->type > 0 && (s->type & WIRE_REPLY) == 0);
		assert_true(s->fds_max <= WIRE_FDS_MAX && s->fds_min <= s->fds_max &&
			    s->reply_fds <= WIRE_FDS_MAX);
		assert_true(s->body + WIRE_TAIL_MAX <= WIRE_MSG_MAX &&
			    s->reply + WIRE_TAIL_MAX <= WIRE_MSG_MAX);
		assert_true(s->body > 1 && s->reply != 1);
	}
	assert_null(msg_spec_of(0));
	assert_null(msg_spec_of(9999));
}

static struct wire_msg *make(uint16_t type, uint64_t id, uint32_t len, uint8_t fds)
{
	static struct wire_msg m; /* large */

	wire_msg_init(&m);
	memset(m.body, 0, sizeof m.body);
	m.head = (struct wire_head){
		.version = WIRE_VERSION, .fds = fds, .type = type, .id = id, .len = len
	};
	return &m;
}

static void test_msg_check_directions_sizes_and_descriptors(void **state)
{
	static const struct {
		uint16_t type;
		uint64_t id;
		enum msg_peer from, to;
		uint32_t len;
		uint8_t fds;
		int want;
	} rows[] = {
		{ MSG_WS_OPEN, 1, PEER_API, PEER_D, sizeof(struct msg_ws_open), 0, 0 },
		{ MSG_WS_OPEN, 1, PEER_D, PEER_API, sizeof(struct msg_ws_open), 0, -EBADMSG },
		{ MSG_WS_OPEN, 1, PEER_G, PEER_API, sizeof(struct msg_ws_open), 0, -EBADMSG },
		{ MSG_WS_OPEN, 1, PEER_API, PEER_D, sizeof(struct msg_ws_open) - 1, 0, -EBADMSG },
		{ MSG_WS_OPEN, 1, PEER_API, PEER_D, 0, 0, -EBADMSG },
		{ MSG_WS_OPEN, 1, PEER_API, PEER_D, sizeof(struct msg_ws_open), 1, -EBADMSG },
		{ MSG_POLICY_SET, 1, PEER_API, PEER_F, sizeof(struct msg_policy_set), 0, -EBADMSG },
		{ MSG_POLICY_SET, 1, PEER_API, PEER_F, sizeof(struct msg_policy_set), 1, 0 },
		{ MSG_STEP_BEGIN, 1, PEER_API, PEER_F,
		  sizeof(struct msg_step_begin) + WIRE_TAIL_MAX, 1, 0 },
		{ MSG_STEP_BEGIN, 1, PEER_API, PEER_F,
		  sizeof(struct msg_step_begin) + WIRE_TAIL_MAX + 1, 1, -EBADMSG },
		{ MSG_STEP_BEGIN, 1, PEER_API, PEER_F, sizeof(struct msg_step_begin), 2, -EBADMSG },
		{ MSG_WS_OPEN | WIRE_REPLY, 1, PEER_D, PEER_API, sizeof(struct msg_status), 1, 0 },
		{ MSG_WS_OPEN | WIRE_REPLY, 1, PEER_D, PEER_API, sizeof(struct msg_status), 0,
		  -EBADMSG },
		{ MSG_WS_OPEN | WIRE_REPLY, 0, PEER_D, PEER_API, sizeof(struct msg_status), 1,
		  -EBADMSG },
		{ MSG_WS_OPEN | WIRE_REPLY, 1, PEER_API, PEER_D, sizeof(struct msg_status), 1,
		  -EBADMSG },
		{ MSG_WS_OPEN | WIRE_REPLY, 1, PEER_D, PEER_API, 3, 1, -EBADMSG },
		{ MSG_SB_CREATE | WIRE_REPLY, 1, PEER_D, PEER_API,
		  sizeof(struct msg_sb_create_reply), 1, 0 },
		{ MSG_SB_CREATE | WIRE_REPLY, 1, PEER_D, PEER_API, sizeof(struct msg_status), 1,
		  -EBADMSG },
		{ MSG_SB_GONE | WIRE_REPLY, 1, PEER_API, PEER_D, sizeof(struct msg_status), 0,
		  -EBADMSG },
		{ MSG_SB_GONE, 0, PEER_D, PEER_API, sizeof(struct msg_sb_gone), 0, 0 },
		{ MSG_EXITED, 0, PEER_G, PEER_API, sizeof(struct msg_exited), 0, 0 },
		{ MSG_EXITED, 0, PEER_F, PEER_API, sizeof(struct msg_exited), 0, -EBADMSG },
		{ 999, 1, PEER_API, PEER_D, 100, 0, -EBADMSG },
		{ 0, 1, PEER_API, PEER_D, 0, 0, -EBADMSG },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct wire_msg *m = make(rows[i].type, rows[i].id, rows[i].len, rows[i].fds);

		if (msg_check(m, rows[i].from, rows[i].to, NULL) != rows[i].want)
			fail_msg("row %zu is not %d", i, rows[i].want);
	}
}

static void test_msg_check_a_refusal_is_a_bare_status_with_a_sentence(void **state)
{
	struct msg_status s = { .status = -ENOSPC };
	struct wire_msg *m = make(MSG_SB_CREATE | WIRE_REPLY, 5, sizeof s + 5, 0);

	(void)state;
	memcpy(m->body, &s, sizeof s);
	memcpy(m->body + sizeof s, "no id", 5);
	assert_int_equal(msg_check(m, PEER_D, PEER_API, NULL), 0);
	assert_int_equal(msg_status_of(m), -ENOSPC);
	assert_true(bytes_equal(msg_tail(m), BYTES_LIT("no id")));
	m->head.fds = 1;
	assert_int_equal(msg_check(m, PEER_D, PEER_API, NULL), -EBADMSG);
}

static void test_msg_check_every_text_must_end(void **state)
{
	static const struct {
		uint16_t type;
		enum msg_peer from, to;
		uint8_t fds;
		size_t len, off, size;
	} rows[] = {
#define F(name, from, to, fds, body, field) \
	{ MSG_##name,                       \
	  PEER_##from,                      \
	  PEER_##to,                        \
	  fds,                              \
	  sizeof(struct body),              \
	  offsetof(struct body, field),     \
	  sizeof((struct body *)NULL)->field }
		F(WS_CREATE, API, D, 0, msg_ws_create, name),
		F(WS_DELETE, API, D, 0, msg_ws_delete, name),
		F(WS_OPEN, API, D, 0, msg_ws_open, name),
		F(SB_CREATE, API, D, 0, msg_sb_create, ws),
		F(SB_CREATE, API, D, 0, msg_sb_create, agent),
		F(SB_KILL, API, D, 0, msg_sb_kill, why),
		F(SB_GONE, D, API, 0, msg_sb_gone, why),
		F(WS_GONE, D, API, 0, msg_ws_gone, name),
		F(KEEPER_FAIL, K, D, 0, msg_keeper_fail, why),
		F(FS_SANDBOX_END, D, F, 0, msg_fs_sandbox_end, why),
		F(AGENT_ADD, API, F, 0, msg_agent_add, name),
		F(POLICY_SET, API, F, 1, msg_policy_set, key),
		F(STEP_BEGIN, API, F, 0, msg_step_begin, job),
		F(STEP_BEGIN, API, F, 0, msg_step_begin, request_id),
		F(STEP_BEGIN, API, F, 0, msg_step_begin, key),
		F(STEP_BEGIN, API, F, 0, msg_step_begin, language),
		F(FILE_OPEN, API, F, 0, msg_file_open, sha),
		F(VERDICT, API, F, 0, msg_verdict, reason),
		F(PUT, API, G, 1, msg_put, if_sha),
#undef F
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct wire_msg *m = make(rows[i].type, 1, (uint32_t)rows[i].len, rows[i].fds);

		memset(m->body + rows[i].off, 'x', rows[i].size - 1);
		if (msg_check(m, rows[i].from, rows[i].to, NULL) != 0)
			fail_msg("row %zu: a text that ends is refused", i);
		m->body[rows[i].off + rows[i].size - 1] = 'x';
		if (msg_check(m, rows[i].from, rows[i].to, NULL) != -EBADMSG)
			fail_msg("row %zu: a text that does not end is taken", i);
	}
}

static void test_msg_tail_is_what_follows_the_struct(void **state)
{
	struct wire_msg *m = make(MSG_DIR_LIST, 1, sizeof(struct msg_dir_list) + 6, 0);

	(void)state;
	memcpy(m->body + sizeof(struct msg_dir_list), "output", 6);
	assert_int_equal(msg_check(m, PEER_API, PEER_F, NULL), 0);
	assert_true(bytes_equal(msg_tail(m), BYTES_LIT("output")));
	m->head.len = sizeof(struct msg_dir_list);
	assert_int_equal(msg_tail(m).len, 0);
}

/* A child that answers one question with `status`; 1000: with another id, 1001: it goes away. */
static pid_t answerer(int sock, int status)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		struct wire_msg *m = make(0, 0, 0, 0);
		struct err e = { -EEXIST, "it is there" };

		if (wire_recv(sock, m) != 1 || msg_check(m, PEER_API, PEER_D, NULL) < 0)
			_exit(1);
		if (status == 1000)
			m->head.id++;
		_exit(status == 1001 || msg_reply_status(sock, m, status == 1000 ? 0 : status,
							 &e) == 0
			      ? 0
			      : 2);
	}
	return pid;
}

static void test_msg_ask_gives_status_sentence_or_says_what_went_wrong(void **state)
{
	static const struct {
		int answer, want;
		const char *says;
	} rows[] = {
		{ 0, 0, "" },
		{ 3, 3, "" },
		{ -EEXIST, -EEXIST, "it is there" },
		{ 1000, -EBADMSG, "something else" },
		{ 1001, -EPIPE, "gone" },
	};
	struct msg_ws_create body = { .name = "w" };

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct wire_msg *reply = make(0, 0, 0, 0);
		struct err err = { 0 };
		int fds[2], status, r;
		pid_t pid;

		assert_int_equal(fd_seqpair(fds), 0);
		pid = answerer(fds[1], rows[i].answer);
		fd_closep(&fds[1]);
		r = msg_ask(fds[0], MSG_WS_CREATE, bytes_of(&body, sizeof body), bytes_of(NULL, 0),
			    NULL, 0, PEER_API, PEER_D, reply, 5000, &err);
		wire_msg_fini(reply);
		fd_closep(&fds[0]);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (status != 0)
			fail_msg("row %zu: the answerer failed", i);
		if (r != rows[i].want || !strstr(err.msg, rows[i].says))
			fail_msg("row %zu: %d '%s'", i, r, err.msg);
	}
}

static void test_msg_ask_time_out_and_misuse(void **state)
{
	struct msg_ws_create body = { .name = "w" };
	struct wire_msg *reply = make(0, 0, 0, 0);
	int fds[2];

	(void)state;
	assert_int_equal(fd_seqpair(fds), 0);
	assert_int_equal(msg_ask(fds[0], MSG_WS_CREATE, bytes_of(&body, sizeof body),
				 bytes_of(NULL, 0), NULL, 0, PEER_API, PEER_D, reply, 20, NULL),
			 -ETIMEDOUT);
	assert_int_equal(msg_ask(fds[0], MSG_SB_GONE, bytes_of(&body, sizeof body),
				 bytes_of(NULL, 0), NULL, 0, PEER_D, PEER_API, reply, 20, NULL),
			 -EINVAL);
	assert_int_equal(msg_ask(fds[0], MSG_WS_CREATE, bytes_of(&body, 3), bytes_of(NULL, 0), NULL,
				 0, PEER_API, PEER_D, reply, 20, NULL),
			 -EINVAL);
	fd_closep(&fds[0]);
	fd_closep(&fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_msg_table_is_that_of_the_protocol_page),
		cmocka_unit_test(test_msg_types_are_unique_and_small_enough),
		cmocka_unit_test(test_msg_check_directions_sizes_and_descriptors),
		cmocka_unit_test(test_msg_check_a_refusal_is_a_bare_status_with_a_sentence),
		cmocka_unit_test(test_msg_check_every_text_must_end),
		cmocka_unit_test(test_msg_tail_is_what_follows_the_struct),
		cmocka_unit_test(test_msg_ask_gives_status_sentence_or_says_what_went_wrong),
		cmocka_unit_test(test_msg_ask_time_out_and_misuse),
	};

	return cmocka_run_group_tests_name("core_msg", tests, NULL, NULL);
}
