/*
 * page_parts.h - the parts of the page's model, one file each, and what they share. Internal to page*.c.
 */
#ifndef PITOT_RENDER_PAGE_PARTS_H
#define PITOT_RENDER_PAGE_PARTS_H

#include "render/page.h"

/* Numbers of a long column: five digits are more than a screen shows, and half as long. */
void page_put_rounded(struct json *json, const char *key, double value);

/* Texts that many rows name, each once; rows have its index. */
struct page_strings {
	VEC(char *) items;
	uint32_t *slots; /* open addressing: index + 1 */
	size_t size;
};
int64_t page_string(struct page_strings *strings, const char *text); /* -1 for NULL */
void page_strings_put(struct json *json, const struct page_strings *strings);
void page_strings_fini(struct page_strings *strings);

/* How much of a profile is kept; what is smaller is added to its caller, and time is cut into fewer slices. */
struct page_limits {
	size_t nodes, entries, buckets, source_bytes;
};
extern const struct page_limits page_limits_run, page_limits_side;

/* The index of the stage in the report, or -1. */
int64_t page_stage_of(const struct report *report, int64_t stage_id);

/* Parts beside the report, some of which read the run file once more: a whole document each, "null" where the run has none. */
int page_timeline(struct json *json, const struct opened_run *run, struct err *err);
int page_spans(struct json *json, const struct opened_run *run, struct err *err);
int page_memory(struct json *json, const struct opened_run *run, struct err *err);
int page_models(struct json *json, const struct opened_run *run, struct err *err);
int page_trials(struct json *json, const struct opened_run *run, struct err *err);

/* A row of "frames". */
void page_put_frame(struct json *json, struct page_strings *strings, const struct profile_frame *frame);
/* "sources" */
void page_put_sources(struct json *json, const struct profile_data *profile, struct page_strings *strings,
		      size_t most_bytes);
/* The least weight of what stays, so that at most `most` do. */
uint64_t page_least_weight(const uint64_t *weights, size_t count, size_t most);
/* "code": null where the run has no code profile. */
void page_code(struct json *json, const struct report *report, const struct profile_data *profile,
	       const struct page_limits *limits);

#endif
