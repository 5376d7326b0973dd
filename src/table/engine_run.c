/*
 * engine_run.c - see engine.h: the loop over chunks.
 *
 *	fit: how many rows may the chunk have?  gather: rows from pieces  ->  the five operators, each timed  ->  watcher
 *
 * A chunk that would not fit the memory limit is halved before its rows are taken, at most ENGINE_MOST_HALVINGS times. After that it
 * is an error, or, where there is a folder for that, the chunk goes to a file there part by part, in parts as small as needed.
 */
#include "table/engine_inside.h"

#include "base/clock.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ENGINE_MOST_HALVINGS = 3, ENGINE_LEAST_ROWS = 16, ENGINE_GROWTH = 4096 };

static int engine_start_crew(struct engine_work *work, struct err *err)
{
	struct engine *engine = work->engine;
	struct csv_block *first = engine->first;
	engine->first = NULL;
	if (!csv_block_bytes(first)) { /* a header alone: the crew finds that the input has ended */
		csv_block_free(first);
		first = NULL;
	}
	return crew_start(engine->plan, engine->csv, first, engine->settings.threads, &engine->memory,
			  work->chunk.given_up, work->pmu, &work->crew, err);
}

static int engine_start_compare(struct engine_work *work, struct err *err)
{
	const struct plan *plan = work->engine->plan;
	size_t count = 0;
	bool has_target = plan->target != PLAN_NONE;
	work->compared = mem_alloc((plan->columns.len + 1) * sizeof(size_t));
	work->compared_numbers = mem_alloc((plan->columns.len + 1) * sizeof(double *));
	for (size_t i = 0; i < plan->columns.len; i++) {
		if (!plan->columns.items[i].compared)
			continue;
		if (count == PICK_MOST) {
			vec_push(&work->result->warnings,
				 mem_printf("more than %d number columns: those after '%s' are not compared with the "
					    "others",
					    PICK_MOST, plan->columns.items[work->compared[count - 1]].name));
			break;
		}
		work->compared[count++] = i;
	}
	if (has_target)
		work->compared[count++] = plan->target;
	return pick_init(&work->pick, count, has_target, &work->engine->memory, err);
}

static int engine_start(struct engine_work *work, struct err *err)
{
	const struct engine *engine = work->engine;
	const struct plan *plan = engine->plan;
	bool batch = work->mode == ENGINE_BATCH, alone = batch || engine->settings.per_chunk;
	struct chunk_settings settings = {.alone = alone,
					  .batch = batch,
					  .dictionary_cap = batch ? COLUMN_OTHER : engine->settings.dictionary_cap,
					  .sd = batch ? engine->recipe->sd_batch : engine->recipe->sd_streaming};
	work->dropped = mem_alloc((plan->columns.len + 1) * sizeof(bool));
	work->known = mem_alloc((plan->columns.len + 1) * sizeof(struct moments));
	work->dropped_names = mem_alloc((plan->columns.len + 1) * sizeof(char *));
	work->unparsed = mem_alloc((plan->columns.len + 1) * sizeof(uint64_t));
	linear_online_init(&work->online, plan->columns.len, engine->recipe->rate, &work->engine->memory);
	int code = chunk_init(&work->chunk, plan, &settings, &work->engine->memory, err);
	if (!code)
		code = encode_init(&work->encode, plan, alone, &work->engine->memory, err);
	if (!code)
		code = engine_start_compare(work, err);
	engine_start_counts(work);
	return code ? code : engine_start_crew(work, err);
}

static void engine_end(struct engine_work *work)
{
	struct memory *memory = &work->engine->memory;
	crew_stop(work->crew);
	pmu_thread_close(work->pmu);
	memory_give(memory, work->predictions, work->prediction_room * sizeof(double));
	linear_batch_fini(&work->batch);
	linear_online_fini(&work->online);
	encode_fini(&work->encode);
	pick_fini(&work->pick);
	chunk_fini(&work->chunk);
	free(work->compared);
	free(work->compared_numbers);
	free(work->dropped);
	free(work->known);
	free(work->dropped_names);
	free(work->unparsed);
}

static int engine_does_not_fit(const struct engine_work *work, size_t rows, struct err *err)
{
	const struct engine *engine = work->engine;
	size_t row_bytes = engine->plan->row_bytes, limit = engine->memory.budget >> 20;
	if (work->mode == ENGINE_BATCH)
		return err_set(err, ERR_UNAVAILABLE,
			       "the table does not fit %zu MB at once (%zu rows of %zu bytes so far); streaming does",
			       limit, work->chunk.rows, row_bytes);
	return err_set(err, ERR_UNAVAILABLE,
		       "a chunk of %zu rows needs %.1f MB of %zu MB, and an eighth of it does not fit either; choose "
		       "smaller chunks, or let it spill to disk",
		       rows, (double)rows * (double)row_bytes / 1e6, limit);
}

static bool engine_reserve_predictions(struct engine_work *work, size_t rows)
{
	struct memory *memory = &work->engine->memory;
	if (work->prediction_room >= rows || work->engine->plan->target == PLAN_NONE)
		return true;
	memory_give(memory, work->predictions, work->prediction_room * sizeof(double));
	work->predictions = memory_take(memory, rows * sizeof(double));
	work->prediction_room = work->predictions ? rows : 0;
	return work->predictions != NULL;
}

/* Takes what so many rows need before any of them is there: afterwards it would be too late for fewer. */
static bool engine_reserve(struct engine_work *work, size_t rows)
{
	return encode_reserve(&work->encode, rows) && engine_reserve_predictions(work, rows) &&
	       chunk_reserve(&work->chunk, rows);
}

/* How many rows the next part may have. An eighth of the budget stays free for what the input may bring: long rows, new
 * values; before the first chunk three eighths, because the pieces have yet to take theirs, and to learn what they remember. */
static int engine_fit(struct engine_work *work, size_t wanted, size_t *rows, struct err *err)
{
	const struct engine *engine = work->engine;
	const struct memory *memory = &engine->memory;
	size_t row_bytes = engine->plan->row_bytes, room = work->encode.room;
	*rows = wanted;
	size_t spare = work->result->chunks ? memory->budget / 8 : memory->budget / 8 * 3;
	while (memory->budget && *rows > room &&
	       !(memory_fits(memory, (*rows - room) * row_bytes + spare) && engine_reserve(work, *rows))) {
		bool out_of_retries = work->at.retries == ENGINE_MOST_HALVINGS;
		if ((out_of_retries && !engine->spill_dir) || *rows <= ENGINE_LEAST_ROWS)
			return engine_does_not_fit(work, wanted, err);
		*rows = (*rows + 1) / 2;
		work->at.retries += !out_of_retries;
		work->spilling |= out_of_retries;
		work->at.memory_exceeded = true;
	}
	return 0;
}

static int engine_grow(struct engine_work *work, size_t most, struct err *err)
{
	size_t room = work->chunk.room, want = room + (room > ENGINE_GROWTH ? room / 2 : ENGINE_GROWTH);
	want = want < most ? want : most;
	if (chunk_reserve(&work->chunk, want) || chunk_reserve(&work->chunk, room + ENGINE_LEAST_ROWS))
		return 0;
	return engine_does_not_fit(work, most, err);
}

static bool engine_is_stopped(const struct engine *engine)
{
	return engine->settings.stop && atomic_load(engine->settings.stop);
}

/* A batch is one chunk, and may be a long one: it is given up in the middle. A stream's chunks are ended properly. */
static int engine_give_up(const struct engine_work *work, struct err *err)
{
	if (work->mode == ENGINE_STREAMING || !engine_is_stopped(work->engine))
		return 0;
	return err_set(err, ERR_INTERRUPTED, "interrupted in a batch of which %zu rows were read", work->chunk.rows);
}

/* Up to `most` rows; fewer at the end of the input, or where no more fit. */
static int engine_gather(struct engine_work *work, size_t most, struct err *err)
{
	struct chunk *chunk = &work->chunk;
	int code = 0;
	chunk_begin(chunk);
	while (chunk->rows < most && !code) {
		if (work->piece && work->piece->taken == work->piece->rows)
			work->piece = NULL;
		if (!work->piece) {
			work->piece = crew_next(work->crew, &code, err);
			work->ended = !work->piece;
			if (work->ended)
				break;
			engine_throttle(work);
			code = engine_give_up(work, err);
		}
		if (!code && chunk->rows == chunk->room)
			code = engine_grow(work, most, err);
		if (code && work->mode == ENGINE_STREAMING && chunk->rows >= ENGINE_LEAST_ROWS) {
			work->at.memory_exceeded = true; /* the input took more meanwhile: the part ends here */
			return 0;
		}
		size_t left = (most < chunk->room ? most : chunk->room) - chunk->rows;
		if (!code)
			code = chunk_take(chunk, work->piece, left, err);
	}
	return code;
}

static void engine_select(struct engine_work *work)
{
	const struct plan *plan = work->engine->plan;
	struct chunk *chunk = &work->chunk;
	for (size_t i = 0; i < work->pick.count; i++)
		work->compared_numbers[i] = chunk->frame.columns[work->compared[i]].numbers;
	if (chunk->settings.alone)
		pick_forget(&work->pick);
	pick_add(&work->pick, work->compared_numbers, chunk->rows);
	pick_choose(&work->pick, work->engine->recipe->correlation);
	work->dropped_count = 0;
	for (size_t i = 0; i < work->pick.count; i++) {
		size_t column = work->compared[i];
		work->known[column] = work->pick.chunk[i];
		if (column != plan->target)
			work->dropped[column] = work->pick.dropped[i];
		if (column != plan->target && work->pick.dropped[i])
			work->dropped_names[work->dropped_count++] = plan->columns.items[column].name;
	}
}

static int engine_encode(struct engine_work *work, struct err *err)
{
	if (!encode_reserve(&work->encode, work->chunk.rows))
		return engine_does_not_fit(work, work->chunk.rows, err);
	return encode_chunk(&work->encode, &work->chunk.frame, work->dropped, work->known, err);
}

static int engine_learn(struct engine_work *work, struct err *err)
{
	struct engine *engine = work->engine;
	const struct chunk *chunk = &work->chunk;
	bool predicted = false;
	work->at.target = work->at.predictions = NULL;
	if (engine->plan->target == PLAN_NONE || !chunk->rows)
		return 0;
	if (!engine_reserve_predictions(work, chunk->rows))
		return engine_does_not_fit(work, chunk->rows, err);
	const double *target = chunk->frame.columns[engine->plan->target].numbers;
	int code = 0;
	if (work->mode == ENGINE_BATCH) {
		struct err why = {0};
		predicted = work->batch_known =
			linear_batch_fit(&work->batch, &work->encode.matrix, target, engine->recipe->holdout,
					 engine->settings.seed, work->predictions, &engine->memory, &why) == 0;
		if (!predicted)
			vec_push(&work->result->warnings, mem_strdup(why.text));
	} else {
		code = linear_online_chunk(&work->online, &work->encode.matrix, work->encode.columns, target,
					   work->predictions, &predicted, err);
	}
	work->at.target = target;
	work->at.predictions = predicted ? work->predictions : NULL;
	return code;
}

/* Runs one operator's part that is done in order, and notes when. */
static int engine_time(struct engine_work *work, enum engine_operator op, struct err *err)
{
	struct engine_chunk *at = &work->at;
	uint64_t start = clock_mono_ns();
	int code = 0;
	switch (op) {
	case ENGINE_PREPROCESS:
		chunk_fill(&work->chunk);
		break;
	case ENGINE_FEATURE_ENGINEERING:
		code = chunk_derive(&work->chunk, err);
		break;
	case ENGINE_FEATURE_SELECTION:
		engine_select(work);
		break;
	case ENGINE_ENCODE_SCALE:
		code = engine_encode(work, err);
		break;
	default:
		code = engine_learn(work, err);
		break;
	}
	at->operator_start_ns[op] = start;
	at->operator_order_ns[op] = at->operator_ns[op] = clock_mono_ns() - start;
	at->operator_counts[op] = (struct pmu_tally){0};
	pmu_thread_lap(work->pmu, &at->operator_counts[op]);
	return code;
}

static int engine_operate(struct engine_work *work, struct err *err)
{
	struct engine_chunk *at = &work->at;
	int code = 0;
	pmu_thread_lap(work->pmu, NULL);
	for (int op = 0; op < ENGINE_OPERATOR_COUNT && !code; op++) {
		code = engine_time(work, op, err);
		code = code ? code : engine_give_up(work, err);
	}
	at->operator_ns[ENGINE_PREPROCESS] += work->chunk.clean_ns;
	at->operator_ns[ENGINE_FEATURE_ENGINEERING] += work->chunk.derive_ns;
	at->read_ns = work->chunk.read_ns;
	pmu_tally_add(&at->operator_counts[ENGINE_PREPROCESS], &work->chunk.clean_counts);
	pmu_tally_add(&at->operator_counts[ENGINE_FEATURE_ENGINEERING], &work->chunk.derive_counts);
	at->read_counts = work->chunk.read_counts;
	return code;
}

/* What is added up over the run. */
static void engine_account(struct engine_work *work)
{
	struct engine_result *result = work->result;
	struct engine_chunk *at = &work->at;
	const struct plan *plan = work->engine->plan;
	result->rows += at->rows;
	result->chunks += at->part == 0;
	result->splits += at->part > 0;
	result->spills += at->part == 0 && at->spill_path;
	result->read_ns += at->read_ns;
	pmu_tally_add(&result->read_counts, &at->read_counts);
	for (int op = 0; op < ENGINE_OPERATOR_COUNT; op++) {
		result->operator_ns[op] += at->operator_ns[op];
		pmu_tally_add(&result->operator_counts[op], &at->operator_counts[op]);
	}
	for (size_t i = 0; i < plan->columns.len; i++)
		work->unparsed[i] += work->chunk.frame.columns[i].unparsed;
	at->memory_after_bytes = atomic_load(&work->engine->memory.used);
	at->memory_peak_bytes = atomic_load(&work->engine->memory.peak);
	work->peak_bytes = work->peak_bytes > at->memory_peak_bytes ? work->peak_bytes : at->memory_peak_bytes;
	at->rows_done = result->rows;
	struct csv_counts counts;
	csv_count(work->engine->csv, &counts);
	at->file_bytes_done = counts.file_bytes;
}

static int engine_one_part(struct engine_work *work, size_t most, bool whole, struct err *err)
{
	struct engine_chunk *at = &work->at;
	struct memory *memory = &work->engine->memory;
	at->start_ns = clock_mono_ns();
	at->memory_before_bytes = atomic_load(&memory->used);
	atomic_store(&memory->peak, at->memory_before_bytes);
	int code = engine_gather(work, most, err);
	if (code || (!work->chunk.rows && work->mode == ENGINE_STREAMING))
		return code;
	at->rows = work->chunk.rows;
	at->first_row = work->result->rows;
	at->input_bytes = work->chunk.bytes;
	code = engine_operate(work, err);
	if (code)
		return code;
	at->latency_ns = clock_mono_ns() - at->start_ns;
	at->last_part = (whole && at->rows == most) || work->ended;
	at->frame = &work->chunk.frame;
	at->matrix = &work->encode.matrix;
	at->dropped = work->dropped_names;
	at->dropped_count = work->dropped_count;
	if (work->spilling)
		code = engine_spill(work, err);
	engine_account(work);
	if (!code && work->watcher && work->watcher->chunk)
		code = work->watcher->chunk(work->watcher->context, at, err);
	chunk_give_up(&work->chunk);
	engine_throttle(work);
	at->part++;
	return code;
}

static size_t engine_wanted_rows(const struct engine_work *work)
{
	const struct engine *engine = work->engine;
	size_t wanted = engine->settings.chunk_rows;
	if (work->mode == ENGINE_BATCH)
		return engine->settings.batch_rows ? engine->settings.batch_rows : SIZE_MAX;
	uint64_t done = work->result->rows;
	if (engine->likely_rows > done && engine->likely_rows - done < wanted)
		return (size_t)(engine->likely_rows - done) + ENGINE_LEAST_ROWS;
	return wanted;
}

/* A chunk, in as many parts as the memory limit asks for. */
static int engine_one_chunk(struct engine_work *work, struct err *err)
{
	size_t wanted = engine_wanted_rows(work), done = 0, part = wanted;
	int code = 0;
	free((char *)(uintptr_t)work->at.spill_path);
	work->spilling = false;
	work->at = (struct engine_chunk){.id = (size_t)work->result->chunks};
	while (done < wanted && !work->ended && !code) {
		if (work->mode == ENGINE_STREAMING)
			code = engine_fit(work, part < wanted - done ? part : wanted - done, &part, err);
		if (!code)
			code = engine_one_part(work, part, done + part >= wanted, err);
		done += work->chunk.rows;
	}
	return code;
}

int engine_run(struct engine *engine, enum engine_mode mode, const struct engine_watcher *watcher,
	       struct engine_result *out, struct err *err)
{
	struct engine_work work = {.engine = engine, .mode = mode, .watcher = watcher, .result = out};
	struct err unheard = {0};
	*out = (struct engine_result){0};
	err = err ? err : &unheard;
	if (engine->ran)
		return err_set(err, ERR_INTERNAL, "an engine runs once");
	engine->ran = true;
	work.start_ns = clock_mono_ns();
	work.start_cpu_ns = engine_cpu_ns();
	int code = engine_start(&work, err);
	bool started = !code;
	while (!code && !work.ended) {
		code = engine_one_chunk(&work, err);
		work.ended = work.ended || mode == ENGINE_BATCH;
		if (!code && !work.ended && engine_is_stopped(engine))
			code = err_set(err, ERR_INTERRUPTED, "interrupted after %" PRIu64 " rows", out->rows);
	}
	if (started)
		engine_finish(&work);
	free((char *)(uintptr_t)work.at.spill_path);
	engine_end(&work);
	return code;
}
