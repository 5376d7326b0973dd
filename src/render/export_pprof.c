/*
 * export_pprof.c - a gzipped profile.proto, for `go tool pprof` and everything that reads pprof files.
 *
 * One sample of the file is one path of one thread; its values are the number of samples and their CPU time. Of memory it is one
 * allocation site, with objects and bytes by every weight: pprof -sample_index chooses. Functions that
 * were inlined share one location with the function they are in, as the format wants it. There are no addresses: symbols
 * are in the file already, and the mappings say so. Python functions carry their file in the name, because pprof adds up by
 * name, and every script has a "<module>".
 */
#include "render/export_words.h"
#include "render/exports.h"
#include "render/text.h"
#include "render/text_ids.h"

#include "pprof.pb-c.h"

#include <string.h>
#include <zlib.h>

enum { NONE = 0, LABELS = 6, TYPES_MOST = 16 };

/* A location: a frame, inlined into the location `outer` as a whole; numbers count from 1. */
struct place {
	uint32_t frame; /* EXPORT_CUT: no code; then `outer` is which */
	uint32_t outer;
	bool used;
};

enum { PLACE_PATHLESS = 1, PLACE_CUT = 2 };

struct pprof {
	const struct code_tree *tree;
	const struct report *report;
	struct text_ids texts;
	struct text_ids function_keys;
	VEC(struct place) places;
	VEC(uint32_t) place_of; /* by node */
	VEC(Pprof__Sample *) samples;
	VEC(Pprof__Location *) locations;
	VEC(Pprof__Function *) functions;
	VEC(Pprof__Mapping *) mappings;
	struct text_ids modules;
	VEC(void *) owned; /* freed together */
};

static void *take(struct pprof *pprof, size_t bytes)
{
	void *memory = mem_alloc(bytes ? bytes : 1);
	vec_push(&pprof->owned, memory);
	return memory;
}

/* pprof prints names on terminals as they are. */
static int64_t text_of(struct pprof *pprof, const char *text)
{
	char *clean = text_clean(text, true);
	int64_t number = (int64_t)text_ids_of(&pprof->texts, clean, NULL);
	free(clean);
	return number;
}

static uint64_t mapping_of(struct pprof *pprof, const char *module)
{
	bool is_new;
	if (!module)
		return NONE;
	uint64_t id = text_ids_of(&pprof->modules, module, &is_new) + 1;
	if (is_new) {
		Pprof__Mapping *mapping = take(pprof, sizeof(*mapping));
		pprof__mapping__init(mapping);
		mapping->id = id;
		mapping->filename = text_of(pprof, module);
		mapping->has_functions = mapping->has_filenames = true;
		mapping->has_line_numbers = mapping->has_inline_frames = true;
		vec_push(&pprof->mappings, mapping);
	}
	return id;
}

static uint64_t function_of(struct pprof *pprof, const char *name, const char *plain, const char *file, int first_line)
{
	struct str key = {0};
	bool is_new;
	str_appendf(&key, "%s\n%s\n%d", name, file ? file : "", first_line);
	uint64_t id = text_ids_of(&pprof->function_keys, str_text(&key), &is_new) + 1;
	str_fini(&key);
	if (is_new) {
		Pprof__Function *function = take(pprof, sizeof(*function));
		pprof__function__init(function);
		function->id = id;
		function->name = text_of(pprof, name);
		function->system_name = text_of(pprof, plain);
		function->filename = text_of(pprof, file);
		function->start_line = first_line;
		vec_push(&pprof->functions, function);
	}
	return id;
}

static uint64_t function_of_frame(struct pprof *pprof, const struct code_frame *frame)
{
	struct str name = {0};
	export_frame_place(&name, frame);
	/* The linker's name of native code is not known; ours in its place would make pprof cut templates and arguments. */
	const char *plain = frame->kind == FRAME_PYTHON ? frame->function : NULL;
	uint64_t id = function_of(pprof, str_text(&name), plain, frame->file, frame->first_line);
	str_fini(&name);
	return id;
}

/* Which place a node is: its frame, and where that is inlined, the place of its parent. */
static void find_places(struct pprof *pprof)
{
	const struct code_tree *tree = pprof->tree;
	struct map known = {0};
	vec_push(&pprof->places, ((struct place){.frame = EXPORT_CUT, .outer = PLACE_PATHLESS}));
	vec_push(&pprof->places, ((struct place){.frame = EXPORT_CUT, .outer = PLACE_CUT}));
	vec_push(&pprof->place_of, PLACE_PATHLESS);
	for (uint32_t i = 1; i < tree->nodes.len; i++) {
		const struct code_node *node = &tree->nodes.items[i];
		bool inlined = tree->frames.items[node->frame].inlined && node->parent != CODE_ROOT;
		struct place place = {.frame = node->frame,
				      .outer = inlined ? pprof->place_of.items[node->parent] : NONE};
		uint64_t key = (uint64_t)place.outer << 32 | place.frame;
		uintptr_t number = (uintptr_t)map_get(&known, key);
		if (number == 0) {
			vec_push(&pprof->places, place);
			number = pprof->places.len;
			map_put(&known, key, (void *)number);
		}
		vec_push(&pprof->place_of, (uint32_t)number);
	}
	map_fini(&known);
}

static void put_line(struct pprof *pprof, Pprof__Location *location, uint64_t function, int line)
{
	Pprof__Line *it = take(pprof, sizeof(*it));
	pprof__line__init(it);
	it->function_id = function;
	it->line = line;
	location->line[location->n_line++] = it;
}

/* Innermost line first. */
static void put_lines(struct pprof *pprof, Pprof__Location *location, uint32_t number)
{
	size_t depth = 0;
	for (uint32_t at = number; at != NONE; at = pprof->places.items[at - 1].outer)
		depth++;
	location->line = take(pprof, depth * sizeof(*location->line));
	for (uint32_t at = number; at != NONE; at = pprof->places.items[at - 1].outer) {
		const struct code_frame *frame = &pprof->tree->frames.items[pprof->places.items[at - 1].frame];
		put_line(pprof, location, function_of_frame(pprof, frame), export_frame_line(frame));
	}
}

static void put_locations(struct pprof *pprof)
{
	for (uint32_t number = 1; number <= pprof->places.len; number++) {
		const struct place *place = &pprof->places.items[number - 1];
		if (!place->used)
			continue;
		Pprof__Location *location = take(pprof, sizeof(*location));
		pprof__location__init(location);
		location->id = number;
		if (place->frame == EXPORT_CUT) {
			const char *name = number == PLACE_CUT ? EXPORT_CUT_NAME : export_pathless_name(pprof->tree);
			location->line = take(pprof, sizeof(*location->line));
			put_line(pprof, location, function_of(pprof, name, name, NULL, 0), 0);
		} else {
			location->mapping_id = mapping_of(pprof, pprof->tree->frames.items[place->frame].module);
			put_lines(pprof, location, number);
		}
		vec_push(&pprof->locations, location);
	}
}

/* Numbers of the places of a path, innermost first; inlined frames are within the place of the innermost of them. */
static void put_path(struct pprof *pprof, Pprof__Sample *sample, uint32_t node)
{
	const struct code_tree *tree = pprof->tree;
	uint32_t path[EXPORT_DEPTH];
	size_t depth = export_path(tree, node, path);
	bool within = false;
	sample->location_id = take(pprof, (depth + 1) * sizeof(*sample->location_id));
	for (size_t i = depth; i-- > 0;) {
		bool cut = path[i] == EXPORT_CUT;
		uint32_t number = cut ? PLACE_CUT : pprof->place_of.items[path[i]];
		if (!within || cut)
			sample->location_id[sample->n_location_id++] = number;
		pprof->places.items[number - 1].used |= !within || cut;
		within = !cut && pprof->places.items[number - 1].outer != NONE;
	}
	if (depth == 0) {
		sample->location_id[sample->n_location_id++] = PLACE_PATHLESS;
		pprof->places.items[PLACE_PATHLESS - 1].used = true;
	}
}

static Pprof__Label *add_label(struct pprof *pprof, Pprof__Sample *sample, const char *key)
{
	Pprof__Label *label = take(pprof, sizeof(*label));
	pprof__label__init(label);
	label->key = text_of(pprof, key);
	sample->label[sample->n_label++] = label;
	return label;
}

static void put_text_label(struct pprof *pprof, Pprof__Sample *sample, const char *key, const char *text)
{
	if (text && *text)
		add_label(pprof, sample, key)->str = text_of(pprof, text);
}

static void put_labels(struct pprof *pprof, Pprof__Sample *sample, const struct export_cost *cost)
{
	const struct profile_data *profile = pprof->tree->profile;
	const struct profile_process *process = export_process_of(pprof->tree, cost->thread);
	struct str process_name = {0}, thread_name = {0};
	export_process_name(&process_name, process);
	export_thread_name(&thread_name, &profile->threads.items[cost->thread]);
	sample->label = take(pprof, LABELS * sizeof(*sample->label));
	put_text_label(pprof, sample, "stage", export_stage_name(pprof->report, process->stage_id));
	put_text_label(pprof, sample, "process", str_text(&process_name));
	put_text_label(pprof, sample, "thread", str_text(&thread_name));
	if (cost->task_id > 0 && (size_t)cost->task_id <= profile->tasks.len)
		put_text_label(pprof, sample, "task", profile->tasks.items[cost->task_id - 1]);
	add_label(pprof, sample, "pid")->num = process->pid;
	add_label(pprof, sample, "tid")->num = profile->threads.items[cost->thread].tid;
	str_fini(&process_name);
	str_fini(&thread_name);
}

/* Each sample of the tree is a site, and has its own numbers. */
static void put_sites(struct pprof *pprof)
{
	const struct code_measure *measure = pprof->tree->select.measure;
	for (size_t i = 0; i < pprof->tree->samples.len; i++) {
		const struct code_sample *site = &pprof->tree->samples.items[i];
		Pprof__Sample *sample = take(pprof, sizeof(*sample));
		pprof__sample__init(sample);
		put_path(pprof, sample, site->node);
		sample->n_value = measure->type_count;
		sample->value = take(pprof, measure->type_count * sizeof(*sample->value));
		for (size_t k = 0; k < measure->type_count; k++)
			sample->value[k] = measure->numbers[site->index * measure->type_count + k];
		put_labels(pprof, sample, &(struct export_cost){.thread = site->thread});
		vec_push(&pprof->samples, sample);
	}
}

static void put_samples(struct pprof *pprof)
{
	struct export_cost_list costs;
	export_costs(pprof->tree, &costs);
	for (size_t i = 0; i < costs.items.len; i++) {
		const struct export_cost *cost = &costs.items.items[i];
		Pprof__Sample *sample = take(pprof, sizeof(*sample));
		pprof__sample__init(sample);
		put_path(pprof, sample, cost->node);
		sample->value = take(pprof, 2 * sizeof(*sample->value));
		sample->n_value = 2;
		sample->value[0] = (int64_t)cost->samples;
		sample->value[1] = (int64_t)cost->ns;
		put_labels(pprof, sample, cost);
		vec_push(&pprof->samples, sample);
	}
	vec_fini(&costs.items);
}

static Pprof__ValueType *value_type(struct pprof *pprof, const char *type, const char *unit)
{
	Pprof__ValueType *it = take(pprof, sizeof(*it));
	pprof__value_type__init(it);
	it->type = text_of(pprof, type);
	it->unit = text_of(pprof, unit);
	return it;
}

static void fill_times(struct pprof *pprof, Pprof__Profile *profile)
{
	const struct run_row *row = &pprof->report->record->row;
	const struct code_select *select = &pprof->tree->select;
	uint64_t to_ns = select->to_ns && select->to_ns < row->wall_ns ? select->to_ns : row->wall_ns;
	profile->time_nanos = (int64_t)(row->started_utc_ns + select->from_ns);
	profile->duration_nanos = to_ns > select->from_ns ? (int64_t)(to_ns - select->from_ns) : 0;
	profile->period = (int64_t)(select->measure ? select->measure->period : export_period_ns(pprof->tree));
}

/* pprof names the first mapping as the program that was profiled. */
static void put_program(struct pprof *pprof)
{
	const struct profile_data *profile = pprof->tree->profile;
	const struct profile_process *best = NULL;
	for (size_t i = 0; i < profile->processes.len; i++) {
		const struct profile_process *process = &profile->processes.items[i];
		if (code_select_has_stage(&pprof->tree->select, process->stage_id) && process->executable &&
		    (!best || process->weight_ns > best->weight_ns))
			best = process;
	}
	mapping_of(pprof, best ? best->executable : NULL);
}

static int compress_into(struct str *out, unsigned char *bytes, size_t count, struct err *err)
{
	z_stream stream = {.next_in = bytes, .avail_in = (uInt)count};
	enum { GZIP = 16 };
	if (count > UINT32_MAX)
		return err_set(err, ERR_INPUT,
			       "the profile is too large for pprof (%zu bytes): choose a stage, a process or a "
			       "range of time",
			       count);
	if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + GZIP, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return err_set(err, ERR_INTERNAL, "cannot compress the profile: %s",
			       stream.msg ? stream.msg : "no memory");
	size_t room = deflateBound(&stream, count);
	char *packed = mem_alloc(room);
	stream.next_out = (unsigned char *)packed;
	stream.avail_out = (uInt)room;
	int status = deflate(&stream, Z_FINISH);
	str_append_bytes(out, packed, stream.total_out);
	deflateEnd(&stream);
	free(packed);
	return status == Z_STREAM_END
		       ? 0
		       : err_set(err, ERR_INTERNAL, "cannot compress the profile (zlib says %d)", status);
}

/* The table of texts is complete only when everything else stands. */
static void fill_texts(struct pprof *pprof, Pprof__Profile *profile)
{
	profile->n_string_table = pprof->texts.items.len;
	profile->string_table = take(pprof, profile->n_string_table * sizeof(*profile->string_table));
	for (size_t i = 0; i < profile->n_string_table; i++)
		profile->string_table[i] = (char *)text_ids_text(&pprof->texts, i);
}

static void fill_lists(struct pprof *pprof, Pprof__Profile *profile)
{
	profile->sample = pprof->samples.items;
	profile->n_sample = pprof->samples.len;
	profile->location = pprof->locations.items;
	profile->n_location = pprof->locations.len;
	profile->function = pprof->functions.items;
	profile->n_function = pprof->functions.len;
	profile->mapping = pprof->mappings.items;
	profile->n_mapping = pprof->mappings.len;
}

static void pprof_fini(struct pprof *pprof)
{
	for (size_t i = 0; i < pprof->owned.len; i++)
		free(pprof->owned.items[i]);
	vec_fini(&pprof->owned);
	vec_fini(&pprof->samples);
	vec_fini(&pprof->locations);
	vec_fini(&pprof->functions);
	vec_fini(&pprof->mappings);
	vec_fini(&pprof->places);
	vec_fini(&pprof->place_of);
	text_ids_fini(&pprof->texts);
	text_ids_fini(&pprof->modules);
	text_ids_fini(&pprof->function_keys);
}

static int render_pprof(const struct code_tree *tree, const struct report *report, struct str *out, struct err *err)
{
	struct pprof pprof = {.tree = tree, .report = report};
	Pprof__Profile profile = PPROF__PROFILE__INIT;
	text_of(&pprof, ""); /* number 0 by the format */
	static const struct code_value_type usual[] = {{"samples", "count"}, {"cpu", "nanoseconds"}};
	const struct code_measure *measure = tree->select.measure;
	const struct code_value_type *names = measure ? measure->types : usual;
	Pprof__ValueType *types[TYPES_MOST] = {NULL};
	size_t shown = measure ? measure->usual : 1;
	profile.n_sample_type = measure ? measure->type_count : 2;
	for (size_t i = 0; i < profile.n_sample_type; i++)
		types[i] = value_type(&pprof, names[i].type, names[i].unit);
	Pprof__ValueType *space = measure ? value_type(&pprof, "space", "bytes") : types[1];
	int64_t comment = text_of(&pprof, "pitot " PITOT_VERSION);
	profile.sample_type = types;
	profile.period_type = space;
	profile.default_sample_type = types[shown]->type;
	profile.comment = &comment;
	profile.n_comment = 1;
	put_program(&pprof);
	find_places(&pprof);
	if (measure)
		put_sites(&pprof);
	else
		put_samples(&pprof);
	put_locations(&pprof);
	fill_times(&pprof, &profile);
	fill_lists(&pprof, &profile);
	fill_texts(&pprof, &profile);
	size_t size = pprof__profile__get_packed_size(&profile);
	unsigned char *bytes = mem_alloc(size);
	pprof__profile__pack(&profile, bytes);
	int status = compress_into(out, bytes, size, err);
	free(bytes);
	pprof_fini(&pprof);
	return status;
}

const struct code_export code_export_pprof = {.name = "pprof",
					      .summary = "gzipped profile.proto for go tool pprof",
					      .by_line = true,
					      .binary = true,
					      .values = true,
					      .render = render_pprof};
