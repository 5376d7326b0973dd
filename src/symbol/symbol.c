/*
 * symbol.c - see symbol.h: the objects, the addresses wanted of each, and the threads that resolve them.
 *
 * An address is kept as the instruction that it stands for: the one before a return address begins somewhere before it,
 * and any byte of a call names the call. So `exact` is only a matter of one byte, and the two ways to ask for one
 * instruction share an answer.
 *
 * An object is resolved once in a run, however many processes had it loaded. Answers are not kept between runs. In the one
 * program that was tried, a Python one, 282 of the 545 addresses that a run hit in the interpreter had not been hit by the run
 * before it; so the object has to be opened all the same, and that is what it costs (best of three, busy machine: 247 ms for one
 * address, 294 ms for all 545, 307 ms for every second one: unpacking the debug sections).
 *
 * Objects are taken by the threads in the order of their files' sizes, the largest first: the last one to finish then
 * holds the others up least.
 */
#include "symbol/symbol.h"
#include "base/mem.h"
#include "base/vec.h"
#include "symbol/object.h"

#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { THREADS_MOST = 64 };

struct symbol_table {
	VEC(struct symbol_object *) objects;
	struct map
		by_hash; /* of build-id and path, to the first object; later ones with the same hash are searched for */
};

struct symbol_table *symbol_table_new(void)
{
	return mem_alloc(sizeof(struct symbol_table));
}

static void forget_answers(struct symbol_object *object)
{
	for (size_t i = 0; i < object->texts.len; i++)
		free(object->texts.items[i]);
	vec_fini(&object->texts);
	vec_fini(&object->frames);
	vec_fini(&object->answers);
	free(object->note);
	object->note = NULL;
}

void symbol_table_free(struct symbol_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->objects.len; i++) {
		struct symbol_object *object = table->objects.items[i];
		forget_answers(object);
		vec_fini(&object->wanted);
		free(object->path);
		free(object);
	}
	vec_fini(&table->objects);
	map_fini(&table->by_hash);
	free(table);
}

static uint64_t hash_of(const char *path, const uint8_t *build_id, size_t bytes)
{
	uint64_t hash = 0xCBF29CE484222325u;
	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ build_id[i]) * 0x100000001B3u;
	for (; *path; path++)
		hash = (hash ^ (unsigned char)*path) * 0x100000001B3u;
	return hash;
}

static bool is_object(const struct symbol_object *object, const char *path, const uint8_t *build_id, size_t bytes)
{
	return object->build_id_bytes == bytes && memcmp(object->build_id, build_id, bytes) == 0 &&
	       strcmp(object->path, path) == 0;
}

struct symbol_object *symbol_add(struct symbol_table *table, const char *path, const uint8_t *build_id,
				 size_t build_id_bytes)
{
	static const uint8_t nothing[1];
	if (!build_id || build_id_bytes > BUILD_ID_MAX) {
		build_id = nothing;
		build_id_bytes = 0;
	}
	uint64_t hash = hash_of(path, build_id, build_id_bytes);
	struct symbol_object *found = map_get(&table->by_hash, hash);
	if (found && is_object(found, path, build_id, build_id_bytes))
		return found;
	for (size_t i = 0; found && i < table->objects.len; i++)
		if (is_object(table->objects.items[i], path, build_id, build_id_bytes))
			return table->objects.items[i];
	struct symbol_object *object = mem_alloc(sizeof(*object));
	object->path = mem_strdup(path);
	object->build_id_bytes = build_id_bytes;
	memcpy(object->build_id, build_id, build_id_bytes);
	vec_push(&table->objects, object);
	if (!found)
		map_put(&table->by_hash, hash, object);
	return object;
}

static uint64_t instruction_of(uint64_t address, bool exact)
{
	return exact || address == 0 ? address : address - 1;
}

void symbol_want(struct symbol_object *object, uint64_t address, bool exact)
{
	uint64_t pc = instruction_of(address, exact);
	/* Stacks come in runs of the same address. */
	if (object->wanted.len > object->resolved && *vec_last(&object->wanted) == pc)
		return;
	vec_push(&object->wanted, pc);
}

static int by_value(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
	return a < b ? -1 : a > b;
}

static void sort_wanted(struct symbol_object *object)
{
	qsort(object->wanted.items, object->wanted.len, sizeof(object->wanted.items[0]), by_value);
	size_t kept = 0;
	for (size_t i = 0; i < object->wanted.len; i++)
		if (kept == 0 || object->wanted.items[kept - 1] != object->wanted.items[i])
			object->wanted.items[kept++] = object->wanted.items[i];
	object->wanted.len = kept;
}

struct job {
	struct symbol_object *object;
	off_t bytes;
};

struct work {
	VEC(struct job) jobs;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	size_t next, done;
};

static int by_size(const void *left, const void *right)
{
	const struct job *a = left, *b = right;
	return a->bytes > b->bytes ? -1 : a->bytes < b->bytes;
}

static void list_jobs(struct work *work, struct symbol_table *table)
{
	for (size_t i = 0; i < table->objects.len; i++) {
		struct symbol_object *object = table->objects.items[i];
		struct stat status;
		if (object->wanted.len > object->resolved)
			vec_push(&work->jobs, ((struct job){object, stat(object->path, &status) ? 0 : status.st_size}));
	}
	if (work->jobs.len)
		qsort(work->jobs.items, work->jobs.len, sizeof(work->jobs.items[0]), by_size);
}

static void do_job(struct symbol_object *object)
{
	forget_answers(object);
	sort_wanted(object);
	resolve_object(object);
	object->resolved = object->wanted.len;
}

/* The next object to resolve, NULL where all are taken. `finished` tells that one more is done. */
static struct symbol_object *take_job(struct work *work, bool finished)
{
	struct symbol_object *object = NULL;
	pthread_mutex_lock(&work->lock);
	work->done += finished;
	if (work->next < work->jobs.len)
		object = work->jobs.items[work->next++].object;
	pthread_cond_signal(&work->changed);
	pthread_mutex_unlock(&work->lock);
	return object;
}

static void *work_through(void *context)
{
	struct work *work = context;
	struct symbol_object *object = take_job(work, false);
	while (object) {
		do_job(object);
		object = take_job(work, true);
	}
	return NULL;
}

/* The caller's function is only ever called in the caller's thread. */
static void tell_progress(struct work *work, void (*progress)(void *context, size_t done, size_t all), void *context)
{
	size_t told = 0;
	while (told < work->jobs.len) {
		pthread_mutex_lock(&work->lock);
		while (work->done == told)
			pthread_cond_wait(&work->changed, &work->lock);
		told = work->done;
		pthread_mutex_unlock(&work->lock);
		if (progress)
			progress(context, told, work->jobs.len);
	}
}

void symbol_resolve(struct symbol_table *table, int threads, void (*progress)(void *context, size_t done, size_t all),
		    void *context)
{
	struct work work = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
	list_jobs(&work, table);
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	size_t wanted = threads > 0 ? (size_t)threads : cores > 0 ? (size_t)cores : 1;
	wanted = wanted < work.jobs.len ? wanted : work.jobs.len;
	wanted = wanted < THREADS_MOST ? wanted : THREADS_MOST;
	pthread_t ids[THREADS_MOST];
	size_t started = 0;
	while (started < wanted && pthread_create(&ids[started], NULL, work_through, &work) == 0)
		started++;
	if (started == 0)
		work_through(&work);
	tell_progress(&work, progress, context);
	for (size_t i = 0; i < started; i++)
		pthread_join(ids[i], NULL);
	vec_fini(&work.jobs);
	pthread_mutex_destroy(&work.lock);
	pthread_cond_destroy(&work.changed);
}

size_t symbol_get(const struct symbol_object *object, uint64_t address, bool exact, const struct symbol_frame **out)
{
	uint64_t pc = instruction_of(address, exact);
	size_t low = 0, high = object->answers.len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (object->answers.items[middle].pc < pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == object->answers.len || object->answers.items[low].pc != pc)
		return 0;
	*out = &object->frames.items[object->answers.items[low].first];
	return object->answers.items[low].count;
}

const char *symbol_note(const struct symbol_object *object)
{
	return object->note;
}
