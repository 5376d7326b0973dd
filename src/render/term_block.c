/*
 * term_block.c - the numbers of one command as a block of lines, and the list of every metric.
 *
 * A line of the block has a label, the number that matters most, what belongs to it, and where it comes from. The lines
 * are a table below; one whose metrics are all unknown is left out here and named under "Not measured".
 */
#include "render/format.h"
#include "render/term.h"
#include "render/text.h"
#include "render/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL = 2, VALUE = 14, VALUE_WIDTH = 9, DETAIL = VALUE + VALUE_WIDTH + 2, MEMORY_HEADLINE = -1, DETAILS = 4 };

struct block_line {
	const char *label;
	int metric;        /* or MEMORY_HEADLINE */
	const char *words; /* after the value */
	struct {
		const char *before;
		int metric;
		const char *after;
	} details[DETAILS]; /* up to the first with no `before` and no `after` */
};

static const struct block_line lines[] = {
	{"CPU time",
	 METRIC_CPU_TIME,
	 "",
	 {{"user ", METRIC_CPU_USER, ""},
	  {"system ", METRIC_CPU_SYSTEM, ""},
	  {"", METRIC_CPU_PERCENT_AVG, " of one core"},
	  {"at most ", METRIC_CPU_PERCENT_MAX, ""}}},
	{"memory",
	 MEMORY_HEADLINE,
	 "",
	 {{"largest process ", METRIC_RSS_PROCESS_PEAK, ""}, {"with page cache ", METRIC_MEMORY_PEAK, ""}}},
	{"read",
	 METRIC_IO_READ,
	 "",
	 {{"from devices ", METRIC_IO_DEVICE_READ, ""}, {"in ", METRIC_IO_READ_CALLS, " calls"}}},
	{"written",
	 METRIC_IO_WRITE,
	 "",
	 {{"to devices ", METRIC_IO_DEVICE_WRITE, ""}, {"in ", METRIC_IO_WRITE_CALLS, " calls"}}},
	{"processes",
	 METRIC_PROCESSES,
	 "",
	 {{"", METRIC_PROCESSES_PEAK, " at once"},
	  {"", METRIC_THREADS_PEAK, " threads at once"},
	  {"", METRIC_OPEN_FILES_PEAK, " open files"}}},
	{"queued", METRIC_RUN_QUEUE_WAIT, "ready to run but without a core", {{"throttled ", METRIC_THROTTLED, ""}}},
	{"switches",
	 METRIC_CONTEXT_SWITCHES,
	 "",
	 {{"to wait ", METRIC_CONTEXT_SWITCHES_VOLUNTARY, ""}, {"forced ", METRIC_CONTEXT_SWITCHES_FORCED, ""}}},
	{"page faults", METRIC_PAGE_FAULTS_MINOR, "", {{"", METRIC_PAGE_FAULTS_MAJOR, " waited for storage"}}},
	{"instructions",
	 METRIC_INSTRUCTIONS,
	 "",
	 {{"cycles ", METRIC_CYCLES, ""},
	  {"cache misses ", METRIC_CACHE_MISSES, ""},
	  {"branch misses ", METRIC_BRANCH_MISSES, ""}}},
	{"energy", METRIC_ENERGY, "", {{"memory ", METRIC_ENERGY_DRAM, ""}, {"GPU ", METRIC_GPU_ENERGY, ""}}},
	{"GPU",
	 METRIC_GPU_UTIL_AVG,
	 "",
	 {{"at most ", METRIC_GPU_UTIL_MAX, ""},
	  {"memory ", METRIC_GPU_MEMORY_PEAK, ""},
	  {"the fullest ", METRIC_GPU_MEMORY_PERCENT_MAX, ""}}},
};

static void put_head(struct flow *flow, const struct term *term, const char *label, const char *value)
{
	struct str cell = {0};
	char *clean = text_clean(value, term->unicode);
	flow_begin(flow, LABEL);
	flow_word(flow, STYLE_DIM, label);
	flow_tab(flow, VALUE);
	text_append_cell(&cell, clean, VALUE_WIDTH, true, term->unicode);
	/* Not by flow_word: the spaces in front are the column. */
	style_append(term->out, STYLE_BOLD, term->color, str_columns(clean) > VALUE_WIDTH ? clean : str_text(&cell));
	flow->column += (int)(str_columns(clean) > VALUE_WIDTH ? str_columns(clean) : VALUE_WIDTH);
	flow_tab(flow, DETAIL);
	free(clean);
	str_fini(&cell);
}

static bool detail_known(const struct block_line *line, int at, const struct metric_value *values)
{
	return line->details[at].before && values[line->details[at].metric].state == METRIC_KNOWN;
}

static void put_line(const struct term *term, const struct block_line *line, const struct metric_value *values)
{
	int metric = line->metric == MEMORY_HEADLINE ? words_memory_metric(values) : line->metric;
	if (values[metric].state != METRIC_KNOWN)
		return;
	char number[FORMAT_SIZE];
	struct flow flow = term_flow(term);
	format_value(metric, &values[metric], number);
	put_head(&flow, term, line->label, number);
	struct str details = {0};
	str_append(&details, line->words);
	for (int i = 0; i < DETAILS; i++) {
		if (!detail_known(line, i, values) || line->details[i].metric == metric)
			continue;
		/* A group is not charged for pages of files that were in memory before: its peak may be the smaller one. */
		if (line->metric == MEMORY_HEADLINE && values[line->details[i].metric].value <= values[metric].value)
			continue;
		format_value(line->details[i].metric, &values[line->details[i].metric], number);
		str_appendf(&details, "%s%s%s%s", details.len ? ", " : "", line->details[i].before, number,
			    line->details[i].after);
	}
	flow_text(&flow, STYLE_PLAIN, str_text(&details));
	str_clear(&details);
	str_append_char(&details, '(');
	words_provenance(&values[metric], &details);
	str_append_char(&details, ')');
	flow_text(&flow, STYLE_DIM, str_text(&details));
	str_fini(&details);
	flow_end(&flow);
}

static void put_elapsed(const struct term *term, const struct report_stage *stage)
{
	char number[FORMAT_SIZE], low[FORMAT_SIZE], high[FORMAT_SIZE], sd[FORMAT_SIZE];
	struct flow flow = term_flow(term);
	format_value(METRIC_WALL, &stage->values[METRIC_WALL], number);
	put_head(&flow, term, "elapsed", number);
	if (stage->wall.n > 1) {
		char words[160];
		format_seconds(stage->wall.min, low);
		format_seconds(stage->wall.max, high);
		format_seconds(stage->wall.sd, sd);
		snprintf(words, sizeof(words), "median of %zu; from %s to %s, standard deviation %s", stage->wall.n,
			 low, high, sd);
		flow_text(&flow, STYLE_PLAIN, words);
	}
	term_end_line(term);
}

void term_command_block(const struct term *term, const struct report_stage *stage)
{
	put_elapsed(term, stage);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		put_line(term, &lines[i], stage->values);
	term_sparklines(term, stage, LABEL);
}

void term_all_metrics(const struct term *term, const char *title, const struct metric_value *values)
{
	enum { NAME = 2, NUMBER = 30, WHERE = 42 };
	struct flow flow = term_flow(term);
	str_append_char(term->out, '\n');
	flow_begin(&flow, 0);
	flow_text(&flow, STYLE_BOLD, title);
	flow_end(&flow);
	for (int metric = 0; metric < METRIC_COUNT; metric++) {
		char number[FORMAT_SIZE];
		struct str where = {0};
		bool known = values[metric].state == METRIC_KNOWN;
		format_value(metric, &values[metric], number);
		if (known)
			words_provenance(&values[metric], &where);
		flow_begin(&flow, NAME);
		flow_word(&flow, STYLE_PLAIN, metrics[metric].name);
		flow_tab(&flow, NUMBER);
		flow_word(&flow, known ? STYLE_BOLD : STYLE_DIM, number);
		flow_tab(&flow, WHERE);
		flow_text(&flow, STYLE_DIM, known ? str_text(&where) : values[metric].reason);
		flow_end(&flow);
		str_fini(&where);
	}
}
