/* SPDX-License-Identifier: MIT */
/*
 * core/wire.c - one message between two processes: SOCK_SEQPACKET, header, body, tail, descriptors.
 * Not here: which messages there are and who may send them (core/msg.c).
 */
#include "core/wire.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/clock.h"

/* A control buffer with the alignment that CMSG macros want. */
union control {
	struct cmsghdr align;
	char room[CMSG_SPACE(sizeof(int) * WIRE_FDS_MAX)];
};

void wire_msg_init(struct wire_msg *m)
{
	m->head = (struct wire_head){ 0 };
	for (unsigned i = 0; i < WIRE_FDS_MAX; i++)
		m->fd[i] = -1;
}

void wire_msg_fini(struct wire_msg *m)
{
	if (!m)
		return;
	for (unsigned i = 0; i < WIRE_FDS_MAX; i++)
		if (m->fd[i] >= 0)
			(void)close(m->fd[i]);
	wire_msg_init(m);
}

int wire_take_fd(struct wire_msg *m, unsigned i)
{
	int fd;

	if (i >= WIRE_FDS_MAX)
		return -1;
	fd = m->fd[i];
	m->fd[i] = -1;
	return fd;
}

int wire_send(int sock, uint16_t type, uint64_t id, struct bytes body, struct bytes tail,
	      const int *fds, unsigned nfds)
{
	struct wire_head head = {
		.version = WIRE_VERSION, .fds = (uint8_t)nfds, .type = type, .id = id
	};
	struct iovec iov[3] = { { &head, sizeof head } };
	union control control = { 0 };
	struct msghdr mh = { .msg_iov = iov, .msg_iovlen = 3 };
	ssize_t n;

	if (nfds > WIRE_FDS_MAX || body.len > WIRE_MSG_MAX || tail.len > WIRE_TAIL_MAX ||
	    body.len + tail.len > WIRE_MSG_MAX)
		return -EMSGSIZE;
	head.len = (uint32_t)(body.len + tail.len);
	/* the kernel only reads these, but struct iovec has no const */
	memcpy(&iov[1].iov_base, &body.p, sizeof body.p);
	iov[1].iov_len = body.len;
	memcpy(&iov[2].iov_base, &tail.p, sizeof tail.p);
	iov[2].iov_len = tail.len;
	if (nfds) {
		mh.msg_control = control.room;
		mh.msg_controllen = CMSG_SPACE(sizeof(int) * nfds);
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(sizeof(int) * nfds);
		memcpy(CMSG_DATA(&control.align), fds, sizeof(int) * nfds);
	}
	do
		n = sendmsg(sock, &mh, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

/* Take over what descriptors came; how many, or -1 where something else came too. */
static int collect_fds(struct msghdr *mh, struct wire_msg *m)
{
	unsigned count = 0;
	int odd = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(mh); c; c = CMSG_NXTHDR(mh, c)) {
		size_t n =
			c->cmsg_len < CMSG_LEN(0) ? 0 : (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) {
			odd = 1;
			continue;
		}
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
			if (count < WIRE_FDS_MAX) {
				m->fd[count++] = fd;
			} else {
				(void)close(fd);
				odd = 1;
			}
		}
	}
	return odd ? -1 : (int)count;
}

int wire_recv(int sock, struct wire_msg *m)
{
	struct iovec iov[2] = { { &m->head, sizeof m->head }, { m->body, sizeof m->body } };
	union control control;
	struct msghdr mh = { .msg_iov = iov,
			     .msg_iovlen = 2,
			     .msg_control = control.room,
			     .msg_controllen = sizeof control.room };
	ssize_t n;
	int fds;

	wire_msg_init(m);
	do /* ECONNRESET: the peer left without reading all; what it sent before comes next, then the end */
		n = recvmsg(sock, &mh, MSG_CMSG_CLOEXEC);
	while (n < 0 && (errno == EINTR || errno == ECONNRESET));
	if (n < 0)
		return -errno;
	fds = collect_fds(&mh, m);
	if (n == 0) { /* the end; an empty packet cannot be told from it */
		wire_msg_fini(m);
		return 0;
	}
	if ((size_t)n < sizeof m->head || (mh.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) ||
	    m->head.version != WIRE_VERSION || m->head.len != (size_t)n - sizeof m->head ||
	    fds < 0 || m->head.fds != (unsigned)fds) {
		wire_msg_fini(m);
		return -EBADMSG;
	}
	return 1;
}

int wire_recv_timeout(int sock, struct wire_msg *m, int timeout_ms)
{
	int64_t end = clock_mono_ns() + timeout_ms * NS_PER_MS;

	for (;;) {
		struct pollfd p = { .fd = sock, .events = POLLIN };
		int64_t left = (end - clock_mono_ns() + NS_PER_MS - 1) / NS_PER_MS;
		int r = poll(&p, 1, left > 0 ? (int)left : 0);

		if (r < 0 && errno != EINTR)
			return -errno;
		if (r > 0) {
			r = wire_recv(sock, m);
			if (r != -EAGAIN)
				return r;
		}
		if (left <= 0)
			return -ETIMEDOUT;
	}
}
