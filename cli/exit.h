/* SPDX-License-Identifier: MIT */
/*
 * cli/exit.h - the exit codes of `garth` itself. `garth run` gives the program's own once a step exists (cli/run_end.h).
 */
#ifndef GARTH_CLI_EXIT_H
#define GARTH_CLI_EXIT_H

#define EXIT_OK 0
#define EXIT_FAILED 1
#define EXIT_USAGE 2
#define EXIT_NOT_FOUND 3
#define EXIT_REFUSED 4
#define EXIT_CONFLICT 5
#define EXIT_BUSY 6
#define EXIT_NO_SERVER 7
#define EXIT_TIMEOUT 124
#define EXIT_LOST 125
#define EXIT_LIMIT 137       /* memory, disk, pids: as SIGKILL */
#define EXIT_SIGNAL_BASE 128 /* + the signal's number */

#endif
