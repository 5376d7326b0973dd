/*
 * sample_profile.h - a small code profile with known sums, for every test that needs one.
 *
 *	process 1, stage 1: python3 (pid 100), 3.000 s
 *	  thread 1 "python3"   200 samples of 10 ms from 10 ms to 2 s:   1 startup, 49 load() of task "fetch-1", 100 fma_step()
 *	                       inlined into kernel_loop() below dgemm_ called by train(), 50 train() itself
 *	  thread 2 "worker"    100 samples of 10 ms from 510 ms to 1.5 s: a BLAS worker in kernel_loop() (fma_step() inlined)
 *	process 2, stage 2: sort (pid 200), 1.000 s
 *	  thread 3 "sort"      100 samples of 10 ms from 1.01 s to 2 s:  89 compare(), 10 truncated compare(), 1 without stack
 *	a gap of 0.25 s in stage 2: busybox (pid 300), statically linked
 *
 * Frames and stacks are numbered as in the tables below, the first being 1.
 */
#ifndef PITOT_TESTS_SAMPLE_PROFILE_H
#define PITOT_TESTS_SAMPLE_PROFILE_H

#include "base/mem.h"
#include "store/profile.h"

#define SAMPLE_STEP_NS 10000000ull
#define SAMPLE_BLAS    "/usr/lib/libopenblas.so.0"
#define SAMPLE_TRAIN   "/data/train.py"

enum { /* frames */
       FRAME_PYTHON_MAIN = 1,
       FRAME_MODULE,
       FRAME_TRAIN,
       FRAME_DGEMM,
       FRAME_KERNEL_LOOP,
       FRAME_FMA_STEP,
       FRAME_START_THREAD,
       FRAME_BLAS_SERVER,
       FRAME_SORT_MAIN,
       FRAME_COMPARE,
       FRAME_STARTUP,
       FRAME_TRUNCATED,
       FRAME_LOAD
};

enum { /* stacks */
       STACK_PYTHON_MAIN = 1,
       STACK_MODULE,
       STACK_TRAIN,
       STACK_DGEMM,
       STACK_KERNEL_LOOP,
       STACK_FMA_STEP,
       STACK_START_THREAD,
       STACK_BLAS_SERVER,
       STACK_WORKER_LOOP,
       STACK_WORKER_FMA,
       STACK_SORT_MAIN,
       STACK_COMPARE,
       STACK_STARTUP,
       STACK_TRUNCATED,
       STACK_TRUNCATED_COMPARE,
       STACK_LOAD
};

static inline void sample_profile_frames(struct profile_data *data)
{
	static const struct profile_frame frames[] = {
		{.kind = FRAME_NATIVE, .function = "main", .module = "/usr/bin/python3.11"},
		{.kind = FRAME_PYTHON, .function = "<module>", .file = SAMPLE_TRAIN, .line = 12, .first_line = 1},
		{.kind = FRAME_PYTHON, .function = "train", .file = SAMPLE_TRAIN, .line = 5, .first_line = 3},
		{.kind = FRAME_NATIVE, .function = "dgemm_", .module = SAMPLE_BLAS},
		{.kind = FRAME_NATIVE,
		 .function = "kernel_loop",
		 .module = SAMPLE_BLAS,
		 .file = "/src/kernel.c",
		 .line = 40,
		 .first_line = 30},
		{.kind = FRAME_NATIVE,
		 .function = "fma_step",
		 .module = SAMPLE_BLAS,
		 .file = "/src/kernel.c",
		 .line = 12,
		 .first_line = 10,
		 .inlined = true},
		{.kind = FRAME_NATIVE, .function = "start_thread", .module = "/usr/lib/libc.so.6"},
		{.kind = FRAME_NATIVE, .function = "blas_thread_server", .module = SAMPLE_BLAS},
		{.kind = FRAME_NATIVE,
		 .function = "main",
		 .module = "/usr/bin/sort",
		 .file = "/src/sort.c",
		 .line = 100},
		{.kind = FRAME_NATIVE,
		 .function = "compare",
		 .module = "/usr/bin/sort",
		 .file = "/src/sort.c",
		 .line = 20,
		 .first_line = 18},
		{.kind = FRAME_MARK, .function = "[startup before the agent]"},
		{.kind = FRAME_MARK, .function = "[truncated]"},
		{.kind = FRAME_PYTHON, .function = "load", .file = SAMPLE_TRAIN, .line = 9, .first_line = 8},
	};
	for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		struct profile_frame *frame = vec_add(&data->frames);
		*frame = frames[i];
		frame->id = (int64_t)i + 1;
		frame->function = mem_strdup(frames[i].function);
		frame->module = mem_strdup(frames[i].module);
		frame->file = mem_strdup(frames[i].file);
	}
}

static inline void sample_profile_stacks(struct profile_data *data)
{
	static const struct {
		int parent, frame;
	} stacks[] = {
		{0, FRAME_PYTHON_MAIN},
		{STACK_PYTHON_MAIN, FRAME_MODULE},
		{STACK_MODULE, FRAME_TRAIN},
		{STACK_TRAIN, FRAME_DGEMM},
		{STACK_DGEMM, FRAME_KERNEL_LOOP},
		{STACK_KERNEL_LOOP, FRAME_FMA_STEP},
		{0, FRAME_START_THREAD},
		{STACK_START_THREAD, FRAME_BLAS_SERVER},
		{STACK_BLAS_SERVER, FRAME_KERNEL_LOOP},
		{STACK_WORKER_LOOP, FRAME_FMA_STEP},
		{0, FRAME_SORT_MAIN},
		{STACK_SORT_MAIN, FRAME_COMPARE},
		{0, FRAME_STARTUP},
		{0, FRAME_TRUNCATED},
		{STACK_TRUNCATED, FRAME_COMPARE},
		{STACK_MODULE, FRAME_LOAD},
	};
	for (size_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++)
		vec_push(&data->stacks,
			 ((struct profile_stack){
				 .id = (int64_t)i + 1, .parent = stacks[i].parent, .frame_id = stacks[i].frame}));
}

static inline void sample_profile_processes(struct profile_data *data)
{
	vec_push(&data->processes, ((struct profile_process){.id = 1,
							     .stage_id = 1,
							     .pid = 100,
							     .ppid = 1,
							     .end_ns = 2000000000,
							     .executable = mem_strdup("/usr/bin/python3.11"),
							     .python = mem_strdup("3.11.2"),
							     .clock = mem_strdup("perf task-clock"),
							     .end = mem_strdup("exit"),
							     .period_ns = SAMPLE_STEP_NS,
							     .cpu_ns = 3000000000,
							     .samples = 300,
							     .weight_ns = 3000000000,
							     .handler_ns = 3000000,
							     .start_cost_ns = 1000000}));
	vec_push(&data->processes, ((struct profile_process){.id = 2,
							     .stage_id = 2,
							     .pid = 200,
							     .ppid = 1,
							     .start_ns = 1000000000,
							     .end_ns = 2000000000,
							     .executable = mem_strdup("/usr/bin/sort"),
							     .clock = mem_strdup("timer, 4 ms tick"),
							     .end = mem_strdup("killed"),
							     .note = mem_strdup("perf events are not allowed here"),
							     .period_ns = SAMPLE_STEP_NS,
							     .cpu_ns = 1000000000,
							     .samples = 100,
							     .weight_ns = 1000000000,
							     .lost = 2,
							     .truncated = 10,
							     .busy = 1,
							     .handler_ns = 500000}));
}

static inline void sample_profile_threads(struct profile_data *data)
{
	vec_push(&data->threads, ((struct profile_thread){.id = 1,
							  .process_id = 1,
							  .tid = 100,
							  .is_main = true,
							  .name = mem_strdup("python3"),
							  .end_ns = 2000000000,
							  .cpu_ns = 2000000000,
							  .weight_ns = 2000000000,
							  .samples = 200,
							  .handler_ns = 2000000}));
	vec_push(&data->threads, ((struct profile_thread){.id = 2,
							  .process_id = 1,
							  .tid = 101,
							  .name = mem_strdup("worker"),
							  .entry = mem_strdup("blas_thread_server"),
							  .creator_stack = STACK_MODULE,
							  .start_ns = 400000000,
							  .end_ns = 2000000000,
							  .cpu_ns = 1000000000,
							  .weight_ns = 1000000000,
							  .samples = 100,
							  .handler_ns = 1000000}));
	vec_push(&data->threads, ((struct profile_thread){.id = 3,
							  .process_id = 2,
							  .tid = 200,
							  .is_main = true,
							  .name = mem_strdup("sort"),
							  .start_ns = 1000000000,
							  .end_ns = 2000000000,
							  .cpu_ns = 1000000000,
							  .weight_ns = 1000000000,
							  .samples = 100,
							  .truncated = 10,
							  .busy = 1,
							  .handler_ns = 500000}));
}

/* `count` samples on one stack, the first of them `first` steps of 10 ms after the run began. */
static inline void sample_profile_add(struct profile_data *data, int thread, int first, int count, int stack,
				      unsigned flags, int task)
{
	for (int i = 0; i < count; i++)
		vec_push(&data->samples, ((struct profile_sample){.thread_id = thread,
								  .at_ns = (uint64_t)(first + i) * SAMPLE_STEP_NS,
								  .stack_id = stack,
								  .weight_ns = SAMPLE_STEP_NS,
								  .flags = flags,
								  .task_id = task}));
}

static inline void sample_profile_samples(struct profile_data *data)
{
	const unsigned with_gil = PROFILE_PYTHON | PROFILE_GIL;
	sample_profile_add(data, 1, 1, 1, STACK_STARTUP, 0, 0);
	sample_profile_add(data, 1, 2, 49, STACK_LOAD, with_gil, 1);
	sample_profile_add(data, 1, 51, 100, STACK_FMA_STEP, PROFILE_PYTHON, 0);
	sample_profile_add(data, 1, 151, 50, STACK_TRAIN, with_gil, 0);
	sample_profile_add(data, 2, 51, 100, STACK_WORKER_FMA, 0, 0);
	sample_profile_add(data, 3, 101, 89, STACK_COMPARE, 0, 0);
	sample_profile_add(data, 3, 190, 10, STACK_TRUNCATED_COMPARE, PROFILE_TRUNCATED, 0);
	sample_profile_add(data, 3, 200, 1, 0, PROFILE_BUSY, 0);
}

static inline void sample_profile_sources(struct profile_data *data)
{
	static const struct profile_source lines[] = {{SAMPLE_TRAIN, 5, "    out = a @ b"},
						      {SAMPLE_TRAIN, 9, "    rows = read(path)"},
						      {"/src/kernel.c", 12, "\tsum += a[i] * b[i];"},
						      {"/src/sort.c", 20, "\treturn strcmp(a, b);"}};
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		vec_push(&data->sources, ((struct profile_source){.file = mem_strdup(lines[i].file),
								  .line = lines[i].line,
								  .text = mem_strdup(lines[i].text)}));
}

/* Owned by the caller: profile_data_free. */
static inline struct profile_data *sample_profile_new(void)
{
	struct profile_data *data = mem_alloc(sizeof(*data));
	sample_profile_processes(data);
	sample_profile_threads(data);
	sample_profile_frames(data);
	sample_profile_stacks(data);
	sample_profile_samples(data);
	sample_profile_sources(data);
	vec_push(&data->tasks, mem_strdup("fetch-1"));
	vec_push(&data->gaps, ((struct profile_gap){.stage_id = 2,
						    .pid = 300,
						    .command = mem_strdup("busybox sh -c true"),
						    .reason = mem_strdup("statically linked"),
						    .cpu_s = 0.25}));
	return data;
}

/* Puts a profile into a run file that is being written; ids come out as they are in `data`. */
static inline int sample_profile_store(struct store *store, struct profile_data *data, struct err *err)
{
	int64_t id = 0;
	int code = 0;
	for (size_t i = 0; i < data->processes.len && !code; i++)
		code = store_profile_process(store, &data->processes.items[i], err);
	for (size_t i = 0; i < data->frames.len && !code; i++)
		code = store_profile_frame(store, &data->frames.items[i], err);
	for (size_t i = 0; i < data->stacks.len && !code; i++)
		code = store_profile_stack(store, &data->stacks.items[i], err);
	for (size_t i = 0; i < data->threads.len && !code; i++)
		code = store_profile_thread(store, &data->threads.items[i], err);
	for (size_t i = 0; i < data->tasks.len && !code; i++)
		code = store_profile_task(store, data->tasks.items[i], &id, err);
	for (size_t i = 0; i < data->samples.len && !code; i++)
		code = store_profile_sample(store, &data->samples.items[i], err);
	for (size_t i = 0; i < data->sources.len && !code; i++)
		code = store_profile_source(store, &data->sources.items[i], err);
	for (size_t i = 0; i < data->gaps.len && !code; i++)
		code = store_profile_gap(store, &data->gaps.items[i], err);
	return code;
}

#endif
