/* findings_term.c - "What to fix first": the part of the terminal report that says what to do. */
#include "analyze/rule.h"
#include "render/findings.h"

#include <stdio.h>
#include <string.h>

enum { FINDINGS_SHOWN = 3, TEXT_INDENT = 8 };

static enum style severity_style(enum finding_severity severity)
{
	static const enum style styles[] = {STYLE_DIM, STYLE_WARN, STYLE_BAD};
	return styles[severity];
}

static void put_evidence(const struct term *term, const struct finding *finding)
{
	struct str words = {0};
	for (size_t i = 0; i < finding->evidence.len; i++) {
		str_append(&words, i ? "; " : "Evidence: ");
		findings_number_words(&finding->evidence.items[i], &words);
	}
	struct flow flow = term_flow(term);
	flow_begin(&flow, TEXT_INDENT);
	flow_text(&flow, STYLE_DIM, str_text(&words));
	flow_end(&flow);
	str_fini(&words);
}

static void put_gain(const struct term *term, const struct finding *finding)
{
	struct str gain = {0}, assumption = {0};
	findings_gain_words(finding, &gain);
	if (gain.len) {
		struct flow flow = term_flow(term);
		str_appendf(&assumption, "if %s%s", finding->assumption, finding->vital ? " ■" : "");
		flow_begin(&flow, TEXT_INDENT);
		flow_word(&flow, STYLE_GOOD, "▶");
		flow_tab(&flow, TEXT_INDENT + 2);
		flow_text(&flow, STYLE_BOLD, str_text(&gain));
		flow_text(&flow, STYLE_DIM, str_text(&assumption));
		flow_end(&flow);
	}
	str_fini(&gain);
	str_fini(&assumption);
}

/* Several stages may need the same; it is said once. */
static bool is_said_before(const struct term *term, const struct finding *finding)
{
	for (const struct finding *other = term->report->findings.items.items; other < finding; other++)
		if (other->rule == finding->rule && strcmp(other->advice, finding->advice) == 0)
			return true;
	return false;
}

static void put_line(const struct term *term, int indent, enum style style, const char *text)
{
	struct flow flow = term_flow(term);
	flow_begin(&flow, indent);
	flow_text(&flow, style, text);
	flow_end(&flow);
}

static void put_finding(const struct term *term, const struct finding *finding)
{
	struct flow flow = term_flow(term);
	struct str place = {0};
	bool command = term->report->stages.len == 1 && !term->report->record->row.config_path;
	if (!command)
		str_appendf(&place, "%s:", finding->stage ? finding->stage : "the run");
	flow_begin(&flow, 2);
	flow_word(&flow, severity_style(finding->severity), finding_severity_name(finding->severity));
	flow_tab(&flow, TEXT_INDENT);
	flow_text(&flow, STYLE_BOLD, str_text(&place));
	flow_text(&flow, STYLE_PLAIN, finding->what);
	flow_end(&flow);
	put_line(term, TEXT_INDENT, STYLE_PLAIN, is_said_before(term, finding) ? "As above." : finding->advice);
	put_gain(term, finding);
	if (term->verbose)
		put_evidence(term, finding);
	str_fini(&place);
}

void findings_term(const struct term *term)
{
	const struct finding_list *list = &term->report->findings;
	size_t shown = term->verbose || list->items.len < FINDINGS_SHOWN ? list->items.len : FINDINGS_SHOWN;
	bool several = false;
	if (shown == 0)
		return;
	str_append_char(term->out, '\n');
	put_line(term, 0, STYLE_BOLD,
		 list->items.items[0].severity == FINDING_NOTE ? "Nothing to fix; notes" : "What to fix first");
	for (size_t i = 0; i < shown; i++) {
		put_finding(term, &list->items.items[i]);
		several = several || (i && list->items.items[i].vital);
	}
	if (several)
		put_line(term, 2, STYLE_DIM,
			 "■ these make 80 % of the predicted gain; gains overlap and do not add up");
	if (shown < list->items.len) {
		char words[64];
		snprintf(words, sizeof(words), "… and %zu more (--verbose lists all)", list->items.len - shown);
		put_line(term, 2, STYLE_DIM, words);
	}
}
