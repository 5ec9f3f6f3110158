/* SPDX-License-Identifier: MIT */
/*
 * tests/fuzz/policy_fuzz.c - libFuzzer target: any bytes as a policy, then a question put to what was accepted.
 * Build with clang -fsanitize=fuzzer,address,undefined, policy/ and core/ whole, -lfyaml -lcrypto.
 * Run with -detect_leaks=0: libfyaml 0.7.12 loses a few KiB on some quoted texts that are cut short.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "policy/decide.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	/* the last 32 bytes are asked for as a path too, right or wrong */
	size_t tail = len < 32 ? len : 32;
	struct question q = { .agent = "a",
			      .op = OP_CREATE,
			      .path = bytes_of(data + len - tail, tail) };
	struct policy *p = NULL;
	struct verdict v;

	if (policy_parse(bytes_of(data, len), &p, NULL) < 0)
		return 0;
	policy_decide(p, &q, &v);
	q.op = OP_STAT;
	policy_decide(p, &q, &v);
	(void)policy_read_restricted(p, q.path);
	q = (struct question){ .agent = "a", .op = OP_CREATE, .path = BYTES_LIT("input/x") };
	policy_decide(p, &q, &v);
	if (v.err != -EROFS)
		abort();
	policy_unref(p);
	return 0;
}
