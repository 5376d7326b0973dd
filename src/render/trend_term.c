/* trend_term.c - a trend for people: the chart, what it means, and at which commit it moved. See trend.h. */
#include "base/clock.h"
#include "render/flow.h"
#include "render/format.h"
#include "render/text.h"
#include "render/trend.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { COMMIT_DIGITS = 12, MACHINES_SHOWN = 3, WORDS_SIZE = 160 };

void trend_format(const struct trend_view *view, double value, char *out)
{
	if (view->is_quality)
		snprintf(out, FORMAT_SIZE, "%.4g", value);
	else
		format_metric(view->unit, value, out);
}

const char *trend_file_name(const struct history_entry *entry)
{
	const char *slash = strrchr(entry->path, '/');
	return slash ? slash + 1 : entry->path;
}

const char *trend_way_name(enum trend_way way)
{
	static const char *const names[] = {"worse", "better", "changed"};
	return names[way];
}

static void flow_format(struct flow *flow, enum style style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void flow_format(struct flow *flow, enum style style, const char *format, ...)
{
	char words[WORDS_SIZE];
	va_list args;
	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	flow_text(flow, style, words);
}

/* "+42 %", "-3.1 %"; of a ratio beyond all measure "1200 times". */
static void format_change(const struct trend_view *view, bool is_ratio, double size, char *out)
{
	char number[FORMAT_SIZE];
	if (!is_ratio) {
		trend_format(view, fabs(size), number);
		snprintf(out, FORMAT_SIZE, "%s%.30s", size < 0 ? "-" : "+", number);
	} else if (size >= 10) {
		snprintf(out, FORMAT_SIZE, "%.3g times", size);
	} else {
		double percent = 100 * (size - 1);
		snprintf(out, FORMAT_SIZE, fabs(percent) < 9.95 ? "%+.1f %%" : "%+.0f %%", percent);
	}
}

static void show_range(const struct trend_view *view, struct flow *flow, const struct description *values)
{
	char median[FORMAT_SIZE], low[FORMAT_SIZE], high[FORMAT_SIZE];
	trend_format(view, values->median, median);
	trend_format(view, values->min, low);
	trend_format(view, values->max, high);
	flow_word(flow, STYLE_BOLD, median);
	flow_format(flow, STYLE_PLAIN, "(%zu run%s, %s to %s)", values->n, values->n == 1 ? "" : "s", low, high);
}

static void show_medians(const struct trend_view *view, const struct trend_machine *machine, struct flow *flow)
{
	flow_begin(flow, 2);
	flow_text(flow, STYLE_PLAIN, "median");
	show_range(view, flow, &machine->all);
	flow_end(flow);
	if (!machine->changes.len)
		return;
	flow_begin(flow, 2);
	flow_text(flow, STYLE_PLAIN, "since the last change");
	show_range(view, flow, &vec_last(&machine->stretches)->values);
	flow_end(flow);
}

static void show_file(struct flow *flow, const char *word, const struct history_entry *entry)
{
	flow_begin(flow, 5);
	flow_text(flow, STYLE_DIM, word);
	flow_tab(flow, 12);
	flow_word(flow, STYLE_DIM, trend_file_name(entry));
	flow_end(flow);
}

static void show_commits(const struct trend_machine *machine, const struct trend_change *change, struct flow *flow)
{
	const struct trend_point *first = &machine->points.items[change->index];
	flow_begin(flow, 5);
	if (!change->commit || !change->commit_before) {
		flow_text(flow, STYLE_PLAIN,
			  change->commit ? "no commit is known before it, then" : "no commit is known");
		if (change->commit)
			flow_format(flow, STYLE_BOLD, "%.*s", COMMIT_DIGITS, change->commit);
	} else if (strcmp(change->commit, change->commit_before) == 0) {
		flow_format(flow, STYLE_PLAIN,
			    "both at commit %.*s: not what git knows, but data, settings or the machine", COMMIT_DIGITS,
			    change->commit);
	} else {
		flow_text(flow, STYLE_PLAIN, "moved at commit");
		flow_format(flow, STYLE_BOLD, "%.*s,", COMMIT_DIGITS, change->commit);
		flow_format(flow, STYLE_PLAIN, "the run before was at %.*s", COMMIT_DIGITS, change->commit_before);
	}
	flow_end(flow);
	show_file(flow, "before", (first - 1)->entry);
	show_file(flow, "after", first->entry);
	if (!change->note)
		return;
	flow_begin(flow, 5);
	flow_text(flow, STYLE_WARN, change->note);
	flow_end(flow);
}

static void show_change(const struct trend_view *view, const struct trend_machine *machine, size_t number,
			struct flow *flow)
{
	static const enum style styles[] = {STYLE_BAD, STYLE_GOOD, STYLE_BOLD};
	const struct trend_change *change = &machine->changes.items[number];
	char when[24], size[FORMAT_SIZE], low[FORMAT_SIZE], high[FORMAT_SIZE];
	clock_format_utc(machine->points.items[change->index].entry->started_utc_ns, when, sizeof(when));
	when[10] = ' ';
	when[16] = '\0';
	format_change(view, change->is_ratio, change->size.estimate, size);
	flow_begin(flow, 2);
	flow_format(flow, STYLE_BOLD, "%zu", number + 1);
	flow_tab(flow, 5);
	flow_word(flow, STYLE_PLAIN, when);
	flow_word(flow, styles[change->way], size);
	if (change->size.exists) {
		format_change(view, change->is_ratio, change->size.low, low);
		format_change(view, change->is_ratio, change->size.high, high);
		flow_format(flow, STYLE_PLAIN, "[%s to %s],", low, high);
	}
	trend_format(view, change->before, low);
	trend_format(view, change->after, high);
	flow_format(flow, STYLE_PLAIN, "from %s to %s:", low, high);
	flow_word(flow, styles[change->way], trend_way_name(change->way));
	flow_end(flow);
	show_commits(machine, change, flow);
}

static void show_drift(const struct trend_view *view, const struct trend_machine *machine, struct flow *flow)
{
	const struct interval *drift = &machine->drift;
	const struct description *values = &vec_last(&machine->stretches)->values;
	if (machine->drift_runs == 0)
		return;
	bool is_ratio = values->median > 0;
	double steps = (double)(machine->drift_runs - 1), unit = is_ratio ? values->median : 1;
	char size[FORMAT_SIZE], low[FORMAT_SIZE], high[FORMAT_SIZE];
	format_change(view, is_ratio, is_ratio + drift->estimate * steps / unit, size);
	format_change(view, is_ratio, is_ratio + drift->low * steps / unit, low);
	format_change(view, is_ratio, is_ratio + drift->high * steps / unit, high);
	bool moves = drift->low > 0 || drift->high < 0;
	flow_begin(flow, 2);
	flow_text(flow, STYLE_PLAIN, "drift");
	flow_word(flow, moves ? STYLE_BOLD : STYLE_PLAIN, size);
	flow_format(flow, STYLE_PLAIN, "[%s to %s] over the last %zu runs%s", low, high, machine->drift_runs,
		    moves ? "" : ": none beyond the noise");
	flow_end(flow);
}

static void show_machine(const struct trend_view *view, const struct trend_machine *machine,
			 const struct render_options *options, struct str *out)
{
	struct flow flow = {
		.out = out, .columns = options->columns, .color = options->color, .unicode = options->unicode};
	str_append_char(out, '\n');
	trend_chart(view, machine, options, out);
	flow_begin(&flow, 2);
	if (machine->fingerprint[0])
		flow_format(&flow, STYLE_DIM, "machine %s%s", machine->fingerprint,
			    strcmp(machine->fingerprint, view->this_machine) == 0 ? " (this one)" : "");
	else
		flow_text(&flow, STYLE_DIM, "machine not known");
	flow_end(&flow);
	show_medians(view, machine, &flow);
	if (!machine->changes.len) {
		flow_begin(&flow, 2);
		if (machine->points.len < 2 * TREND_LEAST)
			flow_format(&flow, STYLE_PLAIN, "too few runs to look for changes: %d are needed",
				    2 * TREND_LEAST);
		else
			flow_text(&flow, STYLE_PLAIN, "no change stands out of the noise");
		flow_end(&flow);
	}
	for (size_t i = 0; i < machine->changes.len; i++)
		show_change(view, machine, i, &flow);
	show_drift(view, machine, &flow);
}

static void show_left_out(const struct trend_view *view, struct flow *flow)
{
	const struct {
		size_t count;
		const char *words;
	} reasons[] = {{view->report->without_value, "without this value"},
		       {view->failed, "that did not end well (--status shows them)"},
		       {view->running, "still running"},
		       {view->older, "older than --limit"},
		       {view->damaged, "damaged"}};
	bool any = false;
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		if (!reasons[i].count)
			continue;
		if (!any)
			flow_begin(flow, 2);
		flow_text(flow, STYLE_DIM, any ? "and" : "left out:");
		flow_format(flow, STYLE_DIM, "%zu %s", reasons[i].count, reasons[i].words);
		any = true;
	}
	if (any)
		flow_end(flow);
}

void trend_term(const struct trend_view *view, const struct render_options *options, struct str *out)
{
	struct flow flow = {
		.out = out, .columns = options->columns, .color = options->color, .unicode = options->unicode};
	size_t machines = view->report->machines.len;
	flow_begin(&flow, 0);
	flow_text(&flow, STYLE_BOLD, view->run_name);
	flow_format(&flow, STYLE_BOLD, "%s%s", view->what, view->stage ? " of stage" : "");
	if (view->stage)
		flow_text(&flow, STYLE_BOLD, view->stage);
	if (view->meaning)
		flow_format(&flow, STYLE_PLAIN, "- %s", view->meaning);
	flow_end(&flow);
	for (size_t i = 0; i < machines && i < MACHINES_SHOWN; i++)
		show_machine(view, &view->report->machines.items[i], options, out);
	if (machines > MACHINES_SHOWN) {
		flow_begin(&flow, 2);
		flow_format(&flow, STYLE_DIM, "%zu more machines; --host FINGERPRINT shows one, --json all",
			    machines - MACHINES_SHOWN);
		flow_end(&flow);
	}
	show_left_out(view, &flow);
}
