/* SPDX-License-Identifier: MIT */
/*
 * api/send.h - an open file as an answer: entity tag, dates, one range, conditional requests, a name for saving it.
 * The kernel copies (sendfile); we never look at the bytes.
 * Not here: finding the file (api/download.c).
 */
#ifndef GARTH_API_SEND_H
#define GARTH_API_SEND_H

#include "api/req.h"

struct sending {
	int fd;              /* taken */
	uint64_t size;       /* bytes that are served */
	int64_t mtime_ns;    /* 0: not said */
	const char *sha;     /* hexadecimal; "" none: then no entity tag */
	struct bytes name;   /* for saving it */
	const char *media;   /* NULL: from the name */
	const char *step;    /* X-Garth-Step; NULL */
	uint64_t version;    /* X-Garth-Version; 0 */
	const char *lineage; /* address for Link; NULL */
};

void send_file(struct req *r, struct sending *s);

#endif
