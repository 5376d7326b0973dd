/* code_rows.c - see code_rows.h. */
#include "analyze/code_rows.h"
#include "base/file.h"

#include <math.h>
#include <string.h>

static const double z = 1.959963984540054; /* 95 % */

/* ---- texts of lines ---- */

static int compare_source(const struct profile_source *source, const char *file, int line)
{
	int files = strcmp(source->file, file);
	return files ? files : source->line - line;
}

static int by_source(const void *a, const void *b)
{
	const struct profile_source *x = *(const struct profile_source *const *)a,
				    *y = *(const struct profile_source *const *)b;
	return compare_source(x, y->file, y->line);
}

static const char *find_source(const struct profile_source *const *sorted, size_t count, const char *file, int line)
{
	size_t low = 0, high = count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (compare_source(sorted[middle], file, line) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && compare_source(sorted[low], file, line) == 0 ? sorted[low]->text : NULL;
}

static void find_sources(const struct code_tree *tree, const char **out)
{
	const struct profile_data *profile = tree->profile;
	size_t count = 0;
	const struct profile_source **sorted = mem_alloc((profile->sources.len + 1) * sizeof(*sorted));
	for (size_t i = 0; i < profile->sources.len; i++)
		if (profile->sources.items[i].file && profile->sources.items[i].text)
			sorted[count++] = &profile->sources.items[i];
	if (count > 1)
		qsort(sorted, count, sizeof(*sorted), by_source);
	for (size_t i = 0; i < tree->frames.len; i++) {
		const struct code_frame *frame = &tree->frames.items[i];
		if (frame->file && frame->line > 0)
			out[i] = find_source(sorted, count, frame->file, frame->line);
	}
	free(sorted);
}

/* ---- sums ---- */

struct walk {
	struct code_rows_of *of;
	uint32_t *inside[GROUPING_COUNT]; /* per group: how many of it lie on the path */
};

/* A recursive call's time is in the outermost one's already. */
static void enter(void *context, uint32_t index)
{
	struct walk *walk = context;
	const struct code_node *node = &walk->of->tree->nodes.items[index];
	for (int grouping = 0; grouping < GROUPING_COUNT; grouping++) {
		uint32_t group = walk->of->groups[grouping].of[node->frame];
		struct code_sum *sum = &walk->of->sums[grouping][group];
		sum->self_ns += node->self_ns;
		sum->self_samples += node->self_samples;
		if (walk->inside[grouping][group]++ > 0)
			continue;
		sum->total_ns += node->total_ns;
		sum->total_samples += node->total_samples;
	}
}

static void leave(void *context, uint32_t index)
{
	struct walk *walk = context;
	uint32_t frame = walk->of->tree->nodes.items[index].frame;
	for (int grouping = 0; grouping < GROUPING_COUNT; grouping++)
		walk->inside[grouping][walk->of->groups[grouping].of[frame]]--;
}

/* By own time, then by total: where a reader should look first. */
static void find_hottest(struct code_rows_of *of)
{
	const struct code_groups *functions = &of->groups[GROUP_FUNCTION], *lines = &of->groups[GROUP_LINE];
	memcpy(of->hottest, functions->first, functions->count * sizeof(*of->hottest));
	for (size_t i = 0; i < of->tree->frames.len; i++) {
		uint32_t *hottest = &of->hottest[functions->of[i]];
		const struct code_sum *sum = &of->sums[GROUP_LINE][lines->of[i]],
				      *best = &of->sums[GROUP_LINE][lines->of[*hottest]];
		if (sum->self_ns > best->self_ns || (sum->self_ns == best->self_ns && sum->total_ns > best->total_ns))
			*hottest = (uint32_t)i;
	}
}

/* Samples of unlike weight tell less than as many equal ones: Kish's effective size. */
static void measure(const struct code_tree *tree, size_t repetitions, struct code_scale *out)
{
	double sum = 0, squares = 0;
	for (size_t i = 0; i < tree->samples.len; i++) {
		double weight = (double)tree->samples.items[i].weight_ns;
		sum += weight;
		squares += weight * weight;
	}
	*out = (struct code_scale){.total_ns = tree->nodes.items[CODE_ROOT].total_ns,
				   .worth = squares > 0 ? sum * sum / squares : 0,
				   .repetitions = repetitions ? repetitions : 1};
}

/* ---- places ---- */

bool code_is_worker_mark(const struct code_frame *frame)
{
	return frame->kind == FRAME_MARK && strcmp(frame->function, CODE_WORKER_FRAME) == 0;
}

/* Python's own and what was installed beside it; headers of the system, whose code is inlined everywhere. */
static bool is_library(const char *file)
{
	static const char *const folders[] = {"/lib/python",     "/lib64/python", "/site-packages/",
					      "/dist-packages/", "/usr/include/", "/usr/lib/"};
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (strstr(file, folders[i]))
			return true;
	return file[0] == '<';
}

uint32_t code_place_own(const struct code_place *place)
{
	if (place->own != CODE_NO_FRAME)
		return place->own;
	return place->shown != CODE_NO_FRAME ? place->shown : place->python;
}

/* Parents come first, so that what they have is known. */
static void find_places(struct code_rows_of *of)
{
	const struct code_tree *tree = of->tree;
	of->places = mem_alloc(tree->nodes.len * sizeof(*of->places));
	of->places[CODE_ROOT] = (struct code_place){CODE_NO_FRAME, CODE_NO_FRAME, CODE_NO_FRAME, CODE_NO_FRAME};
	for (size_t i = 1; i < tree->nodes.len; i++) {
		const struct code_node *node = &tree->nodes.items[i];
		const struct code_frame *frame = &tree->frames.items[node->frame];
		struct code_place *place = &of->places[i];
		*place = of->places[node->parent];
		if (of->sources[node->frame])
			place->shown = node->frame;
		if (of->sources[node->frame] && !is_library(frame->file))
			place->own = node->frame;
		if (frame->kind == FRAME_PYTHON && frame->line > 0)
			place->python = node->frame;
		if (code_is_worker_mark(frame))
			place->starter = place->own != CODE_NO_FRAME ? place->own : place->python;
	}
}

void code_rows_open(const struct code_tree *tree, size_t repetitions, struct code_rows_of *out)
{
	struct walk walk = {.of = out};
	*out = (struct code_rows_of){.tree = tree, .graft = code_graft_new(tree->profile)};
	measure(tree, repetitions, &out->scale);
	for (int i = 0; i < GROUPING_COUNT; i++) {
		code_groups_make(tree, (enum code_grouping)i, &out->groups[i]);
		out->sums[i] = mem_alloc((out->groups[i].count + 1) * sizeof(*out->sums[i]));
		walk.inside[i] = mem_alloc((out->groups[i].count + 1) * sizeof(*walk.inside[i]));
	}
	code_walk(tree, enter, leave, &walk);
	out->hottest = mem_alloc((out->groups[GROUP_FUNCTION].count + 1) * sizeof(*out->hottest));
	out->sources = mem_alloc((tree->frames.len + 1) * sizeof(*out->sources));
	find_hottest(out);
	find_sources(tree, out->sources);
	find_places(out);
	for (int i = 0; i < GROUPING_COUNT; i++)
		free(walk.inside[i]);
}

void code_rows_close(struct code_rows_of *of)
{
	for (int i = 0; i < GROUPING_COUNT; i++) {
		code_groups_fini(&of->groups[i]);
		free(of->sums[i]);
	}
	code_graft_free(of->graft);
	free(of->hottest);
	free(of->sources);
	free(of->places);
}

/* ---- rows ---- */

/* Wilson's interval: sensible at 0 and 1 and for few samples, where the plain one is not. */
struct code_share code_share_of(const struct code_scale *scale, uint64_t ns, uint64_t samples)
{
	struct code_share share = {.seconds = (double)ns / 1e9 / (double)scale->repetitions,
				   .share = scale->total_ns ? (double)ns / (double)scale->total_ns : 0,
				   .low = 0,
				   .high = 1,
				   .samples = samples};
	double p = share.share, n = scale->worth;
	if (n <= 0)
		return share;
	double middle = (p + z * z / (2 * n)) / (1 + z * z / n);
	double half = z / (1 + z * z / n) * sqrt(p * (1 - p) / n + z * z / (4 * n * n));
	share.low = fmax(fmin(middle - half, p), 0);
	share.high = fmin(fmax(middle + half, p), 1);
	return share;
}

struct code_row code_row_of_frame(const struct code_rows_of *of, uint32_t index)
{
	const struct code_frame *frame = &of->tree->frames.items[index];
	return (struct code_row){.kind = frame->kind,
				 .function = frame->function,
				 .module = frame->module,
				 .file = frame->file,
				 .line = frame->line,
				 .source = of->sources[index]};
}

struct code_row code_row_of_group(const struct code_rows_of *of, enum code_grouping grouping, uint32_t group)
{
	uint32_t first = of->groups[grouping].first[group];
	struct code_row row = code_row_of_frame(of, grouping == GROUP_FUNCTION ? of->hottest[group] : first);
	const struct code_sum *sum = &of->sums[grouping][group];
	if (grouping != GROUP_LINE && grouping != GROUP_SPOT)
		row.source = NULL;
	/* The whole of a script begins at 1, which helps nobody: there the hottest line stays. */
	bool script = row.kind == FRAME_PYTHON && strcmp(row.function, "<module>") == 0;
	if (grouping == GROUP_FUNCTION && !script && of->tree->frames.items[first].first_line > 0)
		row.line = of->tree->frames.items[first].first_line;
	if (grouping == GROUP_MODULE) {
		row.function = NULL;
		row.line = 0;
		row.file = row.module ? NULL : row.file;
	}
	row.self = code_share_of(&of->scale, sum->self_ns, sum->self_samples);
	row.total = code_share_of(&of->scale, sum->total_ns, sum->total_samples);
	return row;
}

static int compare_words(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

/* Equal ones by name, so that two reports of one run are the same. */
static int by_share(const void *a, const void *b, void *context)
{
	bool by_total = *(const bool *)context;
	const struct code_row *x = a, *y = b;
	double first = by_total ? x->total.seconds : x->self.seconds,
	       second = by_total ? y->total.seconds : y->self.seconds;
	if (first != second)
		return first < second ? 1 : -1;
	int names = compare_words(x->function, y->function), files = compare_words(x->file, y->file);
	return names                ? names
	       : files              ? files
	       : x->line != y->line ? x->line - y->line
				    : compare_words(x->module, y->module);
}

void code_rows_sort(struct code_rows *rows, bool by_total)
{
	if (rows->items.len > 1)
		qsort_r(rows->items.items, rows->items.len, sizeof(*rows->items.items), by_share, &by_total);
}

void code_rows_rank(const struct code_rows_of *of, enum code_grouping grouping, bool by_total, struct code_rows *out)
{
	for (uint32_t i = 0; i < of->groups[grouping].count; i++) {
		const struct code_sum *sum = &of->sums[grouping][i];
		if ((by_total ? sum->total_ns : sum->self_ns) > 0)
			vec_push(&out->items, code_row_of_group(of, grouping, i));
	}
	code_rows_sort(out, by_total);
}

char *code_row_words(const struct code_row *row)
{
	const char *name = row->function ? row->function : "?", *place = row->file ? row->file : row->module;
	if (!place)
		return mem_strdup(name);
	if (row->file && row->line > 0)
		return mem_printf("%s (%s:%d)", name, file_base_name(place), row->line);
	return mem_printf("%s (%s)", name, file_base_name(place));
}
