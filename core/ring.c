/* SPDX-License-Identifier: MIT */
/*
 * core/ring.c - the event ring: many writers, one reader, in shared memory that outlives the process which writes it.
 *
 * An event of k slots is committed from its last slot to its first, so a reader that sees the first sees all of them; the others carry
 * `part` > 0, so what a dead writer left half committed is known for what it is.
 * Not here: what an event says (core/event.c), storing it (index/writer.c).
 */
#include "core/ring.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"

#define RING_MAGIC 0x474e495248545247ull /* "GRTHRING" */
#define RING_VERSION 1u
#define RING_HEADER_SIZE 4096u
#define FULL_RECHECK_MS 100 /* a reader that died wakes nobody */

/* Each group on a cache line of its own: writers hammer head, the reader tail. */
struct header {
	_Atomic uint64_t magic; /* stored last, when the rest stands */
	uint32_t version, slots, slot_size, zero;
	_Alignas(64) _Atomic uint64_t head; /* the next slot to take */
	_Alignas(64) _Atomic uint64_t tail; /* everything before it is stored for good */
	_Atomic uint32_t room;              /* futex: counts releases */
	_Atomic uint32_t writers;           /* that sleep for room */
	_Alignas(64) _Atomic uint32_t news; /* futex: counts wake-ups of the reader */
	_Atomic uint32_t reader_sleeps;
	_Atomic uint32_t woken; /* ring_wake came; stays until ring_wait sees it */
};

struct slot {
	_Atomic uint64_t seq; /* its absolute number + 1 when committed */
	uint32_t len;         /* bytes of the whole event */
	uint32_t part;        /* 0 the first slot of an event, 1, 2, ... */
	uint8_t data[RING_SLOT_DATA];
};
_Static_assert(sizeof(struct header) <= RING_HEADER_SIZE, "ring header");
_Static_assert(sizeof(struct slot) == RING_SLOT_SIZE, "ring slot");
_Static_assert((RING_SLOTS & (RING_SLOTS - 1)) == 0, "ring slots");
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2 && ATOMIC_INT_LOCK_FREE == 2,
	       "atomics between processes");

struct ring {
	struct header *h;
	struct slot *slots;
};

static void futex_wait(_Atomic uint32_t *word, uint32_t seen, int timeout_ms)
{
	struct timespec ts = { .tv_sec = timeout_ms / 1000,
			       .tv_nsec = timeout_ms % 1000 * NS_PER_MS };

	/* every return is a reason to look again, so none is told apart */
	(void)syscall(SYS_futex, word, FUTEX_WAIT, seen, timeout_ms < 0 ? NULL : &ts, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word)
{
	(void)syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static struct slot *slot_at(const struct ring *r, uint64_t pos)
{
	return &r->slots[pos & (RING_SLOTS - 1)];
}

static bool committed(const struct ring *r, uint64_t pos)
{
	return atomic_load(&slot_at(r, pos)->seq) == pos + 1;
}

static unsigned slots_of(size_t len)
{
	return len ? (unsigned)((len + RING_SLOT_DATA - 1) / RING_SLOT_DATA) : 1;
}

static int format(struct header *h, struct err *err)
{
	uint64_t magic = atomic_load(&h->magic);

	if (magic == 0 && h->version == 0 && h->slots == 0 && atomic_load(&h->head) == 0) {
		h->version = RING_VERSION;
		h->slots = RING_SLOTS;
		h->slot_size = RING_SLOT_SIZE;
		atomic_store(&h->magic, RING_MAGIC);
		return 0;
	}
	/* magic 0 with the right shape: the process that formatted it died just before the last store */
	if ((magic != RING_MAGIC && magic != 0) || h->version != RING_VERSION ||
	    h->slots != RING_SLOTS || h->slot_size != RING_SLOT_SIZE)
		return err_set(err, -EBADMSG, "event ring: the file has another format");
	atomic_store(&h->magic, RING_MAGIC);
	return 0;
}

int ring_open(int fd, struct ring **ret, struct err *err)
{
	struct stat st;
	struct ring *r;
	char *map;
	int code;

	if (fstat(fd, &st) < 0)
		return err_sys(err, "event ring");
	/* allocated, not only sized: a full tmpfs must be an error here and no SIGBUS later */
	if (st.st_size == 0 && fallocate(fd, 0, 0, (off_t)RING_FILE_SIZE) < 0)
		return err_sys(err, "event ring: allocate %zu bytes", RING_FILE_SIZE);
	if (st.st_size != 0 && st.st_size != (off_t)RING_FILE_SIZE)
		return err_set(err, -EBADMSG, "event ring: the file has another size");
	r = calloc(1, sizeof *r);
	if (!r)
		return err_set(err, -ENOMEM, "event ring: no memory");
	map = mmap(NULL, RING_FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED) {
		code = err_sys(err, "event ring: map");
		free(r);
		return code;
	}
	r->h = (struct header *)(void *)map;
	r->slots = (struct slot *)(void *)(map + RING_HEADER_SIZE);
	code = format(r->h, err);
	if (code < 0) {
		ring_close(r);
		return code;
	}
	*ret = r;
	return 0;
}

void ring_close(struct ring *r)
{
	if (!r)
		return;
	(void)munmap(r->h, RING_FILE_SIZE);
	free(r);
}

/* Until slots before `end` may be written. */
static void wait_for_room(struct ring *r, uint64_t end)
{
	struct header *h = r->h;

	while (end > atomic_load(&h->tail) + RING_SLOTS) {
		uint32_t seen = atomic_load(&h->room);

		(void)atomic_fetch_add(&h->writers, 1);
		if (end > atomic_load(&h->tail) + RING_SLOTS)
			futex_wait(&h->room, seen, FULL_RECHECK_MS);
		(void)atomic_fetch_sub(&h->writers, 1);
	}
}

/*
 * Four accesses decide whether the reader sleeps through an event: here the commit, then the look at reader_sleeps; there the store
 * of reader_sleeps, then the look at the slot. All are sequentially consistent, so one of the two sees the other.
 */
static void wake_reader(struct header *h)
{
	if (atomic_load(&h->reader_sleeps) == 0 || atomic_exchange(&h->reader_sleeps, 0) == 0)
		return;
	(void)atomic_fetch_add(&h->news, 1);
	futex_wake(&h->news);
}

int ring_put(struct ring *r, struct bytes event, uint64_t *ret_end)
{
	const uint8_t *p = event.p;
	unsigned k = slots_of(event.len);
	uint64_t pos;

	if (event.len == 0 || event.len > RING_EVENT_MAX)
		return -EMSGSIZE;
	pos = atomic_fetch_add(&r->h->head, k);
	wait_for_room(r, pos + k);
	for (unsigned i = k; i-- > 0;) { /* the first slot last */
		struct slot *s = slot_at(r, pos + i);
		size_t off = (size_t)i * RING_SLOT_DATA;
		size_t n = event.len - off < RING_SLOT_DATA ? event.len - off : RING_SLOT_DATA;

		s->len = (uint32_t)event.len;
		s->part = i;
		memcpy(s->data, p + off, n);
		atomic_store(&s->seq, pos + i + 1);
	}
	wake_reader(r->h);
	if (ret_end)
		*ret_end = pos + k;
	return 0;
}

/* The event whose first slot, at pos, is committed. */
static int copy_out(const struct ring *r, uint64_t *pos, void *room, size_t *ret_len)
{
	const struct slot *first = slot_at(r, *pos);
	uint32_t len = first->len;
	uint8_t *to = room;
	unsigned k;

	if (first->part != 0 || len == 0 || len > RING_EVENT_MAX) {
		(*pos)++;
		return -EBADMSG;
	}
	k = slots_of(len);
	for (unsigned i = 0; i < k; i++) {
		const struct slot *s = slot_at(r, *pos + i);
		size_t off = (size_t)i * RING_SLOT_DATA;

		if (!committed(r, *pos + i) || s->part != i || s->len != len) {
			(*pos)++;
			return -EBADMSG;
		}
		memcpy(to + off, s->data, len - off < RING_SLOT_DATA ? len - off : RING_SLOT_DATA);
	}
	*pos += k;
	*ret_len = len;
	return 1;
}

int ring_get(struct ring *r, uint64_t *pos, bool recover, void *room, size_t *ret_len)
{
	if (recover) {
		uint64_t head = ring_head(r);

		/* a hole, or the rest of an event whose first slot was never committed */
		while (*pos < head && (!committed(r, *pos) || slot_at(r, *pos)->part != 0))
			(*pos)++;
		if (*pos >= head)
			return 0;
	} else if (!committed(r, *pos)) {
		return 0;
	}
	return copy_out(r, pos, room, ret_len);
}

void ring_release(struct ring *r, uint64_t pos)
{
	atomic_store(&r->h->tail, pos);
	if (atomic_load(&r->h->writers) == 0)
		return;
	(void)atomic_fetch_add(&r->h->room, 1);
	futex_wake(&r->h->room);
}

uint64_t ring_head(const struct ring *r)
{
	return atomic_load(&r->h->head);
}

uint64_t ring_tail(const struct ring *r)
{
	return atomic_load(&r->h->tail);
}

static bool news_for_reader(struct ring *r, uint64_t pos)
{
	return atomic_exchange(&r->h->woken, 0) != 0 || committed(r, pos);
}

void ring_wait(struct ring *r, uint64_t pos, int timeout_ms)
{
	struct header *h = r->h;
	int64_t end = clock_mono_ns() + timeout_ms * NS_PER_MS;

	for (;;) {
		uint32_t seen = atomic_load(&h->news);
		int64_t left = (end - clock_mono_ns() + NS_PER_MS - 1) / NS_PER_MS;

		if (news_for_reader(r, pos) || (timeout_ms >= 0 && left <= 0))
			break;
		atomic_store(&h->reader_sleeps, 1);
		if (news_for_reader(r, pos))
			break;
		futex_wait(&h->news, seen, timeout_ms < 0 ? -1 : (int)left);
	}
	atomic_store(&h->reader_sleeps, 0);
}

void ring_wake(struct ring *r)
{
	atomic_store(&r->h->woken, 1);
	(void)atomic_fetch_add(&r->h->news, 1);
	futex_wake(&r->h->news);
}

void ring_restart(struct ring *r, uint64_t pos)
{
	/* going back: what stands in the slots must not look like what is written next */
	if (pos < ring_head(r))
		for (unsigned i = 0; i < RING_SLOTS; i++)
			atomic_store_explicit(&r->slots[i].seq, 0, memory_order_relaxed);
	atomic_store(&r->h->writers, 0);
	atomic_store(&r->h->reader_sleeps, 0);
	atomic_store(&r->h->woken, 0);
	atomic_store(&r->h->tail, pos);
	atomic_store(&r->h->head, pos);
}
