/* SPDX-License-Identifier: MIT */
/*
 * cli/up_run.c - the supervisor's loop: children that end, signals, garthd's answers.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include "cli/exit.h"
#include "cli/up.h"
#include "core/clock.h"
#include "core/fd.h"
#include "core/log.h"
#include "core/msg.h"

#define TICK_MS 50
#define BACKOFF_MS 200 /* times the number of deaths in a row */
#define ORPHANS_MS 2000

enum run_state { RUN_GO = 0, RUN_STOP, RUN_FAIL };

/* garthd's answer to API_NEW: start the garth-api that was announced; or the sentence why garthd itself could not start. */
static bool hear_garthd(struct up *u, struct err *err)
{
	struct wire_msg m;
	bool good = true;

	wire_msg_init(&m);
	if (wire_recv_timeout(u->garthd_fd, &m, 0) == 1 &&
	    m.head.type == (MSG_API_NEW | WIRE_REPLY) &&
	    msg_check(&m, PEER_D, PEER_UP, NULL) == 0) {
		struct bytes t = msg_tail(&m);

		if (msg_status_of(&m) < 0)
			good = err_set(err, msg_status_of(&m), "%.*s",
				       (int)(t.len < 250 ? t.len : 250),
				       t.len ? (const char *)t.p : "garthd could not start") == 0;
		else if (u->api == 0 && u->api_fd >= 0)
			good = up_start_api(u, err) == 0;
	}
	wire_msg_fini(&m);
	return good;
}

/* Has somebody asked again, who has no patience? */
static bool hurried(struct up *u)
{
	struct signalfd_siginfo si;

	while (!u->hurry && read(u->signal_fd, &si, sizeof si) == (ssize_t)sizeof si)
		u->hurry = si.ssi_signo != SIGCHLD;
	return u->hurry;
}

/* sig 0: it has been told otherwise. After ms, or when hurried, SIGKILL. */
static void kill_and_wait(struct up *u, pid_t *pid, int sig, int64_t ms)
{
	int64_t until = clock_mono_ns() + ms * NS_PER_MS;
	int status;

	if (*pid == 0)
		return;
	(void)kill(*pid, sig);
	while (*pid) {
		pid_t got = waitpid(*pid, &status, WNOHANG);

		if (got == *pid || (got < 0 && errno == ECHILD)) {
			*pid = 0;
			return;
		}
		if (until != INT64_MAX && (clock_mono_ns() > until || hurried(u))) {
			(void)kill(*pid, SIGKILL);
			until = INT64_MAX;
		}
		(void)poll(NULL, 0, 5);
	}
}

/* garthd is gone: nothing that it ran may live on. */
static void fell(struct up *u)
{
	kill_and_wait(u, &u->api, SIGKILL, 0);
	fd_closep(&u->api_fd);
	up_sweep(u);
}

static int start_both(struct up *u, struct err *err)
{
	int r = up_start_garthd(u, err);

	return r < 0 ? r : up_announce_api(u, err);
}

/* One of the two has ended. RUN_FAIL: too often, or before the first ready line. */
static enum run_state restart(struct up *u, bool was_garthd, int status, struct err *err)
{
	const char *name = was_garthd ? "garthd" : "garth-api";
	int64_t lived = clock_mono_ns() - (was_garthd ? u->garthd_ns : u->api_ns);

	if (!u->started) {
		if (err->code == 0)
			(void)err_set(err, -EIO, "%s ended while the server started (%s %d)", name,
				      WIFSIGNALED(status) ? "signal" : "exit code",
				      WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
		return RUN_FAIL;
	}
	u->deaths = lived > UP_STEADY_MS * NS_PER_MS ? 1 : u->deaths + 1;
	log_warn("%s ended, starting it again: status=%d deaths=%u why=\"%s\"", name, status,
		 u->deaths, err->msg);
	*err = (struct err){ 0 };
	if (u->deaths > UP_DEATHS_MAX) {
		(void)err_set(err, -EIO, "%s ends again and again", name);
		return RUN_FAIL;
	}
	if (u->deaths > 1)
		(void)poll(NULL, 0, (int)(u->deaths - 1) * BACKOFF_MS);
	if (was_garthd) {
		fell(u);
		return start_both(u, err) < 0 ? RUN_FAIL : RUN_GO;
	}
	return up_announce_api(u, err) < 0 ? RUN_FAIL : RUN_GO;
}

static enum run_state reap(struct up *u, struct err *err)
{
	enum run_state s = RUN_GO;
	int status;
	pid_t pid;

	while (s == RUN_GO && (pid = waitpid(-1, &status, WNOHANG)) > 0) {
		bool was_garthd = pid == u->garthd;

		if (!was_garthd && pid != u->api)
			continue; /* an orphan of theirs */
		if (was_garthd) {
			u->garthd = 0;
			(void)hear_garthd(u, err);
		} else {
			u->api = 0;
		}
		s = restart(u, was_garthd, status, err);
	}
	return s;
}

static enum run_state signals(struct up *u, struct err *err)
{
	struct signalfd_siginfo si;
	enum run_state s = RUN_GO;

	while (read(u->signal_fd, &si, sizeof si) == (ssize_t)sizeof si)
		if (si.ssi_signo != SIGCHLD)
			s = RUN_STOP;
	return s == RUN_GO ? reap(u, err) : s;
}

static void say_ready(struct up *u)
{
	char line[sizeof u->url + 32];
	int len = snprintf(line, sizeof line, "garth: ready %s\n", u->url);

	u->started = true;
	(void)!fd_write_full(u->ready_fd >= 0 ? u->ready_fd : STDOUT_FILENO, line, (size_t)len);
	fd_closep(&u->ready_fd);
	up_notify("READY=1");
}

/* What outlived garthd for a moment (a garth-fs whose keeper is gone) is this process's child now: its end is waited for. */
static void reap_orphans(void)
{
	int64_t until = clock_mono_ns() + ORPHANS_MS * NS_PER_MS;
	pid_t got;

	while ((got = waitpid(-1, NULL, WNOHANG)) >= 0 && clock_mono_ns() < until)
		if (got == 0)
			(void)poll(NULL, 0, 5);
}

/* Stop in order: garth-api ends its steps, garthd its sandboxes and mounts. A second signal hurries. */
static void stop(struct up *u)
{
	struct msg_stop m = { { 0 } };

	up_notify("STOPPING=1");
	kill_and_wait(u, &u->api, SIGTERM, UP_API_STOP_MS);
	if (u->garthd && wire_send(u->garthd_fd, MSG_STOP, ++u->next_id, bytes_of(&m, sizeof m),
				   bytes_of(NULL, 0), NULL, 0) == 0)
		kill_and_wait(u, &u->garthd, 0, UP_GARTHD_STOP_MS);
	kill_and_wait(u, &u->garthd, SIGKILL, 0);
	up_sweep(u);
	reap_orphans();
}

static enum run_state turn(struct up *u, int64_t ready_until, struct err *err)
{
	struct pollfd w[] = { { .fd = u->signal_fd, .events = POLLIN },
			      { .fd = u->garthd_fd, .events = POLLIN } };
	int n = poll(w, 2, u->started ? -1 : TICK_MS);

	if (n > 0 && w[0].revents)
		return signals(u, err);
	if (n > 0 && w[1].revents & POLLIN) {
		if (!hear_garthd(u, err) && !u->started)
			return RUN_FAIL;
	} else if (n > 0 && w[1].revents) {
		(void)poll(NULL, 0, TICK_MS); /* its end comes as a signal */
	}
	if (!u->started && u->api && up_healthy(u))
		say_ready(u);
	if (!u->started && clock_mono_ns() > ready_until) {
		(void)err_set(err, -ETIMEDOUT, "the server did not answer within %d s",
			      UP_READY_MS / 1000);
		return RUN_FAIL;
	}
	return RUN_GO;
}

int up_run(struct up *u)
{
	int64_t ready_until = clock_mono_ns() + UP_READY_MS * NS_PER_MS;
	enum run_state s = RUN_GO;
	struct err err = { 0 };

	if (start_both(u, &err) < 0)
		s = RUN_FAIL;
	while (s == RUN_GO)
		s = turn(u, ready_until, &err);
	stop(u);
	if (s == RUN_STOP)
		return EXIT_OK;
	(void)fprintf(stderr, "garth: %s\n", err.msg);
	return EXIT_FAILED;
}
