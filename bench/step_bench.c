/* SPDX-License-Identifier: MIT */
/*
 * bench/step_bench.c - how long a step takes, from the request to its answer, beside plain fork and exec of the same program.
 *   step_bench PORT WORKSPACE AGENT LIVE_SANDBOX ROUNDS PROGRAM [ARG]...      (the key is in GARTH_API_KEY)
 * Each round runs all ways once, in an order of its own. Prints one line a sample: "WAY MICROSECONDS".
 * Not here: starting the server and the medians (bench/run.py).
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/buf.h"
#include "core/clock.h"
#include "core/fd.h"

#define ANSWER_MAX 65536u
#define BODY_MAX 16384u

enum way { PLAIN = 0, LIVE, FRESH, WAYS };

static const char *const way_names[WAYS] = { "plain", "live", "fresh" };

struct bench {
	int sock;
	const char *workspace, *agent, *sandbox;
	char *const *argv;
};

static _Noreturn void die(const char *what)
{
	perror(what);
	exit(1);
}

static int dial(const char *port)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)strtoul(port, NULL, 10)) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) < 0)
		die("connect");
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	return fd;
}

/* Read one answer; its body must say that the program exited with 0. */
static void read_answer(int sock)
{
	char text[ANSWER_MAX + 1], *body = NULL, *len;
	size_t have = 0, want = 0;

	do {
		ssize_t n = have < ANSWER_MAX ? read(sock, text + have, ANSWER_MAX - have) : -1;

		if (n <= 0)
			die("the answer");
		have += (size_t)n;
		text[have] = '\0';
		body = body ? body : strstr(text, "\r\n\r\n");
		len = strcasestr(text, "\r\nContent-Length:");
		if (body && len)
			want = (size_t)(body - text) + 4 +
			       strtoul(len + sizeof "\r\nContent-Length:" - 1, NULL, 10);
	} while (!body || have < want);
	if (!strstr(body, "\"exit_code\":0") && !strstr(body, "\"exit_code\": 0")) {
		(void)fprintf(stderr, "step_bench: %s\n", text);
		exit(1);
	}
}

static void run_step(const struct bench *b, bool live)
{
	autobuf body, all;

	buf_init(&body, BODY_MAX);
	buf_init(&all, BODY_MAX);
	(void)buf_addf(&body, "{\"agent\": \"%s\", ", b->agent);
	if (live)
		(void)buf_addf(&body, "\"sandbox\": \"%s\", ", b->sandbox);
	(void)buf_add_str(&body, "\"argv\": [");
	for (int i = 0; b->argv[i]; i++)
		(void)buf_addf(&body, "%s\"%s\"", i ? ", " : "", b->argv[i]);
	(void)buf_add_str(&body, "]}");
	(void)buf_addf(&all,
		       "POST /v1/workspaces/%s/steps HTTP/1.1\r\nHost: localhost\r\nAuthorization: "
		       "Bearer %s\r\n"
		       "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
		       b->workspace, getenv("GARTH_API_KEY"), body.len, buf_str(&body));
	if (fd_write_full(b->sock, all.p, all.len) < 0)
		die("send");
	read_answer(b->sock);
}

static void run_plain(const struct bench *b)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		for (int i = 0; i < 3; i++)
			(void)dup2(null, i);
		(void)execvp(b->argv[0], b->argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
		die("the plain program");
}

static void run_way(const struct bench *b, enum way way)
{
	int64_t start = clock_mono_ns();

	if (way == PLAIN)
		run_plain(b);
	else
		run_step(b, way == LIVE);
	(void)printf("%s %.1f\n", way_names[way], (double)(clock_mono_ns() - start) / 1e3);
}

int main(int argc, char **argv)
{
	struct bench b = { 0 };
	unsigned long rounds;

	if (argc < 7 || !getenv("GARTH_API_KEY")) {
		(void)fprintf(
			stderr,
			"step_bench PORT WORKSPACE AGENT LIVE_SANDBOX ROUNDS PROGRAM [ARG]...\n");
		return 2;
	}
	b = (struct bench){ dial(argv[1]), argv[2], argv[3], argv[4], argv + 6 };
	rounds = strtoul(argv[5], NULL, 10);
	for (unsigned long i = 0; i < rounds; i++)
		for (unsigned way = 0; way < WAYS; way++)
			run_way(&b, (enum way)((way + i) % WAYS));
	(void)close(b.sock);
	return 0;
}
