/* SPDX-License-Identifier: MIT */
/*
 * api/link.c - HMAC over what a link promises.
 */
#include "api/link.h"

#include <fcntl.h>
#include <inttypes.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <stdio.h>

#include "core/buf.h"
#include "core/fd.h"
#include "core/path.h"

static int key_make(int spool_fd, uint8_t ret[LINK_KEY_LEN], struct err *err)
{
	autofd fd = openat(spool_fd, LINK_KEY_FILE,
			   O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	int rc;

	if (fd < 0)
		return err_sys(err, "make '%s'", LINK_KEY_FILE);
	if (RAND_bytes(ret, LINK_KEY_LEN) != 1)
		return err_set(err, -EIO, "no random numbers");
	rc = fd_write_full(fd, ret, LINK_KEY_LEN);
	if (rc == 0 && fsync(fd) < 0)
		rc = -errno;
	return rc < 0 ? err_errno(err, rc, "write '%s'", LINK_KEY_FILE) : 0;
}

int link_key_open(int spool_fd, uint8_t ret[LINK_KEY_LEN], struct err *err)
{
	autofd fd = openat(spool_fd, LINK_KEY_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	int rc;

	if (fd < 0)
		return errno == ENOENT ? key_make(spool_fd, ret, err)
				       : err_sys(err, "open '%s'", LINK_KEY_FILE);
	rc = fd_read_full(fd, ret, LINK_KEY_LEN);
	if (rc == -ENODATA) { /* a crash in the middle of making it: no link was signed with it */
		if (unlinkat(spool_fd, LINK_KEY_FILE, 0) < 0)
			return err_sys(err, "remove the half-written '%s'", LINK_KEY_FILE);
		return key_make(spool_fd, ret, err);
	}
	return rc < 0 ? err_errno(err, rc, "read '%s'", LINK_KEY_FILE) : 0;
}

void link_sign(const uint8_t key[LINK_KEY_LEN], const char *ws, int64_t made_ns, struct bytes path,
	       uint64_t version, int64_t expires_s, char out[SHA256_HEX_SIZE])
{
	unsigned char text[PATH_LEN_MAX + IDENT_SIZE + 128];
	struct sha256 mac = { 0 };
	unsigned mac_len = 0;
	size_t n;

	n = (size_t)snprintf((char *)text, sizeof text, "garth.link.v2%c%.63s%c%" PRId64 "%c", 0,
			     ws, 0, made_ns, 0);
	invariant(path.len <= PATH_LEN_MAX);
	memcpy(text + n, path.p, path.len);
	n += path.len;
	n += (size_t)snprintf((char *)text + n, sizeof text - n, "%c%" PRIu64 "%c%" PRId64, 0,
			      version, 0, expires_s);
	invariant(HMAC(EVP_sha256(), key, (int)LINK_KEY_LEN, text, n, mac.b, &mac_len) != NULL &&
		  mac_len == SHA256_LEN);
	sha256_hex(&mac, out);
}

int link_check(const uint8_t key[LINK_KEY_LEN], const char *ws, int64_t made_ns, struct bytes path,
	       uint64_t version, int64_t expires_s, const char *sig, int64_t now_s)
{
	char want[SHA256_HEX_SIZE];

	if (path.len > PATH_LEN_MAX || strlen(sig) != SHA256_HEX_LEN)
		return -EPERM;
	link_sign(key, ws, made_ns, path, version, expires_s, want);
	if (CRYPTO_memcmp(want, sig, SHA256_HEX_LEN) != 0)
		return -EPERM;
	return now_s > expires_s ? -ESTALE : 0;
}
