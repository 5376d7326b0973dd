/* memory_types.c - see memory_types.h. */
#include "analyze/memory_types.h"

/* One that was made comes before one that was not. */
static bool is_better(const struct memory_look *look, const struct memory_look *best)
{
	if (!best || (look->at_ns >= 0) != (best->at_ns >= 0))
		return !best || look->at_ns >= 0;
	return look->live_bytes > best->live_bytes;
}

static const struct memory_look *find_look(const struct memory_data *memory, const bool *wanted)
{
	const struct memory_look *best = NULL;
	for (size_t i = 0; i < memory->looks.len; i++) {
		const struct memory_look *look = &memory->looks.items[i];
		if (wanted[look->process_id - 1] && is_better(look, best))
			best = look;
	}
	return best;
}

static void add_row(const struct memory_type *type, double period, struct memory_types *out)
{
	struct memory_type_row *row = vec_add(&out->rows);
	struct memory_sum sum = {(double)type->amount.bytes, (double)type->amount.count, type->amount.variance, period};
	row->type = type;
	row->bytes = sum.bytes;
	memory_sum_interval(&sum, &row->low, &row->high);
	out->all_bytes += sum.bytes;
}

void memory_types_find(const struct memory_data *memory, const bool *wanted, struct memory_types *out)
{
	const struct memory_look *look = find_look(memory, wanted);
	*out = (struct memory_types){.look = look};
	if (!look)
		return;
	for (size_t i = 0; i < memory->processes.len; i++)
		if (memory->processes.items[i].process_id == look->process_id)
			out->peak_bytes = memory->processes.items[i].peak_bytes;
	for (size_t i = 0; i < memory->types.len; i++)
		if (memory->types.items[i].process_id == look->process_id)
			add_row(&memory->types.items[i], (double)look->period_bytes, out);
	for (size_t i = 0; i < out->rows.len && out->all_bytes > 0; i++)
		out->rows.items[i].share = out->rows.items[i].bytes / out->all_bytes;
}

void memory_types_fini(struct memory_types *types)
{
	vec_fini(&types->rows);
}
