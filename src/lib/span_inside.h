/*
 * span_inside.h - what the parts of the recorder of spans share. Internal to src/lib.
 *
 *	span.c         the calls: begin, end, chunks, counters, gauges, snapshots
 *	span_lane.c    who writes where: threads and their lanes, fork, exit
 *	span_file.c    the file: made, grown block by block
 *	span_clock.c   ticks and what they are worth
 *	span_memory.c  how much memory the process has
 *	span_count.c   counters of the thread, where pitot run --span-counters asks for them
 *
 * The host program must not notice: no descriptor is kept (but those of counters, if they are asked for), no signal is sent, errno is kept by the calls that can change it, and
 * whatever fails means that something is not recorded, and counted. Nothing is allocated with malloc: pages come from mmap.
 */
#ifndef PITOT_LIB_SPAN_INSIDE_H
#define PITOT_LIB_SPAN_INSIDE_H

#include "wire/span_wire.h"

#include <stddef.h>

/* What a node's `inside` holds. */
enum { IN_CHILD, IN_SIBLING, IN_PARENT, IN_SITE, IN_SERIAL, IN_CHUNK_TICKS, IN_CHUNK_CALLS, IN_CHUNK_NEXT };

struct span_chunk {
	uint64_t serial; /* which one it is; 0: none is open */
	int64_t number;
	uint64_t begin;
	struct span_wire_node *touched; /* list by IN_CHUNK_NEXT */
	uint32_t parts;
};

/* The counters of a thread: one group, read as one. */
struct span_counting {
	int fd[SPAN_WIRE_EVENTS]; /* the first is the group's leader */
	uint8_t event[SPAN_WIRE_EVENTS];
	uint32_t count; /* of them; 0: none are open */
	uint64_t id;    /* the kernel's, of the leader: tells whether the descriptor is still ours */
};

/* All that one thread needs; a page of its own. */
struct span_lane {
	struct span_wire_node *current; /* innermost open span; NULL: none */
	struct span_wire_node *first;   /* roots */
	struct span_wire_block *block;
	uint8_t *at, *end; /* room that is left in the block */
	uint64_t block_offset;
	struct span_chunk chunk;
	uint64_t chunks; /* so far: the serial of the last */
	struct span_wire_series *series;
	struct span_wire_thread *thread;
	struct span_lane *next_free;
	uint64_t memory_ticks; /* when a chunk last asked for the process's memory */
	uint32_t number, depth, pages;
	bool counts; /* counters are asked for, of every thread of the process */
	struct span_counting counting;
	struct span_lane *next_made; /* all of them */
};

/* The thread's lane; NULL: it can have none. */
struct span_lane *span_lane_get(void);
/* The one that it has already; NULL: none. */
struct span_lane *span_lane_now(void);
/* A record of that size, zeroed but for its head, that is not yet counted in `used`; NULL: no room. */
void *span_lane_record(struct span_lane *lane, enum span_wire_kind kind, size_t bytes);
/* The record is whole. */
void span_lane_publish(struct span_lane *lane);
uint32_t span_lane_id(const struct span_lane *lane, const void *record_in_block);
/* Closes what is open down to `node` (NULL: all), counting each as unbalanced. */
void span_unwind(struct span_lane *lane, const struct span_wire_node *node);

/* The process's file, made at the first call; NULL: there is none, and none will be. */
struct span_wire_header *span_file_get(void);
/* The one that there is already. */
struct span_wire_header *span_file_now(void);
/* A new block; NULL: no room. `offset` is where in the file it lies. */
struct span_wire_block *span_file_block(uint32_t pages, uint32_t lane, uint64_t *offset);
/* In the child of a fork: the file is the parent's. */
void span_file_forget(void);
void span_file_note_time(void);
void span_file_end(void);
/* What PITOT_SPANS says, looked at once. */
int span_file_asked(void);

void span_clock_init(void);
enum span_wire_clock span_clock_kind(void);
/* Both clocks at one moment. */
void span_clock_pair(uint64_t *mono_ns, uint64_t *ticks);
extern uint64_t span_clock_long;   /* ticks of SPAN_WIRE_LONG_NS */
extern int span_clock_has_counter; /* the processor's counter is used */
uint64_t span_clock_system(void);

static inline uint64_t span_ticks(void)
{
	return span_clock_has_counter ? span_wire_counter() : span_clock_system();
}

struct span_memory {
	uint64_t rss_bytes, vms_bytes, heap_bytes; /* all ones: not known */
};

/* PAGES: not the heap; a few microseconds. WHOLE: the heap too, as a snapshot of a tracer, which notes what each place has allocated;
 * without one from the C library, which takes its locks. */
enum span_memory_depth { SPAN_MEMORY_PAGES, SPAN_MEMORY_WHOLE };
void span_memory_read(struct span_memory *out, enum span_memory_depth depth);
/* Tells a tracer of the end of a chunk, for how each place grows from chunk to chunk; the heap in use. */
uint64_t span_memory_chunk(void);

/* Whether counters are asked for: looked at once. */
bool span_count_asked(void);
/* Opens the calling thread's counters; what its THREAD record says about them. */
uint32_t span_count_open(struct span_counting *counting);
void span_count_close(struct span_counting *counting);
struct span_wire_counts *span_count_of(struct span_wire_node *node);
/* At the edges of a span. */
void span_count_begin(struct span_lane *lane, struct span_wire_node *node);
void span_count_end(struct span_lane *lane, struct span_wire_node *node);

#endif
