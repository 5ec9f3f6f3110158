/* SPDX-License-Identifier: MIT */
/*
 * cli/up_listen.c - the server's address.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "cli/up.h"
#include "core/fd.h"

#define BACKLOG 256
#define HEALTH_MS 500

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* The config's address; its length. */
static socklen_t address_of(const struct up *u, union address *a)
{
	*a = (union address){ 0 };
	if (inet_pton(AF_INET6, u->cfg.addr, &a->v6.sin6_addr) == 1) {
		a->v6.sin6_family = AF_INET6;
		a->v6.sin6_port = htons(u->cfg.port);
		return sizeof a->v6;
	}
	a->v4.sin_family = AF_INET;
	a->v4.sin_port = htons(u->cfg.port);
	(void)inet_pton(AF_INET, u->cfg.addr, &a->v4.sin_addr);
	return sizeof a->v4;
}

int up_listen(struct up *u, struct err *err)
{
	union address a;
	socklen_t len = address_of(u, &a);
	autofd fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1;

	if (fd < 0)
		return err_sys(err, "make a socket");
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(fd, &a.any, len) < 0) {
		if (errno == EADDRINUSE)
			return err_set(err, -EADDRINUSE,
				       "port %u of %s is busy: stop what listens there, or choose "
				       "another with --listen",
				       u->cfg.port, u->cfg.addr);
		return err_sys(err, "listen on %s port %u", u->cfg.addr, u->cfg.port);
	}
	if (listen(fd, BACKLOG) < 0)
		return err_sys(err, "listen on %s port %u", u->cfg.addr, u->cfg.port);
	len = sizeof a;
	if (getsockname(fd, &a.any, &len) < 0)
		return err_sys(err, "ask for the own port");
	u->cfg.port = ntohs(a.any.sa_family == AF_INET6 ? a.v6.sin6_port : a.v4.sin_port);
	(void)snprintf(u->url, sizeof u->url,
		       a.any.sa_family == AF_INET6 ? "http://[%s]:%u" : "http://%s:%u", u->cfg.addr,
		       u->cfg.port);
	u->listen_fd = fd_steal(&fd);
	return 0;
}

static bool wait_for(int fd, short events)
{
	struct pollfd w = { .fd = fd, .events = events };

	return poll(&w, 1, HEALTH_MS) == 1 && !(w.revents & POLLNVAL);
}

bool up_healthy(const struct up *u)
{
	static const char request[] =
		"GET /healthz HTTP/1.1\r\nHost: garth\r\nConnection: close\r\n\r\n";
	static const char good[] = "HTTP/1.1 200";
	char answer[sizeof good] = "";
	size_t got = 0;
	union address a;
	socklen_t len = address_of(u, &a);
	autofd fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	/* "any" is not an address to connect to */
	if (a.any.sa_family == AF_INET && a.v4.sin_addr.s_addr == htonl(INADDR_ANY))
		a.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (a.any.sa_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&a.v6.sin6_addr))
		a.v6.sin6_addr = in6addr_loopback;
	if (fd < 0 || (connect(fd, &a.any, len) < 0 && errno != EINPROGRESS) ||
	    !wait_for(fd, POLLOUT) ||
	    send(fd, request, sizeof request - 1, MSG_NOSIGNAL) != (ssize_t)sizeof request - 1)
		return false;
	while (got < sizeof good - 1 && wait_for(fd, POLLIN)) {
		ssize_t n = recv(fd, answer + got, sizeof good - 1 - got, 0);

		if (n <= 0)
			break;
		got += (size_t)n;
	}
	return strcmp(answer, good) == 0;
}

void up_notify(const char *what)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	size_t len = path ? strlen(path) : 0;
	autofd fd = -1;

	if (len == 0 || len >= sizeof a.sun_path)
		return;
	memcpy(a.sun_path, path, len);
	if (a.sun_path[0] == '@')
		a.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0)
		(void)sendto(fd, what, strlen(what), MSG_NOSIGNAL, (const struct sockaddr *)&a,
			     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
}
