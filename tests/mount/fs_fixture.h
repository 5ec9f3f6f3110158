/* SPDX-License-Identifier: MIT */
/*
 * tests/mount/fs_fixture.h - what most tests on a mount begin with: a workspace (tests/mount/fs_rig.h) with the agents ann and bob, a sandbox
 * of each.
 */
#ifndef GARTH_TESTS_MOUNT_FS_FIXTURE_H
#define GARTH_TESTS_MOUNT_FS_FIXTURE_H

#include "tests/mount/fs_rig.h"

struct fixture {
	struct fs_rig rig;
	struct fs_box op;   /* the operator's, and the first; fixture_up_op alone makes it */
	struct fs_box a, b; /* ann's, bob's */
	struct rig_rows rows;
};

/* For cmocka: setup and teardown, the fixture in *state. */
int fixture_up(void **state);
int fixture_up_op(void **state);
int fixture_down(void **state);

/* rig_sh, and the test fails where the script does. */
void sh(struct fixture *f, const struct fs_step *s, const char *script);
void sh_as(struct fixture *f, const struct fs_step *s, uint32_t uid, const char *script);

#endif
