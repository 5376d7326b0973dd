/* machine_words.c - see machine.h: what the formats of `pitot machine` share. */
#include "base/clock.h"
#include "render/format.h"
#include "render/machine.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const machine_words_method[] = {
	"A roof is the best value seen; median and range say how reliably it is reached.",
	"A fused multiply-add counts as two operations. Peaks are loops in registers; gemm is OpenBLAS's square matrix "
	"product.",
	"Bytes are what the kernel reads plus what it writes (STREAM). An ordinary store also reads the line that it "
	"overwrites, "
	"which is not counted; a non-temporal (nt) store does not, so its figure is all that memory moved.",
	"Memory: each array is at least four times the last-level cache; caches: a working set that fits them and not "
	"the "
	"level above.",
	"The ridge is peak / memory bandwidth: work with fewer operations per byte is limited by memory.",
	NULL};

const char *machine_fact(const struct machine_view *view, const char *key)
{
	for (size_t i = 0; i < view->host->facts.len; i++)
		if (strcmp(view->host->facts.items[i].key, key) == 0)
			return view->host->facts.items[i].value;
	return NULL;
}

void machine_format(double value, char *out, size_t size)
{
	double scaled = value / 1e9;
	if (!isfinite(scaled))
		snprintf(out, size, "n/a");
	else
		snprintf(out, size, "%.*f", scaled < 9.995 ? 2 : scaled < 99.95 ? 1 : 0, scaled);
}

/* What tells two lines of the table apart. */
static void put_label(const struct machine_rate *rate, bool everything, char *out, size_t size)
{
	switch (rate->kind) {
	case MACHINE_GEMM:
		if (everything)
			snprintf(out, size, "%s %llu %s", rate->what, (unsigned long long)rate->size, rate->how);
		else
			snprintf(out, size, "%s, best size, %s", rate->what, rate->how);
		return;
	case MACHINE_BANDWIDTH:
		snprintf(out, size, "%s %s%s", rate->what, rate->how, rate->non_temporal ? " nt" : "");
		return;
	default:
		snprintf(out, size, "%s%s%s", rate->what, rate->how[0] ? " " : "", rate->how);
	}
}

/* Kernels whose names everybody asks for; of the caches the triad stands for the others. */
static bool is_usual(const struct machine_rate *rate)
{
	return rate->kind != MACHINE_BANDWIDTH || strcmp(rate->how, "triad") == 0 || strcmp(rate->how, "read") == 0;
}

static struct machine_row *row_of(struct machine_rows *rows, enum machine_kind kind, const char *label)
{
	for (size_t i = 0; i < rows->items.len; i++)
		if (strcmp(rows->items.items[i].label, label) == 0)
			return &rows->items.items[i];
	struct machine_row *row = vec_add(&rows->items);
	row->kind = kind;
	snprintf(row->label, sizeof(row->label), "%s", label);
	return row;
}

void machine_rows_of(const struct machine_view *view, enum machine_kind kind, bool everything, struct machine_rows *out)
{
	const struct machine *machine = view->machine;
	for (size_t i = 0; i < machine->rates.len; i++) {
		const struct machine_rate *rate = &machine->rates.items[i];
		char label[64];
		if (rate->kind != kind || !rate->known || (!everything && !is_usual(rate)))
			continue;
		put_label(rate, everything, label, sizeof(label));
		struct machine_row *row = row_of(out, kind, label);
		const struct machine_rate **place = rate->threads == 1 ? &row->one : &row->all;
		if (!*place || rate->best > (*place)->best)
			*place = rate;
	}
}

void machine_ridges(const struct machine_view *view, struct machine_ridge out[MACHINE_RIDGES])
{
	static const char *const precisions[MACHINE_RIDGES] = {"fp32", "fp64"};
	for (int i = 0; i < MACHINE_RIDGES; i++) {
		struct roof one, all;
		machine_roof(view->machine, precisions[i], 1, &one);
		machine_roof(view->machine, precisions[i], view->machine->threads, &all);
		snprintf(out[i].label, sizeof(out[i].label), "%s, memory", precisions[i]);
		out[i].one = roof_ridge(&one);
		out[i].all = view->machine->threads > 1 ? roof_ridge(&all) : NAN;
	}
}

static void add_line(struct machine_lines *lines, bool slanted, const struct machine_rate *rate, const char *name)
{
	char value[16];
	if (!rate)
		return;
	struct machine_line *line = vec_add(&lines->items);
	machine_format(rate->best, value, sizeof(value));
	line->slanted = slanted;
	line->value = rate->best;
	snprintf(line->label, sizeof(line->label), "%s %s %s", name, value, slanted ? "GB/s" : "GFLOP/s");
	double *highest = slanted ? &lines->fastest : &lines->peak;
	*highest = fmax(*highest, rate->best);
}

static void add_peaks(const struct machine *machine, unsigned threads, struct machine_lines *lines)
{
	static const char *const precisions[] = {"fp32", "fp64"};
	for (size_t i = 0; i < sizeof(precisions) / sizeof(precisions[0]); i++) {
		const struct machine_rate *fma = machine_best(machine, MACHINE_FMA, NULL, precisions[i], threads);
		const struct machine_rate *gemm = machine_best(machine, MACHINE_GEMM, NULL, precisions[i], threads);
		char name[48];
		snprintf(name, sizeof(name), "%s peak (%s)", precisions[i], fma ? fma->what : "");
		add_line(lines, false, fma, name);
		snprintf(name, sizeof(name), "%s %s", precisions[i], gemm ? gemm->what : "");
		add_line(lines, false, gemm, name);
	}
}

bool machine_lines_of(const struct machine_view *view, unsigned threads, struct machine_lines *out)
{
	static const char *const levels[] = {"L1", "L2", "L3", "L4", "memory"};
	*out = (struct machine_lines){0};
	double least_peak = INFINITY, slowest = INFINITY;
	add_peaks(view->machine, threads, out);
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
		add_line(out, true, machine_best(view->machine, MACHINE_BANDWIDTH, levels[i], NULL, threads),
			 levels[i]);
	if (!(out->peak > 0) || !(out->fastest > 0))
		return false;
	for (size_t i = 0; i < out->items.len; i++) {
		double *least = out->items.items[i].slanted ? &slowest : &least_peak;
		*least = fmin(*least, out->items.items[i].value);
	}
	/* All ridges, and as much again on both sides; powers of two. */
	out->left = exp2(floor(log2(least_peak / out->fastest)) - 2);
	out->right = exp2(ceil(log2(out->peak / slowest)) + 2);
	out->top = out->peak * 1.5;
	out->bottom = fmax(slowest * out->left, out->peak / 1e4);
	return true;
}

void machine_lines_fini(struct machine_lines *lines)
{
	vec_fini(&lines->items);
}

void machine_line_ends(const struct machine_lines *lines, const struct machine_line *line, double *from, double *to)
{
	*from = line->slanted ? fmax(lines->left, lines->bottom / line->value) : line->value / lines->fastest;
	*to = line->slanted ? fmin(lines->right, lines->peak / line->value) : lines->right;
}

void machine_words_host(const struct machine_view *view, struct str *out)
{
	const struct topology *topology = view->topology;
	const char *model = machine_fact(view, "cpu_model"), *memory = machine_fact(view, "memory_bytes");
	char size[FORMAT_SIZE];
	str_append(out, model ? model : "CPU that does not tell its name");
	str_appendf(out, ", %u core%s (%zu CPU%s)", topology->cores, topology->cores == 1 ? "" : "s",
		    topology->cpus.len, topology->cpus.len == 1 ? "" : "s");
	if (topology->packages > 1)
		str_appendf(out, " in %u packages", topology->packages);
	if (topology->nodes > 1)
		str_appendf(out, ", %u memory nodes", topology->nodes);
	for (size_t i = 0; topology->kinds.len > 1 && i < topology->kinds.len; i++)
		str_appendf(out, "%s%u %s", i ? ", " : "; kinds: ", topology->kinds.items[i].cores,
			    topology->kinds.items[i].name[0] ? topology->kinds.items[i].name : "of full capacity");
	if (memory) {
		format_bytes(strtod(memory, NULL), size);
		str_appendf(out, ", %s", size);
	}
}

void machine_words_caches(const struct machine_view *view, struct str *out)
{
	for (size_t i = 0; i < view->topology->caches.len; i++) {
		const struct topology_cache *cache = &view->topology->caches.items[i];
		char size[FORMAT_SIZE];
		format_bytes((double)cache->bytes, size);
		str_appendf(out, "%sL%d %s%s", out->len ? ", " : "", cache->level,
			    strcmp(cache->type, "Data") == 0          ? "data "
			    : strcmp(cache->type, "Instruction") == 0 ? "instruction "
								      : "",
			    size);
		if (cache->instances > 1)
			str_appendf(out, " ×%u", cache->instances);
	}
}

static void put_age(double seconds, struct str *out)
{
	static const struct {
		double seconds;
		const char *name;
	} units[] = {{86400, "day"}, {3600, "hour"}, {60, "minute"}, {1, "second"}};
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		unsigned long count = (unsigned long)(fmax(seconds, 0) / units[i].seconds);
		if (count == 0 && i + 1 < sizeof(units) / sizeof(units[0]))
			continue;
		str_appendf(out, "%lu %s%s ago", count, units[i].name, count == 1 ? "" : "s");
		return;
	}
}

void machine_words_when(const struct machine_view *view, struct str *out)
{
	char seconds[FORMAT_SIZE];
	format_seconds(view->machine->took_s, seconds);
	str_append(out, "measured ");
	if (view->stored)
		put_age(view->age_s, out);
	else
		str_append(out, "now");
	str_appendf(out, " in %s (%s)", seconds, machine_effort_name(view->machine->effort));
	if (view->stored)
		str_append(out, view->age_s > 30 * 86400.0 ? "; that is long ago, --fresh measures again"
							   : "; --fresh measures again");
}

void machine_words_date(const struct machine_view *view, struct str *out)
{
	char when[24], seconds[FORMAT_SIZE];
	clock_format_utc(view->machine->measured_utc_ns, when, sizeof(when));
	format_seconds(view->machine->took_s, seconds);
	str_appendf(out, "measured %s in %s (%s)", when, seconds, machine_effort_name(view->machine->effort));
}

void machine_words_frequency(const struct machine_view *view, struct str *out)
{
	const struct machine *machine = view->machine;
	const struct machine_rate *one = machine_best(machine, MACHINE_FREQUENCY, NULL, NULL, 1);
	const struct machine_rate *all = machine_best(machine, MACHINE_FREQUENCY, NULL, NULL, machine->threads);
	if (!one) {
		str_append(out, "not known");
		return;
	}
	str_appendf(out, "%.2f GHz with one thread", one->best / 1e9);
	if (machine->threads > 1 && all)
		str_appendf(out, ", %.2f GHz with %u", all->best / 1e9, machine->threads);
	str_append(out, ", measured by a chain of additions of one cycle each");
	const struct machine_rate *fma = machine_best(machine, MACHINE_FMA, NULL, "fp32", 1);
	if (fma)
		str_appendf(out, "; the fp32 peak is %.1f operations a cycle", fma->best / one->best);
}
