/* rule_process.c - work done in many short processes: what starting them costs. */
#include "analyze/rule.h"

#include <math.h>
#include <string.h>

static const double short_least = 50, short_per_s = 50;
static const double short_cpu_s = 0.02; /* CPU time per process: beyond, the start is small beside the work */
static const double start_s = 1e-3;     /* fork, exec, linking and exit of a small program */
static const double short_fix_share = 0.25;
static const size_t starts_least = 8;
static const double starts_share = 0.3; /* of the stage's time, in lives below 0.3 s */

static void examine_short(const struct evidence *evidence, struct finding_list *out)
{
	double processes = evidence_number(evidence, METRIC_PROCESSES), each = evidence->cpu / processes;
	double cost = fmin(processes * start_s, 0.9 * evidence->wall);
	if (!(processes >= short_least && processes / evidence->wall >= short_per_s && each <= short_cpu_s))
		return;
	bool sure = cost >= short_fix_share * evidence->wall;
	struct finding *finding = finding_add(out, &rule_short_processes, evidence, sure ? FINDING_FIX : FINDING_LOOK);
	finding_say(finding, "It started %.0f processes, %.0f a second, with %.1f ms of CPU time each.", processes,
		    processes / evidence->wall, 1e3 * each);
	finding_advise(finding, "Do the work in one process: a loop inside the program instead of a program inside the "
				"loop, xargs with many arguments, the shell's own operators instead of sed or expr.");
	finding_cite(finding, evidence, METRIC_PROCESSES);
	finding_cite_from(finding, evidence, "processes_per_s", UNIT_COUNT, processes / evidence->wall,
			  METRIC_PROCESSES);
	finding_cite_from(finding, evidence, "cpu_per_process_s", UNIT_SECONDS, each, METRIC_CPU_TIME);
	finding_predict(finding, evidence, cost, "starting and ending a process costs %.1f ms, and one is left",
			1e3 * cost / processes);
}

const struct finding_rule rule_short_processes = {
	.id = "short-processes",
	.title = "Many short processes",
	.fires = "at least 50 processes, 50 a second, with 20 ms of CPU time or less each; `look` where starting them "
		 "is less "
		 "than a quarter of the stage's time",
	.why = "fork, exec, linking and exit cost about a millisecond each, whatever is done in between",
	.todo = "move the loop into the program; give many arguments to one call; use what the shell has built in",
	.depth = 2,
	.examine = examine_short,
};

static bool is_interpreter(const char *name)
{
	static const char *const names[] = {"python", "pypy", "node",  "ruby", "perl",  "java",
					    "php",    "R",    "julia", "deno", "dotnet"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static void examine_starts(const struct evidence *evidence, struct finding_list *out)
{
	const struct census *census = &evidence->stage->census;
	for (size_t i = 0; i < census->programs.len; i++) {
		const struct census_program *program = &census->programs.items[i];
		if (!is_interpreter(program->name) || program->brief < starts_least ||
		    !(program->brief_s >= starts_share * evidence->wall))
			continue;
		/* Side by side they cost less elapsed time than their lives add up to. */
		double saved = fmin(program->shortest_s * (double)(program->brief - 1), 0.95 * evidence->wall);
		struct finding *finding = finding_add(out, &rule_interpreter_starts, evidence, FINDING_FIX);
		finding_say(finding, "It started %s %zu times for less than %.1f s each, %.2f s in all.", program->name,
			    program->brief, CENSUS_BRIEF_S, program->brief_s);
		finding_advise(finding,
			       "Start it once and let it do all the work: a loop inside the script, or a worker "
			       "that is fed through a pipe. What cannot: import less, -S, -I, or a snapshot.");
		finding_cite_other(finding, "brief_processes", UNIT_COUNT, (double)program->brief, METHOD_EXACT,
				   "process records");
		finding_cite_other(finding, "brief_lives_s", UNIT_SECONDS, program->brief_s, METHOD_EXACT,
				   "process records");
		finding_cite_other(finding, "shortest_life_s", UNIT_SECONDS, program->shortest_s, METHOD_EXACT,
				   "process records");
		finding_predict(finding, evidence, saved,
				"a start costs what the shortest life did (%.0f ms), and one start is left",
				1e3 * program->shortest_s);
		return;
	}
}

const struct finding_rule rule_interpreter_starts = {
	.id = "interpreter-starts",
	.title = "An interpreter started again and again",
	.fires = "eight or more processes of one interpreter (python, node, ruby, perl, java, …) with lives below 0.3 "
		 "s that add "
		 "up to at least 30 % of the stage's time",
	.why = "an interpreter's start and imports take tens to hundreds of milliseconds each time",
	.todo = "start it once and loop inside",
	.depth = 3,
	.examine = examine_starts,
};
