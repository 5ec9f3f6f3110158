/* SPDX-License-Identifier: MIT */
/*
 * exec/filter_calls.h - the names of the system calls that somebody has looked at, in three lists. Each list ends with NULL.
 * Not here: the rules for arguments and the program (exec/filter.h).
 */
#ifndef GARTH_EXEC_FILTER_CALLS_H
#define GARTH_EXEC_FILTER_CALLS_H

extern const char *const filter_calls_allowed[]; /* whatever their arguments */
extern const char
	*const filter_calls_refused[]; /* EPERM: known, and no program of a step needs them */
extern const char *const filter_calls_args[];   /* it depends on the arguments: exec/filter.c */
extern const char *const filter_calls_absent[]; /* ENOSYS on purpose: libc has another way */

#endif
