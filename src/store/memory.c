/*
 * memory.c - writing the memory profile: one function per kind of row.
 *
 * SQLite's whole numbers are signed, so what is above INT64_MAX is stored as that; variances that are no number as 0.
 */
#include "store/memory.h"
#include "store/writer.h"

#include <math.h>
#include <string.h>

static const char *const kind_names[MEMORY_KIND_COUNT] = {
#define MEMORY_KIND_NAME(id, name) [MEMORY_##id] = name,
	MEMORY_KINDS(MEMORY_KIND_NAME)
#undef MEMORY_KIND_NAME
};

static const char *const weight_names[MEMORY_WEIGHT_COUNT] = {
#define MEMORY_WEIGHT_NAME(id, name) [MEMORY_BY_##id] = name,
	MEMORY_WEIGHTS(MEMORY_WEIGHT_NAME)
#undef MEMORY_WEIGHT_NAME
};

static const char *const cause_names[MEMORY_CAUSE_COUNT] = {
#define MEMORY_CAUSE_NAME(id, name) [MEMORY_AT_##id] = name,
	MEMORY_CAUSES(MEMORY_CAUSE_NAME)
#undef MEMORY_CAUSE_NAME
};

const char *memory_kind_name(enum memory_kind kind)
{
	return kind_names[kind];
}

bool memory_kind_is_counted(enum memory_kind kind)
{
	return kind <= MEMORY_ANONYMOUS;
}

const char *memory_weight_name(enum memory_weight weight)
{
	return weight_names[weight];
}

int memory_weight_find(const char *name)
{
	for (int i = 0; i < MEMORY_WEIGHT_COUNT; i++)
		if (strcmp(weight_names[i], name) == 0)
			return i;
	return -1;
}

static void put_counts(struct sql_row *row, const uint64_t *counts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		sql_put_uint(row, counts[i]);
}

static void put_known(struct sql_row *row, int64_t value)
{
	if (value >= 0)
		sql_put_int(row, value);
	else
		sql_put_null(row);
}

static void put_place(struct sql_row *row, int64_t id)
{
	put_known(row, id > 0 ? id : -1);
}

static void put_real(struct sql_row *row, double value)
{
	sql_put_real(row, isfinite(value) ? value : 0);
}

const char *memory_turn_name(enum memory_turn turn)
{
	return turn == MEMORY_PER_CHUNK ? "chunk" : "snapshot";
}

int store_memory_process(struct store *store, const struct memory_process *process, struct err *err)
{
	int code = writer_failed(store, err);
	if (code)
		return code;
	struct sql_row row = writer_row(store, STATEMENT_MEMORY_PROCESS);
	sql_put_int(&row, process->process_id);
	sql_put_text(&row, process->exact ? "exact" : "sampled");
	const uint64_t totals[] = {process->period_bytes, process->calls, process->allocated_bytes, process->frees};
	put_counts(&row, totals, sizeof(totals) / sizeof(totals[0]));
	put_known(&row, process->freed_bytes);
	sql_put_uint(&row, process->peak_bytes);
	put_real(&row, process->peak_variance);
	const uint64_t peak[] = {process->peak_slack_bytes, process->peak_at_ns, process->leaked_bytes};
	put_counts(&row, peak, sizeof(peak) / sizeof(peak[0]));
	put_real(&row, process->leaked_variance);
	const uint64_t counts[] = {process->discarded_bytes, process->unknown_frees, process->lost,
				   process->truncated,       process->unmatched,     process->agent_bytes};
	put_counts(&row, counts, sizeof(counts) / sizeof(counts[0]));
	sql_put_int(&row, process->python_seen);
	sql_put_text(&row, process->allocator);
	sql_put_uint(&row, process->step_ns);
	sql_put_uint(&row, process->snapshots);
	sql_put_text(&row, process->note);
	return writer_step(store, &row, err);
}

int store_memory_site(struct store *store, struct memory_site *site, struct err *err)
{
	int code = writer_failed(store, err);
	if (code)
		return code;
	struct sql_row row = writer_row(store, STATEMENT_MEMORY_SITE);
	sql_put_int(&row, site->process_id);
	put_place(&row, site->thread_id);
	put_place(&row, site->stack_id);
	sql_put_text(&row, memory_kind_name(site->kind));
	for (int i = 0; i < MEMORY_WEIGHT_COUNT; i++) {
		const struct memory_amount *amount = &site->amounts[i];
		const uint64_t counts[] = {amount->bytes, amount->count, amount->samples};
		put_counts(&row, counts, sizeof(counts) / sizeof(counts[0]));
		put_real(&row, amount->variance);
	}
	sql_put_text(&row, site->sizes);
	sql_put_text(&row, site->lifetimes);
	code = writer_step(store, &row, err);
	if (!code)
		site->id = sqlite3_last_insert_rowid(store->db);
	return code;
}

int store_memory_bucket(struct store *store, const struct memory_bucket *bucket, struct err *err)
{
	int code = writer_failed(store, err);
	if (code)
		return code;
	struct sql_row row = writer_row(store, STATEMENT_MEMORY_BUCKET);
	sql_put_int(&row, bucket->process_id);
	sql_put_text(&row, bucket->what == MEMORY_BY_SIZE ? "size" : "lifetime");
	sql_put_uint(&row, bucket->low);
	sql_put_uint(&row, bucket->calls);
	return writer_step(store, &row, err);
}

int store_memory_point(struct store *store, const struct memory_point *point, struct err *err)
{
	int code = writer_failed(store, err);
	if (code)
		return code;
	struct sql_row row = writer_row(store, STATEMENT_MEMORY_POINT);
	sql_put_int(&row, point->process_id);
	const uint64_t counts[] = {point->at_ns, point->live_bytes, point->high_bytes};
	put_counts(&row, counts, sizeof(counts) / sizeof(counts[0]));
	return writer_step(store, &row, err);
}

int store_memory_growth(struct store *store, enum memory_turn turn, const struct memory_growth *growth, struct err *err)
{
	int code = writer_failed(store, err);
	if (code)
		return code;
	struct sql_row row =
		writer_row(store, turn == MEMORY_PER_CHUNK ? STATEMENT_MEMORY_CHUNK_GROWTH : STATEMENT_MEMORY_GROWTH);
	sql_put_int(&row, growth->site_id);
	if (turn == MEMORY_PER_CHUNK)
		sql_put_uint(&row, growth->turns);
	sql_put_uint(&row, growth->points);
	const double sums[] = {growth->last_bytes, growth->sum_x,  growth->sum_y,
			       growth->sum_xx,     growth->sum_xy, growth->sum_yy};
	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++)
		put_real(&row, sums[i]);
	return writer_step(store, &row, err);
}

int store_memory_resident(struct store *store, const struct memory_resident *resident, struct err *err)
{
	int code = writer_failed(store, err);
	if (code)
		return code;
	struct sql_row row = writer_row(store, STATEMENT_MEMORY_RESIDENT);
	sql_put_int(&row, resident->process_id);
	sql_put_uint(&row, resident->at_ns);
	sql_put_text(&row, cause_names[resident->cause]);
#define PUT_PART(name) put_known(&row, resident->name);
	MEMORY_PARTS(PUT_PART)
#undef PUT_PART
	return writer_step(store, &row, err);
}

const char *memory_type_kind_name(enum memory_type_kind kind)
{
	static const char *const names[MEMORY_TYPE_KIND_COUNT] = {
#define MEMORY_TYPE_KIND_NAME(id, name) [MEMORY_TYPE_##id] = name,
		MEMORY_TYPE_KINDS(MEMORY_TYPE_KIND_NAME)
#undef MEMORY_TYPE_KIND_NAME
	};
	return names[kind];
}

int store_memory_look(struct store *store, const struct memory_look *look, struct err *err)
{
	int code = writer_failed(store, err);
	if (code)
		return code;
	struct sql_row row = writer_row(store, STATEMENT_MEMORY_LOOK);
	bool is_there = look->at_ns >= 0;
	sql_put_int(&row, look->process_id);
	put_known(&row, look->at_ns);
	put_known(&row, is_there ? (int64_t)look->live_bytes : -1);
	put_known(&row, is_there ? (int64_t)look->period_bytes : -1);
	sql_put_uint(&row, look->looks);
	put_known(&row, is_there ? (int64_t)look->cost_ns : -1);
	sql_put_text(&row, look->absent);
	return writer_step(store, &row, err);
}

int store_memory_type(struct store *store, const struct memory_type *type, struct err *err)
{
	int code = writer_failed(store, err);
	if (code)
		return code;
	struct sql_row row = writer_row(store, STATEMENT_MEMORY_TYPE);
	sql_put_int(&row, type->process_id);
	sql_put_text(&row, memory_type_kind_name(type->kind));
	sql_put_text(&row, type->name);
	const uint64_t counts[] = {type->amount.bytes, type->amount.count, type->amount.samples};
	put_counts(&row, counts, sizeof(counts) / sizeof(counts[0]));
	put_real(&row, type->amount.variance);
	return writer_step(store, &row, err);
}
