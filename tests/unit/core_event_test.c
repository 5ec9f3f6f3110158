/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/core_event_test.c - core/pack.h and core/event.h: vectors, round trips, refusals.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <string.h>

#include "core/event.h"
#include "core/pack.h"

#define ROOM 4096

static void test_pack_vectors_of_the_protocol_page(void **state)
{
	static const uint8_t want[] = {
		0x07,                                           /* u8 7 */
		0x00, 0x01, 0x02, 0x03,                         /* u32 0x00010203 */
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x2a, /* u64 42 */
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, /* i64 -2 */
		0x00, 0x00, 0x00, 0x02, 'h',  'i',              /* bytes "hi" */
		0x00, 0x00, 0x00, 0x00,                         /* bytes "" */
	};
	uint8_t room[64];
	struct unpack u;
	struct pack k;
	size_t len = 0;

	(void)state;
	pack_begin(&k, room, sizeof room);
	pack_u8(&k, 7);
	pack_u32(&k, 0x00010203);
	pack_u64(&k, 42);
	pack_i64(&k, -2);
	pack_bytes(&k, BYTES_LIT("hi"));
	pack_bytes(&k, bytes_of(NULL, 0));
	assert_int_equal(pack_end(&k, &len), 0);
	assert_int_equal(len, sizeof want);
	assert_memory_equal(room, want, sizeof want);

	unpack_begin(&u, bytes_of(want, sizeof want));
	assert_int_equal(unpack_u8(&u), 7);
	assert_int_equal(unpack_u32(&u), 0x00010203);
	assert_true(unpack_u64(&u) == 42);
	assert_true(unpack_i64(&u) == -2);
	assert_true(bytes_equal(unpack_bytes(&u), BYTES_LIT("hi")));
	assert_int_equal(unpack_end(&u), -EBADMSG);
	assert_int_equal(unpack_bytes(&u).len, 0);
	assert_int_equal(unpack_end(&u), 0);
	assert_int_equal(unpack_u8(&u), 0);
	assert_int_equal(unpack_end(&u), -EBADMSG);
}

static void test_pack_writes_nothing_past_its_room(void **state)
{
	uint8_t room[8] = { 0, 0, 0, 0, 0, 0, 0xee, 0xee };
	struct pack k;
	size_t len = 77;

	(void)state;
	pack_begin(&k, room, 6);
	pack_u32(&k, 1);
	pack_u32(&k, 2);
	pack_u8(&k, 3);
	assert_int_equal(pack_end(&k, &len), -EMSGSIZE);
	assert_int_equal(len, 77);
	assert_int_equal(k.len, 4);
	assert_int_equal(room[4], 0);
	assert_int_equal(room[6], 0xee);
}

static void test_event_vector_of_the_protocol_page(void **state)
{
	static const uint8_t want[] = {
		0x04, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0xe8, /* kind, at_ns 1000 */
		0x00, 0x00, 0x00, 0x01,                               /* agent */
		0x00, 0x00, 0x00, 0x07, 'p',  'l',  'a',  'n',  'n',  'e', 'r',
	};
	struct event e = { .kind = EV_AGENT,
			   .at_ns = 1000,
			   .u.agent = { 1, BYTES_LIT("planner") } };
	uint8_t room[64];
	size_t len = 0;

	(void)state;
	assert_int_equal(event_pack(&e, room, sizeof room, &len), 0);
	assert_int_equal(len, sizeof want);
	assert_memory_equal(room, want, sizeof want);
}

#define WHO                                                                      \
	{                                                                        \
		.agent = 3, .sandbox = 0x1122334455667788, .step = 99, .late = 1 \
	}
#define MANY                                                                                   \
	{                                                                                      \
		.agent = 32, .sandbox = 5, .steps = { "\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\2", 16 } \
	}
#define SHA                           \
	{                             \
		{                     \
			1, 2, 3, 0xff \
		}                     \
	}

static const struct event samples[] = {
	{ EV_WORKSPACE, 1, .u.workspace = { BYTES_LIT("w"), 100000, 239266 } },
	{ EV_START, 2, .u.start = { 1, 17, BYTES_LIT("0.1.0") } },
	{ EV_POLICY, 3, .u.policy = { SHA, BYTES_LIT("") } },
	{ EV_AGENT, 4, .u.agent = { 0, BYTES_LIT("operator") } },
	{ EV_SANDBOX, 5, .u.sandbox = { 77, 1, 1 } },
	{ EV_SANDBOX_END, INT64_MAX, .u.sandbox_end = { 77, BYTES_LIT("lifetime") } },
	{ EV_STEP_BEGIN, 7,
	  .u.step_begin = { .step = 9,
			    .kind = STEP_OUTPUT_HOOK,
			    .parent = 8,
			    .sandbox = 7,
			    .agent = 2,
			    .gid = 60001,
			    .job = BYTES_LIT("j"),
			    .request_id = BYTES_LIT("r"),
			    .key = BYTES_LIT("k"),
			    .command = BYTES_LIT("[\"true\"]"),
			    .language = BYTES_LIT("python"),
			    .has_code = 1,
			    .code = SHA,
			    .policy = SHA,
			    .env = BYTES_LIT("A B"),
			    .limits = BYTES_LIT("{}"),
			    .observed = BYTES_LIT("{}"),
			    .wiped_files = 3,
			    .wiped_bytes = 4,
			    .beside = { "\0\0\0\0\0\0\0\5", 8 } } },
	{ EV_STEP_BEGIN, 7, .u.step_begin = { .step = 1 } },
	{ EV_STEP_END, 8,
	  .u.step_end = { 9, REASON_LOST, -1, 9, 1, 2, 3, 4, 5, 1, 0, BYTES_LIT("{\"name\":\"x\"}"),
			  BYTES_LIT("limit") } },
	{ EV_VERSION, 9,
	  .u.version = { 1, WHO, BYTES_LIT("output/\xff\n"), ACTION_LINKED, STATE_PRUNED, 1, SHA, 5,
			 BYTES_LIT("text/csv"), 3, 4, 5, 1 } },
	{ EV_VERSION, 9,
	  .u.version = { .version = 2,
			 .who = MANY,
			 .path = BYTES_LIT("output/a"),
			 .state = STATE_OPEN } },
	{ EV_VERSION_STATE, 10, .u.version_state = { 1, STATE_SEALED, 1, SHA, 5, 1 } },
	{ EV_READ, 11, .u.read = { WHO, 0, BYTES_LIT("input/x"), 1 } },
	{ EV_CHANGE, 12, .u.change = { MANY, OP_RENAME, BYTES_LIT("a"), BYTES_LIT("b") } },
	{ EV_VIOLATION, 13,
	  .u.violation = { WHO, OP_IOCTL, BYTES_LIT("input/x"), EROFS, BYTES_LIT("input.readonly"),
			   7 } },
	{ EV_DOUBT, 14, .u.doubt = { 1, 2, BYTES_LIT("output/a"), BYTES_LIT("crash") } },
	{ EV_VERDICT, 15, .u.verdict = { 1, 2, 1, BYTES_LIT("fine") } },
};
#define SAMPLES (sizeof samples / sizeof samples[0])

static void test_event_every_kind_round_trips_to_the_same_bytes(void **state)
{
	uint8_t room[ROOM], again[ROOM];
	bool seen[EV_KIND_COUNT] = { false };

	(void)state;
	for (size_t i = 0; i < SAMPLES; i++) {
		size_t len = 0, len2 = 0;
		struct event e;

		seen[samples[i].kind] = true;
		if (event_pack(&samples[i], room, sizeof room, &len) != 0)
			fail_msg("row %zu: event_pack", i);
		if (event_unpack(bytes_of(room, len), &e) != 0)
			fail_msg("row %zu: event_unpack", i);
		if (event_pack(&e, again, sizeof again, &len2) != 0 || len != len2 ||
		    memcmp(room, again, len) != 0)
			fail_msg("row %zu: the second encoding differs", i);
		if (e.kind != samples[i].kind || e.at_ns != samples[i].at_ns)
			fail_msg("row %zu: kind or time differ", i);
	}
	for (int k = EV_NONE + 1; k < EV_KIND_COUNT; k++)
		if (!seen[k])
			fail_msg("kind %d has no sample", k);
}

static void test_event_unpack_fields_are_those_packed(void **state)
{
	const struct event *s = &samples[9];
	uint8_t room[ROOM];
	size_t len = 0;
	struct event e;

	(void)state;
	assert_int_equal(event_pack(s, room, sizeof room, &len), 0);
	assert_int_equal(event_unpack(bytes_of(room, len), &e), 0);
	assert_true(e.u.version.who.sandbox == s->u.version.who.sandbox);
	assert_true(bytes_equal(e.u.version.path, s->u.version.path));
	assert_memory_equal(&e.u.version.sha, &s->u.version.sha, sizeof e.u.version.sha);
	assert_true(bytes_equal(e.u.version.media_type, s->u.version.media_type));
	assert_int_equal(e.u.version.gen, 5);
	assert_int_equal(e.u.version.kept, 1);
}

static void test_event_unpack_refuses_each_truncation_and_what_is_left_over(void **state)
{
	(void)state;
	for (size_t i = 0; i < SAMPLES; i++) {
		uint8_t room[ROOM];
		size_t len = 0;
		struct event e;

		assert_int_equal(event_pack(&samples[i], room, sizeof room, &len), 0);
		for (size_t cut = 0; cut < len; cut++) {
			uint8_t *copy = malloc(
				cut ? cut : 1); /* on the heap, so that a read past it is seen */

			assert_non_null(copy);
			memcpy(copy, room, cut);
			if (event_unpack(bytes_of(copy, cut), &e) != -EBADMSG)
				fail_msg("row %zu cut to %zu bytes is taken", i, cut);
			free(copy);
		}
		room[len] = 0;
		if (event_unpack(bytes_of(room, len + 1), &e) != -EBADMSG)
			fail_msg("row %zu with a byte too many is taken", i);
		for (size_t cap = 0; cap < len; cap++) {
			size_t none;

			if (event_pack(&samples[i], room, cap, &none) != -EMSGSIZE)
				fail_msg("row %zu fits in %zu bytes", i, cap);
		}
	}
}

static void test_event_values_out_of_their_lists_are_refused(void **state)
{
	static const struct event bad[] = {
		{ EV_NONE, 0, .u.sandbox = { 0 } },
		{ EV_KIND_COUNT, 0, .u.sandbox = { 0 } },
		{ EV_SANDBOX, 0, .u.sandbox = { 1, 1, 2 } },
		{ EV_AGENT, 0, .u.agent = { 33, BYTES_LIT("x") } },
		{ EV_STEP_BEGIN, 0, .u.step_begin = { .kind = STEP_KIND_COUNT } },
		{ EV_STEP_BEGIN, 0, .u.step_begin = { .beside = BYTES_LIT("1234567") } },
		{ EV_STEP_END, 0, .u.step_end = { .reason = REASON_NONE } },
		{ EV_STEP_END, 0, .u.step_end = { .reason = REASON_COUNT } },
		{ EV_VERSION, 0, .u.version = { .action = ACTION_COUNT } },
		{ EV_VERSION, 0, .u.version = { .state = STATE_COUNT } },
		{ EV_VERSION, 0,
		  .u.version = { .who = { .step = 1, .steps = BYTES_LIT("12345678") } } },
		{ EV_VERSION, 0, .u.version = { .has_sha = 2 } },
		{ EV_CHANGE, 0, .u.change = { .op = OP_NONE } },
		{ EV_VIOLATION, 0, .u.violation = { .op = OP_COUNT } },
		{ EV_VERDICT, 0, .u.verdict = { .pass = 2 } },
	};
	uint8_t room[ROOM];
	struct event e;
	size_t len;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		if (event_pack(&bad[i], room, sizeof room, &len) != -EINVAL)
			fail_msg("row %zu is packed", i);
	/* The same on the way in: the live flag of a sandbox, the last byte. */
	assert_int_equal(event_pack(&samples[4], room, sizeof room, &len), 0);
	assert_int_equal(event_unpack(bytes_of(room, len), &e), 0);
	room[len - 1] = 2;
	assert_int_equal(event_unpack(bytes_of(room, len), &e), -EBADMSG);
	room[0] = EV_KIND_COUNT;
	assert_int_equal(event_unpack(bytes_of(room, len), &e), -EBADMSG);
	room[0] = 0;
	assert_int_equal(event_unpack(bytes_of(room, len), &e), -EBADMSG);
}

static void test_event_a_hash_without_its_flag_is_not_written(void **state)
{
	struct event a = { EV_VERSION_STATE, 0, .u.version_state = { .version = 1, .sha = SHA } },
		     b = a;
	uint8_t ra[ROOM], rb[ROOM];
	size_t la = 0, lb = 0;

	(void)state;
	memset(&b.u.version_state.sha, 0, sizeof b.u.version_state.sha);
	assert_int_equal(event_pack(&a, ra, sizeof ra, &la), 0);
	assert_int_equal(event_pack(&b, rb, sizeof rb, &lb), 0);
	assert_int_equal(la, lb);
	assert_memory_equal(ra, rb, la);
}

static void test_event_texts_are_there_for_the_whole_lists(void **state)
{
	(void)state;
	assert_null(ev_reason_text(REASON_NONE));
	assert_null(ev_reason_text(REASON_COUNT));
	for (int i = REASON_NONE + 1; i < REASON_COUNT; i++)
		assert_non_null(ev_reason_text((enum ev_reason)i));
	for (int i = 0; i < STEP_KIND_COUNT; i++)
		assert_non_null(ev_step_kind_text((enum ev_step_kind)i));
	for (int i = 0; i < ACTION_COUNT; i++)
		assert_non_null(ev_action_text((enum ev_action)i));
	for (int i = 0; i < STATE_COUNT; i++)
		assert_non_null(ev_state_text((enum ev_state)i));
	for (int i = OP_NONE + 1; i < OP_COUNT; i++)
		assert_non_null(ev_op_text((enum ev_op)i));
	assert_string_equal(ev_reason_text(REASON_LOST), "lost");
	assert_string_equal(ev_state_text(STATE_PRUNED), "pruned");
	assert_string_equal(ev_op_text(OP_IOCTL), "ioctl");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pack_vectors_of_the_protocol_page),
		cmocka_unit_test(test_pack_writes_nothing_past_its_room),
		cmocka_unit_test(test_event_vector_of_the_protocol_page),
		cmocka_unit_test(test_event_every_kind_round_trips_to_the_same_bytes),
		cmocka_unit_test(test_event_unpack_fields_are_those_packed),
		cmocka_unit_test(test_event_unpack_refuses_each_truncation_and_what_is_left_over),
		cmocka_unit_test(test_event_values_out_of_their_lists_are_refused),
		cmocka_unit_test(test_event_a_hash_without_its_flag_is_not_written),
		cmocka_unit_test(test_event_texts_are_there_for_the_whole_lists),
	};

	return cmocka_run_group_tests_name("core_event", tests, NULL, NULL);
}
