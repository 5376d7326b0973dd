/*
 * threshold.c - see threshold.h.
 *
 * Metric names end in anything, also in what could be the end of a threshold's name, so the forms are tried from the
 * longest ending to none, and the first that leaves a known metric is what was meant.
 */
#include "base/threshold.h"
#include "base/metric.h"
#include "base/str.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	const char *words, *before, *after;
} forms[THRESHOLD_COUNT] = {
#define THRESHOLD_FORM(id, words, before, after) [THRESHOLD_##id] = {words, before, after},
	THRESHOLD_LIST(THRESHOLD_FORM)
#undef THRESHOLD_FORM
};

/* Short words; a metric that is really called so goes before them. */
static const struct {
	const char *word;
	int metric;
	const char *quality;
} short_words[] = {
	{"total_duration", METRIC_WALL, NULL}, {"run_grade", -1, "run_grade_0_100"},
	{"precision", -1, "precision_proxy"},  {"recall", -1, "recall_proxy"},
	{"miss_rate", -1, "miss_rate_proxy"},
};
enum { SHORT_WORDS = sizeof(short_words) / sizeof(short_words[0]) };

struct names {
	const char *const *items;
	size_t count;
};

static const char quality_prefix[] = "quality:";

const char *threshold_kind_words(enum threshold_kind kind)
{
	return forms[kind].words;
}

bool threshold_compares(enum threshold_kind kind)
{
	return kind != THRESHOLD_MAX && kind != THRESHOLD_MIN;
}

static bool has(const struct names *names, const char *name)
{
	for (size_t i = 0; i < names->count; i++)
		if (strcmp(names->items[i], name) == 0)
			return true;
	return false;
}

/* Of the whole run: what `subject` is called in the registry or among the quality metrics. */
static bool find_of_run(const char *subject, const struct names *quality, struct threshold *out)
{
	out->metric = metric_find(subject);
	if (out->metric >= 0)
		return true;
	if (has(quality, subject)) {
		out->quality = mem_strdup(subject);
		return true;
	}
	for (size_t i = 0; i < SHORT_WORDS; i++) {
		if (strcmp(short_words[i].word, subject) != 0)
			continue;
		out->metric = short_words[i].metric;
		out->quality = mem_strdup(short_words[i].quality);
		return true;
	}
	return false;
}

/* A stage's name may have colons in it, a metric's has none. */
static bool find_subject(const char *subject, const struct names *quality, struct threshold *out)
{
	const char *colon = strrchr(subject, ':');
	if (!colon)
		return find_of_run(subject, quality, out);
	out->metric = metric_find(colon + 1);
	if (out->metric >= 0 && colon > subject) {
		out->stage = mem_strndup(subject, (size_t)(colon - subject));
		return true;
	}
	if (out->metric >= 0 || !str_starts(subject, quality_prefix) || !subject[strlen(quality_prefix)])
		return false;
	out->quality = mem_strdup(subject + strlen(quality_prefix));
	return true;
}

static bool parse_form(const char *name, enum threshold_kind kind, const struct names *quality, struct threshold *out)
{
	const char *before = forms[kind].before, *after = forms[kind].after;
	if (!str_starts(name, before) || !str_ends(name, after) || strlen(name) <= strlen(before) + strlen(after))
		return false;
	char *subject = mem_strndup(name + strlen(before), strlen(name) - strlen(before) - strlen(after));
	struct threshold found = {.kind = kind};
	bool known = find_subject(subject, quality, &found);
	free(subject);
	if (known)
		*out = found;
	return known;
}

typedef VEC(char *) text_list;

static void add_forms(text_list *list, const char *stage, const char *subject)
{
	for (int kind = 0; kind < THRESHOLD_COUNT; kind++)
		vec_push(list, mem_printf("%s%s%s%s", forms[kind].before, stage, subject, forms[kind].after));
}

/* Every name that could have been meant: of the stage that was named, or of the run. Owned by the caller. */
static void list_names(const char *stage, const struct names *quality, text_list *out)
{
	for (int metric = 0; metric < METRIC_COUNT; metric++)
		add_forms(out, stage, metrics[metric].name);
	for (size_t i = 0; i < SHORT_WORDS && !*stage; i++)
		add_forms(out, stage, short_words[i].word);
	for (size_t i = 0; i < quality->count && !*stage; i++)
		add_forms(out, stage, quality->items[i]);
}

static int unknown(const char *name, const struct names *quality, struct err *err)
{
	const char *colon = strrchr(name, ':');
	if (colon && (str_starts(colon + 1, "max_") || str_starts(colon + 1, "min_")))
		return err_set(err, ERR_INPUT,
			       "unknown threshold '%s': the stage stands before the metric, as in max_train:wall_s",
			       name);
	bool formed = str_starts(name, "max_") || str_starts(name, "min_");
	char *stage = colon && formed ? mem_strndup(name + 4, (size_t)(colon + 1 - name - 4)) : mem_strdup("");
	text_list names = {0};
	list_names(stage, quality, &names);
	const char *meant = str_suggest(name, (const char *const *)names.items, names.len);
	int code =
		meant ? err_set(err, ERR_INPUT, "unknown threshold '%s'; did you mean '%s'?", name, meant)
		      : err_set(err, ERR_INPUT,
				"unknown threshold '%s': expected max_METRIC, min_METRIC, max_METRIC_increase[_pct], "
				"max_METRIC_drop[_pct] or min_METRIC_delta (pitot metrics lists the metrics; "
				"quality:NAME is one that the program reports)",
				name);
	for (size_t i = 0; i < names.len; i++)
		free(names.items[i]);
	vec_fini(&names);
	free(stage);
	return code;
}

int threshold_parse(const char *name, const char *const *quality, size_t count, struct threshold *out, struct err *err)
{
	struct names names = {quality, count};
	for (int kind = 0; kind < THRESHOLD_COUNT; kind++)
		if (parse_form(name, kind, &names, out))
			return 0;
	return unknown(name, &names, err);
}

void threshold_fini(struct threshold *threshold)
{
	free(threshold->quality);
	free(threshold->stage);
	threshold->quality = threshold->stage = NULL;
}
