/* crew.c - see crew.h. */
#include "table/crew.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { CREW_MOST_VALUES = 4096 /* of a piece's dictionary; texts beyond are looked up by the taker */ };

struct crew {
	const struct plan *plan;
	struct csv *csv;
	struct memory *memory;
	const atomic_bool *given_up;
	struct pmu_thread *pmu; /* of the caller's thread; NULL: nothing is counted */
	bool *always;           /* by input column: its cells are needed whatever is given up */
	struct piece *pieces;
	size_t piece_count;
	struct csv_block *first; /* split already, or NULL */
	pthread_t *threads;
	size_t thread_count;     /* besides the caller's */
	pthread_mutex_t cutting; /* held while a block is chosen and cut: keeps blocks and pieces in the same order */
	pthread_mutex_t lock;    /* of everything below, and of the pieces' states */
	pthread_cond_t changed;
	uint64_t next_cut, next_taken;
	bool ended, stopping;
	struct piece *held;
};

static int crew_code_texts(struct crew *crew, struct piece *piece, size_t slot)
{
	const struct expr_value *value = &piece->run.values[crew->plan->slots.items[slot].node];
	struct piece_texts *texts = &piece->texts[slot];
	if (value->codes) { /* remembered: they are there */
		texts->codes = value->codes;
		texts->values = value->values;
		return 0;
	}
	if (texts->room < piece->rows) {
		size_t room = piece->rows + piece->rows / 4;
		memory_give(crew->memory, texts->own_codes, texts->room * sizeof(uint32_t));
		texts->own_codes = memory_take(crew->memory, room * sizeof(uint32_t));
		texts->room = texts->own_codes ? room : 0;
		if (!texts->own_codes)
			return expr_no_memory(room * sizeof(uint32_t), &piece->err);
	}
	dictionary_intern_rows(&texts->own_values, value->texts, piece->rows, texts->own_codes);
	texts->codes = texts->own_codes;
	texts->values = &texts->own_values;
	return 0;
}

/* The slots that are cleaning, or those that are feature engineering. */
static int crew_fill_slots(struct crew *crew, struct piece *piece, bool derived)
{
	const struct plan *plan = crew->plan;
	int code = 0;
	for (size_t i = 0; i < plan->slots.len && !code; i++) {
		const struct plan_slot *slot = &plan->slots.items[i];
		if (slot->derived != derived)
			continue;
		if (slot->text && atomic_load_explicit(&crew->given_up[i], memory_order_relaxed))
			continue;
		code = expr_eval(&piece->run, slot->node, &piece->err);
		/* Below a remembered node nothing was computed, but what is missing or unparsed is counted there. */
		if (!code && slot->missing_node != EXPR_NONE)
			code = expr_eval(&piece->run, slot->missing_node, &piece->err);
		if (!code && slot->parsed_node != EXPR_NONE)
			code = expr_eval(&piece->run, slot->parsed_node, &piece->err);
		if (!code && slot->text)
			code = crew_code_texts(crew, piece, i);
		else if (!code)
			piece->numbers[i] = piece->run.values[slot->node].numbers;
	}
	return code;
}

static void crew_mark_cells(struct crew *crew, uint32_t number, bool *seen)
{
	const struct expr_node *node = &crew->plan->set.nodes.items[number];
	if (seen[number])
		return;
	seen[number] = true;
	if (node->op == EXPR_CELL)
		crew->always[node->leaf] = true;
	for (unsigned i = 0; i < node->count; i++)
		crew_mark_cells(crew, node->args[i], seen);
}

/* The cells of what is made from several of them: these are always needed. */
static void crew_find_always(struct crew *crew)
{
	const struct plan *plan = crew->plan;
	bool *seen = mem_alloc(plan->set.nodes.len + 1);
	crew->always = mem_alloc(plan->input_columns + 1);
	for (size_t i = 0; i < plan->slots.len; i++)
		if (plan->set.nodes.items[plan->slots.items[i].node].cell >= EXPR_NO_CELL)
			crew_mark_cells(crew, plan->slots.items[i].node, seen);
	free(seen);
}

/* The cells that these rows are computed from: not those of texts that were given up, unless something else is made of them. */
static void crew_want(struct crew *crew, struct piece *piece)
{
	const struct plan *plan = crew->plan;
	memcpy(piece->wanted, crew->always, plan->input_columns * sizeof(bool));
	for (size_t i = 0; i < plan->slots.len; i++) {
		const struct plan_slot *slot = &plan->slots.items[i];
		size_t cell = plan->set.nodes.items[slot->node].cell;
		if (cell < EXPR_NO_CELL &&
		    !(slot->text && atomic_load_explicit(&crew->given_up[i], memory_order_relaxed)))
			piece->wanted[cell] = true;
	}
}

static int crew_work(struct crew *crew, struct piece *piece, bool split, struct pmu_thread *pmu)
{
	uint64_t start = clock_mono_ns();
	crew_want(crew, piece);
	int code = split ? 0 : csv_block_split(crew->csv, piece->block, piece->wanted, &piece->err);
	if (code)
		return code;
	piece->rows = csv_block_rows(piece->block);
	piece->bytes = csv_block_bytes(piece->block);
	for (size_t i = 0; i < crew->plan->input_columns; i++)
		piece->cells[i] = csv_block_cells(piece->block, i);
	pmu_thread_lap(pmu, &piece->read_counts);
	uint64_t read = clock_mono_ns();
	expr_run_begin(&piece->run, piece->rows);
	code = crew_fill_slots(crew, piece, false);
	uint64_t clean = clock_mono_ns();
	pmu_thread_lap(pmu, &piece->clean_counts);
	if (!code)
		code = crew_fill_slots(crew, piece, true);
	piece->read_ns += read - start;
	piece->clean_ns = clean - read;
	piece->derive_ns = clock_mono_ns() - clean;
	pmu_thread_lap(pmu, &piece->derive_counts);
	return code;
}

/* The next block, into the next piece; NULL where there is none to be had now. Called with `cutting` held, gives it back. */
static struct piece *crew_cut(struct crew *crew, bool *split, struct pmu_thread *pmu)
{
	pthread_mutex_lock(&crew->lock);
	struct piece *piece = &crew->pieces[crew->next_cut % crew->piece_count];
	if (crew->ended || crew->stopping || piece->state != PIECE_FREE) {
		pthread_mutex_unlock(&crew->lock);
		pthread_mutex_unlock(&crew->cutting);
		return NULL;
	}
	piece->state = PIECE_WORKED_ON;
	crew->next_cut++;
	pthread_mutex_unlock(&crew->lock);
	uint64_t start = clock_mono_ns();
	int code = 1;
	pmu_thread_lap(pmu, NULL);
	piece->read_counts = piece->clean_counts = piece->derive_counts = (struct pmu_tally){0};
	piece->code = 0;
	piece->taken = piece->rows = 0;
	*split = crew->first != NULL;
	if (crew->first) {
		csv_block_free(piece->block);
		piece->block = crew->first;
		crew->first = NULL;
	} else {
		code = csv_block_cut(crew->csv, piece->block, &piece->err);
	}
	piece->end = code == 0;
	piece->code = code < 0 ? code : 0;
	piece->read_ns = clock_mono_ns() - start;
	pthread_mutex_lock(&crew->lock);
	crew->ended = code <= 0;
	pthread_mutex_unlock(&crew->lock);
	pthread_mutex_unlock(&crew->cutting);
	return piece;
}

/* Cuts and works on one piece; false where there was nothing to do. Called with `cutting` held. */
static bool crew_do_one(struct crew *crew, struct pmu_thread *pmu)
{
	bool split = false;
	struct piece *piece = crew_cut(crew, &split, pmu);
	if (!piece)
		return false;
	if (!piece->end && !piece->code)
		piece->code = crew_work(crew, piece, split, pmu);
	pthread_mutex_lock(&crew->lock);
	piece->state = PIECE_READY;
	pthread_cond_broadcast(&crew->changed);
	pthread_mutex_unlock(&crew->lock);
	return true;
}

static void *crew_thread(void *context)
{
	struct crew *crew = context;
	struct pmu_thread *pmu = NULL;
	if (crew->pmu && pmu_thread_open(&pmu, NULL))
		pmu = NULL; /* its pieces say that they were not counted */
	for (;;) {
		pthread_mutex_lock(&crew->cutting);
		if (crew_do_one(crew, pmu))
			continue;
		pthread_mutex_lock(&crew->lock);
		while (!crew->stopping && !crew->ended &&
		       crew->pieces[crew->next_cut % crew->piece_count].state != PIECE_FREE)
			pthread_cond_wait(&crew->changed, &crew->lock);
		bool over = crew->stopping || crew->ended;
		pthread_mutex_unlock(&crew->lock);
		if (over)
			break;
	}
	pmu_thread_close(pmu);
	return NULL;
}

static int crew_make_piece(struct crew *crew, struct piece *piece, struct err *err)
{
	const struct plan *plan = crew->plan;
	size_t slots = plan->slots.len ? plan->slots.len : 1;
	piece->cells = mem_alloc(plan->input_columns * sizeof(*piece->cells));
	piece->wanted = mem_alloc(plan->input_columns * sizeof(bool));
	piece->numbers = mem_alloc(slots * sizeof(*piece->numbers));
	piece->texts = mem_alloc(slots * sizeof(*piece->texts));
	for (size_t i = 0; i < plan->slots.len; i++)
		dictionary_init(&piece->texts[i].own_values, crew->memory, CREW_MOST_VALUES);
	piece->memo = expr_memo_new(&plan->set, plan->input_columns, crew->memory, crew->piece_count);
	expr_run_init(&piece->run, &plan->set, crew->memory);
	piece->run.cells = piece->cells;
	piece->run.memo = piece->memo;
	piece->run.missing = plan->recipe->missing_cells.items;
	piece->run.missing_count = plan->recipe->missing_cells.len;
	piece->block = csv_block_new(crew->csv, err);
	return piece->block ? 0 : err->code;
}

static void crew_free_piece(struct crew *crew, struct piece *piece)
{
	for (size_t i = 0; i < crew->plan->slots.len && piece->texts; i++) {
		struct piece_texts *texts = &piece->texts[i];
		dictionary_fini(&texts->own_values);
		memory_give(crew->memory, texts->own_codes, texts->room * sizeof(uint32_t));
		memory_give(crew->memory, texts->translation, texts->translation_room * sizeof(uint32_t));
	}
	expr_memo_free(piece->memo);
	if (piece->run.set)
		expr_run_fini(&piece->run);
	csv_block_free(piece->block);
	free(piece->cells);
	free(piece->wanted);
	free(piece->numbers);
	free(piece->texts);
}

static int crew_start_threads(struct crew *crew, unsigned threads, struct err *err)
{
	crew->threads = mem_alloc((threads ? threads : 1) * sizeof(pthread_t));
	for (unsigned i = 1; i < threads; i++) {
		int failed = pthread_create(&crew->threads[crew->thread_count], NULL, crew_thread, crew);
		if (failed && !crew->thread_count)
			return err_set(err, ERR_UNAVAILABLE, "cannot start a thread: %s", strerror(failed));
		crew->thread_count += !failed;
	}
	return 0;
}

int crew_start(const struct plan *plan, struct csv *csv, struct csv_block *first, unsigned threads,
	       struct memory *memory, const atomic_bool *given_up, struct pmu_thread *pmu, struct crew **out,
	       struct err *err)
{
	struct crew *crew = mem_alloc(sizeof(*crew));
	struct err unheard = {0};
	int code = 0;
	err = err ? err : &unheard;
	*crew = (struct crew){
		.plan = plan, .csv = csv, .memory = memory, .given_up = given_up, .pmu = pmu, .first = first};
	pthread_mutex_init(&crew->cutting, NULL);
	pthread_mutex_init(&crew->lock, NULL);
	pthread_cond_init(&crew->changed, NULL);
	crew_find_always(crew);
	crew->piece_count = threads > 1 ? (size_t)threads + 2 : 1;
	crew->pieces = mem_alloc(crew->piece_count * sizeof(struct piece));
	for (size_t i = 0; i < crew->piece_count && !code; i++) {
		code = crew_make_piece(crew, &crew->pieces[i], err);
		if (code == ERR_UNAVAILABLE && i >= 1) { /* fewer pieces are slower, not wrong */
			crew_free_piece(crew, &crew->pieces[i]);
			crew->piece_count = i;
			code = 0;
		}
	}
	if (!code)
		code = crew_start_threads(crew, threads, err);
	if (code) {
		crew_stop(crew);
		return code;
	}
	*out = crew;
	return 0;
}

struct piece *crew_next(struct crew *crew, int *code, struct err *err)
{
	*code = 0;
	for (;;) {
		pthread_mutex_lock(&crew->lock);
		if (crew->held) {
			crew->held->state = PIECE_FREE;
			crew->held = NULL;
			crew->next_taken++;
			pthread_cond_broadcast(&crew->changed);
		}
		struct piece *piece = &crew->pieces[crew->next_taken % crew->piece_count];
		bool ready = crew->next_taken < crew->next_cut && piece->state == PIECE_READY;
		pthread_mutex_unlock(&crew->lock);
		if (!ready) {
			/* Better to work than to wait. */
			if (pthread_mutex_trylock(&crew->cutting) == 0 && crew_do_one(crew, crew->pmu))
				continue;
			pthread_mutex_lock(&crew->lock);
			bool pending = crew->next_taken < crew->next_cut;
			if (!pending && crew->ended) {
				pthread_mutex_unlock(&crew->lock);
				return NULL;
			}
			if (!pending || piece->state != PIECE_READY)
				pthread_cond_wait(&crew->changed, &crew->lock);
			pthread_mutex_unlock(&crew->lock);
			continue;
		}
		if (piece->code) {
			*code = piece->code;
			if (err)
				*err = piece->err;
			return NULL;
		}
		if (piece->end)
			return NULL;
		crew->held = piece;
		if (piece->rows)
			return piece;
	}
}

void crew_stop(struct crew *crew)
{
	if (!crew)
		return;
	pthread_mutex_lock(&crew->lock);
	crew->stopping = true;
	pthread_cond_broadcast(&crew->changed);
	pthread_mutex_unlock(&crew->lock);
	for (size_t i = 0; i < crew->thread_count; i++)
		pthread_join(crew->threads[i], NULL);
	for (size_t i = 0; i < crew->piece_count; i++)
		crew_free_piece(crew, &crew->pieces[i]);
	csv_block_free(crew->first);
	free(crew->pieces);
	free(crew->threads);
	free(crew->always);
	pthread_mutex_destroy(&crew->cutting);
	pthread_mutex_destroy(&crew->lock);
	pthread_cond_destroy(&crew->changed);
	free(crew);
}
