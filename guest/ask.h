/* SPDX-License-Identifier: MIT */
/*
 * guest/ask.h - what garth-api may ask of garth-init: SPAWN, KILL, PUT; and the state that answering needs.
 * Not here: the loop (guest/init.h).
 */
#ifndef GARTH_GUEST_ASK_H
#define GARTH_GUEST_ASK_H

#include "core/err.h"
#include "core/wire.h"
#include "guest/init.h"
#include "guest/job.h"
#include "guest/spawn.h"

struct init {
	int sock; /* borrowed */
	int signal_fd;
	int code_fd; /* folders in /run/garth */
	int report_fd;
	struct jobs jobs;
	struct wire_msg msg; /* the one being answered */
};

/* Do what in->msg asks. 0, -EBADMSG it makes no sense: the connection is to be given up; an errno of sending the answer. */
must_check int ask_handle(struct init *in, struct err *err);

/* Reap all that is dead, tell garth-api what ended (guest/init.c). 0, or an errno of sending. */
must_check int init_reap(struct init *in);

#endif
