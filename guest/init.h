/* SPDX-License-Identifier: MIT */
/*
 * guest/init.h - garth-init's life: answers garth-api, starts programs, reaps everything.
 * Single-threaded, one poll loop. It never touches the workspace itself: its children do, and they have deadlines.
 * Not here: what it gives up first (guest/confine.h).
 */
#ifndef GARTH_GUEST_INIT_H
#define GARTH_GUEST_INIT_H

#include "core/err.h"

struct init; /* opaque */

/*
 * Take the socket to garth-api (the caller's to close, after init_free), block SIGCHLD, make what stands in /run/garth.
 *
 * @run_fd  the folder /run/garth, borrowed.
 */
must_check int init_new(int sock, int run_fd, struct init **ret, struct err *err);
void init_free(struct init *in);

/* Serve until the peer is gone (0) or sends what makes no sense (-EBADMSG), or the kernel refuses to go on. */
must_check int init_serve(struct init *in, struct err *err);

#endif
