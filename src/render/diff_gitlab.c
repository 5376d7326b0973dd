/*
 * diff_gitlab.c - a gate as a GitLab code quality report: one entry per threshold that is not kept.
 *
 * GitLab takes an entry for the same as before by its fingerprint, so it is made of the threshold's name and file, never
 * of what was measured.
 */
#include "base/json.h"
#include "render/delta_formats.h"
#include "render/diff_words.h"

#include <inttypes.h>
#include <stdio.h>

/* FNV-1a, 64 bits. */
static uint64_t hash(uint64_t so_far, const char *text)
{
	for (; *text; text++)
		so_far = (so_far ^ (unsigned char)*text) * 0x100000001b3ull;
	return so_far;
}

static void put_entry(const struct delta *delta, const struct gate_check *check, struct json *json)
{
	struct str words = {0};
	char fingerprint[40];
	const char *path = delta->config_path ? delta->config_path : "pipeline.yaml";
	uint64_t first = hash(hash(0xcbf29ce484222325ull, path), check->name);
	snprintf(fingerprint, sizeof(fingerprint), "%016" PRIx64 "%016" PRIx64, first, hash(first, "pitot"));
	str_appendf(&words, "%s: ", check->name);
	diff_words_check(check, &words);
	json_object_begin(json, NULL);
	json_put_string(json, "description", str_text(&words));
	json_put_string(json, "check_name", check->name);
	json_put_string(json, "fingerprint", fingerprint);
	json_put_string(json, "severity", check->outcome == GATE_FAIL ? "major" : "info");
	json_object_begin(json, "location");
	json_put_string(json, "path", path);
	json_object_begin(json, "lines");
	json_put_integer(json, "begin", delta_line_of(delta, check));
	json_object_end(json);
	json_object_end(json);
	json_object_end(json);
	str_fini(&words);
}

static void render_gitlab(const struct delta *delta, const struct render_options *options, struct str *out)
{
	(void)options;
	struct json json = {.out = out, .pretty = true};
	json_array_begin(&json, NULL);
	for (size_t i = 0; delta->gate && i < delta->gate->checks.len; i++)
		if (delta->gate->checks.items[i].outcome != GATE_PASS)
			put_entry(delta, &delta->gate->checks.items[i], &json);
	json_array_end(&json);
}

const struct delta_renderer delta_gitlab = {"gitlab", render_gitlab};
