/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/fs_node_test.c - the node table: ids, lives, names, paths, search bits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "core/ids.h"
#include "fs/node.h"

#define OWNER 5000u
#define OTHER 9000u

struct fixture {
	struct nodes *t;
	struct node *root, *output, *logs;
};

static struct fhandle handle(uint32_t i)
{
	struct fhandle h = { .type = 1, .len = 4 };

	memcpy(h.b, &i, sizeof i);
	return h;
}

static struct node *made(struct nodes *t, enum node_kind kind, uint32_t i, struct node *parent,
			 const char *name)
{
	struct stat st = { .st_mode = S_IFDIR | 0755, .st_uid = OWNER, .st_ino = i };
	struct fhandle h = handle(i);
	struct node *n = NULL;

	assert_int_equal(nodes_make(t, kind, &h, &st, parent, name, NULL, &n), 0);
	return n;
}

static struct node *entered(struct nodes *t, uint32_t i, struct node *parent, const char *name,
			    mode_t mode)
{
	struct stat st = { .st_mode = mode, .st_uid = OWNER, .st_ino = i };
	struct fhandle h = handle(i);
	struct node *n = NULL;
	bool named;

	assert_int_equal(nodes_enter(t, parent, name, &h, &st, &n, &named), 0);
	return n;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);

	*state = f;
	assert_int_equal(nodes_new(&f->t), 0);
	f->root = made(f->t, NODE_ROOT, 1, NULL, NULL);
	f->output = made(f->t, NODE_PLAIN, 2, f->root, "output");
	f->logs = made(f->t, NODE_PLAIN, 3, f->root, "logs");
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	nodes_free(f->t);
	free(f);
	return 0;
}

static void check_path(struct fixture *f, const struct node *n, const char *name, const char *want)
{
	char path[PATH_LEN_MAX + 1];
	size_t len = 0;

	assert_int_equal(node_path(f->t, n, name, path, &len), 0);
	assert_string_equal(path, want);
	assert_int_equal(len, strlen(want));
}

static void test_root_has_the_kernels_id(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(f->root->id, NODE_ROOT_ID);
	assert_ptr_equal(nodes_get(f->t, NODE_ROOT_ID), f->root);
	assert_null(nodes_get(f->t, 0));
	assert_null(nodes_get(f->t, 999));
	check_path(f, f->root, NULL, "");
	check_path(f, f->root, "x", "x");
}

static void test_id_of_a_forgotten_node_is_no_longer_good(void **state)
{
	struct fixture *f = *state;
	struct node *n = entered(f->t, 10, f->output, "a", S_IFREG | 0644);
	uint64_t id = n->id, again;

	assert_ptr_equal(entered(f->t, 10, f->output, "a", S_IFREG | 0644), n); /* two look-ups */
	node_forget(f->t, id, 1);
	assert_ptr_equal(nodes_get(f->t, id), n);
	node_forget(f->t, id, 1);
	assert_null(nodes_get(f->t, id));
	again = entered(f->t, 11, f->output, "b", S_IFREG | 0644)->id;
	assert_int_equal((uint32_t)again, (uint32_t)id); /* the slot, */
	assert_int_not_equal(again, id);                 /* not the id */
	node_forget(f->t, id, 1);                        /* an old one harms nobody */
	assert_non_null(nodes_get(f->t, again));
}

static void test_folder_lives_as_long_as_a_child(void **state)
{
	struct fixture *f = *state;
	struct node *d = entered(f->t, 10, f->output, "d", S_IFDIR | 0755);
	struct node *e = entered(f->t, 11, d, "e", S_IFDIR | 0755);
	struct node *x = entered(f->t, 12, e, "x", S_IFREG | 0644);
	uint64_t ids[] = { d->id, e->id, x->id };

	node_forget(f->t, d->id, 1);
	node_forget(f->t, e->id, 1);
	check_path(f, x, NULL, "output/d/e/x");
	node_forget(f->t, x->id, 1);
	for (size_t i = 0; i < 3; i++)
		assert_null(nodes_get(f->t, ids[i]));
}

static void test_names_come_and_go(void **state)
{
	struct fixture *f = *state;
	struct node *x = entered(f->t, 12, f->output, "x", S_IFREG | 0644);
	char path[PATH_LEN_MAX + 1];
	struct node_look look;
	size_t len;

	assert_int_equal(node_link(f->t, x, f->output, "y"), 0);
	check_path(f, x, NULL, "output/y");
	assert_int_equal(node_path_nth(f->t, x, 1, path, &len), 0);
	assert_string_equal(path, "output/x");
	assert_int_equal(node_path_nth(f->t, x, 2, path, &len), -ENOENT);
	node_unlink(f->t, x, f->output, "y", false);
	check_path(f, x, NULL, "output/x");
	node_unlink(f->t, x, f->output, "x", true); /* the last one stays, for the record */
	check_path(f, x, NULL, "output/x");
	node_look(f->t, x, &look);
	assert_true(look.gone);
	assert_int_equal(node_link(f->t, x, f->output, "z"), 0);
	check_path(f, x, NULL, "output/z");
	assert_int_equal(node_path_nth(f->t, x, 1, path, &len), -ENOENT);
}

static void test_lookup_older_than_a_rename_moves_no_folder(void **state)
{
	struct fixture *f = *state;
	struct node *d = entered(f->t, 10, f->output, "d", S_IFDIR | 0755);

	assert_int_equal(node_link(f->t, d, f->output, "D"), 0); /* renamed */
	node_unlink(f->t, d, f->output, "d", false);
	(void)entered(f->t, 10, f->output, "d", S_IFDIR | 0755); /* and a late look-up */
	check_path(f, d, "x", "output/D/x");
}

static void test_path_too_long_is_refused(void **state)
{
	struct fixture *f = *state;
	struct node *n = f->output;
	char name[NAME_LEN_MAX + 1], path[PATH_LEN_MAX + 1];
	size_t len = 0;
	int r = 0;

	memset(name, 'n', NAME_LEN_MAX);
	name[NAME_LEN_MAX] = '\0';
	for (uint32_t i = 0; i < 20 && r == 0; i++) {
		n = entered(f->t, 100 + i, n, name, S_IFDIR | 0755);
		r = node_path(f->t, n, NULL, path, &len);
	}
	assert_int_equal(r, -ENAMETOOLONG);
	assert_true(len > PATH_LEN_MAX - 2 * NAME_LEN_MAX); /* the one before still fitted */
}

static void test_search_bits_along_the_parents(void **state)
{
	struct fixture *f = *state;
	static const struct {
		mode_t mode;
		uint32_t as, block;
		bool want, hidden;
	} rows[] = {
		{ 0755, OTHER, 0, true, false },
		{ 0700, OTHER, 0, false, true },
		{ 0700, OWNER, 0, true, true },
		{ 0070, OWNER, 0, false, true }, /* the owner is in the group too, and its own bits count */
		{ 0070, OTHER, 0, true, true },
		{ 0701, OTHER, 0, false, true }, /* all agents are in the group: nobody is other */
		{ 0700, OTHER, 4096, true, true }, /* inner root acts as the owner */
		{ 0700, OTHER, 8192, false, true },
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct node *d =
			entered(f->t, (uint32_t)(200 + i), f->output, "d", S_IFDIR | rows[i].mode);
		struct node *e = entered(f->t, (uint32_t)(300 + i), d, "e", S_IFDIR | 0755);
		struct node *x = entered(f->t, (uint32_t)(400 + i), e, "x", S_IFREG | 0644);

		if (node_searchable(f->t, x, rows[i].as, rows[i].block, false) != rows[i].want)
			fail_msg("row %zu: search", i);
		if (node_hidden(f->t, x, false) != rows[i].hidden)
			fail_msg("row %zu: hidden", i);
		assert_true(node_searchable(f->t, d, rows[i].as, rows[i].block,
					    false)); /* itself isn't asked */
	}
}

static void test_log_is_owned_by_its_folder(void **state)
{
	struct fixture *f = *state;
	struct node *d = entered(f->t, 10, f->logs, "s_1", S_IFDIR | 0755);
	struct node *x = entered(f->t, 11, d, "stdout", S_IFREG | 0644);
	uint32_t uid = 0;

	assert_true(node_log_owner(f->t, x, &uid));
	assert_int_equal(uid, OWNER);
	assert_true(node_log_owner(f->t, d, &uid));
	assert_false(node_log_owner(f->t, f->logs, &uid));
	assert_false(node_log_owner(f->t, f->output, &uid));
}

static void count(void *ctx, uint64_t id)
{
	(void)id;
	++*(unsigned *)ctx;
}

static void test_below_is_the_subtree(void **state)
{
	struct fixture *f = *state;
	struct node *d = entered(f->t, 10, f->output, "d", S_IFDIR | 0755);
	unsigned n = 0;

	(void)entered(f->t, 11, d, "x", S_IFREG | 0644);
	(void)entered(f->t, 12, f->output, "y", S_IFREG | 0644);
	node_below(f->t, d, count, &n);
	assert_int_equal(n, 2);
}

static void test_many_nodes_are_found_again(void **state)
{
	struct fixture *f = *state;

	for (uint32_t i = 0; i < 20000; i++) {
		char name[16];

		(void)snprintf(name, sizeof name, "f%u", i);
		(void)entered(f->t, 1000 + i, f->output, name, S_IFREG | 0644);
	}
	for (uint32_t i = 0; i < 20000; i += 777) {
		struct fhandle h = handle(1000 + i);
		struct node *n = nodes_find(f->t, &h);

		assert_non_null(n);
		assert_int_equal(n->ino, 1000 + i);
		node_unpin(f->t, n);
	}
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_root_has_the_kernels_id),
		T(test_id_of_a_forgotten_node_is_no_longer_good),
		T(test_folder_lives_as_long_as_a_child),
		T(test_names_come_and_go),
		T(test_lookup_older_than_a_rename_moves_no_folder),
		T(test_path_too_long_is_refused),
		T(test_search_bits_along_the_parents),
		T(test_log_is_owned_by_its_folder),
		T(test_below_is_the_subtree),
		T(test_many_nodes_are_found_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
