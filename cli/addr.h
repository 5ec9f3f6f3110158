/* SPDX-License-Identifier: MIT */
/*
 * cli/addr.h - building the address of a call: parts and query values are percent-encoded. Pure.
 */
#ifndef GARTH_CLI_ADDR_H
#define GARTH_CLI_ADDR_H

#include <stdbool.h>
#include <stddef.h>

#define ADDR_SIZE 16384 /* a path of 4095 bytes, each encoded, and a query */

struct addr {
	char s[ADDR_SIZE];
	size_t len;
	bool query; /* there is one */
	bool cut;   /* it did not fit: addr_str is NULL, and client_ask says so */
};

/* "/v1/workspaces/W" and tail, which is taken as it is ("/steps"); ws NULL: just tail. */
void addr_begin(struct addr *a, const char *ws, const char *tail);
void addr_part(struct addr *a, const char *part); /* "/" and one encoded part */
void addr_path(struct addr *a,
	       const char *path); /* "/" and an encoded path, its slashes kept; "" adds nothing */
void addr_arg(struct addr *a, const char *name, const char *value); /* value NULL: nothing */
const char *addr_str(const struct addr *a);

#endif
