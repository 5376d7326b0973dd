/* finish.c - a stage's beginning and end in the run file, and what its status is. */
#include "base/clock.h"
#include "run/artifact.h"
#include "run/loop.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void on_metric_line(void *context, const char *name, double value)
{
	struct live *live = context;
	struct loop *loop = (struct loop *)((char *)live->shared - offsetof(struct loop, shared));
	vec_push(&loop->quality, ((struct quality_line){mem_strdup(name), value, mem_strdup(live->spec->name)}));
}

/* The command as a person would type it; a long one is kept whole. */
static char *command_text(const struct stage_spec *spec)
{
	struct str text = {0};
	if (spec->shell)
		return mem_strdup(spec->shell);
	for (size_t i = 0; i < spec->argv.len && spec->argv.items[i]; i++)
		str_appendf(&text, "%s%s", i ? " " : "", spec->argv.items[i]);
	return str_take(&text);
}

static char *needs_text(const struct loop *loop, const struct stage_spec *spec)
{
	struct str text = {0};
	for (size_t i = 0; i < spec->needs.len; i++)
		str_appendf(&text, "%s%s", i ? "," : "", loop->pipeline->stages.items[spec->needs.items[i]].name);
	return str_take(&text);
}

static void fill_row(struct loop *loop, size_t index, struct stage_row *row)
{
	const struct stage_spec *spec = &loop->pipeline->stages.items[index];
	*row = (struct stage_row){.repetition = loop->view.repetition,
				  .warmup = loop->view.warmup,
				  .position = (int)index,
				  .name = mem_strdup(spec->name),
				  .command = command_text(spec),
				  .status = STATUS_INTERRUPTED,
				  .exit_code = -1,
				  .needs = needs_text(loop, spec)};
}

static void free_row(struct stage_row *row)
{
	free(row->name);
	free(row->command);
	free(row->needs);
	free(row->reason);
	free(row->tier);
}

struct live *stage_open(struct loop *loop, size_t index)
{
	struct err err;
	struct live *live = mem_alloc(sizeof(*live));
	live->shared = &loop->shared;
	live->spec = &loop->pipeline->stages.items[index];
	live->index = index;
	live->control = -1;
	live->streams[0] = live->streams[1] = (struct stream){.fd = -1, .pass_to = -1};
	live->view = &loop->view.stages[index];
	fill_row(loop, index, &live->row);
	live->cpu_hz = inject_hz(loop->options, loop->pipeline, live->spec);
	live->memory_period = inject_memory(loop->options, loop->pipeline, live->spec);
	live->row.tier = mem_strdup(loop->shared.cgroups ? cgroup_host_tier(loop->shared.cgroups) : "processes");
	live->row.start_ns = clock_mono_ns() - loop->shared.start_ns;
	shared_stored(&loop->shared, store_stage_begin(loop->shared.store, &live->row, &err), &err);
	output_log_init(&live->log, on_metric_line, live);
	int pss = loop->options->pss >= 0 ? loop->options->pss : live->spec->profile.pss;
	live->tree = tree_new(pss > 0 || (pss < 0 && loop->pipeline->profile.pss > 0), live_process_gone, live);
	return live;
}

static void store_artifacts(struct loop *loop, struct live *live, const struct artifact_list *list)
{
	struct err err;
	for (size_t i = 0; i < list->items.len; i++)
		shared_stored(&loop->shared,
			      store_artifact(loop->shared.store, live->row.id, &list->items.items[i], &err), &err);
}

static void fail(struct live *live, enum stage_status status, char *reason)
{
	live->row.status = status;
	free(live->row.reason);
	live->row.reason = reason;
}

static char *exec_reason(const struct live *live)
{
	struct stat status;
	if (stat(live->spec->cwd, &status) != 0)
		return mem_printf("cannot enter folder '%s': %s", live->spec->cwd, strerror(errno));
	if (!S_ISDIR(status.st_mode))
		return mem_printf("cannot enter folder '%s': it is not a folder", live->spec->cwd);
	return mem_printf("cannot run '%s': %s", live->spec->argv.items[0], strerror(live->exec_error));
}

static void judge(struct loop *loop, struct live *live)
{
	int status = live->main_status;
	if (live->row.reason)
		return; /* judged before it began */
	live->row.exit_code = live->main_ended && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	live->row.term_signal = live->main_ended && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	bool by_signal = loop->signal && live->row.term_signal == loop->signal;
	if (live->ending == ENDING_TIMEOUT)
		fail(live, STATUS_TIMEOUT, mem_printf("ran longer than %g s", (double)live->timeout_ns / 1e9));
	else if (live->ending == ENDING_INTERRUPT || by_signal)
		fail(live, STATUS_INTERRUPTED, mem_printf("interrupted by %s", strsignal(loop->signal)));
	else if (live->exec_error)
		fail(live, STATUS_ERROR, exec_reason(live));
	else if (!live->main_ended)
		fail(live, STATUS_ERROR, mem_strdup("the process that watched it was killed"));
	else if (live->row.term_signal)
		fail(live, STATUS_ERROR,
		     mem_printf("killed by signal %d (%s)%s", live->row.term_signal, strsignal(live->row.term_signal),
				live->group_end.oom_kills > live->group_start.oom_kills ? ": memory ran out" : ""));
	else if (live->row.exit_code)
		fail(live, STATUS_ERROR, mem_printf("exit code %d", live->row.exit_code));
	else
		live->row.status = STATUS_OK;
}

static void look_at_artifacts(struct loop *loop, struct live *live)
{
	struct artifact_list outputs = {0};
	artifacts_look(live->spec->inputs.items, live->spec->inputs.len, false, &outputs);
	size_t inputs = outputs.items.len;
	artifacts_look(live->spec->outputs.items, live->spec->outputs.len, true, &outputs);
	store_artifacts(loop, live, &outputs);
	for (size_t i = inputs; i < outputs.items.len && live->row.status == STATUS_OK; i++)
		if (!outputs.items.items[i].exists)
			fail(live, STATUS_ERROR,
			     mem_printf("ended well, but its output '%s' is not there", outputs.items.items[i].path));
	artifact_list_fini(&outputs);
}

static void store_log_tail(struct loop *loop, struct live *live)
{
	struct err err;
	output_log_end(&live->log);
	if (live->row.status == STATUS_OK || live->log.tail.len == 0)
		return;
	shared_stored(&loop->shared,
		      store_log(loop->shared.store, live->row.id, live->log.tail.text, live->log.tail.len,
				live->log.dropped_lines, &err),
		      &err);
}

static void measure(struct loop *loop, struct live *live)
{
	struct probe_frame frame = {0};
	struct metric_value values[METRIC_COUNT] = {0};
	struct err err;
	probe_set_read(loop->shared.probes, clock_mono_ns(), true, &frame);
	live_end(live, &frame);
	if (loop->shared.exits) {
		exits_read(loop->shared.exits);
		exits_release(loop->shared.exits, live);
	}
	tree_end(live->tree);
	live_values(live, values);
	live->view->cpu_percent = values[METRIC_CPU_PERCENT_AVG].value;
	live->view->memory_bytes = values[METRIC_RSS_PROCESS_PEAK].value;
	if (live->anon_max > live->view->memory_bytes)
		live->view->memory_bytes = live->anon_max;
	shared_stored(&loop->shared, store_metrics(loop->shared.store, live->row.id, values, &err), &err);
	const struct metric_value *cpu = &values[METRIC_CPU_TIME];
	if (live->cpu_hz || live->memory_period)
		vec_push(&loop->shared.profiled,
			 ((struct collect_stage){.id = live->row.id,
						 .cpu_s = cpu->state == METRIC_KNOWN ? cpu->value : -1,
						 .has_record = loop->shared.exits != NULL,
						 .memory_only = live->cpu_hz == 0}));
	char *disagreement = live_disagreement(live);
	if (disagreement)
		shared_event(&loop->shared, live->row.id, "warning", "%s", disagreement);
	free(disagreement);
}

static void live_free(struct live *live)
{
	for (int i = 0; i < 2; i++) {
		stream_end(&live->streams[i]);
		if (live->streams[i].pass_to >= 0)
			close(live->streams[i].pass_to);
		str_fini(&live->streams[i].backlog);
	}
	if (live->control >= 0)
		close(live->control);
	output_log_fini(&live->log);
	pmu_close(live->pmu);
	cgroup_destroy(live->cgroup);
	descend_watch_free(live->watch);
	tree_free(live->tree);
	free_row(&live->row);
	free(live);
}

void stage_close(struct loop *loop, struct live *live)
{
	struct err err;
	size_t index = live->index;
	bool ran = live->start_ns != 0;
	if (ran && live->end_ns < live->start_ns)
		live->end_ns = clock_mono_ns();
	if (ran && live->cgroup)
		cgroup_read(live->cgroup, true, &live->group_end);
	judge(loop, live);
	if (ran) {
		live->row.start_ns = live->start_ns - loop->shared.start_ns;
		live->row.end_ns = live->end_ns - loop->shared.start_ns;
		measure(loop, live);
		vec_push(&loop->shared.ended, ((struct span_stage){.id = live->row.id, .end_ns = live->row.end_ns}));
	} else {
		live->row.end_ns = live->row.start_ns;
	}
	look_at_artifacts(loop, live);
	store_log_tail(loop, live);
	shared_stored(&loop->shared, store_stage_end(loop->shared.store, &live->row, &err), &err);
	shared_commit(&loop->shared);
	struct stage_view *view = &loop->view.stages[index];
	view->state = loop->nodes[index].state = VIEW_DONE;
	view->status = live->row.status;
	snprintf(view->reason, sizeof(view->reason), "%s", live->row.reason ? live->row.reason : "");
	view->elapsed_ns = ran ? live->end_ns - live->start_ns : 0;
	loop->nodes[index].blocks = live->row.status != STATUS_OK;
	loop->wardens_cpu_ns += live->warden_cpu_ns;
	loop->running[index] = NULL;
	loop->running_count--;
	loop_retune(loop);
	if (!loop->running_count)
		loop->idle_since_ns = clock_mono_ns();
	if (loop->options->foreground || loop->options->inherit) {
		loop->outcome->exit_code = live->row.exit_code;
		loop->outcome->term_signal = live->row.term_signal;
	}
	live_free(live);
	loop_changed(loop, index);
}

void stage_pass_over(struct loop *loop, size_t index, enum stage_status status, const char *reason, bool blocks)
{
	struct err err;
	struct stage_row row;
	fill_row(loop, index, &row);
	row.status = status;
	row.reason = mem_strdup(reason);
	/* Begun and ended in one go; its times stay 0, which says that it never ran. */
	shared_stored(&loop->shared, store_stage_begin(loop->shared.store, &row, &err), &err);
	shared_stored(&loop->shared, store_stage_end(loop->shared.store, &row, &err), &err);
	struct stage_view *view = &loop->view.stages[index];
	view->state = loop->nodes[index].state = VIEW_DONE;
	view->status = status;
	snprintf(view->reason, sizeof(view->reason), "%s", reason);
	loop->nodes[index].blocks = blocks;
	free_row(&row);
	loop_changed(loop, index);
}
