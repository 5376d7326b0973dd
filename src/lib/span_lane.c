/*
 * span_lane.c - who writes where: a lane per thread, handed on when the thread ends; fork and exit.
 *
 * A lane is one page of memory of our own and blocks of the file, each larger than the one before, so that a thread with three
 * spans costs 16 KiB of file and one with millions few mappings. Only its thread writes to it; the lock is for taking and giving
 * back lanes and for growing the file.
 *
 * In the child of a fork the thread that forked has no lane, and the first span there makes a file of the child's own. The mappings of
 * the parent's file stay where they are and are never written to again.
 */
#include "lib/span_inside.h"
#include "pitot.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { FIRST_PAGES = 4, LAST_PAGES = 256 };

int pitot_recording_;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;
static bool has_key;
static struct span_lane *free_lanes, *made_lanes;
static uint32_t lane_count;
static bool counts; /* counters are asked for */

/* One pointer fits into the room that the loader keeps for libraries that come late, so that it needs no call to be found. */
static _Thread_local struct span_lane *own __attribute__((tls_model("initial-exec")));

struct span_lane *span_lane_now(void)
{
	return own;
}

uint32_t span_lane_id(const struct span_lane *lane, const void *record_in_block)
{
	uint64_t inside = (uint64_t)((const uint8_t *)record_in_block - (const uint8_t *)lane->block);
	return (uint32_t)((lane->block_offset + inside) / SPAN_WIRE_UNIT);
}

static bool next_block(struct span_lane *lane)
{
	uint32_t pages = lane->pages ? lane->pages * 4 : FIRST_PAGES;
	uint64_t offset = 0;
	pages = pages < LAST_PAGES ? pages : LAST_PAGES;
	pthread_mutex_lock(&lock);
	struct span_wire_block *block = span_file_now() ? span_file_block(pages, lane->number, &offset) : NULL;
	pthread_mutex_unlock(&lock);
	if (!block)
		return false;
	lane->block = block;
	lane->block_offset = offset;
	lane->pages = pages;
	lane->at = (uint8_t *)(block + 1);
	lane->end = (uint8_t *)block + (size_t)pages * SPAN_WIRE_PAGE;
	return true;
}

void *span_lane_record(struct span_lane *lane, enum span_wire_kind kind, size_t bytes)
{
	bytes = (bytes + SPAN_WIRE_UNIT - 1) / SPAN_WIRE_UNIT * SPAN_WIRE_UNIT;
	if (bytes > LAST_PAGES * SPAN_WIRE_PAGE / 4)
		return NULL;
	while ((size_t)(lane->end - lane->at) < bytes) {
		int saved = errno;
		bool grown = next_block(lane);
		errno = saved;
		if (!grown)
			return NULL;
	}
	struct span_wire_record *record = (struct span_wire_record *)lane->at;
	record->kind = (uint16_t)kind;
	record->bytes = (uint32_t)bytes;
	lane->at += bytes;
	return record;
}

void span_lane_publish(struct span_lane *lane)
{
	uint32_t used = (uint32_t)(lane->at - (uint8_t *)(lane->block + 1));
	atomic_store_explicit(&lane->block->used, used, memory_order_release);
}

/* ---- taking and leaving ---- */

static struct span_lane *take_lane(void)
{
	if (!span_file_get())
		return NULL;
	struct span_lane *lane = free_lanes;
	if (lane) {
		free_lanes = lane->next_free;
		return lane;
	}
	void *page = mmap(NULL, sizeof(*lane), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return NULL;
	lane = page;
	lane->number = lane_count++;
	lane->counts = counts;
	lane->next_made = made_lanes;
	made_lanes = lane;
	return lane;
}

static bool begin_thread(struct span_lane *lane)
{
	struct span_wire_thread *thread = span_lane_record(lane, SPAN_WIRE_THREAD, sizeof(*thread));
	if (!thread)
		return false;
	thread->tid = (int32_t)gettid();
	thread->start = span_ticks();
	thread->counting = lane->counts ? span_count_open(&lane->counting) : SPAN_COUNTING_UNASKED;
	prctl(PR_GET_NAME, thread->name);
	lane->thread = thread;
	span_lane_publish(lane);
	return true;
}

static void give_back(struct span_lane *lane)
{
	pthread_mutex_lock(&lock);
	lane->next_free = free_lanes;
	free_lanes = lane;
	pthread_mutex_unlock(&lock);
}

static void miss_thread(void)
{
	struct span_wire_header *header = span_file_now();
	if (header)
		atomic_fetch_add_explicit(&header->threads_missed, 1, memory_order_relaxed);
}

struct span_lane *span_lane_get(void)
{
	if (own || !pitot_recording_)
		return own;
	int saved = errno, cancel = PTHREAD_CANCEL_ENABLE;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&lock);
	struct span_lane *lane = take_lane();
	if (!span_file_now())
		pitot_recording_ = 0; /* no file can be made: stop asking */
	pthread_mutex_unlock(&lock);
	if (lane && !begin_thread(lane)) {
		give_back(lane);
		lane = NULL;
	}
	if (!lane)
		miss_thread();
	own = lane;
	if (lane && has_key)
		pthread_setspecific(key, lane);
	pthread_setcancelstate(cancel, NULL);
	errno = saved;
	return lane;
}

static void leave(void *value)
{
	struct span_lane *lane = value;
	if (!lane || lane != own)
		return;
	span_unwind(lane, NULL);
	lane->chunk.serial = 0;
	atomic_store_explicit(&lane->thread->end, span_ticks(), memory_order_relaxed);
	span_count_close(&lane->counting);
	own = NULL;
	give_back(lane);
}

/* ---- fork, exit ---- */

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

static void in_child(void)
{
	own = NULL;
	if (has_key)
		pthread_setspecific(key, NULL);
	int saved = errno;
	for (struct span_lane *lane = made_lanes; lane; lane = lane->next_made)
		span_count_close(&lane->counting); /* they count the parent's threads */
	errno = saved;
	free_lanes = made_lanes = NULL;
	lane_count = 0;
	span_file_forget();
	pthread_mutex_unlock(&lock);
}

__attribute__((constructor(101))) static void begin(void)
{
	if (!span_file_asked())
		return;
	int saved = errno;
	span_clock_init();
	counts = span_count_asked();
	has_key = pthread_key_create(&key, leave) == 0;
	if (has_key && pthread_atfork(before_fork, after_fork, in_child) == 0)
		pitot_recording_ = 1;
	errno = saved;
}

__attribute__((destructor(101))) static void end(void)
{
	if (own)
		atomic_store_explicit(&own->thread->end, span_ticks(), memory_order_relaxed);
	pthread_mutex_lock(&lock);
	span_file_end();
	pthread_mutex_unlock(&lock);
}
