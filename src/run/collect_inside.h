/*
 * collect_inside.h - what the parts of collecting share. Only for src/run/collect*.c.
 *
 *	collect.c         finds the wire files, puts them in order, asks for symbols, says what went wrong
 *	collect_image.c   one wire file becomes rows
 *	collect_frame.c   one node of a wire file becomes one or more frames
 *	collect_memory.c  the memory profile of one wire file
 *	collect_gap.c     processes that left no wire file
 *	collect_source.c  text of the lines that were hit
 */
#ifndef PITOT_RUN_COLLECT_INSIDE_H
#define PITOT_RUN_COLLECT_INSIDE_H

#include "base/map.h"
#include "run/collect.h"
#include "run/wire_read.h"
#include "store/profile.h"
#include "symbol/jit.h"
#include "symbol/symbol.h"

/* A process image with a wire file. */
struct image {
	char *path;
	struct wire_summary summary;
	uint64_t cpu_before_ns; /* of the same process's images before it */
	uint64_t covered_ns;    /* what its samples stand for, once they are stored */
};

/* What is known of a profiled stage once all its images are stored. */
struct stage_sum {
	struct collect_stage stage;
	uint64_t images, samples, lost, weight_ns, cpu_ns, handler_ns;
	double gap_s;
	uint64_t memory_images; /* whose memory was watched */
	uint64_t memory_calls, memory_bytes, memory_peak;
	bool memory_sampled;
};

/* Something to tell about a stage, and of how many processes it is true. */
struct remark {
	int64_t stage_id;
	char *text;
	uint64_t count;
	bool is_warning;
};

struct source_place {
	char *file;
	int line;
};

struct collect {
	const struct collect_options *options;
	uint64_t now_mono_ns;
	struct symbol_table *symbols;
	VEC(struct image) images; /* by start */
	VEC(struct stage_sum) stages;
	VEC(struct remark) remarks;
	VEC(struct source_place) sources;
	struct map seen_frames;               /* ids of frames whose line has been noted */
	uint64_t memory_bytes, memory_counts; /* of all sites and weights so far */
	uint64_t noted_ns;                    /* when the person was last told something */
	struct err *err;
	int code; /* the store's first failure */
};

/* Whether the store took it; the first failure is kept. */
bool collect_stored(struct collect *collect, int code);
struct stage_sum *collect_stage_of(struct collect *collect, int64_t stage_id); /* NULL: not a profiled one */
void collect_remark(struct collect *collect, int64_t stage_id, bool is_warning, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
uint64_t collect_since_start(const struct collect *collect, uint64_t mono_ns);

/* collect_image.c: `wants` only names the addresses to be resolved; `store` writes everything. */
void image_wants(struct collect *collect, struct image *image);
void image_store(struct collect *collect, struct image *image);

/* collect_frame.c */
struct frame_maker {
	struct collect *collect;
	const struct wire_file *file;
	struct jit_map *jit;
	bool jit_tried;
};

void frame_want(struct frame_maker *maker, const struct read_node *node);
void frame_want_entry(struct frame_maker *maker, uint64_t address);
/* The stack of a node below `parent`; 0 where the store failed. */
int64_t frame_stack(struct frame_maker *maker, const struct read_node *node, int64_t parent);
/* The agent's own code: calls through its wrappers are not shown, and what is spent in it is a remark. */
bool frame_is_agent(const struct frame_maker *maker, const struct read_node *node);
int64_t frame_agent_stack(struct collect *collect, int64_t parent);
int64_t frame_mark_stack(struct collect *collect, const char *text);
/* The function at an address, as a name; owned by the caller, NULL: not known. */
char *frame_entry_name(struct frame_maker *maker, uint64_t address);
void frame_maker_fini(struct frame_maker *maker);

/* What the memory profile of an image hangs from. */
struct memory_owner {
	int64_t process_id;
	const int64_t *stacks; /* per node */
	const int64_t *threads;
};

/* Whether the store took it; nothing is done where the file has no memory profile. */
bool memory_store_all(struct collect *collect, const struct wire_file *file, const struct memory_owner *owner);

void gap_store_all(struct collect *collect);

/* Lines of frames that samples hit; the text is read at the end. */
void source_want(struct collect *collect, const struct profile_frame *frame);
void source_store_all(struct collect *collect);

#endif
