/* collect.c - see collect.h and collect_inside.h. */
#include "run/collect.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "run/collect_inside.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const uint64_t QUIET_NS = NS_PER_S; /* as long as this nobody needs to hear why it takes so long */

bool collect_stored(struct collect *collect, int code)
{
	if (code && !collect->code)
		collect->code = code;
	return code == 0;
}

struct stage_sum *collect_stage_of(struct collect *collect, int64_t stage_id)
{
	for (size_t i = 0; i < collect->stages.len; i++)
		if (collect->stages.items[i].stage.id == stage_id)
			return &collect->stages.items[i];
	return NULL;
}

uint64_t collect_since_start(const struct collect *collect, uint64_t mono_ns)
{
	uint64_t start = collect->options->run_start_mono_ns;
	mono_ns = mono_ns < collect->now_mono_ns ? mono_ns : collect->now_mono_ns;
	return mono_ns > start ? mono_ns - start : 0;
}

void collect_remark(struct collect *collect, int64_t stage_id, bool is_warning, const char *format, ...)
{
	enum { MOST_REMARKS = 200 };
	char text[512];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	for (size_t i = 0; i < collect->remarks.len; i++) {
		struct remark *remark = &collect->remarks.items[i];
		if (remark->stage_id == stage_id && strcmp(remark->text, text) == 0) {
			remark->count++;
			return;
		}
	}
	if (collect->remarks.len < MOST_REMARKS)
		vec_push(&collect->remarks, ((struct remark){stage_id, mem_strdup(text), 1, is_warning}));
}

/* ---- which images there are ---- */

static void take_file(struct collect *collect, const char *name)
{
	struct image image = {.path = file_join(collect->options->dir, name)};
	struct err err;
	if (wire_read_summary(image.path, &image.summary, &err) != 0) {
		collect_remark(collect, 0, true, "a process's samples cannot be read: %s", err.text);
		free(image.path);
		return;
	}
	if (!collect_stage_of(collect, image.summary.stage_id)) {
		collect_remark(collect, 0, true, "samples of a stage that does not exist were left out");
		free(image.path);
		return;
	}
	vec_push(&collect->images, image);
}

static int compare_images(const void *a, const void *b)
{
	const struct image *x = a, *y = b;
	if (x->summary.start_mono_ns != y->summary.start_mono_ns)
		return x->summary.start_mono_ns < y->summary.start_mono_ns ? -1 : 1;
	return strcmp(x->path, y->path);
}

static uint64_t process_key(const struct wire_summary *summary)
{
	return (uint64_t)(uint32_t)summary->pid << 40 ^ summary->start_ticks;
}

/* A process that called exec goes on counting its CPU time: what the images before an image used is not the image's. */
static void link_images(struct collect *collect)
{
	struct map last = {0}; /* struct image * of each process */
	for (size_t i = 0; i < collect->images.len; i++) {
		struct image *image = &collect->images.items[i];
		uint64_t key = process_key(&image->summary);
		const struct image *before = map_get(&last, key);
		if (before && image->summary.birth == WIRE_BORN_EXEC) {
			image->cpu_before_ns = before->summary.cpu_end_ns;
			if (image->cpu_before_ns < before->cpu_before_ns)
				image->cpu_before_ns = before->cpu_before_ns;
		}
		map_put(&last, key, image);
	}
	map_fini(&last);
}

static void find_images(struct collect *collect)
{
	DIR *dir = opendir(collect->options->dir);
	if (!dir) {
		collect_remark(collect, 0, true, "the folder with the samples of the code is gone: '%s'",
			       collect->options->dir);
		return;
	}
	for (struct dirent *entry; (entry = readdir(dir));)
		if (str_ends(entry->d_name, WIRE_SUFFIX))
			take_file(collect, entry->d_name);
	closedir(dir);
	if (collect->images.len)
		qsort(collect->images.items, collect->images.len, sizeof(struct image), compare_images);
	link_images(collect);
}

/* ---- progress ---- */

static void say(struct collect *collect, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct collect *collect, const char *format, ...)
{
	char text[256];
	va_list args;
	uint64_t now = clock_mono_ns();
	if (!collect->options->note || now - collect->noted_ns < QUIET_NS)
		return;
	collect->noted_ns = now;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	collect->options->note(collect->options->context, text);
}

static void on_resolved(void *context, size_t done, size_t all)
{
	if (done < all)
		say(context, "resolving symbols: %zu of %zu objects", done, all);
}

/* ---- what is said of it all ---- */

static void set_memory(const struct stage_sum *sum, struct metric_value *values)
{
	unsigned long long images = (unsigned long long)sum->memory_images;
	if (!images)
		return;
	metric_set(&values[METRIC_HEAP_PEAK], (double)sum->memory_peak,
		   sum->memory_sampled ? METHOD_SAMPLED : METHOD_EXACT, "agents in %llu process images", images);
	metric_set(&values[METRIC_HEAP_ALLOCATED], (double)sum->memory_bytes, METHOD_EXACT,
		   "agents in %llu process images", images);
	metric_set(&values[METRIC_HEAP_CALLS], (double)sum->memory_calls, METHOD_EXACT, "agents in %llu process images",
		   images);
}

static void set_code(const struct stage_sum *sum, struct metric_value *values)
{
	struct metric_value *coverage = &values[METRIC_PROFILE_COVERAGE], *gap = &values[METRIC_PROFILE_UNCOVERED];
	double cpu_s = sum->stage.cpu_s, weight_s = (double)sum->weight_ns / 1e9;
	metric_set(&values[METRIC_PROFILE_SAMPLES], (double)sum->samples, METHOD_EXACT, "agents in %llu process images",
		   (unsigned long long)sum->images);
	if (cpu_s > 0) {
		metric_set(coverage, weight_s / cpu_s, METHOD_EXACT, "weights of the samples over CPU time");
		metric_set(gap, sum->gap_s / cpu_s, METHOD_ESTIMATED, "CPU time of processes without an agent");
	} else {
		metric_set_absent(coverage, "the stage's CPU time is not known, or 0");
		metric_set_absent(gap, "the stage's CPU time is not known, or 0");
	}
	if (sum->cpu_ns)
		metric_set(&values[METRIC_PROFILE_OVERHEAD], (double)sum->handler_ns / (double)sum->cpu_ns,
			   METHOD_EXACT, "agents' own clocks");
	else
		metric_set_absent(&values[METRIC_PROFILE_OVERHEAD], "no process of the stage had an agent");
}

static void store_stage_metrics(struct collect *collect, const struct stage_sum *sum)
{
	struct metric_value values[METRIC_COUNT] = {0};
	set_memory(sum, values);
	if (!sum->stage.memory_only)
		set_code(sum, values);
	struct store *store = collect->options->store;
	collect_stored(collect, store_metrics(store, sum->stage.id, values, collect->err));
}

/* A few are a remark; more than one in a hundred puts the shares in doubt. */
static void remark_on_losses(struct collect *collect, const struct stage_sum *sum)
{
	if (sum->stage.memory_only && !sum->memory_images)
		collect_remark(collect, sum->stage.id, true,
			       "memory was not profiled: no process of the stage could have an agent");
	if (sum->lost)
		collect_remark(
			collect, sum->stage.id, sum->lost > sum->samples / 100,
			"%llu samples of the code were lost beside %llu that were kept: no room, or threads that "
			"had just begun",
			(unsigned long long)sum->lost, (unsigned long long)sum->samples);
}

static void store_remarks(struct collect *collect)
{
	for (size_t i = 0; i < collect->remarks.len && !collect->code; i++) {
		const struct remark *remark = &collect->remarks.items[i];
		char *text = remark->count > 1 ? mem_printf("%s (%llu processes)", remark->text,
							    (unsigned long long)remark->count)
					       : mem_strdup(remark->text);
		struct event_row event = {.stage_id = remark->stage_id,
					  .at_ns = collect_since_start(collect, collect->now_mono_ns),
					  .kind = remark->is_warning ? "warning" : "note",
					  .text = text};
		collect_stored(collect, store_event(collect->options->store, &event, collect->err));
		free(text);
	}
}

static void collect_fini(struct collect *collect)
{
	for (size_t i = 0; i < collect->images.len; i++)
		free(collect->images.items[i].path);
	for (size_t i = 0; i < collect->remarks.len; i++)
		free(collect->remarks.items[i].text);
	for (size_t i = 0; i < collect->sources.len; i++)
		free(collect->sources.items[i].file);
	vec_fini(&collect->images);
	vec_fini(&collect->remarks);
	vec_fini(&collect->sources);
	vec_fini(&collect->stages);
	map_fini(&collect->seen_frames);
	symbol_table_free(collect->symbols);
}

int collect_profiles(const struct collect_options *options, struct err *err)
{
	struct collect collect = {.options = options,
				  .now_mono_ns = clock_mono_ns(),
				  .noted_ns = clock_mono_ns(),
				  .symbols = symbol_table_new(),
				  .err = err};
	for (size_t i = 0; i < options->stage_count; i++)
		vec_push(&collect.stages, ((struct stage_sum){.stage = options->stages[i]}));
	find_images(&collect);
	for (size_t i = 0; i < collect.images.len; i++) {
		image_wants(&collect, &collect.images.items[i]);
		say(&collect, "reading samples: %zu of %zu processes", i + 1, collect.images.len);
	}
	symbol_resolve(collect.symbols, 0, on_resolved, &collect);
	for (size_t i = 0; i < collect.images.len && !collect.code; i++) {
		image_store(&collect, &collect.images.items[i]);
		say(&collect, "storing samples: %zu of %zu processes", i + 1, collect.images.len);
	}
	if (!collect.code)
		gap_store_all(&collect);
	if (!collect.code)
		source_store_all(&collect);
	for (size_t i = 0; i < collect.stages.len && !collect.code; i++) {
		store_stage_metrics(&collect, &collect.stages.items[i]);
		remark_on_losses(&collect, &collect.stages.items[i]);
	}
	store_remarks(&collect);
	if (!collect.code)
		collect_stored(&collect, store_commit(options->store, err));
	int code = collect.code;
	collect_fini(&collect);
	return code;
}
