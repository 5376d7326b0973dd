/* metrics_doc.c - see metrics_doc.h. docs/metrics.md is what metrics_doc_markdown writes; a test holds them together.
 */
#include "render/metrics_doc.h"
#include "base/json.h"
#include "render/flow.h"

#include <string.h>

/* Paragraphs that stand before the table, in every form for people. */
static const char *const head[] = {
	"Every number that pitot reports, in reports, CSV columns, comparisons and gates. A value comes with",
	"method: exact (the kernel's own totals or high-water marks), sampled (seen at sampling moments; what lies "
	"between "
	"may be missed) or estimated (computed from an assumption that the source names);",
	"source: where it was read, such as a cgroup file, wait4, /proc or the assumption of an estimate;",
	"coverage: from 0 to 1, how much of the stage or run the value speaks for; and lower_bound where the truth may "
	"be "
	"larger.",
	"What could not be measured is null with a reason, never 0.",
};

static const struct {
	const char *column, *meaning;
} columns[] = {
	{"unit", "of the value in JSON and CSV; people are shown readable multiples."},
	{"better", "which way is an improvement."},
	{"noise",
	 "how it behaves when the same program runs again: time varies with the machine, level varies a little, "
	 "count does not vary, so that any difference is real."},
	{"run total", "how the stages' values make the run's."},
};

void metrics_doc_markdown(struct str *out)
{
	str_append(out,
		   "# Metrics\n\nWritten by `pitot metrics --format md` from the table in `src/base/metric.h`.\n\n");
	str_appendf(out, "%s\n\n", head[0]);
	for (size_t i = 1; i < 4; i++) {
		const char *colon = strchr(head[i], ':');
		str_appendf(out, "- **%.*s**%s\n", (int)(colon - head[i]), head[i], colon);
	}
	str_appendf(out, "\n%s\n\n", head[4]);
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		str_appendf(out, "- *%s*: %s\n", columns[i].column, columns[i].meaning);
	str_append(out, "\n| name | unit | better | noise | run total | meaning |\n|---|---|---|---|---|---|\n");
	for (int metric = 0; metric < METRIC_COUNT; metric++) {
		const struct metric *m = &metrics[metric];
		str_appendf(out, "| `%s` | %s | %s | %s | %s | %s |\n", m->name, metric_unit_name(m->unit),
			    metric_direction_name(m->direction), metric_noise_name(m->noise),
			    metric_total_name(m->total), m->meaning);
	}
}

static void put_paragraph(struct flow *flow, int indent, const char *text)
{
	flow_begin(flow, indent);
	flow_text(flow, STYLE_PLAIN, text);
	flow_end(flow);
}

void metrics_doc_term(const struct render_options *options, struct str *out)
{
	int width = options->columns <= 0 ? 80 : options->columns < 20 ? 20 : options->columns;
	struct flow flow = {.out = out, .columns = width, .color = options->color, .unicode = options->unicode};
	for (size_t i = 0; i < sizeof(head) / sizeof(head[0]); i++)
		put_paragraph(&flow, i >= 1 && i <= 3 ? 2 : 0, head[i]);
	str_append_char(out, '\n');
	for (int metric = 0; metric < METRIC_COUNT; metric++) {
		const struct metric *m = &metrics[metric];
		struct str facts = {0};
		str_appendf(&facts, "(%s, %s is better, noise: %s, run: %s)", metric_unit_name(m->unit),
			    metric_direction_name(m->direction), metric_noise_name(m->noise),
			    metric_total_name(m->total));
		flow_begin(&flow, 0);
		flow_word(&flow, STYLE_BOLD, m->name);
		flow_tab(&flow, 30);
		flow_text(&flow, STYLE_PLAIN, m->meaning);
		flow_text(&flow, STYLE_DIM, str_text(&facts));
		flow_end(&flow);
		str_fini(&facts);
	}
}

void metrics_doc_json(struct str *out)
{
	struct json json = {.out = out, .pretty = true};
	json_array_begin(&json, NULL);
	for (int metric = 0; metric < METRIC_COUNT; metric++) {
		const struct metric *m = &metrics[metric];
		json_object_begin(&json, NULL);
		json_put_string(&json, "name", m->name);
		json_put_string(&json, "unit", metric_unit_name(m->unit));
		json_put_string(&json, "better", metric_direction_name(m->direction));
		json_put_string(&json, "noise", metric_noise_name(m->noise));
		json_put_string(&json, "run_total", metric_total_name(m->total));
		json_put_string(&json, "meaning", m->meaning);
		json_object_end(&json);
	}
	json_array_end(&json);
}
