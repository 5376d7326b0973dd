/* engine.c - see engine.h: opening, and what is said at the end. */
#include "table/engine.h"

#include "base/clock.h"
#include "base/mem.h"
#include "table/engine_inside.h"
#include "table/infer.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ENGINE_LEAST_BLOCK = 16 << 10, ENGINE_MOST_BLOCK = 256 << 10 };

const char *engine_operator_name(enum engine_operator op)
{
	static const char *const names[] = {
#define ENGINE_OPERATOR_NAME(id, name) name,
		ENGINE_OPERATORS(ENGINE_OPERATOR_NAME)
#undef ENGINE_OPERATOR_NAME
	};
	return names[op];
}

uint64_t engine_cpu_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

void engine_throttle(const struct engine_work *work)
{
	double part = work->engine->settings.max_compute;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	if (!(part > 0 && part < 1))
		return;
	double used = (double)(engine_cpu_ns() - work->start_cpu_ns), wall = (double)(clock_mono_ns() - work->start_ns);
	double ahead = used / (part * (double)(cpus > 0 ? cpus : 1)) - wall;
	if (ahead < 1e6) /* a shorter sleep would cost more than it corrects */
		return;
	struct timespec pause = {(time_t)(ahead / 1e9), (long)fmod(ahead, 1e9)};
	nanosleep(&pause, NULL);
}

/* Blocks small enough that those in flight take no more than a part of the budget. */
static size_t engine_block_bytes(const struct engine_settings *settings)
{
	size_t threads = settings->threads ? settings->threads : 1;
	size_t bytes =
		settings->max_memory_bytes ? settings->max_memory_bytes / (32 * (threads + 2)) : ENGINE_MOST_BLOCK;
	return bytes < ENGINE_LEAST_BLOCK ? ENGINE_LEAST_BLOCK : bytes > ENGINE_MOST_BLOCK ? ENGINE_MOST_BLOCK : bytes;
}

/* The first block tells what the recipe leaves open, and how long the rows are. */
static int engine_look_at_first(struct engine *engine, struct err *err)
{
	engine->first = csv_block_new(engine->csv, err);
	if (!engine->first)
		return err->code;
	int code = csv_block_cut(engine->csv, engine->first, err);
	if (code > 0)
		code = csv_block_split(engine->csv, engine->first, NULL, err);
	if (code < 0)
		return code;
	infer_recipe(engine->recipe, engine->csv, engine->first);
	size_t rows = csv_block_rows(engine->first);
	struct csv_counts counts;
	csv_count(engine->csv, &counts);
	double ratio = counts.text_bytes ? (double)counts.file_bytes / (double)counts.text_bytes : 1;
	double row_bytes = rows ? (double)csv_block_bytes(engine->first) / (double)rows * (ratio < 0.9 ? ratio : 1) : 0;
	if (rows && csv_file_size(engine->csv))
		engine->likely_rows = (uint64_t)((double)csv_file_size(engine->csv) / row_bytes * 1.1) + 1;
	return 0;
}

int engine_open(const char *path, struct recipe *recipe, const struct engine_settings *settings, struct engine **out,
		struct err *err)
{
	struct engine *engine = mem_alloc(sizeof(*engine));
	struct csv_settings input = recipe->input;
	struct err unheard = {0};
	err = err ? err : &unheard;
	engine->recipe = recipe;
	engine->settings = *settings;
	engine->spill_dir = mem_strdup(settings->spill_dir);
	engine->memory.budget = settings->max_memory_bytes;
	if (!engine->settings.chunk_rows)
		engine->settings.chunk_rows = 128;
	if (!engine->settings.threads)
		engine->settings.threads = 1;
	if (!engine->settings.dictionary_cap)
		engine->settings.dictionary_cap = 65536;
	input.block_bytes = engine_block_bytes(&engine->settings);
	input.watch = settings->watch;
	input.name = settings->name;
	input.watch_context = settings->watch_context;
	int code = csv_open(path, &input, &engine->memory, &engine->csv, err);
	if (!code)
		code = engine_look_at_first(engine, err);
	if (!code)
		code = plan_make(recipe, engine->csv, &engine->plan, err);
	if (code)
		engine_close(engine);
	else
		*out = engine;
	return code;
}

void engine_close(struct engine *engine)
{
	if (!engine)
		return;
	plan_free(engine->plan);
	csv_block_free(engine->first);
	csv_close(engine->csv);
	free(engine->spill_dir);
	free(engine);
}

uint64_t engine_file_size(const struct engine *engine)
{
	return csv_file_size(engine->csv);
}

size_t engine_row_bytes(const struct engine *engine)
{
	return engine->plan->row_bytes;
}

static void engine_warn_about_input(struct engine_work *work)
{
	struct engine_result *result = work->result;
	const struct csv_counts *counts = &result->input;
	const struct {
		uint64_t count;
		const char *words;
	} notes[] = {{counts->padded, "rows with too few cells, the rest of which count as missing"},
		     {counts->truncated, "rows with too many cells, the last of which were dropped"},
		     {counts->skipped, "rows skipped, with too few or too many cells"},
		     {counts->replaced, "bytes replaced that were not UTF-8"},
		     {counts->renamed, "columns renamed, with no name or one that was taken"}};
	for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++)
		if (notes[i].count)
			vec_push(&result->warnings, mem_printf("%s: %" PRIu64, notes[i].words, notes[i].count));
}

static void engine_warn(struct engine_work *work)
{
	const struct plan *plan = work->engine->plan;
	struct engine_result *result = work->result;
	for (size_t i = 0; i < plan->warnings.len; i++)
		vec_push(&result->warnings, mem_strdup(plan->warnings.items[i]));
	engine_warn_about_input(work);
	for (size_t i = 0; i < plan->columns.len; i++) {
		const struct plan_column *column = &plan->columns.items[i];
		if (work->unparsed[i])
			vec_push(&result->warnings,
				 mem_printf("%s: cells that are no %s and count as missing: %" PRIu64, column->name,
					    column_kind_name(column->kind), work->unparsed[i]));
		if (column->kind == COLUMN_TEXT && work->chunk.values[column->slot].refused &&
		    !work->chunk.given_up[column->slot])
			vec_push(&result->warnings,
				 mem_printf("%s: more than %u distinct values; the others are one bucket", column->name,
					    work->chunk.values[column->slot].count));
	}
}

static void engine_put_weight(struct engine_result *result, char *name, double weight)
{
	struct engine_weight item = {name, weight};
	vec_push(&result->model.weights, item);
}

static void engine_put_weights(struct engine_work *work)
{
	const struct matrix *matrix = &work->encode.matrix;
	struct engine_result *result = work->result;
	bool batch = work->mode == ENGINE_BATCH;
	engine_put_weight(result, mem_strdup("(intercept)"),
			  batch ? work->batch.weights[matrix->width] : work->online.intercept);
	for (size_t i = 0; i < matrix->count; i++) {
		const struct matrix_block *block = &matrix->blocks[i];
		for (size_t j = 0; j < block->width && block->model_input; j++) {
			size_t column = work->encode.columns[i];
			double weight;
			struct str name = {0};
			matrix_name(matrix, block->first + j, &name);
			if (batch)
				weight = work->batch.weights[block->first + j];
			else if (block->numbers)
				weight = work->online.numbers[column];
			else {
				uint32_t place = block->order[j] == COLUMN_OTHER ? 0 : block->order[j] + 1;
				weight =
					place < work->online.text_rooms[column] ? work->online.texts[column][place] : 0;
			}
			engine_put_weight(result, str_take(&name), weight);
		}
	}
}

static void engine_put_model(struct engine_work *work)
{
	struct engine_result *result = work->result;
	bool batch = work->mode == ENGINE_BATCH;
	const struct linear_score *score = batch ? &work->batch.score : &work->online.score;
	result->model.method = batch ? "least squares, held-out rows" : "prequential SGD";
	if (work->engine->plan->target == PLAN_NONE || (batch ? !work->batch_known : !work->online.started))
		return;
	result->model.known = score->rows > 0;
	result->model.rows = score->rows;
	result->model.r2 = linear_score_r2(score);
	result->model.rmse = score->rows ? sqrt(score->squares / (double)score->rows) : 0;
	result->model.mae = score->rows ? score->absolutes / (double)score->rows : 0;
	engine_put_weights(work);
}

void engine_start_counts(struct engine_work *work)
{
	struct engine_result *result = work->result;
	struct err why = {0};
	if (!work->engine->settings.count)
		result->counts_reason = mem_strdup("was not asked for");
	else if (pmu_thread_open(&work->pmu, &why))
		result->counts_reason = mem_strdup(why.text);
	else
		result->counts_source = pmu_thread_source(work->pmu);
}

/* Which of the events that the caller's thread counts are not known of all the work, or of none: in words. */
static void engine_put_counts_reason(const struct engine_work *work)
{
	struct engine_result *result = work->result;
	if (!work->pmu)
		return;
	unsigned lost = result->read_counts.uncounted, never = PMU_THREAD_ALL & ~pmu_thread_events(work->pmu);
	for (int op = 0; op < ENGINE_OPERATOR_COUNT; op++)
		lost |= result->operator_counts[op].uncounted;
	if (lost & ~never)
		result->counts_reason = mem_strdup("a thread that took part could not be counted");
	else if (never)
		result->counts_reason = mem_strdup("the processor does not count all of these events");
}

void engine_finish(struct engine_work *work)
{
	struct engine_result *result = work->result;
	const struct plan *plan = work->engine->plan;
	const struct matrix *matrix = &work->encode.matrix;
	result->columns = csv_column_count(work->engine->csv);
	csv_count(work->engine->csv, &result->input);
	for (size_t i = 0; i < plan->columns.len; i++) {
		const struct plan_column *column = &plan->columns.items[i];
		if (column->kind != COLUMN_NUMBER)
			continue;
		if (work->dropped[i])
			vec_push(&result->dropped, mem_strdup(column->name));
		else
			vec_push(&result->kept_numbers, mem_strdup(column->name));
	}
	for (size_t i = 0; i < matrix->width; i++) {
		struct str name = {0};
		matrix_name(matrix, i, &name);
		vec_push(&result->features, str_take(&name));
	}
	engine_put_model(work);
	engine_warn(work);
	engine_put_counts_reason(work);
	result->memory_peak_bytes = work->peak_bytes;
	result->wall_ns = clock_mono_ns() - work->start_ns;
	result->cpu_ns = engine_cpu_ns() - work->start_cpu_ns;
}

void engine_result_fini(struct engine_result *result)
{
	for (size_t i = 0; i < result->dropped.len; i++)
		free(result->dropped.items[i]);
	for (size_t i = 0; i < result->kept_numbers.len; i++)
		free(result->kept_numbers.items[i]);
	for (size_t i = 0; i < result->features.len; i++)
		free(result->features.items[i]);
	for (size_t i = 0; i < result->model.weights.len; i++)
		free(result->model.weights.items[i].name);
	for (size_t i = 0; i < result->warnings.len; i++)
		free(result->warnings.items[i]);
	free(result->counts_reason);
	vec_fini(&result->dropped);
	vec_fini(&result->kept_numbers);
	vec_fini(&result->features);
	vec_fini(&result->model.weights);
	vec_fini(&result->warnings);
}
