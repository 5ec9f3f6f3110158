/* SPDX-License-Identifier: MIT */
/*
 * guest/layout.h - what garth-init finds inside a sandbox, by name, and its limits.
 * Not here: making it (exec/root.h).
 */
#ifndef GARTH_GUEST_LAYOUT_H
#define GARTH_GUEST_LAYOUT_H

/* Descriptors that garth-init is started with (docs/PROTOCOL.md) */
#define GUEST_SOCK_FD 3
#define GUEST_SECCOMP_FD 4
#define GUEST_LANDLOCK_FD 5

#define GUEST_RUN "/run/garth" /* a small tmpfs of inside root; steps may only read */
#define GUEST_CODE_DIR "code"  /* below GUEST_RUN */
#define GUEST_REPORT_DIR "report"
#define GUEST_RUNNER "/run/garth/runner.py"
#define GUEST_PYTHON "/usr/bin/python3"
#define GUEST_BASH "/bin/bash"
#define GUEST_CODE_PY "/run/garth/code/main.py"
#define GUEST_CODE_SH "/run/garth/code/main.sh"
#define GUEST_WORKSPACE "/workspace"
#define GUEST_TASK "/workspace/task"

/* What a step's environment has where the request says nothing */
#define GUEST_PATH "/usr/local/bin:/usr/bin:/bin"
#define GUEST_ENV_PATH "PATH=" GUEST_PATH
#define GUEST_ENV_HOME "HOME=/home/user"
#define GUEST_ENV_LANG "LANG=C.UTF-8"

#define GUEST_BODY_MAX (64u * 1024 * 1024) /* bytes of a SPAWN's body: code and files together */
#define GUEST_ARGS_MAX \
	16384u /* strings each in argv and the environment; the kernel's own limit is bytes */
#define GUEST_FILES_MAX 4096u         /* files that come with one step */
#define GUEST_REPORT_MAX (32u * 1024) /* bytes of the runner's report */
#define GUEST_JOBS_MAX 128u           /* programs and writes under way in one sandbox */
#define GUEST_START_MS \
	20000 /* from SPAWN to exec, files placed; the workspace may be slow, not dead */
#define GUEST_PUT_MS 900000 /* one PUT: 5 GiB at 6 MB/s */
#define GUEST_KILL_MS 1500  /* until KILL answers that something won't die; garth-api waits 2 s */
#define GUEST_UMASK_PUT 002

#endif
