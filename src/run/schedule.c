/*
 * schedule.c - which stage may start now, and which never will.
 *
 * A stage starts when everything that it needs is done and a job is free. One that needs a failed stage is passed over,
 * and so, in turn, is what needs it; a manual or left-out stage stands in nobody's way.
 */
#include "base/clock.h"
#include "run/artifact.h"
#include "run/loop.h"

#include <stdlib.h>

static const struct stage_spec *spec_of(const struct loop *loop, size_t index)
{
	return &loop->pipeline->stages.items[index];
}

static void start_stage(struct loop *loop, size_t index)
{
	struct err err = {0};
	struct artifact_list inputs = {0};
	struct live *live = stage_open(loop, index);
	if (loop->running_count == 0)
		loop->idle_ns += clock_mono_ns() - loop->idle_since_ns;
	loop->running[index] = live;
	loop->running_count++;
	loop->nodes[index].state = loop->view.stages[index].state = VIEW_RUNNING;
	loop_retune(loop);
	artifacts_look(live->spec->inputs.items, live->spec->inputs.len, false, &inputs);
	const char *missing = artifacts_missing(&inputs);
	if (missing) {
		live->row.status = STATUS_ERROR;
		live->row.reason = mem_printf("its input '%s' is not there", missing);
	} else if (launch_attempt(loop, live, &err) != 0) {
		live->row.status = STATUS_ERROR;
		live->row.reason = mem_strdup(err.text);
	}
	artifact_list_fini(&inputs);
	if (live->row.reason)
		stage_close(loop, live);
	else
		loop_changed(loop, index);
}

/* Whether everything that the stage needs is done; *blocker is a need that makes it impossible. */
static bool is_ready(const struct loop *loop, size_t index, size_t *blocker)
{
	const struct stage_spec *spec = spec_of(loop, index);
	bool ready = true;
	*blocker = SIZE_MAX;
	for (size_t i = 0; i < spec->needs.len; i++) {
		const struct node *need = &loop->nodes[spec->needs.items[i]];
		if (need->state == VIEW_DONE && need->blocks)
			*blocker = spec->needs.items[i];
		ready &= need->state == VIEW_DONE;
	}
	return ready;
}

/* What does not run and never will is settled here. True where it did something. */
static bool settle_stage(struct loop *loop, size_t index)
{
	const struct stage_spec *spec = spec_of(loop, index);
	size_t blocker;
	bool ready = is_ready(loop, index, &blocker);
	if (loop->signal) {
		stage_pass_over(loop, index, STATUS_SKIPPED, "the run was interrupted", true);
	} else if (blocker != SIZE_MAX) {
		char *reason = mem_printf("needs '%s', which did not succeed", spec_of(loop, blocker)->name);
		stage_pass_over(loop, index, STATUS_SKIPPED, reason, true);
		free(reason);
	} else if (!ready) {
		return false;
	} else if (spec->manual) {
		stage_pass_over(loop, index, STATUS_MANUAL, spec->manual, false);
	} else if (spec->skip) {
		stage_pass_over(loop, index, STATUS_SKIPPED, spec->skip, false);
	} else if (loop->running_count < (size_t)loop->jobs) {
		start_stage(loop, index);
	} else {
		return false;
	}
	return true;
}

bool schedule_start(struct loop *loop)
{
	bool changed = true, pending = false;
	while (changed) {
		changed = pending = false;
		for (size_t i = 0; i < loop->view.count; i++) {
			if (loop->nodes[i].state != VIEW_PENDING)
				continue;
			bool settled = settle_stage(loop, i);
			changed |= settled;
			pending |= !settled;
		}
	}
	return pending || loop->running_count > 0;
}
