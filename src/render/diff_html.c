/*
 * diff_html.c - a comparison as one HTML page that needs nothing else: no script, no font, no network.
 */
#include "render/delta_formats.h"
#include "render/diff_words.h"
#include "render/markup.h"

static const char head[] =
	"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	"<title>Pipeline Profile Delta</title>\n<style>\n"
	":root { color-scheme: light dark; }\n"
	"body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }\n"
	".wide { overflow-x: auto; }\n"
	"table { border-collapse: collapse; margin: 1rem 0; }\n"
	"th, td { padding: .25rem .75rem; text-align: left; border-bottom: 1px solid #8884; white-space: nowrap; }\n"
	"td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }\n"
	".regressed, .fail { color: #c62828; font-weight: 600; }\n"
	".improved, .pass { color: #2e7d32; font-weight: 600; }\n"
	".differs, .warning { color: #b26a00; }\n"
	"@media (prefers-color-scheme: dark) {\n"
	"  .regressed, .fail { color: #ff8a80; } .improved, .pass { color: #81c784; }\n"
	"  .differs, .warning { color: #ffb74d; }\n}\n"
	"</style>\n</head>\n<body>\n<h1>Pipeline Profile Delta</h1>\n";

static void put_element(struct str *out, const char *tag, const char *class, const char *text)
{
	str_appendf(out, *class ? "<%s class=\"%s\">" : "<%s>", tag, class);
	markup_xml(out, text);
	str_appendf(out, "</%s>", tag);
}

static void put_gate(struct str *out, const struct gate *gate)
{
	struct str words = {0};
	diff_words_gate(gate, &words);
	put_element(out, "h2", gate_outcome_name(gate->outcome), str_text(&words));
	str_append(out, "\n<div class=\"wide\"><table>\n<tr><th>Outcome</th><th>Threshold</th><th>Result</th></tr>\n");
	for (size_t i = 0; i < gate->checks.len; i++) {
		const struct gate_check *check = &gate->checks.items[i];
		str_clear(&words);
		diff_words_check(check, &words);
		str_append(out, "<tr>");
		put_element(out, "td", gate_outcome_name(check->outcome), gate_outcome_name(check->outcome));
		put_element(out, "td", "", check->name);
		put_element(out, "td", "", str_text(&words));
		str_append(out, "</tr>\n");
	}
	str_append(out, "</table></div>\n");
	str_fini(&words);
}

static void put_row(struct str *out, const struct diff_place *place)
{
	const struct diff_row *row = place->row;
	char cells[5][FORMAT_SIZE];
	const char *verdict = change_name(row->result.verdict);
	diff_words_median(row, 0, cells[0]);
	diff_words_median(row, 1, cells[1]);
	diff_words_change(row, cells[2]);
	diff_words_interval(row, cells[3]);
	diff_words_detectable(row, cells[4]);
	str_append(out, "<tr>");
	put_element(out, "td", verdict, verdict);
	put_element(out, "td", "", place->table->name);
	put_element(out, "td", "", row->name);
	for (int i = 0; i < 4; i++)
		put_element(out, "td", "n", cells[i]);
	str_appendf(out, "<td class=\"n\">%zu / %zu</td>", row->result.n_base, row->result.n_new);
	put_element(out, "td", "n", cells[4]);
	str_append(out, "</tr>\n");
}

static void put_rows(struct str *out, const struct delta *delta)
{
	const struct diff *diff = delta->diff;
	str_appendf(
		out,
		"<div class=\"wide\"><table>\n<tr><th>Verdict</th><th>Where</th><th>Metric</th><th class=\"n\">A</th>"
		"<th class=\"n\">B</th><th class=\"n\">Change</th><th class=\"n\">%g %% interval</th>"
		"<th class=\"n\">n</th><th class=\"n\">Would have seen</th></tr>\n",
		100 * (1 - 2 * diff->options.alpha));
	for (size_t i = 0; i < diff->ranking.len; i++)
		if (diff_words_shows(delta, &diff->ranking.items[i]))
			put_row(out, &diff->ranking.items[i]);
	str_append(out, "</table></div>\n");
}

static void put_sides(struct str *out, const struct diff *diff)
{
	struct str words = {0};
	str_append(out, "<ul>\n");
	for (int side = 0; side < 2; side++) {
		str_clear(&words);
		str_appendf(&words, "%c: ", "AB"[side]);
		diff_words_side(&diff->sides[side], &words);
		if (diff->sides[side].runs.len)
			put_element(out, "li", "", str_text(&words));
	}
	for (size_t i = 0; i < diff->warnings.len; i++)
		put_element(out, "li", "warning", diff->warnings.items[i].text);
	static const struct {
		enum diff_presence presence;
		const char *text;
	} kinds[] = {{DIFF_ADDED, "Only in B: stage "}, {DIFF_REMOVED, "Only in A: stage "}};
	for (size_t i = 0; i < 2; i++) {
		struct str names = {0};
		str_clear(&words);
		diff_words_stages(diff, kinds[i].presence, &names);
		str_appendf(&words, "%s%s", kinds[i].text, str_text(&names));
		if (names.len && diff->sides[0].runs.len)
			put_element(out, "li", "warning", str_text(&words));
		str_fini(&names);
	}
	str_append(out, "\n</ul>\n");
	str_fini(&words);
}

static void render_html(const struct delta *delta, const struct render_options *options, struct str *out)
{
	(void)options;
	struct str words = {0};
	bool compares = delta->diff->sides[0].runs.len > 0;
	str_append(out, head);
	if (compares) {
		diff_words_headline(delta->diff, &words);
		put_element(out, "p", change_name(delta->diff->verdict), str_text(&words));
		str_append_char(out, '\n');
	}
	put_sides(out, delta->diff);
	if (delta->gate)
		put_gate(out, delta->gate);
	if (compares) {
		put_rows(out, delta);
		str_clear(&words);
		diff_words_counts(delta->diff, &words);
		str_append_char(&words, '.');
		put_element(out, "p", "", str_text(&words));
	}
	str_append(out, "\n</body>\n</html>\n");
	str_fini(&words);
}

const struct delta_renderer delta_html = {"html", render_html};
