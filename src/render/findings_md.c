/* findings_md.c - the findings as a section of the Markdown report. */
#include "analyze/rule.h"
#include "render/findings.h"

typedef void escape_fn(struct str *out, const char *text);

static void put_evidence(const struct finding *finding, escape_fn *put_escaped, struct str *out)
{
	struct str words = {0};
	for (size_t i = 0; i < finding->evidence.len; i++) {
		str_append(&words, i ? "; " : "");
		findings_number_words(&finding->evidence.items[i], &words);
	}
	str_append(out, "   - Evidence: ");
	put_escaped(out, str_text(&words));
	str_append(out, "\n");
	str_fini(&words);
}

static void put_finding(const struct finding *finding, size_t number, escape_fn *put_escaped, struct str *out)
{
	struct str gain = {0};
	str_appendf(out, "%zu. **%s** (%s%s", number, finding_severity_name(finding->severity), finding->rule->id,
		    finding->vital ? ", one of the few that make 80 % of the gain" : "");
	str_append(out, ") ");
	put_escaped(out, finding->stage ? finding->stage : "the run");
	str_append(out, ": ");
	put_escaped(out, finding->what);
	str_append(out, "\n   - Do: ");
	put_escaped(out, finding->advice);
	str_append(out, "\n");
	findings_gain_words(finding, &gain);
	if (gain.len) {
		str_append(out, "   - Gain: ");
		put_escaped(out, str_text(&gain));
		str_append(out, " if ");
		put_escaped(out, finding->assumption);
		str_append(out, "\n");
	}
	if (finding->evidence.len)
		put_evidence(finding, put_escaped, out);
	str_fini(&gain);
}

void findings_md(const struct report *report, escape_fn *put_escaped, struct str *out)
{
	const struct finding_list *list = &report->findings;
	str_append(out, list->items.len ? "\n## What to Fix First\n\n" : "");
	for (size_t i = 0; i < list->items.len; i++)
		put_finding(&list->items.items[i], i + 1, put_escaped, out);
	if (list->items.len > 1)
		str_append(out, "\nPredicted gains overlap; they do not add up.\n");
}
