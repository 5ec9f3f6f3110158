/* SPDX-License-Identifier: MIT */
/*
 * Claims of objects against retention: what is or was claimed stays, who claims what is doomed waits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>
#include <pthread.h>

#include "fs/claim.h"

static struct sha256 sha_of(const char *text)
{
	struct sha256 sha;

	sha256_of(bytes_str(text), &sha);
	return sha;
}

static void test_doom_spares_what_is_or_was_claimed(void **state)
{
	struct sha256 open = sha_of("open"), dropped = sha_of("dropped"), early = sha_of("early");
	struct doomed all[] = {
		{ 1, open }, { 2, dropped },       { 3, early },
		{ 4, open }, { 5, sha_of("old") }, { 6, open },
	};
	struct claims *c = NULL;

	(void)state;
	assert_int_equal(claims_new(&c), 0);
	assert_int_equal(claim_take(c, &early), 0);
	claim_drop(c, &early); /* its row is where retention will look */
	assert_int_equal(claim_take(c, &open), 0);
	claims_watch(c);
	assert_int_equal(claim_take(c, &dropped), 0);
	claim_drop(c, &dropped);
	assert_int_equal(claims_doom(c, all, 6), 2);
	assert_int_equal(all[0].version + all[1].version, 3 + 5);
	claims_settle(c);
	claim_drop(c, &open);
	claims_watch(c);
	all[0] = (struct doomed){ 7, open };
	all[1] = (struct doomed){ 8, dropped };
	assert_int_equal(claims_doom(c, all, 2), 2); /* nobody's any more */
	claims_settle(c);
	assert_int_equal(claims_doom(c, NULL, 0), 0);
	claims_free(c);
}

static void test_two_claims_need_two_drops(void **state)
{
	struct sha256 sha = sha_of("x");
	struct doomed all[] = { { 1, sha } };
	struct claims *c = NULL;

	(void)state;
	assert_int_equal(claims_new(&c), 0);
	assert_int_equal(claim_take(c, &sha), 0);
	assert_int_equal(claim_take(c, &sha), 0);
	claim_drop(c, &sha);
	claims_watch(c);
	assert_int_equal(claims_doom(c, all, 1), 0);
	claims_settle(c);
	claim_drop(c, &sha);
	claims_free(c);
}

struct taker {
	struct claims *c;
	struct sha256 sha;
	atomic_int done;
};

static void *take(void *arg)
{
	struct taker *t = arg;

	atomic_store(&t->done, claim_take(t->c, &t->sha) == 0 ? 1 : -1);
	return NULL;
}

static void test_who_claims_what_is_doomed_waits_until_it_is_gone(void **state)
{
	struct taker t = { .sha = sha_of("doomed") };
	struct sha256 other = sha_of("other");
	struct doomed all[] = { { 1, t.sha } };
	pthread_t thread;

	(void)state;
	assert_int_equal(claims_new(&t.c), 0);
	claims_watch(t.c);
	assert_int_equal(claims_doom(t.c, all, 1), 1);
	assert_int_equal(claim_take(t.c, &other), 0); /* nobody else waits */
	assert_int_equal(pthread_create(&thread, NULL, take, &t), 0);
	(void)usleep(50000);
	assert_int_equal(atomic_load(&t.done), 0);
	claims_settle(t.c);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(atomic_load(&t.done), 1);
	claims_free(t.c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_doom_spares_what_is_or_was_claimed),
		cmocka_unit_test(test_two_claims_need_two_drops),
		cmocka_unit_test(test_who_claims_what_is_doomed_waits_until_it_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
