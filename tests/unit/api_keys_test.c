/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/api_keys_test.c - the file of keys, what roles may, and signed links.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "api/auth.h"
#include "api/keys.h"
#include "api/link.h"
#include "core/fd.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define SHA "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb" /* of "a" */

struct place {
	char path[64];
	int fd;
};

static int setup(void **state)
{
	struct place *p = calloc(1, sizeof *p);

	if (p == NULL)
		return -1;
	*state = p; /* teardown's from here on */
	(void)snprintf(p->path, sizeof p->path, "/tmp/garth-keys-XXXXXX");
	p->fd = mkdtemp(p->path) == NULL ? -1 : open(p->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return p->fd < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	struct place *p = *state;

	(void)unlinkat(p->fd, KEYS_FILE, 0);
	(void)unlinkat(p->fd, LINK_KEY_FILE, 0);
	(void)close(p->fd);
	(void)rmdir(p->path);
	free(p);
	return 0;
}

static void write_keys(const struct place *p, const char *text, int flags)
{
	autofd fd = openat(p->fd, KEYS_FILE, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_full(fd, text, strlen(text)), 0);
}

static void test_key_parse_line_is_strict(void **state)
{
	static const struct {
		const char *line;
		int want;
		enum role role;
	} rows[] = {
		{ "k_1 admin - - " SHA " 2026-01-01T00:00:00Z -", 0, ROLE_ADMIN },
		{ "k_1 agent w a " SHA " - label", 0, ROLE_AGENT },
		{ "k_1 auditor w - " SHA " - -", 0, ROLE_AUDITOR },
		{ "k_1  reader  w  -  " SHA " - -", 0, ROLE_READER },
		{ "k_1 removed - - - - -", 0, ROLE_REMOVED },
		{ "", -EINVAL, 0 },
		{ "k_1", -EINVAL, 0 },
		{ "k_1 king - - " SHA " - -", -EINVAL, 0 },
		{ "k_1 none - - " SHA " - -", -EINVAL, 0 },
		{ "- admin - - " SHA " - -", -EINVAL, 0 },
		{ "k_1 agent w - " SHA " - -", -EINVAL, 0 },
		{ "k_1 agent - a " SHA " - -", -EINVAL, 0 },
		{ "k_1 auditor - - " SHA " - -", -EINVAL, 0 },
		{ "k_1 reader - - " SHA " - -", -EINVAL, 0 },
		{ "k_1 admin - - " SHA "0 - -", -EINVAL, 0 },
		{ "k_1 admin - - xyz - -", -EINVAL, 0 },
		{ "k_1 admin - - " SHA " -", -EINVAL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct key k;
		int rc = key_parse_line(bytes_str(rows[i].line), &k);

		if (rc != rows[i].want || (rc == 0 && k.role != rows[i].role))
			fail_msg("row %zu: '%s' gives %d", i, rows[i].line, rc);
	}
}

static void test_keys_add_find_remove_survive_a_reopen(void **state)
{
	const struct place *p = *state;
	struct key admin = { .role = ROLE_ADMIN, .label = "first" },
		   agent = { .role = ROLE_AGENT, .ws = "w", .agent = "a" };
	char one[KEY_TEXT_SIZE], two[KEY_TEXT_SIZE];
	const struct key *found;
	struct keys *k;
	struct err err;
	struct stat st;

	assert_int_equal(keys_open(p->fd, &k, &err), 0);
	assert_null(keys_find(k, BYTES_LIT("x")));
	assert_int_equal(keys_add(k, &admin, one, &err), 0);
	assert_int_equal(keys_add(k, &agent, two, &err), 0);
	assert_string_not_equal(one, two);
	assert_int_equal(strncmp(one, "garth_admin_", 12), 0);
	assert_int_equal(fstatat(p->fd, KEYS_FILE, &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	keys_close(k);

	assert_int_equal(keys_open(p->fd, &k, &err), 0);
	found = keys_find(k, bytes_str(one));
	assert_non_null(found);
	assert_int_equal(found->role, ROLE_ADMIN);
	assert_string_equal(found->label, "first");
	found = keys_find(k, bytes_str(two));
	assert_non_null(found);
	assert_string_equal(found->agent, "a");
	one[20] = (char)(one[20] == '0' ? '1' : '0');
	assert_null(keys_find(k, bytes_str(one)));
	assert_int_equal(keys_remove(k, agent.id, &err), 0);
	assert_int_equal(keys_remove(k, agent.id, &err), -ENOENT);
	assert_null(keys_find(k, bytes_str(two)));
	keys_close(k);

	assert_int_equal(keys_open(p->fd, &k, &err), 0);
	assert_null(keys_find(k, bytes_str(two)));
	assert_non_null(keys_at(k, 0));
	assert_null(keys_at(k, 1));
	keys_close(k);
}

static void test_keys_see_what_others_append(void **state)
{
	const struct place *p = *state;
	struct keys *k;
	struct err err;

	write_keys(p, "rubbish\n\nk_0 admin - - " SHA " - -\n", O_TRUNC);
	assert_int_equal(keys_open(p->fd, &k, &err), 0);
	assert_non_null(keys_find(k, BYTES_LIT("a")));
	write_keys(p, "k_0 removed - - - - -\n", O_APPEND);
	assert_null(keys_find(k, BYTES_LIT("a")));
	keys_close(k);
}

/* A crash in the middle of a line: the next key is whole all the same. */
static void test_keys_add_after_half_a_line(void **state)
{
	const struct place *p = *state;
	struct key key = { .role = ROLE_ADMIN };
	char text[KEY_TEXT_SIZE];
	struct keys *k;
	struct err err;

	write_keys(p, "k_0 admin - - " SHA " - -\nk_1 adm", O_TRUNC);
	assert_int_equal(keys_open(p->fd, &k, &err), 0);
	assert_int_equal(keys_add(k, &key, text, &err), 0);
	assert_non_null(keys_find(k, bytes_str(text)));
	assert_non_null(keys_find(k, BYTES_LIT("a")));
	keys_close(k);
}

static void test_auth_decide_gives_roles_their_part(void **state)
{
	static const struct {
		enum role role;
		enum access access;
		const char *ws, *path;
		int want;
	} rows[] = {
		{ ROLE_ADMIN, ACCESS_ADMIN, "", "", 0 },
		{ ROLE_ADMIN, ACCESS_WORK, "v", "", 0 },
		{ ROLE_AGENT, ACCESS_ADMIN, "", "", -EPERM },
		{ ROLE_AGENT, ACCESS_WORK, "w", "", 0 },
		{ ROLE_AGENT, ACCESS_WORK, "v", "", -ENOENT },
		{ ROLE_AGENT, ACCESS_AUDIT, "w", "", -EPERM },
		{ ROLE_AGENT, ACCESS_FILES, "w", "agents/b/x", 0 },
		{ ROLE_AUDITOR, ACCESS_READ, "w", "", 0 },
		{ ROLE_AUDITOR, ACCESS_AUDIT, "w", "", 0 },
		{ ROLE_AUDITOR, ACCESS_WORK, "w", "", -EPERM },
		{ ROLE_AUDITOR, ACCESS_ADMIN, "w", "", -EPERM },
		{ ROLE_AUDITOR, ACCESS_READ, "v", "", -ENOENT },
		{ ROLE_READER, ACCESS_READ, "w", "", -EPERM },
		{ ROLE_READER, ACCESS_OUTPUT, "w", "x", 0 },
		{ ROLE_READER, ACCESS_OUTPUT, "v", "x", -ENOENT },
		{ ROLE_READER, ACCESS_FILES, "w", "output/x", 0 },
		{ ROLE_READER, ACCESS_FILES, "w", "output", 0 },
		{ ROLE_READER, ACCESS_FILES, "w", "outputs/x", -EPERM },
		{ ROLE_READER, ACCESS_FILES, "w", "input/x", -EPERM },
		{ ROLE_READER, ACCESS_FILES, "w", "", -EPERM },
		{ ROLE_READER, ACCESS_KEY, "", "", 0 },
		{ ROLE_NONE, ACCESS_READ, "w", "", -EPERM },
		{ ROLE_NONE, ACCESS_OUTPUT, "w", "", -EPERM },
		{ ROLE_NONE, ACCESS_FILES, "w", "output/x", -EPERM },
		{ ROLE_REMOVED, ACCESS_OUTPUT, "w", "", -EPERM },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct caller c = { .role = rows[i].role };
		int rc;

		if (rows[i].role != ROLE_ADMIN)
			(void)snprintf(c.ws, sizeof c.ws, "w");
		rc = auth_decide(&c, rows[i].access, rows[i].ws, rows[i].path);
		if (rc != rows[i].want)
			fail_msg("row %zu gives %d", i, rc);
	}
}

static void test_link_check_binds_all_of_it(void **state)
{
	const struct place *p = *state;
	uint8_t key[LINK_KEY_LEN], again[LINK_KEY_LEN], other[LINK_KEY_LEN] = { 1 };
	char sig[SHA256_HEX_SIZE];
	struct err err;
	struct stat st;

	assert_int_equal(link_key_open(p->fd, key, &err), 0);
	assert_int_equal(link_key_open(p->fd, again, &err), 0);
	assert_memory_equal(key, again, sizeof key);
	assert_int_equal(fstatat(p->fd, LINK_KEY_FILE, &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	link_sign(key, "w", 7, BYTES_LIT("output/a"), 3, 1000, sig);
	assert_int_equal(link_check(key, "w", 7, BYTES_LIT("output/a"), 3, 1000, sig, 999), 0);
	assert_int_equal(link_check(key, "w", 7, BYTES_LIT("output/a"), 3, 1000, sig, 1000), 0);
	assert_int_equal(link_check(key, "w", 7, BYTES_LIT("output/a"), 3, 1000, sig, 1001),
			 -ESTALE);
	assert_int_equal(link_check(key, "v", 7, BYTES_LIT("output/a"), 3, 1000, sig, 1), -EPERM);
	assert_int_equal(link_check(key, "w", 7, BYTES_LIT("output/b"), 3, 1000, sig, 1), -EPERM);
	assert_int_equal(link_check(key, "w", 7, BYTES_LIT("output/a"), 4, 1000, sig, 1), -EPERM);
	assert_int_equal(link_check(key, "w", 7, BYTES_LIT("output/a"), 3, 1001, sig, 1), -EPERM);
	assert_int_equal(link_check(key, "w", 8, BYTES_LIT("output/a"), 3, 1000, sig, 1), -EPERM);
	assert_int_equal(link_check(other, "w", 7, BYTES_LIT("output/a"), 3, 1000, sig, 1), -EPERM);
	assert_int_equal(link_check(key, "w", 7, BYTES_LIT("output/a"), 3, 1000, "", 1), -EPERM);
	sig[0] = (char)(sig[0] == '0' ? '1' : '0');
	assert_int_equal(link_check(key, "w", 7, BYTES_LIT("output/a"), 3, 1000, sig, 1), -EPERM);
}

static void test_link_key_half_written_is_made_anew(void **state)
{
	const struct place *p = *state;
	uint8_t key[LINK_KEY_LEN];
	struct err err;
	struct stat st;
	autofd fd = openat(p->fd, LINK_KEY_FILE, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_int_equal(fd_write_full(fd, "half", 4), 0);
	assert_int_equal(link_key_open(p->fd, key, &err), 0);
	assert_int_equal(fstatat(p->fd, LINK_KEY_FILE, &st, 0), 0);
	assert_int_equal(st.st_size, LINK_KEY_LEN);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_key_parse_line_is_strict),
		TEST(test_keys_add_find_remove_survive_a_reopen),
		TEST(test_keys_see_what_others_append),
		TEST(test_keys_add_after_half_a_line),
		TEST(test_auth_decide_gives_roles_their_part),
		TEST(test_link_check_binds_all_of_it),
		TEST(test_link_key_half_written_is_made_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
