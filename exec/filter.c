/* SPDX-License-Identifier: MIT */
/*
 * exec/filter.c - the seccomp program of sandboxes, made by libseccomp.
 * Not here: the lists of calls (exec/filter_calls.c), loading the program (guest/confine.c).
 */
#include "exec/filter.h"

#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "core/fd.h"
#include "exec/filter_calls.h"

#define LOW32 \
	0xffffffffULL /* the kernel looks at the low half of int arguments; so must we, whatever stands above */
#define CLONE_NEW_ANY 0x7e020080U /* every CLONE_NEW*, also NEWTIME */
#define TYPE_MASK 0xfU /* of socket's second argument: without SOCK_CLOEXEC, SOCK_NONBLOCK */
#define PROTO_TCP 6U
#define PROTO_UDP 17U
#define OPTIMIZE_TREE 2U     /* libseccomp: a binary tree of call numbers */
#define PR_SCHED_CORE_NR 62U /* newer than the oldest headers we build with */

/* Values of one 32-bit argument that are told apart from all others. */
struct points {
	const uint32_t *at;
	size_t n;
	uint32_t on_point; /* action */
	uint32_t on_rest;
};

static int call_nr(const char *name)
{
	return seccomp_syscall_resolve_name(name);
}

static bool listed(const char *const *list, const char *name)
{
	for (; *list; list++)
		if (strcmp(*list, name) == 0)
			return true;
	return false;
}

static int add_list(scmp_filter_ctx ctx, const char *const *list, uint32_t action)
{
	for (; *list; list++) {
		int nr = call_nr(*list), r;

		if (nr < 0)
			continue; /* not on this architecture, or newer than libseccomp */
		r = seccomp_rule_add(ctx, action, nr, 0);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool point_within(const struct points *p, uint32_t mask, uint32_t value)
{
	for (size_t i = 0; i < p->n; i++)
		if ((p->at[i] & mask) == value)
			return true;
	return false;
}

/*
 * One rule a region of values that share their upper bits: libseccomp can't say "none of these" about one argument, but it can name
 * all the regions that hold none of the points. 32 levels deep at most, 32 regions a point.
 */
static int add_region(scmp_filter_ctx ctx, int nr, unsigned arg, const struct points *p,
		      uint32_t mask, uint32_t value)
{
	struct scmp_arg_cmp cmp = SCMP_CMP64(arg, SCMP_CMP_MASKED_EQ, mask, value);
	uint32_t bit;
	int r;

	if (!point_within(p, mask, value))
		return seccomp_rule_add_array(ctx, p->on_rest, nr, 1, &cmp);
	if (mask == UINT32_MAX)
		return p->on_point == 0 ? 0 : seccomp_rule_add_array(ctx, p->on_point, nr, 1, &cmp);
	bit = mask ? (uint32_t)((mask & -mask) >> 1)
		   : 0x80000000U; /* the highest bit that is not decided */
	r = add_region(ctx, nr, arg, p, mask | bit, value);
	return r < 0 ? r : add_region(ctx, nr, arg, p, mask | bit, value | bit);
}

static int add_points(scmp_filter_ctx ctx, const char *name, unsigned arg, const struct points *p)
{
	int nr = call_nr(name);

	return nr < 0 ? 0 : add_region(ctx, nr, arg, p, 0, 0);
}

/* clone: threads and processes yes, namespaces no. */
static int add_clone(scmp_filter_ctx ctx)
{
	static const uint32_t bits[] = { CLONE_NEWNS,  CLONE_NEWCGROUP,      CLONE_NEWUTS,
					 CLONE_NEWIPC, CLONE_NEWUSER,        CLONE_NEWPID,
					 CLONE_NEWNET, CLONE_NEW_ANY & 0xffU };
	struct scmp_arg_cmp none = SCMP_CMP64(0, SCMP_CMP_MASKED_EQ, CLONE_NEW_ANY, 0);
	int r = seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, call_nr("clone"), 1, &none);

	for (size_t i = 0; r == 0 && i < sizeof bits / sizeof bits[0]; i++) {
		struct scmp_arg_cmp one = SCMP_CMP64(0, SCMP_CMP_MASKED_EQ, bits[i], bits[i]);

		r = seccomp_rule_add_array(ctx, SCMP_ACT_ERRNO(EPERM), call_nr("clone"), 1, &one);
	}
	return r;
}

static int add_socket_rule(scmp_filter_ctx ctx, uint32_t action, uint32_t family, uint32_t type,
			   enum scmp_compare cmp, uint32_t proto)
{
	struct scmp_arg_cmp args[3] = {
		SCMP_CMP64(0, SCMP_CMP_MASKED_EQ, LOW32, family),
		SCMP_CMP64(1, SCMP_CMP_MASKED_EQ, TYPE_MASK, type),
		cmp == SCMP_CMP_MASKED_EQ ? SCMP_CMP64(2, SCMP_CMP_MASKED_EQ, LOW32, proto)
					  : SCMP_CMP64(2, cmp, proto),
	};

	return seccomp_rule_add_array(ctx, action, call_nr("socket"), 3, args);
}

/* Internet sockets: TCP and UDP alone; "protocol not supported" is what programs that try MPTCP or SCTP fall back on. */
static int add_inet(scmp_filter_ctx ctx, uint32_t family)
{
	static const struct {
		uint32_t type, proto;
	} good[] = { { SOCK_STREAM, PROTO_TCP }, { SOCK_DGRAM, PROTO_UDP } };
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof good / sizeof good[0]; i++) {
		r = add_socket_rule(ctx, SCMP_ACT_ALLOW, family, good[i].type, SCMP_CMP_MASKED_EQ,
				    0);
		if (r == 0)
			r = add_socket_rule(ctx, SCMP_ACT_ALLOW, family, good[i].type,
					    SCMP_CMP_MASKED_EQ, good[i].proto);
		if (r == 0)
			r = add_socket_rule(ctx, SCMP_ACT_ERRNO(EPROTONOSUPPORT), family,
					    good[i].type, SCMP_CMP_GT, good[i].proto);
	}
	for (uint32_t type = 0; r == 0 && type <= TYPE_MASK; type++) {
		struct scmp_arg_cmp args[2] = { SCMP_CMP64(0, SCMP_CMP_MASKED_EQ, LOW32, family),
						SCMP_CMP64(1, SCMP_CMP_MASKED_EQ, TYPE_MASK,
							   type) };

		if (type != SOCK_STREAM && type != SOCK_DGRAM)
			r = seccomp_rule_add_array(ctx, SCMP_ACT_ERRNO(EPERM), call_nr("socket"), 2,
						   args);
	}
	return r;
}

static int add_netlink(scmp_filter_ctx ctx)
{
	struct scmp_arg_cmp route[2] = { SCMP_CMP64(0, SCMP_CMP_MASKED_EQ, LOW32, AF_NETLINK),
					 SCMP_CMP64(2, SCMP_CMP_EQ, 0) };
	struct scmp_arg_cmp other[2] = { route[0], SCMP_CMP64(2, SCMP_CMP_NE, 0) };
	int r = seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, call_nr("socket"), 2, route);

	return r < 0 ? r
		     : seccomp_rule_add_array(ctx, SCMP_ACT_ERRNO(EPERM), call_nr("socket"), 2,
					      other);
}

static int add_sockets(scmp_filter_ctx ctx)
{
	static const uint32_t unix_only[] = { AF_UNIX },
			      known[] = { AF_UNIX, AF_INET, AF_INET6, AF_NETLINK };
	const struct points pair = { unix_only, 1, SCMP_ACT_ALLOW, SCMP_ACT_ERRNO(EPERM) };
	const struct points rest = { known, 4, 0, SCMP_ACT_ERRNO(EPERM) };
	struct scmp_arg_cmp local = SCMP_CMP64(0, SCMP_CMP_MASKED_EQ, LOW32, AF_UNIX);
	int r = add_points(ctx, "socketpair", 0, &pair);

	if (r == 0)
		r = add_points(ctx, "socket", 0, &rest);
	if (r == 0)
		r = seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, call_nr("socket"), 1, &local);
	if (r == 0)
		r = add_inet(ctx, AF_INET);
	if (r == 0)
		r = add_inet(ctx, AF_INET6);
	return r < 0 ? r : add_netlink(ctx);
}

static int add_args(scmp_filter_ctx ctx)
{
	/* typing into somebody's terminal, selections of the console, line disciplines */
	static const uint32_t bad_ioctl[] = { TIOCSTI, TIOCLINUX, TIOCSETD };
	static const uint32_t bad_prctl[] = { PR_SET_MM, PR_SCHED_CORE_NR };
	/* asking; and what setarch and the thread sanitizer want, which is about the caller's own addresses */
	static const uint32_t good_persona[] = { 0, 0xffffffffU, PER_LINUX32, ADDR_NO_RANDOMIZE };
	const struct points ioctls = { bad_ioctl, 3, SCMP_ACT_ERRNO(EPERM), SCMP_ACT_ALLOW };
	const struct points prctls = { bad_prctl, 2, SCMP_ACT_ERRNO(EPERM), SCMP_ACT_ALLOW };
	const struct points personas = { good_persona, 4, SCMP_ACT_ALLOW, SCMP_ACT_ERRNO(EPERM) };
	int r = add_points(ctx, "ioctl", 1, &ioctls);

	if (r == 0)
		r = add_points(ctx, "prctl", 0, &prctls);
	if (r == 0)
		r = add_points(ctx, "personality", 0, &personas);
	if (r == 0)
		r = add_clone(ctx);
	return r < 0 ? r : add_sockets(ctx);
}

static int add_all(scmp_filter_ctx ctx)
{
	int r = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));

	(void)seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE,
			       OPTIMIZE_TREE); /* 2.5 and up: else it is linear, and right */
	if (r == 0)
		r = add_list(ctx, filter_calls_allowed, SCMP_ACT_ALLOW);
	if (r == 0)
		r = add_list(ctx, filter_calls_refused, SCMP_ACT_ERRNO(EPERM));
	return r < 0 ? r : add_args(ctx);
}

enum filter_verdict filter_verdict_of(const char *name)
{
	if (listed(filter_calls_allowed, name))
		return FILTER_ALLOW;
	if (listed(filter_calls_refused, name))
		return FILTER_REFUSE;
	return listed(filter_calls_args, name) ? FILTER_ARGS : FILTER_UNKNOWN;
}

int filter_compile(int *ret_memfd, struct err *err)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
	autofd fd = -1;
	int r;

	if (!ctx)
		return err_set(err, -ENOMEM, "syscall filter: no memory");
	r = add_all(ctx);
	if (r == 0) {
		fd = memfd_create("filter", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		r = fd < 0 ? -errno : seccomp_export_bpf(ctx, fd);
	}
	seccomp_release(ctx);
	if (r < 0)
		return err_errno(err, r, "compile the syscall filter");
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0 ||
	    lseek(fd, 0, SEEK_SET) < 0)
		return err_sys(err, "seal the syscall filter");
	*ret_memfd = fd_steal(&fd);
	return 0;
}
