/*
 * quality.c - see quality.h: the figures, of columns that lie whole in memory.
 */
#include "table/quality.h"
#include "base/mem.h"
#include "stats/drift.h"
#include "stats/order.h"
#include "table/quality_view.h"

#include <math.h>
#include <string.h>

static double mean_of(const double *values, size_t n)
{
	double mean = 0;
	for (size_t i = 0; i < n; i++)
		mean += (values[i] - mean) / (double)(i + 1);
	return n ? mean : NAN;
}

/* The known values of rows `from` to `to`, packed. */
static size_t pack(const double *values, size_t from, size_t to, double *out)
{
	size_t n = 0;
	for (size_t i = from; i < to; i++)
		if (!isnan(values[i]))
			out[n++] = values[i];
	return n;
}

static void measure_numbers(const struct quality_view *view, const double *values, struct quality_column *column,
			    bool *outlying)
{
	size_t half = view->rows / 2, outliers = 0;
	double *packed = mem_alloc((view->rows + 1) * sizeof(*packed));
	size_t early = pack(values, 0, half, packed), late = pack(values, half, view->rows, packed + early);
	column->early_mean = mean_of(packed, early);
	column->late_mean = mean_of(packed + early, late);
	column->mean_shift = column->late_mean - column->early_mean;
	order_sort(packed, early);
	order_sort(packed + early, late);
	column->ks = drift_ks(packed, early, packed + early, late);
	order_sort(packed, early + late);
	struct fences fences;
	drift_fences(packed, early + late, &fences);
	for (size_t i = 0; i < view->rows; i++) {
		bool out = values[i] < fences.low || values[i] > fences.high;
		outliers += out;
		outlying[i] = outlying[i] || out;
	}
	column->outlier_rate = view->rows ? (double)outliers / (double)view->rows : NAN;
	column->missing_after = view->rows ? 1 - (double)(early + late) / (double)view->rows : NAN;
	free(packed);
}

/* Codes from 0 to `categories` - 1; UINT32_MAX is missing. */
static void measure_codes(const struct quality_view *view, const uint32_t *codes, size_t categories,
			  struct quality_column *column)
{
	uint64_t *early = mem_alloc((categories + 1) * sizeof(*early)),
		 *late = mem_alloc((categories + 1) * sizeof(*late));
	size_t half = view->rows / 2, missing = 0;
	for (size_t i = 0; i < view->rows; i++) {
		if (codes[i] == COLUMN_MISSING)
			missing++;
		else
			(i < half ? early : late)[codes[i] < categories ? codes[i] : categories]++;
	}
	column->l1 = drift_l1(early, late, categories + 1);
	column->missing_after = view->rows ? (double)missing / (double)view->rows : NAN;
	free(early);
	free(late);
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Each distinct value gets a code; NaN is missing. The number of codes. */
static size_t make_codes(const double *values, size_t rows, uint32_t *codes)
{
	double *distinct = mem_alloc((rows + 1) * sizeof(*distinct));
	size_t n = pack(values, 0, rows, distinct), kept = 0;
	order_sort(distinct, n);
	for (size_t i = 0; i < n; i++)
		if (!kept || distinct[i] != distinct[kept - 1])
			distinct[kept++] = distinct[i];
	for (size_t i = 0; i < rows; i++) {
		const double *found = isnan(values[i])
					      ? NULL
					      : bsearch(&values[i], distinct, kept, sizeof(*distinct), compare_doubles);
		codes[i] = found ? (uint32_t)(found - distinct) : COLUMN_MISSING;
	}
	free(distinct);
	return kept;
}

static void measure_column(const struct quality_view *view, const struct quality_source *source, bool *outlying,
			   struct quality_column *column)
{
	column->outlier_rate = column->ks = column->mean_shift = column->early_mean = column->late_mean = NAN;
	column->l1 = column->missing_after = NAN;
	if (source->kind == COLUMN_NUMBER && source->numbers) {
		measure_numbers(view, source->numbers, column, outlying);
	} else if (source->numbers) {
		uint32_t *codes = mem_alloc((view->rows + 1) * sizeof(*codes));
		size_t categories = make_codes(source->numbers, view->rows, codes);
		measure_codes(view, codes, categories, column);
		free(codes);
	} else if (source->codes) {
		measure_codes(view, source->codes, source->categories, column);
	}
}

void quality_measure(const struct quality_view *view, const char *target, struct quality *out)
{
	bool *outlying = mem_alloc(view->rows + 1);
	uint64_t missing = 0, cells = 0;
	size_t outliers = 0;
	*out = (struct quality){.rows = view->rows_seen, .rows_used = view->rows};
	out->sampled = view->rows < view->rows_seen;
	for (size_t i = 0; i < view->count; i++) {
		const struct quality_source *source = &view->sources[i];
		struct quality_column *column = vec_add(&out->columns);
		column->name = mem_strdup(source->name);
		column->kind = source->kind;
		column->missing = source->missing;
		column->unparsed = source->unparsed;
		column->counted = source->counted;
		column->missing_ratio = source->counted ? (double)source->missing / (double)source->counted : NAN;
		missing += source->missing;
		cells += source->counted;
		measure_column(view, source, outlying, column);
		if (target && strcmp(target, source->name) == 0 && source->kind == COLUMN_NUMBER)
			out->target = mem_strdup(target);
	}
	for (size_t i = 0; i < view->rows; i++)
		outliers += outlying[i];
	out->missing_ratio = cells ? (double)missing / (double)cells : NAN;
	out->outlier_rate = view->rows ? (double)outliers / (double)view->rows : NAN;
	free(outlying);
}

void quality_of_frame(const struct frame *frame, const char *target, struct quality *out)
{
	struct quality_view view = {.rows = frame->rows, .rows_seen = frame->rows};
	view.sources = mem_alloc((frame->count + 1) * sizeof(*view.sources));
	for (size_t i = 0; i < frame->count; i++) {
		const struct column *column = &frame->columns[i];
		if (column->derived)
			continue;
		struct quality_source *source = &view.sources[view.count++];
		*source = (struct quality_source){.name = column->name,
						  .kind = column->kind,
						  .numbers = column->kind == COLUMN_TEXT ? NULL : column->numbers,
						  .codes = column->kind == COLUMN_TEXT ? column->codes : NULL,
						  .missing = column->missing,
						  .unparsed = column->unparsed,
						  .counted = frame->rows};
		if (source->codes)
			source->categories = dictionary_count(column->values);
	}
	quality_measure(&view, target, out);
	free(view.sources);
}

static void add_problem(struct quality *quality, char *text)
{
	vec_push(&quality->problems, text);
}

void quality_check_schema(const struct csv_counts *input, struct quality *quality)
{
	static const char *const wants[] = {"number", "date", "text"};
	for (size_t i = 0; i < quality->columns.len; i++) {
		const struct quality_column *column = &quality->columns.items[i];
		if (column->unparsed)
			add_problem(quality, mem_printf("column '%s': %llu of %llu cells are no %s", column->name,
							(unsigned long long)column->unparsed,
							(unsigned long long)column->counted, wants[column->kind]));
		if (column->counted && column->missing == column->counted)
			add_problem(quality, mem_printf("column '%s' is empty", column->name));
	}
	if (input->padded + input->truncated)
		add_problem(quality,
			    mem_printf("%llu records have too few cells and %llu too many",
				       (unsigned long long)input->padded, (unsigned long long)input->truncated));
	if (input->skipped)
		add_problem(quality, mem_printf("%llu records were skipped", (unsigned long long)input->skipped));
	if (input->replaced)
		add_problem(quality, mem_printf("%llu bytes are not UTF-8", (unsigned long long)input->replaced));
	if (input->renamed)
		add_problem(quality, mem_printf("%llu columns had no name or one that was taken",
						(unsigned long long)input->renamed));
}

void quality_fini(struct quality *quality)
{
	for (size_t i = 0; i < quality->columns.len; i++)
		free(quality->columns.items[i].name);
	for (size_t i = 0; i < quality->problems.len; i++)
		free(quality->problems.items[i]);
	vec_fini(&quality->columns);
	vec_fini(&quality->problems);
	free(quality->target);
	*quality = (struct quality){0};
}
