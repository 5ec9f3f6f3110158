/* SPDX-License-Identifier: MIT */
/*
 * api/app.h - what all of garth-api shares: one struct, made by main, handed to everybody.
 * Not here: what the parts do.
 * Thread: one.
 */
#ifndef GARTH_API_APP_H
#define GARTH_API_APP_H

#include <stddef.h>

#include "api/loop.h"
#include "api/peer.h"

struct MHD_Daemon;
struct keys;
struct req;
struct ws;
struct sb;
struct step;
struct slots;
struct ghosts;
struct upload;

#define LINK_KEY_LEN 32u

struct app {
	struct loop *loop;
	struct MHD_Daemon *mhd;
	struct watch mhd_watch;
	struct peer *garthd;
	struct keys *keys;
	struct slots *slots;
	int data_fd;            /* DIR */
	int spool_fd;           /* DIR/spool */
	const char *data;       /* DIR, for names of databases */
	const char *url;        /* how clients reach us, without a slash at the end */
	unsigned sandboxes_max; /* of this server */
	unsigned queue_max;     /* steps that wait for a sandbox */
	uint8_t link_key[LINK_KEY_LEN];
	struct ws *workspaces; /* those that were opened since the start */
	struct sb *sandboxes;
	struct step *steps;     /* not yet ended */
	struct upload *uploads; /* that write or wait for another of the same path */
	struct ghosts *ghosts;  /* api/step_view.h; NULL until there is one */
	struct req *reqs;
	size_t body_bytes; /* of all requests' bodies in memory now */
	unsigned audits;   /* children that verify or export */
	int signal_fd;
	bool stopping;
	struct timer stop_clock; /* api/stop.c */
	int64_t stop_until_ns;
};

#endif
