/* SPDX-License-Identifier: MIT */
/*
 * fs/logs.c - stdout and stderr of steps.
 */
#include "fs/logs.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/fd.h"
#include "core/id.h"
#include "core/msg.h"
#include "fs/act.h"
#include "fs/client.h"
#include "fs/cred.h"
#include "fs/fs.h"
#include "fs/quota.h"
#include "fs/seal.h"
#include "fs/step.h"

#define PUMP_BYTES (64u * 1024)
#define PUMP_ROUNDS 16 /* of one pipe, before the others have their turn */
#define LOG_DIR_MODE 0755
#define LOG_MODE 0644
#define EVENTS 32
#define LAST_WORDS (64u * 1024) /* of a stream that are kept on a full disk */

struct stream {
	int pipe_fd, log_fd; /* -1: ended */
	uint64_t kept;
	bool full; /* the disk was */
	_Atomic uint64_t *bytes;
	atomic_bool *cut;
};

struct log {
	struct step *step;
	struct client *client;
	uint64_t max;
	struct stream s[2];
	bool told; /* all that there is has been told */
	int64_t told_ns;
	struct log *next;
};

struct logs {
	struct fs *fs;
	pthread_t thread;
	int epoll_fd, wake_fd;
	pthread_mutex_t
		lock; /* guards the list; held while one pipe is drained, which waits for nobody */
	struct log *list;
	bool stop;
	char buf[PUMP_BYTES]; /* guarded by lock */
};

static void stream_end(struct stream *s)
{
	fd_closep(&s->pipe_fd);
	fd_closep(&s->log_fd);
}

/* A program that fails since the disk is full must be able to say so. */
static int room(struct fs *fs, uint64_t len, uint64_t more)
{
	return len <= LAST_WORDS ? quota_room_log(fs, more) : quota_room_disk(fs, more);
}

static void keep(struct fs *fs, struct log *g, struct stream *s, const char *p, size_t len)
{
	size_t take = len;

	if (s->kept + take > g->max)
		take = (size_t)(g->max - s->kept);
	if (take < len)
		atomic_store(s->cut, true);
	/* a full disk cuts it too; after a gap nothing more is kept */
	if (take && !s->full &&
	    (room(fs, s->kept + take, take) < 0 || fd_write_full(s->log_fd, p, take) < 0))
		s->full = true;
	if (s->full)
		atomic_store(s->cut, true);
	else
		s->kept += take;
	atomic_fetch_add(s->bytes, len);
}

static void drain(struct logs *l, struct log *g, struct stream *s, int rounds)
{
	ssize_t n = 0;

	while (s->pipe_fd >= 0 && rounds-- > 0) {
		n = read(s->pipe_fd, l->buf, sizeof l->buf);
		if (n > 0) {
			keep(l->fs, g, s, l->buf, (size_t)n);
			g->told = false;
		} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
			stream_end(s);
			g->told = false;
			seal_hint(l->fs);
		} else if (errno == EAGAIN) {
			return;
		}
	}
}

static bool is_done(const struct log *g)
{
	return g->s[0].pipe_fd < 0 && g->s[1].pipe_fd < 0;
}

static void tell(struct log *g, int64_t now_ns)
{
	struct msg_log_grew m = {
		.step = g->step->id,
		.stdout_len = g->s[0].kept,
		.stderr_len = g->s[1].kept,
		.stdout_done = g->s[0].pipe_fd < 0,
		.stderr_done = g->s[1].pipe_fd < 0,
	};

	g->told = true;
	g->told_ns = now_ns;
	if (g->client)
		client_tell(g->client, MSG_LOG_GREW, bytes_of(&m, sizeof m));
}

static void log_free(struct logs *l, struct log *g)
{
	stream_end(&g->s[0]);
	stream_end(&g->s[1]);
	step_put(l->fs->steps, g->step);
	client_put(g->client);
	free(g);
}

/* Tell what is due, drop what is over. The time in ms until something is due, -1: never. Under the lock. */
static int look_after(struct logs *l)
{
	int64_t now_ns = clock_mono_ns();
	struct log **p = &l->list;
	int wait_ms = -1;

	while (*p) {
		struct log *g = *p;

		if (!g->told && now_ns - g->told_ns >= LOGS_GREW_MS * NS_PER_MS)
			tell(g, now_ns);
		if (!g->told)
			wait_ms = LOGS_GREW_MS;
		if (g->told && is_done(g)) {
			*p = g->next;
			log_free(l, g);
			continue;
		}
		p = &g->next;
	}
	return wait_ms;
}

static void pump_readable(struct logs *l)
{
	for (struct log *g = l->list; g; g = g->next)
		for (int i = 0; i < 2; i++)
			drain(l, g, &g->s[i], PUMP_ROUNDS);
}

static void *loop(void *arg)
{
	struct logs *l = arg;
	struct epoll_event ev[EVENTS];
	uint64_t woken;
	int wait_ms = -1;

	(void)prctl(PR_SET_NAME, "logs", 0L, 0L, 0L); /* pthread_setname_np would need /proc */
	cred_own(l->fs);
	pthread_mutex_lock(&l->lock);
	while (!l->stop) {
		pthread_mutex_unlock(&l->lock);
		(void)epoll_wait(l->epoll_fd, ev, EVENTS, wait_ms);
		(void)!read(l->wake_fd, &woken, sizeof woken);
		pthread_mutex_lock(&l->lock);
		pump_readable(l);
		wait_ms = look_after(l);
	}
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

static void wake(struct logs *l)
{
	uint64_t one = 1;

	(void)!write(l->wake_fd, &one, sizeof one);
}

int logs_new(struct fs *fs, struct logs **ret)
{
	struct logs *l = calloc(1, sizeof *l);
	struct epoll_event ev = { .events = EPOLLIN };
	sigset_t all, old;
	int r = 0;

	if (!l)
		return -ENOMEM;
	l->fs = fs;
	pthread_mutex_init(&l->lock, NULL);
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	l->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->epoll_fd < 0 || l->wake_fd < 0 ||
	    epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, l->wake_fd, &ev) < 0)
		r = -errno;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	if (r == 0)
		r = -pthread_create(&l->thread, NULL, loop, l);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (r < 0) {
		fd_closep(&l->epoll_fd);
		fd_closep(&l->wake_fd);
		free(l);
		return r;
	}
	*ret = l;
	return 0;
}

void logs_free(struct logs *l)
{
	if (!l)
		return;
	pthread_mutex_lock(&l->lock);
	l->stop = true;
	pthread_mutex_unlock(&l->lock);
	wake(l);
	pthread_join(l->thread, NULL);
	while (l->list) {
		struct log *g = l->list;

		l->list = g->next;
		log_free(l, g);
	}
	fd_closep(&l->epoll_fd);
	fd_closep(&l->wake_fd);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

/* logs/<step>, the agent's, with two empty files; their descriptors for writing and for reading. */
static int make_files(struct fs *fs, const struct step *st, int write_fds[2], int read_fds[2],
		      struct err *err)
{
	static const char *const names[2] = { "stdout", "stderr" };
	char id[ID_TEXT_SIZE];
	autofd logs = -1, dir = -1;
	int r;

	id_text(ID_STEP, st->id, id);
	cred_own(fs);
	logs = openat(fs->data_fd, "logs", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (logs < 0 || mkdirat(logs, id, LOG_DIR_MODE) < 0)
		return err_sys(err, "make logs/%s", id);
	dir = openat(logs, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return err_sys(err, "open logs/%s", id);
	for (int i = 0; i < 2; i++) {
		write_fds[i] = openat(dir, names[i],
				      O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, LOG_MODE);
		read_fds[i] = openat(dir, names[i], O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		if (write_fds[i] < 0 || read_fds[i] < 0)
			return err_sys(err, "make logs/%s/%s", id, names[i]);
	}
	r = cred_chown(fs, dir, ids_agent_uid(fs->uid_base, st->agent, IDS_UID_USER));
	return r < 0 ? err_errno(err, r, "give logs/%s to its agent", id) : 0;
}

/* The step's programs may open it again by name: /dev/stderr. To read it is nobody's but ours. */
#define PIPE_MODE (S_IRUSR | S_IWUSR | S_IWGRP | S_IWOTH)

static int make_pipe(struct stream *s, int *ret_write)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	s->pipe_fd = fds[0];
	*ret_write = fds[1];
	(void)fchmod(fds[1], PIPE_MODE);
	return fd_set_nonblock(fds[0], true);
}

static void watch(struct logs *l, struct log *g)
{
	struct epoll_event ev = { .events = EPOLLIN };

	pthread_mutex_lock(&l->lock);
	g->next = l->list;
	l->list = g;
	for (int i = 0; i < 2; i++)
		(void)epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, g->s[i].pipe_fd, &ev);
	pthread_mutex_unlock(&l->lock);
	wake(l);
}

int logs_begin(struct fs *fs, struct step *st, uint64_t log_max, struct client *client,
	       int ret_fds[4], struct err *err)
{
	struct log *g = calloc(1, sizeof *g);
	int log_fds[2] = { -1, -1 };
	int r;

	for (int i = 0; i < 4; i++)
		ret_fds[i] = -1;
	if (!g)
		return -ENOMEM;
	g->step = step_ref(fs->steps, st);
	g->client = client_ref(client);
	g->max = log_max;
	g->told = true;
	g->s[0] = (struct stream){
		.pipe_fd = -1, .log_fd = -1, .bytes = &st->stdout_bytes, .cut = &st->stdout_cut
	};
	g->s[1] = (struct stream){
		.pipe_fd = -1, .log_fd = -1, .bytes = &st->stderr_bytes, .cut = &st->stderr_cut
	};
	r = make_files(fs, st, log_fds, ret_fds + 2, err);
	for (int i = 0; i < 2; i++)
		g->s[i].log_fd = log_fds[i];
	for (int i = 0; r == 0 && i < 2; i++)
		r = make_pipe(&g->s[i], &ret_fds[i]);
	if (r < 0) {
		for (int i = 0; i < 4; i++)
			fd_closep(&ret_fds[i]);
		log_free(fs->logs, g);
		return r;
	}
	watch(fs->logs, g);
	return 0;
}

static struct log *find(struct logs *l, uint64_t step)
{
	struct log *g = l->list;

	while (g && g->step->id != step)
		g = g->next;
	return g;
}

bool logs_step_done(struct logs *l, uint64_t step)
{
	const struct log *g;
	bool done;

	pthread_mutex_lock(&l->lock);
	g = find(l, step);
	done = !g || is_done(g);
	pthread_mutex_unlock(&l->lock);
	return done;
}

void logs_step_end(struct logs *l, uint64_t step, bool alive)
{
	struct log *g;

	pthread_mutex_lock(&l->lock);
	g = find(l, step);
	for (int i = 0; g && i < 2; i++) {
		drain(l, g, &g->s[i], PUMP_ROUNDS);
		if (!alive)
			stream_end(&g->s[i]);
	}
	if (g)
		g->told = false;
	pthread_mutex_unlock(&l->lock);
	wake(l);
}
