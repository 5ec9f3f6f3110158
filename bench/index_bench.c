/* SPDX-License-Identifier: MIT */
/*
 * bench/index_bench.c - how fast the record is written, made durable, asked and verified. Prints, asserts nothing.
 *   make libs && cc -O2 -D_GNU_SOURCE -I. bench/index_bench.c build/lib/libindex.a build/lib/libcore.a -lsqlite3 -lcrypto -pthread -o build/index_bench && build/index_bench [EVENTS] [FOLDER]
 * Not here: the file system's side (bench/run.sh).
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/fd.h"
#include "core/path.h"
#include "index/query.h"
#include "index/verify.h"
#include "index/writer.h"

#define STEP_EVERY 40 /* events a step: a begin, reads, versions, changes, an end */
#define SYNCS 300

struct bench {
	struct ring *ring;
	struct idx_writer *w;
	uint64_t end, step, version;
};

static void die(const char *what)
{
	(void)fprintf(stderr, "index_bench: %s\n", what);
	exit(1);
}

static void *run(void *arg)
{
	struct bench *b = arg;

	if (idx_writer_run(b->w, NULL) < 0)
		die("the writer failed");
	return NULL;
}

static void put(struct bench *b, struct event *e)
{
	uint8_t room[4096];
	size_t len = 0;

	e->at_ns = clock_wall_ns();
	if (event_pack(e, room, sizeof room, &len) < 0 ||
	    ring_put(b->ring, bytes_of(room, len), &b->end) < 0)
		die("an event does not fit");
}

static void put_begin(struct bench *b)
{
	struct event e = { .kind = EV_STEP_BEGIN };

	e.u.step_begin = (struct ev_step_begin){ .step = ++b->step,
						 .sandbox = b->step,
						 .agent = 1,
						 .gid = 60000,
						 .job = BYTES_LIT("bench"),
						 .command = BYTES_LIT("[\"python3\",\"a.py\"]"),
						 .limits = BYTES_LIT("{\"timeout_ms\":30000}"),
						 .observed = BYTES_LIT("{\"network\":\"none\"}") };
	put(b, &e);
}

static void put_end(struct bench *b)
{
	struct event e = { .kind = EV_STEP_END };

	e.u.step_end = (struct ev_step_end){
		.step = b->step, .reason = REASON_EXITED, .wall_ns = 1, .cpu_ns = 1
	};
	put(b, &e);
}

static void put_file(struct bench *b, unsigned i)
{
	struct event e = { .kind = i % 4 == 0 ? EV_VERSION : i % 4 == 3 ? EV_CHANGE : EV_READ };
	const struct ev_who who = { .agent = 1, .sandbox = b->step, .step = b->step };
	char path[64];
	int n = snprintf(path, sizeof path, "output/run-%llu/table-%u.csv",
			 (unsigned long long)b->step / 10, i % 37);
	const struct bytes p = bytes_of(path, (size_t)n);

	if (e.kind == EV_VERSION) {
		e.u.version = (struct ev_version){ .version = ++b->version,
						   .who = who,
						   .path = p,
						   .state = STATE_SEALED,
						   .has_sha = 1,
						   .size = 1000,
						   .media_type = BYTES_LIT("text/csv"),
						   .ino = i };
		sha256_of(bytes_of(&b->version, sizeof b->version), &e.u.version.sha);
	} else if (e.kind == EV_CHANGE) {
		e.u.change = (struct ev_change){ .who = who, .op = OP_MKDIR, .path = p };
	} else {
		e.u.read = (struct ev_read){ .who = who,
					     .version = b->version ? 1 + i % b->version : 0,
					     .path = p };
	}
	put(b, &e);
}

static void rate(const char *what, double n, int64_t ns)
{
	(void)printf("%-28s %12.0f /s\n", what, n * 1e9 / (double)ns);
}

static int by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a;
	int64_t y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static void bench_write(struct bench *b, unsigned events)
{
	int64_t begun = clock_mono_ns();

	for (unsigned i = 0; i < events; i++) {
		if (i % STEP_EVERY == 0)
			put_begin(b);
		else if (i % STEP_EVERY == STEP_EVERY - 1)
			put_end(b);
		else
			put_file(b, i);
	}
	if (idx_writer_sync(b->w, b->end) < 0)
		die("sync failed");
	rate("events stored", events, clock_mono_ns() - begun);
}

static void bench_sync(struct bench *b)
{
	static int64_t took[SYNCS];

	for (unsigned i = 0; i < SYNCS; i++) {
		int64_t begun = clock_mono_ns();

		put_begin(b);
		if (idx_writer_sync(b->w, b->end) < 0)
			die("sync failed");
		took[i] = clock_mono_ns() - begun;
	}
	qsort(took, SYNCS, sizeof took[0], by_size);
	(void)printf("%-28s %12lld us, p99 %lld us\n", "put + durable, median",
		     (long long)took[SYNCS / 2] / 1000, (long long)took[SYNCS * 99 / 100] / 1000);
}

static int count_version(void *ctx, const struct idx_version *v)
{
	(void)v;
	++*(unsigned *)ctx;
	return 0;
}

static void bench_query(const char *db, uint64_t steps)
{
	struct idx_reader *r = NULL;
	unsigned rows = 0;
	unsigned asked = 0;
	int64_t begun;

	if (idx_reader_open(db, &r, NULL) < 0)
		die("no reader");
	begun = clock_mono_ns();
	for (uint64_t s = 1; s <= steps; s += steps / 1000 + 1, asked++)
		if (idx_versions(r, &(struct idx_filter){ .step = s }, count_version, &rows) < 0)
			die("query failed");
	rate("versions of a step, queries", asked, clock_mono_ns() - begun);
	idx_reader_close(r);
}

static void bench_verify(const char *db)
{
	struct idx_verify v;
	int64_t begun = clock_mono_ns();

	if (idx_verify(db, -1, NULL, NULL, NULL, &v, NULL) < 0 || !v.ok)
		die("the record does not hold");
	rate("events verified", (double)v.events, clock_mono_ns() - begun);
}

static void bench_all(struct bench *b, const char *dir, int dir_fd, unsigned events)
{
	char db[512];
	struct stat st;
	pthread_t t = 0;
	uint64_t holes;

	if (idx_writer_open(dir_fd, b->ring, &b->w, &holes, NULL) < 0 ||
	    pthread_create(&t, NULL, run, b) != 0)
		die("no writer");
	bench_write(b, events);
	bench_sync(b);
	(void)snprintf(db, sizeof db, "%s/index.db", dir);
	bench_query(db, b->step);
	idx_writer_stop(b->w);
	(void)pthread_join(t, NULL);
	idx_writer_close(b->w);
	bench_verify(db);
	if (stat(db, &st) == 0)
		(void)printf("%-28s %12.0f bytes\n", "database, an event",
			     (double)st.st_size / events);
}

int main(int argc, char **argv)
{
	unsigned events = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 200000;
	const char *parent = argc > 2 ? argv[2] : "/tmp";
	struct bench b = { 0 };
	char dir[256];
	autofd ring_fd = memfd_create("ring", MFD_CLOEXEC);
	autofd parent_fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autofd dir_fd = -1;

	(void)snprintf(dir, sizeof dir, "%s/garth-bench-XXXXXX", parent);
	if (events < STEP_EVERY || ring_fd < 0 || parent_fd < 0 || !mkdtemp(dir))
		die("no place");
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0 || ring_open(ring_fd, &b.ring, NULL) < 0)
		die("no ring");
	bench_all(&b, dir, dir_fd, events);
	ring_close(b.ring);
	return path_rm_tree(parent_fd, dir + strlen(parent) + 1, NULL) < 0;
}
