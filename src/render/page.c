/*
 * page.c - the page's model of one run: the report whole, and what the report is too short for. See page.h and
 * docs/page-model.md.
 */
#include "render/json_report.h"
#include "render/page_parts.h"
#include "render/words.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows of the tables of code within the report: the page makes its own from the tree of calls. */
enum { TABLE_ROWS = 20 };

void page_put_rounded(struct json *json, const char *key, double value)
{
	char text[32];
	if (!isfinite(value)) {
		json_put_null(json, key);
		return;
	}
	snprintf(text, sizeof(text), "%.5g", value);
	json_put_json(json, key, text);
}

static uint64_t hash_text(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325ULL;
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3ULL;
	return hash;
}

static size_t slot_of(const struct page_strings *strings, const char *text)
{
	size_t slot = hash_text(text) & (strings->size - 1);
	while (strings->slots[slot] && strcmp(strings->items.items[strings->slots[slot] - 1], text) != 0)
		slot = (slot + 1) & (strings->size - 1);
	return slot;
}

static void grow(struct page_strings *strings)
{
	free(strings->slots);
	strings->size = strings->size ? 2 * strings->size : 1024;
	strings->slots = mem_alloc(strings->size * sizeof(*strings->slots));
	for (size_t i = 0; i < strings->items.len; i++)
		strings->slots[slot_of(strings, strings->items.items[i])] = (uint32_t)i + 1;
}

int64_t page_string(struct page_strings *strings, const char *text)
{
	if (!text)
		return -1;
	if (2 * (strings->items.len + 1) > strings->size)
		grow(strings);
	size_t slot = slot_of(strings, text);
	if (!strings->slots[slot]) {
		vec_push(&strings->items, mem_strdup(text));
		strings->slots[slot] = (uint32_t)strings->items.len;
	}
	return (int64_t)strings->slots[slot] - 1;
}

void page_strings_put(struct json *json, const struct page_strings *strings)
{
	json_array_begin(json, "strings");
	for (size_t i = 0; i < strings->items.len; i++)
		json_put_string(json, NULL, strings->items.items[i]);
	json_array_end(json);
}

void page_strings_fini(struct page_strings *strings)
{
	for (size_t i = 0; i < strings->items.len; i++)
		free(strings->items.items[i]);
	vec_fini(&strings->items);
	free(strings->slots);
}

static void put_words(struct json *json, const struct report *report)
{
	struct str text = {0};
	words_bottleneck(report, &text);
	json_put_string(json, "headline", text.len ? str_text(&text) : NULL);
	str_clear(&text);
	words_host_line(report, &text);
	json_put_string(json, "host_line", str_text(&text));
	str_clear(&text);
	words_own_cost(report, &text);
	json_put_string(json, "own_cost", str_text(&text));
	json_put_string(json, "status_words", words_run_status(report));
	str_fini(&text);
}

/* What the names of metrics mean, for the page's hints. */
static void put_registry(struct json *json)
{
	json_object_begin(json, "registry");
	for (int metric = 0; metric < METRIC_COUNT; metric++) {
		json_object_begin(json, metrics[metric].name);
		json_put_string(json, "unit", metric_unit_name(metrics[metric].unit));
		json_put_string(json, "direction", metric_direction_name(metrics[metric].direction));
		json_put_string(json, "meaning", metrics[metric].meaning);
		json_object_end(json);
	}
	json_object_end(json);
}

static void put_verdicts(struct json *json)
{
	json_object_begin(json, "verdicts");
	for (int verdict = 0; verdict < VERDICT_COUNT; verdict++)
		json_put_string(json, verdict_name((enum verdict)verdict), verdict_meaning((enum verdict)verdict));
	json_object_end(json);
}

static void put_problems(struct json *json, const struct run_problems *problems)
{
	json_array_begin(json, "problems");
	for (size_t i = 0; problems && i < problems->items.len; i++)
		json_put_string(json, NULL, problems->items.items[i]);
	json_array_end(json);
}

/* Parts that can be damaged by themselves: what fails becomes null and a problem. */
static const struct part {
	const char *key;
	int (*put)(struct json *json, const struct opened_run *run, struct err *err);
} parts[] = {{"timeline", page_timeline},
	     {"spans", page_spans},
	     {"memory", page_memory},
	     {"models", page_models},
	     {"trials", page_trials}};
enum { PARTS = sizeof(parts) / sizeof(parts[0]) };

static void make_part(const struct part *part, const struct opened_run *run, struct run_problems *problems,
		      struct str *out)
{
	struct json json = {.out = out};
	struct err err;
	if (part->put(&json, run, &err) == 0)
		return;
	vec_push(&problems->items, mem_strdup(err.text));
	str_clear(out);
	str_append(out, "null");
}

void page_opened_json(const struct opened_run *run, const struct run_problems *problems, struct str *out)
{
	struct json json = {.out = out};
	struct run_problems all = {0};
	struct str texts[PARTS] = {{0}};
	for (size_t i = 0; problems && i < problems->items.len; i++)
		vec_push(&all.items, mem_strdup(problems->items.items[i]));
	for (size_t i = 0; i < PARTS; i++)
		make_part(&parts[i], run, &all, &texts[i]);
	json_object_begin(&json, NULL);
	json_put_integer(&json, "page_model", PAGE_MODEL_VERSION);
	json_put_string(&json, "kind", "run");
	put_problems(&json, &all);
	put_words(&json, &run->report);
	put_registry(&json);
	put_verdicts(&json);
	report_json(&json, "report", &run->report, TABLE_ROWS);
	for (size_t i = 0; i < PARTS; i++) {
		json_put_json(&json, parts[i].key, str_text(&texts[i]));
		str_fini(&texts[i]);
	}
	page_code(&json, &run->report, run->profile, &page_limits_run);
	json_object_end(&json);
	run_problems_fini(&all);
}

int page_run_json(const char *path, struct str *out, struct err *err)
{
	struct opened_run run;
	struct run_problems problems = {0};
	int code = opened_run_load_some(path, &run, &problems, err);
	if (code)
		return code;
	page_opened_json(&run, &problems, out);
	run_problems_fini(&problems);
	opened_run_fini(&run);
	return 0;
}

void page_error_json(const struct err *err, struct str *out)
{
	struct json json = {.out = out};
	json_object_begin(&json, NULL);
	json_put_string(&json, "error", err->text);
	json_object_end(&json);
}
