/* SPDX-License-Identifier: MIT */
/*
 * api/range.h - conditional requests and ranges (RFC 9110), and names for downloads (RFC 6266). Pure.
 */
#ifndef GARTH_API_RANGE_H
#define GARTH_API_RANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/bytes.h"
#include "core/err.h"

/*
 * One range of bytes. 0 and from, len (len > 0); 1 there is none to honour (no header, another unit, several ranges, malformed);
 * -ERANGE it lies behind the end.
 */
int range_parse(const char *header, uint64_t size, uint64_t *ret_from, uint64_t *ret_len);

/* Does a list of entity tags ("*" too) name this one (with its quotes)? W/ before a tag is looked over where weak. */
bool etag_listed(const char *header, const char *etag, bool weak);

#define HTTP_DATE_SIZE 32
void http_date(int64_t wall_ns, char out[HTTP_DATE_SIZE]);
/* 0 or -EINVAL; IMF-fixdate alone. */
int http_date_parse(const char *text, int64_t *ret_s);

/* RFC 3339 ("2026-11-30T08:00:00Z"; fraction and offset understood) or seconds since 1970. 0 or -EINVAL. */
int time_parse(const char *text, int64_t *ret_ns);

/* 'attachment; filename="a_b.csv"; filename*=UTF-8''a%20b.csv' for a name of any bytes. out: 64 + 4 * name.len bytes. */
void content_disposition(struct bytes name, char *out);

#endif
