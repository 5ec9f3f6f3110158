/* SPDX-License-Identifier: MIT */
/*
 * core/err.h - how a failure is told: a negative errno for programs, a sentence for people.
 * Not here: logging it (core/log.h), mapping it to HTTP (api/problem.h).
 * Thread: any. Memory: a struct err lives on the caller's stack and owns nothing.
 */
#ifndef GARTH_CORE_ERR_H
#define GARTH_CORE_ERR_H

#include <errno.h>

struct err {
	int code;      /* 0 or a negative errno */
	char msg[256]; /* for people; cut if long, always terminated */
};

/*
 * Fill err (which may be NULL) and give back code, so that a caller writes `return err_set(...)`.
 *
 * @code  a negative errno.
 */
__attribute__((format(printf, 3, 4))) int err_set(struct err *err, int code, const char *fmt, ...);

/* Put "prefix: " before the message that is there, and give back its code. NULL is fine. */
__attribute__((format(printf, 3, 4))) int err_wrap(struct err *err, int code, const char *fmt, ...);

/* As err_set with -errno, the text of errno appended after ": ". */
__attribute__((format(printf, 3, 4))) int err_errno(struct err *err, int code, const char *fmt,
						    ...);

/*
 * What failed is negative. This tells it to the compilers, which can't look into core/err.c, and
 * holds it where errno was 0 against all expectation: a failure is never taken for success.
 */
static inline int err_negative(int code)
{
	return code < 0 ? code : -EIO;
}

#define err_set(...) err_negative(err_set(__VA_ARGS__))
#define err_wrap(...) err_negative(err_wrap(__VA_ARGS__))
#define err_errno(...) err_negative(err_errno(__VA_ARGS__))

#define err_sys(err, ...) err_errno((err), -errno, __VA_ARGS__)
#define must_check __attribute__((warn_unused_result))

/* Our own mistakes only; stays on in release builds, prints where, aborts. */
_Noreturn void invariant_failed(const char *what, const char *file, int line);
#define invariant(x) ((x) ? (void)0 : invariant_failed(#x, __FILE__, __LINE__))

#endif
