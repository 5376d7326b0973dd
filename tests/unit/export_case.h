/*
 * export_case.h - profiles for the tests of exports: the small one of sample_profile.h, and what an export has to survive.
 */
#ifndef PITOT_TESTS_EXPORT_CASE_H
#define PITOT_TESTS_EXPORT_CASE_H

#include "render/code_export.h"
#include "sample_profile.h"
#include "sample_run.h"

#include <string.h>

#define HOSTILE_NAME                                                                                                   \
	"a;b<script>alert(1)</script>&amp;\"'` ]]> -->\n\r\t\x01\x1b[31m\x7f \xff\xfe \xe2\x80\xae"                    \
	"rtl\xe2\x80\xa8(1) \\ %s \xef\xbf\xbe"

struct export_case {
	struct run_record *record;
	struct report report;
	struct profile_data *profile;
	struct code_tree tree;
};

/* Takes the profile over. */
static inline void export_case_init(struct export_case *it, struct profile_data *profile, struct code_select select)
{
	*it = (struct export_case){.record = sample_run("churn"), .profile = profile};
	sample_stage(it->record, "train", 0, 0, 0, 2, 3);
	sample_stage(it->record, "sort", 1, 0, 1, 1, 1);
	report_compute(it->record, &it->report);
	code_tree_build(profile, &select, &it->tree);
}

static inline void export_case_fini(struct export_case *it)
{
	code_tree_fini(&it->tree);
	profile_data_free(it->profile);
	report_fini(&it->report);
	run_record_free(it->record);
}

/* The text that a format gives; owned by the caller. */
static inline char *export_case_text(struct profile_data *profile, const char *format, struct code_select select,
				     size_t *size)
{
	const struct code_export *it = code_export_find(format);
	struct export_case one;
	struct str out = {0};
	struct err err = {0};
	select.by_line = it->by_line;
	export_case_init(&one, profile, select);
	int status = it->render(&one.tree, &one.report, &out, &err);
	if (size)
		*size = out.len;
	export_case_fini(&one);
	return status == 0 ? str_take(&out) : NULL;
}

static inline struct profile_data *export_no_samples(void)
{
	struct profile_data *profile = sample_profile_new();
	profile->samples.len = 0;
	return profile;
}

static inline struct profile_data *export_one_sample(void)
{
	struct profile_data *profile = sample_profile_new();
	profile->samples.items[0] = profile->samples.items[100];
	profile->samples.len = 1;
	return profile;
}

/* Every name is bad. */
static inline struct profile_data *export_hostile(void)
{
	struct profile_data *profile = sample_profile_new();
	for (size_t i = 0; i < profile->frames.len; i++) {
		struct profile_frame *frame = &profile->frames.items[i];
		char *old = frame->function;
		frame->function = mem_printf("%s%s", old, HOSTILE_NAME);
		free(old);
		free(frame->file);
		free(frame->module);
		frame->file = mem_strdup("/tmp/" HOSTILE_NAME ".py");
		frame->module = frame->kind == FRAME_NATIVE ? mem_strdup("/lib/" HOSTILE_NAME) : NULL;
	}
	/* As long as a template of C++ never is. */
	char *name = mem_alloc(1 << 20);
	memset(name, 'x', (1 << 20) - 1);
	free(profile->frames.items[FRAME_COMPARE - 1].function);
	profile->frames.items[FRAME_COMPARE - 1].function = name;
	for (size_t i = 0; i < profile->threads.len; i++) {
		free(profile->threads.items[i].name);
		profile->threads.items[i].name = mem_strdup(HOSTILE_NAME);
	}
	for (size_t i = 0; i < profile->processes.len; i++) {
		free(profile->processes.items[i].executable);
		profile->processes.items[i].executable = mem_strdup("/bin/" HOSTILE_NAME);
	}
	return profile;
}

static inline struct profile_data *export_without_stacks(void)
{
	struct profile_data *profile = sample_profile_new();
	profile->stacks.len = profile->samples.len = 0;
	return profile;
}

static inline int export_push_stack(struct profile_data *profile, int64_t parent, int frame)
{
	vec_push(&profile->stacks,
		 ((struct profile_stack){.id = (int64_t)profile->stacks.len + 1, .parent = parent, .frame_id = frame}));
	return (int)profile->stacks.len;
}

/* train calls load calls train … `depth` frames; a sample at the end of it and one in the middle. */
static inline struct profile_data *export_recursion(int depth)
{
	struct profile_data *profile = export_without_stacks();
	int stack = 0, middle = 0;
	for (int i = 0; i < depth; i++) {
		stack = export_push_stack(profile, stack, i % 2 ? FRAME_LOAD : FRAME_TRAIN);
		middle = i == depth / 2 ? stack : middle;
	}
	sample_profile_add(profile, 1, 1, 1, stack, 0, 0);
	sample_profile_add(profile, 1, 2, 1, middle, 0, 0);
	return profile;
}

/* About `nodes` nodes, 20 deep, a sample at each end, in names that are all different. */
static inline struct profile_data *export_large(int nodes)
{
	enum { DEPTH = 20 };
	struct profile_data *profile = export_without_stacks();
	int first = (int)profile->frames.len;
	for (int i = 0; i < nodes / 10; i++)
		vec_push(&profile->frames,
			 ((struct profile_frame){.id = first + i + 1,
						 .kind = i % 3 ? FRAME_NATIVE : FRAME_PYTHON,
						 .function = mem_printf("library::type_%d<int>::method_%d", i % 97, i),
						 .file = mem_printf("/src/library/part_%d.cc", i % 50),
						 .module = i % 3 ? mem_strdup("/usr/lib/liblibrary.so") : NULL,
						 .line = i % 1000 + 1,
						 .first_line = i % 1000 + 1}));
	for (int i = 0; i < nodes / DEPTH; i++) {
		int stack = 0;
		for (int j = 0; j < DEPTH; j++)
			stack = export_push_stack(profile, stack, first + 1 + (i * 31 + j * 7 + 1) % (nodes / 10));
		sample_profile_add(profile, 1, i + 1, 1, stack, 0, 0);
	}
	return profile;
}

#endif
