/*
 * diff_junit.c - a gate as JUnit XML: one test case per threshold. What is broken is a failure, what is undecided is
 * skipped with its reason, so that a dashboard does not count it as proven.
 */
#include "base/clock.h"
#include "render/delta_formats.h"
#include "render/diff_words.h"
#include "render/markup.h"

static void put_attribute(struct str *out, const char *name, const char *value)
{
	str_appendf(out, " %s=\"", name);
	markup_xml(out, value);
	str_append_char(out, '"');
}

static void put_case(const struct gate_check *check, struct str *out)
{
	struct str words = {0};
	diff_words_check(check, &words);
	str_append(out, "    <testcase");
	put_attribute(out, "classname", check->threshold.stage ? check->threshold.stage : "run");
	put_attribute(out, "name", check->name);
	str_append(out, " time=\"0\">\n");
	if (check->outcome == GATE_FAIL) {
		str_append(out, "      <failure type=\"regression\"");
		put_attribute(out, "message", str_text(&words));
		str_append(out, "/>\n");
	} else if (check->outcome == GATE_INCONCLUSIVE) {
		str_append(out, "      <skipped");
		put_attribute(out, "message", str_text(&words));
		str_append(out, "/>\n");
	} else {
		str_append(out, "      <system-out>");
		markup_xml(out, str_text(&words));
		str_append(out, "</system-out>\n");
	}
	str_append(out, "    </testcase>\n");
	str_fini(&words);
}

static void put_counts(const struct gate *gate, struct str *out)
{
	str_appendf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"%zu\"", gate->checks.len,
		    gate->counts[GATE_FAIL], gate->counts[GATE_INCONCLUSIVE]);
}

static void render_junit(const struct delta *delta, const struct render_options *options, struct str *out)
{
	(void)options;
	static const struct gate nothing;
	const struct gate *gate = delta->gate ? delta->gate : &nothing;
	const struct side *side = &delta->diff->sides[1];
	const char *name = side->runs.len && side->runs.items[0]->row.name ? side->runs.items[0]->row.name : "run";
	char when[32] = "";
	if (side->runs.len)
		clock_format_utc(side->runs.items[0]->row.started_utc_ns, when, sizeof(when));
	str_append(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"pitot gate\"");
	put_counts(gate, out);
	str_append(out, ">\n  <testsuite");
	put_attribute(out, "name", name);
	put_counts(gate, out);
	put_attribute(out, "timestamp", when);
	str_append(out, " time=\"0\">\n");
	for (size_t i = 0; i < gate->checks.len; i++)
		put_case(&gate->checks.items[i], out);
	str_append(out, "  </testsuite>\n</testsuites>\n");
}

const struct delta_renderer delta_junit = {"junit", render_junit};
