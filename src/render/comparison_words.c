/* comparison_words.c - what the renderers of a comparison share: the table of them, the sentences; see comparison.h. */
#include "render/comparison.h"
#include "render/format.h"

#include <math.h>
#include <string.h>

const struct comparison_renderer *const comparison_renderer_table[] = {
	&comparison_term, &comparison_md, &comparison_json, &comparison_csv, &comparison_hyperfine, NULL};

const struct comparison_renderer *comparison_renderer_find(const char *name)
{
	for (const struct comparison_renderer *const *one = comparison_renderer_table; *one; one++)
		if (strcmp((*one)->name, name) == 0)
			return *one;
	return NULL;
}

size_t comparison_number(const struct comparison *comparison, size_t subject)
{
	return subject - comparison->groups.items[comparison->subjects.items[subject].group].first + 1;
}

const char *comparison_word(int metric, const struct change_result *result)
{
	bool is_time = metric == METRIC_WALL, is_bytes = metrics[metric].unit == UNIT_BYTES;
	switch (result->verdict) {
	case CHANGE_EQUIVALENT:
		return "the same";
	case CHANGE_INCONCLUSIVE:
		return "undecided";
	default:
		break;
	}
	if (result->ratio > 1)
		return is_time ? "slower" : is_bytes ? "larger" : "more";
	return is_time ? "faster" : is_bytes ? "smaller" : "less";
}

/* Enough digits to tell the ends of the interval apart from 1. */
static int ratio_digits(const struct change_result *result)
{
	double width = result->high - result->low;
	return width > 0 && width < 0.02 ? 4 : width < 0.2 ? 3 : 2;
}

void comparison_ratio_text(const struct change_result *result, struct str *out)
{
	int digits = ratio_digits(result);
	if (isnan(result->ratio)) {
		str_append(out, "no ratio");
		return;
	}
	str_appendf(out, "%.*f ×", digits, result->ratio);
	if (!isnan(result->low) && !isnan(result->high))
		str_appendf(out, " [%.*f, %.*f]", digits, result->low, digits, result->high);
}

void comparison_params_text(const struct comparison_subject *subject, struct str *out)
{
	for (size_t i = 0; i < subject->params.len; i++)
		str_appendf(out, "%s%s=%s", i ? ", " : "", subject->params.items[i].name,
			    subject->params.items[i].value);
}

static void append_verdict(const struct comparison *comparison, const struct change_result *result, size_t subject,
			   size_t reference, struct str *out)
{
	int metric = comparison->metrics.items[comparison->primary];
	const char *word = comparison_word(metric, result), *name = metrics[metric].name;
	if (result->verdict == CHANGE_EQUIVALENT)
		str_appendf(out, "%zu and %zu are the same within %g %%", subject, reference,
			    100 * comparison->settings.change.threshold);
	else if (result->verdict == CHANGE_INCONCLUSIVE)
		str_appendf(out, "%zu against %zu is undecided", subject, reference);
	else if (metric == METRIC_WALL)
		str_appendf(out, "%zu is %s than %zu", subject, word, reference);
	else
		str_appendf(out, "%zu has %s %s than %zu", subject, word, name, reference);
}

void comparison_sentence(const struct comparison *comparison, const struct comparison_pair *pair, struct str *out)
{
	const struct change_result *result = comparison_primary(comparison, pair);
	char percent[FORMAT_SIZE];
	append_verdict(comparison, result, comparison_number(comparison, pair->subject),
		       comparison_number(comparison, pair->reference), out);
	str_append(out, ": ");
	comparison_ratio_text(result, out);
	str_appendf(out, ", %s", change_name(result->verdict));
	if (result->verdict == CHANGE_INCONCLUSIVE)
		str_appendf(out, " (%s)", result->why);
	if (!isfinite(result->detectable)) {
		if (isinf(result->detectable))
			str_appendf(out, "; so few runs cannot show any change, %zu could", result->runs_needed);
		return;
	}
	format_percent(100 * result->detectable, percent);
	str_appendf(out, "; a change of %s would have been found", percent);
}

void comparison_note_text(const struct comparison *comparison, const struct comparison_note *note, struct str *out)
{
	if (note->subject != SIZE_MAX) {
		const struct comparison_subject *subject = &comparison->subjects.items[note->subject];
		str_appendf(out, "%zu", comparison_number(comparison, note->subject));
		if (comparison->groups.len > 1 && subject->params.len) {
			str_append(out, " at ");
			comparison_params_text(subject, out);
		}
		str_append(out, ": ");
	}
	str_append(out, note->text);
}
