/*
 * code_profile.h - a code profile in memory, put together by the tests that look at one.
 *
 *	struct profile_data *profile = code_profile_new();
 *	int64_t load = code_profile_frame(profile, FRAME_PYTHON, "load", NULL, "etl.py", 12);
 *	int64_t stack = code_profile_stack(profile, 0, load);
 *	code_profile_sample(profile, thread, 5, stack, 1);        (milliseconds)
 *
 * Ids are what the store would give. Freed by profile_data_free.
 */
#ifndef PITOT_TESTS_CODE_PROFILE_H
#define PITOT_TESTS_CODE_PROFILE_H

#include "store/profile.h"

static inline struct profile_data *code_profile_new(void)
{
	return mem_alloc(sizeof(struct profile_data));
}

static inline int64_t code_profile_process(struct profile_data *profile, int64_t stage_id, int pid)
{
	struct profile_process *process = vec_add(&profile->processes);
	process->id = (int64_t)profile->processes.len;
	process->stage_id = stage_id;
	process->pid = pid;
	process->executable = mem_strdup("/usr/bin/python3");
	process->clock = mem_strdup("perf task-clock");
	process->end = mem_strdup("exit");
	process->period_ns = 1001001;
	return process->id;
}

static inline int64_t code_profile_thread(struct profile_data *profile, int64_t process_id, int tid, const char *entry)
{
	struct profile_thread *thread = vec_add(&profile->threads);
	thread->id = (int64_t)profile->threads.len;
	thread->process_id = process_id;
	thread->tid = tid;
	thread->is_main = entry == NULL;
	thread->name = mem_strdup("python3");
	thread->entry = mem_strdup(entry);
	return thread->id;
}

static inline int64_t code_profile_frame(struct profile_data *profile, enum frame_kind kind, const char *function,
					 const char *module, const char *file, int line)
{
	struct profile_frame *frame = vec_add(&profile->frames);
	frame->id = (int64_t)profile->frames.len;
	frame->kind = kind;
	frame->function = mem_strdup(function);
	frame->module = mem_strdup(module);
	frame->file = mem_strdup(file);
	frame->line = line;
	return frame->id;
}

static inline int64_t code_profile_stack(struct profile_data *profile, int64_t parent, int64_t frame_id)
{
	struct profile_stack *stack = vec_add(&profile->stacks);
	stack->id = (int64_t)profile->stacks.len;
	stack->parent = parent;
	stack->frame_id = frame_id;
	return stack->id;
}

/* Root first, ends with 0. */
static inline int64_t code_profile_path(struct profile_data *profile, const int64_t *frames)
{
	int64_t stack = 0;
	for (; *frames; frames++)
		stack = code_profile_stack(profile, stack, *frames);
	return stack;
}

static inline struct profile_sample *code_profile_sample(struct profile_data *profile, int64_t thread_id, double at_ms,
							 int64_t stack_id, double weight_ms)
{
	struct profile_thread *thread = &profile->threads.items[thread_id - 1];
	struct profile_process *process = &profile->processes.items[thread->process_id - 1];
	struct profile_sample *sample = vec_add(&profile->samples);
	sample->thread_id = thread_id;
	sample->at_ns = (uint64_t)(at_ms * 1e6);
	sample->stack_id = stack_id;
	sample->weight_ns = (uint64_t)(weight_ms * 1e6);
	thread->samples++;
	thread->weight_ns += sample->weight_ns;
	thread->cpu_ns += sample->weight_ns;
	process->samples++;
	process->weight_ns += sample->weight_ns;
	process->cpu_ns += sample->weight_ns;
	return sample;
}

static inline void code_profile_source(struct profile_data *profile, const char *file, int line, const char *text)
{
	struct profile_source *source = vec_add(&profile->sources);
	source->file = mem_strdup(file);
	source->line = line;
	source->text = mem_strdup(text);
}

static inline void code_profile_gap(struct profile_data *profile, int64_t stage_id, const char *command,
				    const char *reason, double cpu_s)
{
	struct profile_gap *gap = vec_add(&profile->gaps);
	gap->stage_id = stage_id;
	gap->command = mem_strdup(command);
	gap->reason = mem_strdup(reason);
	gap->cpu_s = cpu_s;
}

#endif
