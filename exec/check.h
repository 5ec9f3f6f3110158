/* SPDX-License-Identifier: MIT */
/*
 * exec/check.h - garthd --check: what garthd needs of the host, tried. For `garth doctor`, which may not link what it asks about.
 * One line a thing on stdout: NAME TAB ok, warn or fail TAB what was found TAB what to do (or nothing).
 */
#ifndef GARTH_EXEC_CHECK_H
#define GARTH_EXEC_CHECK_H

#include <stdio.h>

void check_all(FILE *out);

#endif
