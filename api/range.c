/* SPDX-License-Identifier: MIT */
/*
 * api/range.c - small parsers of HTTP's header values.
 */
#include "api/range.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <time.h>

#include "api/utf8.h"
#include "core/clock.h"

/* Decimal digits at *p; false: none, or too many. */
static bool digits(const char **p, uint64_t *ret)
{
	uint64_t v = 0;
	const char *s = *p;

	for (; *s >= '0' && *s <= '9'; s++) {
		if (v > (UINT64_MAX - 9) / 10)
			return false;
		v = v * 10 + (uint64_t)(*s - '0');
	}
	if (s == *p)
		return false;
	*p = s;
	*ret = v;
	return true;
}

/* "FROM-TO", "FROM-" or "-LAST" and nothing behind. */
static bool range_spec(const char *p, bool *ret_has_from, uint64_t *ret_from, uint64_t *ret_to)
{
	bool has_to;

	*ret_from = 0;
	*ret_to = UINT64_MAX;
	*ret_has_from = digits(&p, ret_from);
	if (*p++ != '-')
		return false;
	has_to = digits(&p, ret_to);
	if (*p != '\0' || (!*ret_has_from && !has_to))
		return false;
	return !*ret_has_from || *ret_to >= *ret_from;
}

int range_parse(const char *header, uint64_t size, uint64_t *ret_from, uint64_t *ret_len)
{
	uint64_t from, to;
	bool has_from;

	if (header == NULL || strncasecmp(header, "bytes=", 6) != 0 ||
	    !range_spec(header + 6, &has_from, &from, &to))
		return 1;
	if (!has_from) { /* the last `to` bytes */
		if (to == 0 || size == 0)
			return -ERANGE;
		from = to >= size ? 0 : size - to;
		to = size - 1;
	}
	if (from >= size)
		return -ERANGE;
	if (to >= size)
		to = size - 1;
	*ret_from = from;
	*ret_len = to - from + 1;
	return 0;
}

bool etag_listed(const char *header, const char *etag, bool weak)
{
	size_t n = strlen(etag);

	if (header == NULL)
		return false;
	while (*header != '\0') {
		header += strspn(header, " \t,");
		if (*header == '*')
			return true;
		if (strncmp(header, "W/", 2) == 0) {
			header += 2;
			if (!weak) { /* step over it */
				header += strcspn(header, ",");
				continue;
			}
		}
		if (strncmp(header, etag, n) == 0 && strchr(" \t,", header[n]) != NULL)
			return true; /* strchr finds the NUL too */
		header += strcspn(header, ",");
	}
	return false;
}

static const char *const days[] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
static const char *const months[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
				      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };

void http_date(int64_t wall_ns, char out[HTTP_DATE_SIZE])
{
	time_t t = (time_t)(wall_ns / NS_PER_S);
	struct tm tm;

	if (gmtime_r(&t, &tm) == NULL || tm.tm_year < 0 || tm.tm_year > 8099) {
		(void)snprintf(out, HTTP_DATE_SIZE, "Thu, 01 Jan 1970 00:00:00 GMT");
		return;
	}
	(void)snprintf(out, HTTP_DATE_SIZE, "%s, %02u %s %04u %02u:%02u:%02u GMT",
		       days[tm.tm_wday % 7], (unsigned)tm.tm_mday % 32u, months[tm.tm_mon % 12],
		       (unsigned)(tm.tm_year + 1900) % 10000u, (unsigned)tm.tm_hour % 24u,
		       (unsigned)tm.tm_min % 60u, (unsigned)tm.tm_sec % 61u);
}

int http_date_parse(const char *text, int64_t *ret_s)
{
	struct tm tm = { 0 };
	char month[4], zone[4];

	if (sscanf(text, "%*3s, %2d %3s %4d %2d:%2d:%2d %3s", &tm.tm_mday, month, &tm.tm_year,
		   &tm.tm_hour, &tm.tm_min, &tm.tm_sec, zone) != 7 ||
	    strcmp(zone, "GMT") != 0)
		return -EINVAL;
	tm.tm_year -= 1900;
	for (tm.tm_mon = 0; tm.tm_mon < 12 && strcmp(months[tm.tm_mon], month) != 0; tm.tm_mon++)
		;
	if (tm.tm_mon == 12)
		return -EINVAL;
	*ret_s = timegm(&tm);
	return 0;
}

/* "+02:00", "Z" or nothing else. */
static int offset_parse(const char *p, int64_t *ret_s)
{
	int h, m;

	*ret_s = 0;
	if (strcmp(p, "Z") == 0 || strcmp(p, "z") == 0)
		return 0;
	if ((*p != '+' && *p != '-') || strlen(p) != 6 || sscanf(p + 1, "%2d:%2d", &h, &m) != 2)
		return -EINVAL;
	*ret_s = (*p == '+' ? 1 : -1) * (int64_t)(h * 3600 + m * 60);
	return 0;
}

int time_parse(const char *text, int64_t *ret_ns)
{
	struct tm tm = { 0 };
	const char *p = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	int64_t frac = 0, unit = NS_PER_S / 10, off;
	char *end;

	if (p == NULL) {
		double s = strtod(text, &end);

		if (end == text || *end != '\0' || !(s >= 0 && s < 9e9))
			return -EINVAL;
		*ret_ns = (int64_t)(s * 1e9);
		return 0;
	}
	if (*p == '.')
		for (p++; *p >= '0' && *p <= '9'; p++, unit /= 10)
			frac += (*p - '0') * unit;
	if (offset_parse(p, &off) < 0)
		return -EINVAL;
	*ret_ns = ((int64_t)timegm(&tm) - off) * NS_PER_S + frac;
	return 0;
}

static bool attr_char(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c != '\0' && strchr("!#$&+-.^_`|~", c) != NULL);
}

void content_disposition(struct bytes name, char *out)
{
	static const char hex[] = "0123456789ABCDEF";
	static const char start[] = "attachment; filename=\"";
	const unsigned char *p = name.p;
	bool text = utf8_ok(name);

	memcpy(out, start, sizeof start - 1);
	out += sizeof start - 1;
	for (size_t i = 0; i < name.len; i++)
		*out++ = p[i] < 0x7f && p[i] >= ' ' && strchr("\"\\%", p[i]) == NULL ? (char)p[i]
										     : '_';
	*out++ = '"';
	if (text) {
		memcpy(out, "; filename*=UTF-8''", 19);
		out += 19;
		for (size_t i = 0; i < name.len; i++) {
			if (attr_char(p[i])) {
				*out++ = (char)p[i];
				continue;
			}
			*out++ = '%';
			*out++ = hex[p[i] >> 4];
			*out++ = hex[p[i] & 15];
		}
	}
	*out = '\0';
}
