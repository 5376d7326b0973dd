/* code_graft.c - see code_graft.h. */
#include "analyze/code_graft.h"
#include "base/file.h"

#include <string.h>

enum { NEAR_NS = 50 * 1000 * 1000, NO_POOL = 0 };

/* Beginnings of file names. The number of a pool is its index here and one. */
static const char *const pools[] = {
	"libopenblas", "libscipy_openblas", "libgomp", "libiomp5", "libomp", "libmkl", "libtbb", "libblis"};

enum { POOL_COUNT = sizeof(pools) / sizeof(pools[0]) };

/* What lies between the kernel and the function that pthread_create was given. */
static const char *const loaders[] = {"libc.so", "libc-", "libpthread", "ld-linux", "ld-musl"};

/* A moment at which a thread that is no worker was inside a library. */
struct presence {
	uint64_t at_ns;
	int64_t stack_id; /* cut at the library's outermost frame */
};

struct presence_list {
	VEC(struct presence) moments; /* by time */
};

struct code_graft {
	const struct profile_data *profile;
	uint8_t *frame_pool;  /* per frame */
	uint8_t *thread_pool; /* per thread: of a worker */
	int64_t *outermost
		[POOL_COUNT]; /* per stack: its ancestor where the library begins; 0: none, -1: not looked up */
	struct presence_list *presences; /* process after process, POOL_COUNT of each */
};

static uint8_t pool_of_module(const char *module)
{
	if (!module)
		return NO_POOL;
	const char *name = file_base_name(module);
	for (size_t i = 0; i < POOL_COUNT; i++)
		if (strncmp(name, pools[i], strlen(pools[i])) == 0)
			return (uint8_t)(i + 1);
	/* Debian's alternatives: …/openblas-pthread/libblas.so.3 is the library under another name. */
	return strstr(module, "/openblas-") ? 1 : NO_POOL;
}

bool code_graft_is_pool(const char *module)
{
	return pool_of_module(module) != NO_POOL;
}

static bool is_loader(const struct profile_frame *frame)
{
	if (frame->kind == FRAME_MARK)
		return true;
	if (frame->kind != FRAME_NATIVE || !frame->module)
		return false;
	const char *name = file_base_name(frame->module);
	for (size_t i = 0; i < sizeof(loaders) / sizeof(loaders[0]); i++)
		if (strncmp(name, loaders[i], strlen(loaders[i])) == 0)
			return true;
	return false;
}

static const struct profile_stack *stack_at(const struct profile_data *profile, int64_t id)
{
	return &profile->stacks.items[id - 1];
}

/* The pool whose code is nearest to the stack's root, past what starts any thread. */
static uint8_t pool_at_root(const struct code_graft *graft, int64_t stack_id)
{
	uint8_t found = NO_POOL;
	for (int64_t id = stack_id; id; id = stack_at(graft->profile, id)->parent) {
		int64_t frame = stack_at(graft->profile, id)->frame_id - 1;
		if (!is_loader(&graft->profile->frames.items[frame]))
			found = graft->frame_pool[frame];
	}
	return found;
}

/* The pool whose code called pthread_create. */
static uint8_t pool_at_leaf(const struct code_graft *graft, int64_t stack_id)
{
	for (int64_t id = stack_id; id; id = stack_at(graft->profile, id)->parent) {
		int64_t frame = stack_at(graft->profile, id)->frame_id - 1;
		if (!is_loader(&graft->profile->frames.items[frame]))
			return graft->frame_pool[frame];
	}
	return NO_POOL;
}

/* "[libgomp.so.1+0x1d0]" is an entry without a name. */
static uint8_t pool_of_thread(const struct code_graft *graft, const struct profile_thread *thread)
{
	uint8_t pool = thread->entry && thread->entry[0] == '[' ? pool_of_module(thread->entry + 1) : NO_POOL;
	return pool != NO_POOL ? pool : pool_at_leaf(graft, thread->creator_stack);
}

/* Where neither entry nor creator tells, one whole stack does: threads that a pool made never leave its loop. */
static void find_workers(struct code_graft *graft)
{
	const struct profile_data *profile = graft->profile;
	bool *decided = mem_alloc(profile->threads.len + 1);
	for (size_t i = 0; i < profile->threads.len; i++) {
		const struct profile_thread *thread = &profile->threads.items[i];
		if (!thread->is_main)
			graft->thread_pool[i] = pool_of_thread(graft, thread);
		decided[i] = thread->is_main || graft->thread_pool[i] != NO_POOL;
	}
	for (size_t i = 0; i < profile->samples.len; i++) {
		const struct profile_sample *sample = &profile->samples.items[i];
		size_t thread = (size_t)sample->thread_id - 1;
		if (decided[thread] || !sample->stack_id || (sample->flags & (PROFILE_TRUNCATED | PROFILE_BUSY)))
			continue;
		graft->thread_pool[thread] = pool_at_root(graft, sample->stack_id);
		decided[thread] = true;
	}
	free(decided);
}

/* Walks up to the first ancestor that is known, then down again: each stack is looked at once. */
static int64_t outermost_of(struct code_graft *graft, uint8_t pool, int64_t stack_id)
{
	int64_t *known = graft->outermost[pool - 1];
	VEC(int64_t) unknown = {0};
	int64_t id = stack_id;
	for (; id && known[id - 1] < 0; id = stack_at(graft->profile, id)->parent)
		vec_push(&unknown, id);
	int64_t found = id ? known[id - 1] : 0;
	while (unknown.len) {
		id = vec_last(&unknown)[0];
		unknown.len--;
		if (!found && graft->frame_pool[stack_at(graft->profile, id)->frame_id - 1] == pool)
			found = id;
		known[id - 1] = found;
	}
	vec_fini(&unknown);
	return found;
}

static struct presence_list *presences_of(const struct code_graft *graft, size_t thread, uint8_t pool)
{
	size_t process = (size_t)graft->profile->threads.items[thread].process_id - 1;
	return &graft->presences[process * POOL_COUNT + pool - 1];
}

static int by_time(const void *left, const void *right)
{
	const struct presence *a = left, *b = right;
	return (a->at_ns > b->at_ns) - (a->at_ns < b->at_ns);
}

static void find_presences(struct code_graft *graft, uint8_t pool)
{
	const struct profile_data *profile = graft->profile;
	size_t count = profile->stacks.len;
	graft->outermost[pool - 1] = mem_alloc((count + 1) * sizeof(int64_t));
	for (size_t i = 0; i < count; i++)
		graft->outermost[pool - 1][i] = -1;
	for (size_t i = 0; i < profile->samples.len; i++) {
		const struct profile_sample *sample = &profile->samples.items[i];
		size_t thread = (size_t)sample->thread_id - 1;
		if (graft->thread_pool[thread] != NO_POOL || !sample->stack_id)
			continue;
		int64_t cut = outermost_of(graft, pool, sample->stack_id);
		if (cut)
			vec_push(&presences_of(graft, thread, pool)->moments,
				 ((struct presence){.at_ns = sample->at_ns, .stack_id = cut}));
	}
	for (size_t i = 0; i < profile->processes.len; i++) {
		struct presence_list *list = &graft->presences[i * POOL_COUNT + pool - 1];
		if (list->moments.len)
			qsort(list->moments.items, list->moments.len, sizeof(struct presence), by_time);
	}
}

struct code_graft *code_graft_new(const struct profile_data *profile)
{
	struct code_graft *graft = mem_alloc(sizeof(*graft));
	graft->profile = profile;
	graft->frame_pool = mem_alloc(profile->frames.len + 1);
	graft->thread_pool = mem_alloc(profile->threads.len + 1);
	graft->presences = mem_alloc((profile->processes.len + 1) * POOL_COUNT * sizeof(*graft->presences));
	for (size_t i = 0; i < profile->frames.len; i++)
		graft->frame_pool[i] = pool_of_module(profile->frames.items[i].module);
	find_workers(graft);
	for (size_t i = 0; i < profile->threads.len; i++) {
		uint8_t pool = graft->thread_pool[i];
		if (pool != NO_POOL && !graft->outermost[pool - 1])
			find_presences(graft, pool);
	}
	return graft;
}

void code_graft_free(struct code_graft *graft)
{
	if (!graft)
		return;
	for (size_t i = 0; i < graft->profile->processes.len * POOL_COUNT; i++)
		vec_fini(&graft->presences[i].moments);
	for (size_t i = 0; i < POOL_COUNT; i++)
		free(graft->outermost[i]);
	free(graft->presences);
	free(graft->thread_pool);
	free(graft->frame_pool);
	free(graft);
}

bool code_graft_is_worker(const struct code_graft *graft, size_t thread)
{
	return graft->thread_pool[thread] != NO_POOL;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static const struct presence *nearest(const struct presence_list *list, uint64_t at_ns)
{
	size_t low = 0, high = list->moments.len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (list->moments.items[middle].at_ns < at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	const struct presence *best = NULL;
	if (low < list->moments.len)
		best = &list->moments.items[low];
	if (low > 0 && (!best || distance(list->moments.items[low - 1].at_ns, at_ns) < distance(best->at_ns, at_ns)))
		best = &list->moments.items[low - 1];
	return best && distance(best->at_ns, at_ns) <= NEAR_NS ? best : NULL;
}

int64_t code_graft_starter(struct code_graft *graft, size_t thread, uint64_t at_ns)
{
	uint8_t pool = graft->thread_pool[thread];
	if (pool == NO_POOL)
		return 0;
	const struct presence *presence = nearest(presences_of(graft, thread, pool), at_ns);
	if (presence)
		return presence->stack_id;
	int64_t creator = graft->profile->threads.items[thread].creator_stack;
	int64_t cut = creator ? outermost_of(graft, pool, creator) : 0;
	return cut ? cut : creator;
}
