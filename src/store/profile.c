/*
 * profile.c - writing the code profile: one function per kind of row.
 *
 * The same frame comes thousands of times, the same stack from every process of a pipeline. Which ones the file has is kept
 * in memory, by their content, so that a row that is there costs a look into a table and no question to SQLite. Ids are
 * given here and count from 1 without gaps: a reader uses them as places in an array.
 */
#include "store/profile.h"
#include "base/map.h"
#include "base/str.h"
#include "store/writer.h"

#include <math.h>
#include <string.h>

/* A row that the file has: what it says, as bytes. */
struct known {
	struct known *next; /* of the same hash */
	int64_t id;
	size_t size;
	char bytes[];
};

struct known_set {
	struct map by_hash; /* struct known * */
	int64_t count;
};

struct profile_ids {
	struct known_set frames, tasks;
	struct map stacks; /* parent and frame in one number; the value is the id itself */
	int64_t stack_count;
	struct str key; /* kept from call to call */
};

static void free_set(struct known_set *set)
{
	for (size_t i = 0; i < set->by_hash.size; i++)
		for (struct known *next, *known = set->by_hash.slots[i].value; known; known = next) {
			next = known->next;
			free(known);
		}
	map_fini(&set->by_hash);
}

void profile_ids_free(struct profile_ids *ids)
{
	if (!ids)
		return;
	free_set(&ids->frames);
	free_set(&ids->tasks);
	map_fini(&ids->stacks);
	str_fini(&ids->key);
	free(ids);
}

static struct profile_ids *ids_of(struct store *store)
{
	if (!store->profile)
		store->profile = mem_alloc(sizeof(*store->profile));
	return store->profile;
}

static uint64_t hash_bytes(const char *bytes, size_t size)
{
	uint64_t hash = 0xCBF29CE484222325u;
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001B3u;
	return hash;
}

/* The id that the bytes have, or 0. */
static int64_t find_known(const struct known_set *set, const struct str *key)
{
	const struct known *known = map_get(&set->by_hash, hash_bytes(key->text, key->len));
	while (known && (known->size != key->len || memcmp(known->bytes, key->text, key->len) != 0))
		known = known->next;
	return known ? known->id : 0;
}

static void remember(struct known_set *set, const struct str *key)
{
	uint64_t hash = hash_bytes(key->text, key->len);
	struct known *known = mem_alloc(sizeof(*known) + key->len);
	known->next = map_get(&set->by_hash, hash);
	known->id = ++set->count;
	known->size = key->len;
	memcpy(known->bytes, key->text, key->len);
	map_put(&set->by_hash, hash, known);
}

/* 0 stands for "none" in the structs and is NULL in the file. */
static void put_id(struct sql_row *row, int64_t id)
{
	if (id > 0)
		sql_put_int(row, id);
	else
		sql_put_null(row);
}

int store_profile_process(struct store *store, struct profile_process *process, struct err *err)
{
	int code = writer_failed(store, err);
	if (code)
		return code;
	struct sql_row row = writer_row(store, STATEMENT_PROFILE_PROCESS);
	sql_put_int(&row, process->stage_id);
	sql_put_int(&row, process->pid);
	sql_put_int(&row, process->ppid);
	sql_put_uint(&row, process->start_ns);
	sql_put_uint(&row, process->end_ns);
	sql_put_text(&row, process->executable);
	sql_put_text(&row, process->python);
	sql_put_text(&row, process->clock);
	sql_put_text(&row, process->end);
	sql_put_text(&row, process->note);
	const uint64_t counts[] = {process->period_ns,  process->cpu_ns,       process->samples,   process->weight_ns,
				   process->lost,       process->truncated,    process->unmatched, process->busy,
				   process->handler_ns, process->start_cost_ns};
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		sql_put_uint(&row, counts[i]);
	code = writer_step(store, &row, err);
	if (!code)
		process->id = sqlite3_last_insert_rowid(store->db);
	return code;
}

int store_profile_thread(struct store *store, struct profile_thread *thread, struct err *err)
{
	int code = writer_failed(store, err);
	if (code)
		return code;
	struct sql_row row = writer_row(store, STATEMENT_PROFILE_THREAD);
	sql_put_int(&row, thread->process_id);
	sql_put_int(&row, thread->tid);
	sql_put_int(&row, thread->is_main);
	sql_put_text(&row, thread->name);
	sql_put_text(&row, thread->entry);
	put_id(&row, thread->creator_stack);
	const uint64_t counts[] = {thread->start_ns,  thread->end_ns,  thread->cpu_ns,
				   thread->weight_ns, thread->samples, thread->truncated,
				   thread->unmatched, thread->busy,    thread->handler_ns};
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		sql_put_uint(&row, counts[i]);
	code = writer_step(store, &row, err);
	if (!code)
		thread->id = sqlite3_last_insert_rowid(store->db);
	return code;
}

/* NULL and "" are two things: every text has a byte before it that says whether it is there. */
static void key_text(struct str *key, const char *text)
{
	str_append_char(key, text ? 1 : 0);
	str_append_bytes(key, text ? text : "", (text ? strlen(text) : 0) + 1);
}

static void make_frame_key(struct str *key, const struct profile_frame *frame)
{
	const int numbers[] = {(int)frame->kind, frame->line, frame->first_line, frame->inlined};
	str_clear(key);
	str_append_bytes(key, (const char *)numbers, sizeof(numbers));
	key_text(key, frame->function);
	key_text(key, frame->module);
	key_text(key, frame->file);
}

int store_profile_frame(struct store *store, struct profile_frame *frame, struct err *err)
{
	int code = writer_failed(store, err);
	if (code)
		return code;
	struct profile_ids *ids = ids_of(store);
	make_frame_key(&ids->key, frame);
	frame->id = find_known(&ids->frames, &ids->key);
	if (frame->id)
		return 0;
	struct sql_row row = writer_row(store, STATEMENT_FRAME);
	sql_put_int(&row, ids->frames.count + 1);
	sql_put_text(&row, frame_kind_name(frame->kind));
	sql_put_text(&row, frame->function);
	sql_put_text(&row, frame->module);
	sql_put_text(&row, frame->file);
	put_id(&row, frame->line);
	put_id(&row, frame->first_line);
	sql_put_int(&row, frame->inlined);
	code = writer_step(store, &row, err);
	if (code)
		return code;
	remember(&ids->frames, &ids->key);
	frame->id = ids->frames.count;
	return 0;
}

int store_profile_stack(struct store *store, struct profile_stack *stack, struct err *err)
{
	int code = writer_failed(store, err);
	if (code)
		return code;
	struct profile_ids *ids = ids_of(store);
	if (stack->parent < 0 || stack->parent > ids->stack_count || stack->parent > UINT32_MAX ||
	    stack->frame_id < 1 || stack->frame_id > ids->frames.count || stack->frame_id > UINT32_MAX)
		return err_set(err, ERR_INTERNAL,
			       "a stack of the code profile has a parent or a frame that does not exist");
	uint64_t key = (uint64_t)stack->parent << 32 | (uint64_t)stack->frame_id;
	stack->id = (int64_t)(intptr_t)map_get(&ids->stacks, key);
	if (stack->id)
		return 0;
	struct sql_row row = writer_row(store, STATEMENT_STACK);
	sql_put_int(&row, ids->stack_count + 1);
	put_id(&row, stack->parent);
	sql_put_int(&row, stack->frame_id);
	code = writer_step(store, &row, err);
	if (code)
		return code;
	stack->id = ++ids->stack_count;
	map_put(&ids->stacks, key, (void *)(intptr_t)stack->id);
	return 0;
}

int store_profile_task(struct store *store, const char *name, int64_t *id, struct err *err)
{
	int code = writer_failed(store, err);
	if (code)
		return code;
	struct profile_ids *ids = ids_of(store);
	str_clear(&ids->key);
	key_text(&ids->key, name);
	*id = find_known(&ids->tasks, &ids->key);
	if (*id)
		return 0;
	struct sql_row row = writer_row(store, STATEMENT_TASK);
	sql_put_int(&row, ids->tasks.count + 1);
	sql_put_text(&row, name ? name : "");
	code = writer_step(store, &row, err);
	if (code)
		return code;
	remember(&ids->tasks, &ids->key);
	*id = ids->tasks.count;
	return 0;
}

int store_profile_sample(struct store *store, const struct profile_sample *sample, struct err *err)
{
	int code = writer_failed(store, err);
	if (code)
		return code;
	struct sql_row row = writer_row(store, STATEMENT_CPU_SAMPLE);
	sql_put_int(&row, sample->thread_id);
	sql_put_uint(&row, sample->at_ns);
	put_id(&row, sample->stack_id);
	sql_put_uint(&row, sample->weight_ns);
	sql_put_int(&row, sample->flags);
	put_id(&row, sample->task_id);
	return writer_step(store, &row, err);
}

int store_profile_gap(struct store *store, const struct profile_gap *gap, struct err *err)
{
	int code = writer_failed(store, err);
	if (code)
		return code;
	struct sql_row row = writer_row(store, STATEMENT_PROFILE_GAP);
	sql_put_int(&row, gap->stage_id);
	sql_put_int(&row, gap->pid);
	sql_put_text(&row, gap->command);
	sql_put_text(&row, gap->reason ? gap->reason : "not known");
	sql_put_real(&row, isfinite(gap->cpu_s) ? gap->cpu_s : 0);
	return writer_step(store, &row, err);
}

int store_profile_source(struct store *store, const struct profile_source *source, struct err *err)
{
	int code = writer_failed(store, err);
	if (code)
		return code;
	struct sql_row row = writer_row(store, STATEMENT_SOURCE_LINE);
	sql_put_text(&row, source->file);
	sql_put_int(&row, source->line);
	sql_put_text(&row, source->text ? source->text : "");
	return writer_step(store, &row, err);
}
