/* SPDX-License-Identifier: MIT */
/*
 * tests/mount/fs_fixture.c - a workspace, two agents, and scripts that must work.
 */
#include "tests/mount/fs_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static int up(void **state, bool with_op)
{
	struct fixture *f = calloc(1, sizeof *f);

	assert_non_null(f);
	*state = f;
	rig_up(&f->rig);
	if (with_op)
		f->op = rig_box(&f->rig, 0);
	f->a = rig_box(&f->rig, rig_agent(&f->rig, "ann"));
	f->b = rig_box(&f->rig, rig_agent(&f->rig, "bob"));
	return 0;
}

int fixture_up(void **state)
{
	return up(state, false);
}

int fixture_up_op(void **state)
{
	return up(state, true);
}

int fixture_down(void **state)
{
	struct fixture *f = *state;

	if (f)
		rig_down(&f->rig);
	free(f);
	return 0;
}

void sh_as(struct fixture *f, const struct fs_step *s, uint32_t uid, const char *script)
{
	int rc = rig_sh(&f->rig, s, uid, script);

	if (rc != 0)
		fail_msg("status %d of: %s\n%s", rc, script, f->rig.out);
}

void sh(struct fixture *f, const struct fs_step *s, const char *script)
{
	sh_as(f, s, 1000, script);
}
