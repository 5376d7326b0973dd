/* chunk.c - see chunk.h. */
#include "table/chunk.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int chunk_init(struct chunk *chunk, const struct plan *plan, const struct chunk_settings *settings,
	       struct memory *memory, struct err *err)
{
	size_t slots = plan->slots.len + 1;
	*chunk = (struct chunk){.plan = plan, .memory = memory, .settings = *settings};
	chunk->numbers = mem_alloc(slots * sizeof(double *));
	chunk->codes = mem_alloc(slots * sizeof(uint32_t *));
	chunk->values = mem_alloc(slots * sizeof(struct dictionary));
	chunk->given_up = mem_alloc(slots * sizeof(atomic_bool));
	chunk->sketches = mem_alloc(slots * sizeof(struct sketch));
	chunk->moments = mem_alloc(slots * sizeof(struct moments));
	chunk->missing = mem_alloc(slots * sizeof(uint64_t));
	chunk->unparsed = mem_alloc(slots * sizeof(uint64_t));
	for (size_t i = 0; i < plan->slots.len; i++) {
		dictionary_init(&chunk->values[i], memory, settings->dictionary_cap);
		sketch_init(&chunk->sketches[i], plan->slots.len, memory);
	}
	expr_run_init(&chunk->run, &plan->set, memory);
	chunk->run.sd = settings->sd;
	chunk->run.per_chunk = settings->alone;
	chunk->frame.count = plan->columns.len;
	chunk->frame.columns = mem_alloc((plan->columns.len + 1) * sizeof(struct column));
	for (size_t i = 0; i < plan->columns.len; i++) {
		const struct plan_column *from = &plan->columns.items[i];
		struct column *column = &chunk->frame.columns[i];
		*column = (struct column){.name = from->name, .kind = from->kind, .derived = from->derived};
		column->from_target = from->from_target;
	}
	if (chunk_reserve(chunk, 16))
		return 0;
	chunk_fini(chunk);
	return err_set(err, ERR_UNAVAILABLE, "the memory limit does not even hold 16 rows");
}

static void chunk_give_rows(struct chunk *chunk)
{
	for (size_t i = 0; i < chunk->plan->slots.len; i++) {
		memory_give(chunk->memory, chunk->numbers[i], chunk->room * sizeof(double));
		memory_give(chunk->memory, chunk->codes[i], chunk->room * sizeof(uint32_t));
	}
	memory_give(chunk->memory, chunk->scratch, chunk->room * sizeof(double));
	memory_give(chunk->memory, chunk->code_scratch, chunk->room * sizeof(uint32_t));
	memory_give(chunk->memory, chunk->order, chunk->room * sizeof(uint32_t));
}

void chunk_fini(struct chunk *chunk)
{
	if (!chunk->plan)
		return;
	chunk_give_rows(chunk);
	for (size_t i = 0; i < chunk->plan->slots.len; i++) {
		dictionary_fini(&chunk->values[i]);
		sketch_fini(&chunk->sketches[i]);
	}
	expr_run_fini(&chunk->run);
	free(chunk->numbers);
	free(chunk->codes);
	free(chunk->values);
	free(chunk->given_up);
	free(chunk->sketches);
	free(chunk->moments);
	free(chunk->missing);
	free(chunk->unparsed);
	free(chunk->frame.columns);
	*chunk = (struct chunk){0};
}

size_t chunk_row_bytes(const struct plan *plan)
{
	size_t bytes = sizeof(double) + 2 * sizeof(uint32_t);
	for (size_t i = 0; i < plan->slots.len; i++)
		bytes += plan->slots.items[i].text ? sizeof(uint32_t) : sizeof(double);
	return bytes;
}

/* The account has been charged already. Where the machine itself has no more, pitot ends, as with mem.h. */
static void chunk_resize(struct chunk *chunk, void **buffer, size_t item, size_t rows)
{
	*buffer = memory_resize(NULL, *buffer, *buffer ? chunk->room * item : 0, rows * item);
	if (!*buffer)
		abort();
}

bool chunk_reserve(struct chunk *chunk, size_t rows)
{
	if (rows <= chunk->room)
		return true;
	if (!memory_claim(chunk->memory, (rows - chunk->room) * chunk_row_bytes(chunk->plan)))
		return false;
	chunk_resize(chunk, (void **)&chunk->scratch, sizeof(double), rows);
	chunk_resize(chunk, (void **)&chunk->code_scratch, sizeof(uint32_t), rows);
	chunk_resize(chunk, (void **)&chunk->order, sizeof(uint32_t), rows);
	for (size_t i = 0; i < chunk->plan->slots.len; i++) {
		if (chunk->plan->slots.items[i].text)
			chunk_resize(chunk, (void **)&chunk->codes[i], sizeof(uint32_t), rows);
		else
			chunk_resize(chunk, (void **)&chunk->numbers[i], sizeof(double), rows);
	}
	chunk->room = rows;
	return true;
}

void chunk_begin(struct chunk *chunk)
{
	chunk->rows = 0;
	chunk->bytes = chunk->read_ns = chunk->clean_ns = chunk->derive_ns = 0;
	chunk->read_counts = chunk->clean_counts = chunk->derive_counts = (struct pmu_tally){0};
	memset(chunk->missing, 0, chunk->plan->slots.len * sizeof(uint64_t));
	memset(chunk->unparsed, 0, chunk->plan->slots.len * sizeof(uint64_t));
}

/* Room to translate every code that the piece has; what was known of another dictionary is forgotten. */
static int chunk_reserve_translation(struct chunk *chunk, struct piece_texts *texts, struct err *err)
{
	size_t known = dictionary_count(texts->values), old = texts->translation_room;
	if (texts->translated != texts->values && old)
		memset(texts->translation, 0, old * sizeof(uint32_t));
	texts->translated = texts->values;
	if (old >= known)
		return 0;
	size_t room = known * 2;
	uint32_t *grown =
		memory_resize(chunk->memory, texts->translation, old * sizeof(uint32_t), room * sizeof(uint32_t));
	if (!grown)
		return expr_no_memory(room * sizeof(uint32_t), err);
	memset(grown + old, 0, (room - old) * sizeof(uint32_t));
	texts->translation = grown;
	texts->translation_room = room;
	return 0;
}

/* Codes of the piece to codes of the table; new texts get the next code, in the order of the rows. */
static int chunk_translate(struct chunk *chunk, struct piece *piece, size_t slot, size_t count, struct err *err)
{
	struct piece_texts *texts = &piece->texts[slot];
	const struct span *rows = piece->run.values[chunk->plan->slots.items[slot].node].texts;
	uint32_t *out = chunk->codes[slot] + chunk->rows;
	int failed = chunk_reserve_translation(chunk, texts, err);
	if (failed)
		return failed;
	size_t known = dictionary_count(texts->values);
	const uint32_t *in = texts->codes + piece->taken;
	uint32_t *translation = texts->translation;
	for (size_t row = 0; row < count; row++) {
		uint32_t code = in[row];
		if (__builtin_expect(code < known && translation[code], 1)) {
			out[row] = translation[code] - 1;
			continue;
		}
		if (code == COLUMN_MISSING) {
			out[row] = COLUMN_MISSING;
			continue;
		}
		struct span text = code < known ? dictionary_text(texts->values, code) : rows[piece->taken + row];
		out[row] = dictionary_intern(&chunk->values[slot], text);
		if (code < known && out[row] != COLUMN_OTHER)
			translation[code] = out[row] + 1;
	}
	return 0;
}

static uint64_t chunk_count_missing(const struct piece *piece, const struct plan_slot *slot, size_t count)
{
	const struct expr_value *before = &piece->run.values[slot->missing_node];
	uint64_t missing = 0;
	/* A filled text that is the very text before it had nothing to fill. */
	if (slot->text && slot->missing_node != slot->node && before->texts &&
	    before->texts == piece->run.values[slot->node].texts)
		return 0;
	size_t begin = piece->taken, end = begin + count;
	if (slot->text && before->codes)
		for (size_t row = begin; row < end; row++)
			missing += before->codes[row] == COLUMN_MISSING;
	else
		for (size_t row = begin; row < end; row++)
			missing += slot->text ? !before->texts[row].length : (uint64_t)isnan(before->numbers[row]);
	return missing;
}

/* The part of a piece's count that belongs to `count` of its rows: exact over the whole piece. */
static uint64_t chunk_share(uint64_t all, const struct piece *piece, size_t count)
{
	size_t end = piece->taken + count;
	return (uint64_t)((unsigned __int128)all * end / piece->rows -
			  (unsigned __int128)all * piece->taken / piece->rows);
}

static void chunk_share_tally(struct pmu_tally *sum, const struct pmu_tally *all, const struct piece *piece,
			      size_t count)
{
	struct pmu_tally part = {.uncounted = all->uncounted};
	sum->uncounted |= all->uncounted;
	if (all->uncounted == PMU_THREAD_ALL) /* as on most machines: nothing to divide */
		return;
	for (int i = 0; i < PMU_THREAD_EVENT_COUNT; i++)
		part.count[i] = chunk_share(all->count[i], piece, count);
	part.enabled_ns = chunk_share(all->enabled_ns, piece, count);
	part.running_ns = chunk_share(all->running_ns, piece, count);
	pmu_tally_add(sum, &part);
}

int chunk_take(struct chunk *chunk, struct piece *piece, size_t most, struct err *err)
{
	size_t left = piece->rows - piece->taken, count = left < most ? left : most;
	int code = 0;
	for (size_t i = 0; i < chunk->plan->slots.len && !code; i++) {
		const struct plan_slot *slot = &chunk->plan->slots.items[i];
		if (slot->text && atomic_load_explicit(&chunk->given_up[i], memory_order_relaxed))
			continue;
		if (slot->missing_node != EXPR_NONE)
			chunk->missing[i] += chunk_count_missing(piece, slot, count);
		if (slot->parsed_node != EXPR_NONE)
			chunk->unparsed[i] += chunk_share(piece->run.values[slot->parsed_node].unparsed, piece, count);
		if (slot->text)
			code = chunk_translate(chunk, piece, i, count, err);
		else
			memcpy(chunk->numbers[i] + chunk->rows, piece->numbers[i] + piece->taken,
			       count * sizeof(double));
	}
	chunk->bytes += chunk_share(piece->bytes, piece, count);
	chunk->read_ns += chunk_share(piece->read_ns, piece, count);
	chunk->clean_ns += chunk_share(piece->clean_ns, piece, count);
	chunk->derive_ns += chunk_share(piece->derive_ns, piece, count);
	chunk_share_tally(&chunk->read_counts, &piece->read_counts, piece, count);
	chunk_share_tally(&chunk->clean_counts, &piece->clean_counts, piece, count);
	chunk_share_tally(&chunk->derive_counts, &piece->derive_counts, piece, count);
	chunk->rows += count;
	piece->taken += count;
	return code;
}

static double chunk_fill_value(struct chunk *chunk, size_t slot)
{
	const double *numbers = chunk->numbers[slot];
	bool median = chunk->plan->recipe->fill == RECIPE_FILL_MEDIAN;
	double small[SKETCH_ROOM];
	struct moments moments;
	if (median && chunk->settings.alone)
		return moments_median(numbers, chunk->rows, chunk->scratch);
	if (median)
		return sketch_median(&chunk->sketches[slot], small);
	moments_of(numbers, chunk->rows, &moments);
	return chunk->settings.alone ? moments.mean : chunk->moments[slot].mean;
}

void chunk_fill(struct chunk *chunk)
{
	bool mean = chunk->plan->recipe->fill == RECIPE_FILL_MEAN;
	for (size_t i = 0; i < chunk->plan->slots.len; i++) {
		const struct plan_slot *slot = &chunk->plan->slots.items[i];
		double *numbers = chunk->numbers[i];
		if (!slot->filled)
			continue;
		if (!chunk->settings.alone && mean) {
			struct moments moments;
			moments_of(numbers, chunk->rows, &moments);
			moments_merge(&chunk->moments[i], &moments);
		} else if (!chunk->settings.alone) {
			sketch_add(&chunk->sketches[i], numbers, chunk->rows);
		}
		if (!chunk->missing[i])
			continue;
		double value = chunk_fill_value(chunk, i);
		for (size_t row = 0; row < chunk->rows; row++)
			numbers[row] = isnan(numbers[row]) ? value : numbers[row];
	}
}

void chunk_give_up(struct chunk *chunk)
{
	if (chunk->settings.alone)
		return;
	for (size_t i = 0; i < chunk->plan->slots.len; i++) {
		const struct plan_slot *slot = &chunk->plan->slots.items[i];
		if (slot->text && !slot->key && !chunk->given_up[i] &&
		    dictionary_count(&chunk->values[i]) >= chunk->plan->recipe->most_values)
			atomic_store_explicit(&chunk->given_up[i], true, memory_order_relaxed);
	}
}
