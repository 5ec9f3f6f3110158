/* SPDX-License-Identifier: MIT */
/*
 * api/listen.h - libmicrohttpd within our loop: connections in, requests to their routes, answers out.
 * Not here: what a request is (api/req.h).
 */
#ifndef GARTH_API_LISTEN_H
#define GARTH_API_LISTEN_H

#include "api/app.h"

#define LISTEN_CONNECTIONS_MAX 1024u
#define LISTEN_IDLE_S 60u /* a silent connection is closed then, unless we are at work for it */
#define LISTEN_MEMORY (96u * 1024) /* bytes a connection: its headers and buffers */
#define LISTEN_BODY_S 3600         /* from a request's first line to the end of its body */

/* @fd the listening socket; taken. */
must_check int listen_start(struct app *app, int fd, struct err *err);
void listen_stop(struct app *app); /* answers what still waits with 503 */

#endif
