/* SPDX-License-Identifier: MIT */
/*
 * core/hash.c - SHA-256 and its hexadecimal text, by libcrypto.
 * Not here: the chain (index/chain.c).
 */
#include "core/hash.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <unistd.h>

#define PIECE (256u * 1024)

struct sha256_ctx {
	EVP_MD_CTX *evp;
	EVP_MD *md; /* fetched once: a fetch for each hash costs more than hashing a small record */
};

struct sha256_ctx *sha256_new(void)
{
	struct sha256_ctx *c = calloc(1, sizeof *c);

	if (!c)
		return NULL;
	c->md = EVP_MD_fetch(NULL, "SHA256", NULL);
	c->evp = EVP_MD_CTX_new();
	if (!c->md || !c->evp || EVP_DigestInit_ex2(c->evp, c->md, NULL) != 1) {
		sha256_free(c);
		return NULL;
	}
	return c;
}

void sha256_free(struct sha256_ctx *c)
{
	if (!c)
		return;
	EVP_MD_CTX_free(c->evp);
	EVP_MD_free(c->md);
	free(c);
}

void sha256_begin(struct sha256_ctx *c)
{
	invariant(EVP_DigestInit_ex2(c->evp, c->md, NULL) == 1);
}

void sha256_add(struct sha256_ctx *c, struct bytes data)
{
	if (data.len)
		invariant(EVP_DigestUpdate(c->evp, data.p, data.len) == 1);
}

void sha256_end(struct sha256_ctx *c, struct sha256 *ret)
{
	unsigned n = 0;

	invariant(EVP_DigestFinal_ex(c->evp, ret->b, &n) == 1 && n == SHA256_LEN);
}

void sha256_of(struct bytes data, struct sha256 *ret)
{
	unsigned n = 0;

	invariant(EVP_Digest(data.len ? data.p : "", data.len, ret->b, &n, EVP_sha256(), NULL) ==
			  1 &&
		  n == SHA256_LEN);
}

int sha256_fd(int fd, struct sha256 *ret, uint64_t *ret_len)
{
	struct sha256_ctx *c = sha256_new();
	uint8_t *room = malloc(PIECE);
	uint64_t off = 0;
	ssize_t n = 0;
	int r = 0;

	if (!c || !room) {
		r = -ENOMEM;
		goto out;
	}
	for (;;) {
		n = pread(fd, room, PIECE, (off_t)off);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		sha256_add(c, bytes_of(room, (size_t)n));
		off += (uint64_t)n;
	}
	if (n < 0) {
		r = -errno;
		goto out;
	}
	sha256_end(c, ret);
	if (ret_len)
		*ret_len = off;
out:
	free(room);
	sha256_free(c);
	return r;
}

void sha256_hex(const struct sha256 *h, char out[SHA256_HEX_SIZE])
{
	static const char digits[] = "0123456789abcdef";

	for (unsigned i = 0; i < SHA256_LEN; i++) {
		out[2 * i] = digits[h->b[i] >> 4];
		out[2 * i + 1] = digits[h->b[i] & 15];
	}
	out[SHA256_HEX_LEN] = '\0';
}

int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int sha256_parse(const char *hex, struct sha256 *ret)
{
	struct sha256 h;

	for (unsigned i = 0; i < SHA256_LEN; i++) {
		int hi = hex_digit(hex[2 * i]);
		int lo = hi < 0 ? -1 : hex_digit(hex[2 * i + 1]);

		if (lo < 0)
			return -EINVAL;
		h.b[i] = (uint8_t)(hi * 16 + lo);
	}
	if (hex[SHA256_HEX_LEN] != '\0')
		return -EINVAL;
	*ret = h;
	return 0;
}
