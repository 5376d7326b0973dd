/*
 * compare_measure.c - the measuring loop of `pitot compare`: blocks, batches of blocks, and when to stop.
 *
 * While a command runs, pitot is asleep. Commands that last milliseconds are run many blocks at a time, so that pitot does
 * not wake up in between; what it computes and draws, it does while nothing runs.
 *
 * It stops by the width of the interval, never by what the interval says: who stops at the first verdict that they like
 * gets false ones.
 */
#include "base/clock.h"
#include "cmd/compare.h"
#include "probe/probe.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* That are made without being asked for: what so many do not show is too small to matter. */
enum { MOST_BLOCKS = 2000 };
static const double BATCH_S = 0.05; /* of running between two looks at the clock and at the view */
static const double LOOK_GROWTH = 1.05;

struct group_state {
	size_t number;
	struct comparison_group *group;
	VEC(struct change_result) results;
	bool looked;
	size_t next_look;
	double block_s; /* a block takes, about */
	uint64_t start_ns;
	double budget_s;
};

static double since_s(uint64_t start_ns)
{
	return (double)(clock_mono_ns() - start_ns) / 1e9;
}

static void draw(struct compare_bench *bench, const struct group_state *state, const char *phase, bool now)
{
	comparison_view_draw(bench->view, bench->comparison, state ? state->number : 0,
			     state && state->looked ? state->results.items : NULL, phase, compare_elapsed_s(bench),
			     now);
}

/* ---- a batch of blocks ---- */

/* Which program of a batch belongs to whom. */
struct batch {
	uint32_t programs[TRIAL_BATCH];
	size_t subjects[TRIAL_BATCH];
	bool measured[TRIAL_BATCH]; /* else it prepares or cleans up */
	size_t count;
};

static void batch_add(struct batch *batch, int program, size_t subject, bool measured)
{
	if (program == NO_PROGRAM)
		return;
	batch->programs[batch->count] = (uint32_t)program;
	batch->subjects[batch->count] = subject;
	batch->measured[batch->count++] = measured;
}

static void batch_add_block(struct compare_bench *bench, size_t group, struct batch *batch)
{
	VEC(size_t) order = {0};
	size_t count = bench->comparison->groups.items[group].count;
	vec_reserve(&order, count);
	comparison_next_order(bench->comparison, group, order.items);
	for (size_t i = 0; i < count; i++) {
		const struct compare_subject *subject = &bench->plan->subjects.items[order.items[i]];
		batch_add(batch, subject->prepare, order.items[i], false);
		batch_add(batch, subject->program, order.items[i], true);
		batch_add(batch, subject->cleanup, order.items[i], false);
	}
	vec_fini(&order);
}

/* How many programs a block has. */
static size_t block_size(const struct compare_bench *bench, size_t group)
{
	const struct comparison_group *of = &bench->comparison->groups.items[group];
	const struct compare_subject *first = &bench->plan->subjects.items[of->first];
	return of->count * (size_t)(1 + (first->prepare != NO_PROGRAM) + (first->cleanup != NO_PROGRAM));
}

static int take_batch(struct compare_bench *bench, const struct batch *batch, const struct trial_result *results,
		      size_t done, bool counts)
{
	for (size_t i = 0; i < done; i++) {
		char when[64] = "";
		bool bad = results[i].start_error || results[i].status != 0;
		bool let_pass = batch->measured[i] && bench->args->ignore_failure && !results[i].start_error;
		const struct comparison_subject *subject = &bench->comparison->subjects.items[batch->subjects[i]];
		snprintf(when, sizeof(when), counts ? " in run %zu" : " in a warm-up run", subject->runs.len + 1);
		if (bench->caught && results[i].ended_by_us)
			return 0;
		if (bad && !let_pass)
			return compare_tell_failure(bench, batch->programs[i], &results[i], when);
		if (batch->measured[i] && counts)
			compare_keep(bench, batch->subjects[i], &results[i], i);
	}
	return 0;
}

static int run_commands(struct compare_bench *bench, size_t group, size_t blocks, bool counts)
{
	struct batch batch = {0};
	struct trial_result results[TRIAL_BATCH];
	size_t done = 0;
	for (size_t i = 0; i < blocks; i++)
		batch_add_block(bench, group, &batch);
	int status =
		compare_run_batch(bench, batch.programs, batch.count, !bench->args->ignore_failure, results, &done);
	return status ? status : take_batch(bench, &batch, results, done, counts);
}

static int run_pipelines(struct compare_bench *bench, size_t group, bool counts)
{
	VEC(size_t) order = {0};
	size_t count = bench->comparison->groups.items[group].count;
	int status = 0;
	vec_reserve(&order, count);
	comparison_next_order(bench->comparison, group, order.items);
	for (size_t i = 0; i < count && !status && !bench->caught; i++) {
		const struct compare_subject *subject = &bench->plan->subjects.items[order.items[i]];
		if (subject->prepare != NO_PROGRAM)
			status = compare_run_aside(bench, subject->prepare);
		if (!status && !bench->caught)
			status = compare_run_pipeline(bench, order.items[i], counts);
		if (!status && !bench->caught && subject->cleanup != NO_PROGRAM)
			status = compare_run_aside(bench, subject->cleanup);
	}
	vec_fini(&order);
	return status;
}

/* ---- when to stop ---- */

static size_t batch_blocks(const struct compare_bench *bench, const struct group_state *state)
{
	size_t most = TRIAL_BATCH / block_size(bench, state->number), want = 1;
	if (bench->plan->pipelines || bench->deep)
		return 1;
	if (state->block_s > 0 && state->block_s < BATCH_S)
		want = (size_t)(BATCH_S / state->block_s);
	size_t left = bench->comparison->settings.runs ? bench->comparison->settings.runs - state->group->blocks : want;
	want = want < left ? want : left;
	want = want < most ? want : most;
	return want ? want : 1;
}

/* `last`: after the last run, whatever was looked at before. Where nobody watches and the number of runs is fixed, one
 * look is enough. */
static void look(struct compare_bench *bench, struct group_state *state, bool last)
{
	size_t blocks = state->group->blocks;
	bool useful = bench->comparison->settings.runs == 0 || comparison_view_is_live(bench->view);
	if (blocks < 2 || (!last && (!useful || blocks < state->next_look)))
		return;
	comparison_look(bench->comparison, state->number, state->results.items);
	state->looked = true;
	state->next_look = (size_t)((double)blocks * LOOK_GROWTH) + 1;
}

static enum comparison_stop should_stop(const struct compare_bench *bench, const struct group_state *state)
{
	const struct comparison_settings *settings = &bench->comparison->settings;
	size_t blocks = state->group->blocks;
	if (bench->caught)
		return STOP_INTERRUPT;
	if (settings->runs)
		return blocks >= settings->runs ? STOP_RUNS : STOP_NOT;
	double spent = since_s(state->start_ns);
	bool enough = blocks >= (bench->args->budget_ns ? 2 : comparison_least_claim(bench->comparison));
	if (enough && spent + state->block_s / 2 > state->budget_s)
		return STOP_BUDGET;
	if (blocks >= comparison_least_blocks(bench->comparison) && state->group->half_width <= settings->precision)
		return STOP_PRECISION;
	return blocks >= MOST_BLOCKS ? STOP_LIMIT : STOP_NOT;
}

static int run_blocks(struct compare_bench *bench, struct group_state *state, size_t blocks, bool counts)
{
	uint64_t start = clock_mono_ns();
	int status = bench->plan->pipelines ? run_pipelines(bench, state->number, counts)
					    : run_commands(bench, state->number, blocks, counts);
	state->block_s = since_s(start) / (double)blocks;
	return status;
}

static int measure_group(struct compare_bench *bench, struct group_state *state)
{
	int status = 0;
	state->start_ns = clock_mono_ns();
	for (size_t i = 0; i < bench->comparison->settings.warmup && !status && !bench->caught; i++) {
		draw(bench, state, "warm-up", i == 0);
		status = run_blocks(bench, state, 1, false);
	}
	draw(bench, state, NULL, true);
	while (!status && (state->group->stop = should_stop(bench, state)) == STOP_NOT) {
		status = run_blocks(bench, state, batch_blocks(bench, state), true);
		look(bench, state, false);
		draw(bench, state, NULL, false);
	}
	look(bench, state, true);
	if (!status)
		draw(bench, state, "done", true);
	return status;
}

/* ---- the machine meanwhile ---- */

static void watch_host(struct probe_set *probes, struct probe_frame *frame)
{
	probe_set_read(probes, clock_mono_ns(), true, frame);
}

static void note_host(struct compare_bench *bench, const struct probe_frame *start, const struct probe_frame *end,
		      double elapsed_s)
{
	struct comparison_host *host = &bench->comparison->host;
	host->known = start->known[CHANNEL_SYSTEM_CPU] && end->known[CHANNEL_SYSTEM_CPU];
	host->elapsed_s = elapsed_s;
	host->busy_s = end->value[CHANNEL_SYSTEM_CPU] - start->value[CHANNEL_SYSTEM_CPU];
	if (start->known[CHANNEL_SYSTEM_STEAL] && end->known[CHANNEL_SYSTEM_STEAL])
		host->steal_s = end->value[CHANNEL_SYSTEM_STEAL] - start->value[CHANNEL_SYSTEM_STEAL];
	host->own_s = bench->own_s;
	host->cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
}

int compare_measure(struct compare_bench *bench)
{
	struct comparison *comparison = bench->comparison;
	struct probe_set *probes = probe_set_open(false);
	struct probe_frame start = {0}, end = {0};
	uint64_t start_ns = clock_mono_ns();
	double left_s = comparison->settings.budget_s;
	int status = 0;
	bench->own_s = 0;
	watch_host(probes, &start);
	for (size_t i = 0; i < comparison->groups.len && !status && !bench->caught; i++) {
		struct group_state state = {.number = i, .group = &comparison->groups.items[i]};
		state.budget_s = left_s / (double)(comparison->groups.len - i);
		vec_reserve(&state.results, state.group->count);
		status = measure_group(bench, &state);
		left_s -= since_s(state.start_ns);
		vec_fini(&state.results);
	}
	watch_host(probes, &end);
	note_host(bench, &start, &end, since_s(start_ns));
	probe_set_close(probes);
	return status;
}
