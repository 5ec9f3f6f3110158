/* SPDX-License-Identifier: MIT */
/*
 * api/digest.c - the forms in which hashes come.
 */
#include "api/digest.h"

#include <strings.h>

#include "api/base64.h"

int digest_parse(const char *header, struct sha256 *ret)
{
	while (header != NULL && *header != '\0') {
		size_t len;

		header += strspn(header, " \t,");
		len = strcspn(header, ",");
		if (len > 10 && strncasecmp(header, "sha-256=:", 9) == 0) {
			const char *end = memchr(header + 9, ':', len - 9);
			autobuf raw;

			buf_init(&raw, 64);
			if (end == NULL ||
			    base64_decode(bytes_of(header + 9, (size_t)(end - header) - 9), &raw) <
				    0 ||
			    raw.len != SHA256_LEN)
				return -EINVAL;
			memcpy(ret->b, raw.p, SHA256_LEN);
			return 1;
		}
		header += len;
	}
	return 0;
}

int etag_parse(const char *header, unsigned at, struct sha256 *ret, bool *ret_any)
{
	*ret_any = false;
	while (header != NULL && *header != '\0') {
		char hex[SHA256_HEX_SIZE];
		size_t len, n;

		header += strspn(header, " \t,");
		len = strcspn(header, ",");
		if (len == 0)
			break;
		if (at-- > 0) {
			header += len;
			continue;
		}
		if (*header == '*') {
			*ret_any = true;
			return 1;
		}
		header += *header == '"';
		header += strncmp(header, "sha256:", 7) == 0 ? 7 : 0;
		n = strspn(header, "0123456789abcdefABCDEF");
		if (n != SHA256_HEX_LEN)
			return -EINVAL;
		memcpy(hex, header, n);
		hex[n] = '\0';
		return sha256_parse(hex, ret) == 0 ? 1 : -EINVAL;
	}
	return 0;
}
