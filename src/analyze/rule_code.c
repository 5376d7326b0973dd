/*
 * rule_code.c - the function that most of the CPU time is spent in, and loops that the Python interpreter goes through step by
 * step.
 *
 * Every program that computes has a function where it does. That is worth telling, with what a faster one would buy, but
 * no reproach: both are never more than `look`.
 */
#include "analyze/rule_code.h"
#include "base/str.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const uint64_t samples_least = 100;
static const double covered_least = 0.8; /* of the stage's CPU time, by samples */
static const double computes = 0.5;      /* of one core */
static const double hot_share = 0.5, hot_factor = 2;
static const double loop_share = 0.5, loop_function = 0.3, loop_factor = 5;

const struct code_report *rule_code_profile(const struct evidence *evidence)
{
	const struct code_report *code = evidence->stage->code;
	if (!code || code->samples < samples_least || !(evidence->cpu / evidence->alone >= computes))
		return NULL;
	return code->quality.coverage >= covered_least ? code : NULL;
}

bool rule_code_surely(const struct code_share *share, double least)
{
	return share->low >= 0.9 * least && share->share >= least;
}

double rule_code_saved_s(const struct evidence *evidence, double share, double factor)
{
	return evidence->cpu * share * (1 - 1 / factor) * fmin(1 / evidence->busy, 1);
}

void rule_code_cite(struct finding *finding, const char *name, const struct code_share *share)
{
	char source[METRIC_SOURCE_SIZE];
	snprintf(source, sizeof(source), "%llu CPU samples, 95 %%: %.1f to %.1f %%", (unsigned long long)share->samples,
		 100 * share->low, 100 * share->high);
	finding_cite_other(finding, name, UNIT_PERCENT, 100 * share->share, METHOD_SAMPLED, source);
}

/* Whether somebody could change it: brackets are no function or one without a name, "<module>" is a whole script, and the C
 * library's functions are what others call. */
static bool is_changeable(const struct code_row *row)
{
	const char *slash = row->module ? strrchr(row->module, '/') : NULL, *module = slash ? slash + 1 : row->module;
	if (row->kind == FRAME_MARK || row->function[0] == '[' || strcmp(row->function, "<module>") == 0)
		return false;
	return !module || (!str_starts(module, "libc.") && !str_starts(module, "libc-") && !str_starts(module, "ld-"));
}

/* By own time, Python functions with the native code that they call: whoever wrote them can change that. */
static const struct code_row *hottest_function(const struct code_report *code)
{
	const struct code_row *python = code->python.items.len ? &code->python.items.items[0] : NULL;
	const struct code_row *any = code->by_self.items.len ? &code->by_self.items.items[0] : NULL;
	if (python && is_changeable(python) && rule_code_surely(&python->self, hot_share))
		return python;
	return any && is_changeable(any) && rule_code_surely(&any->self, hot_share) ? any : NULL;
}

static void examine_hot(const struct evidence *evidence, struct finding_list *out)
{
	const struct code_report *code = rule_code_profile(evidence);
	const struct code_row *hot = code ? hottest_function(code) : NULL;
	if (!hot)
		return;
	char *words = code_row_words(hot);
	struct finding *finding = finding_add(out, &rule_hot_function, evidence, FINDING_LOOK);
	finding_say(finding, "%.0f %% of its CPU time is spent in %s.", 100 * hot->self.share, words);
	finding_advise(finding, "Change this function first: do less of it, remember what it found, or use a better "
				"algorithm or library. The report's lines show where in it.");
	rule_code_cite(finding, "function_self_share", &hot->self);
	finding_predict(finding, evidence, rule_code_saved_s(evidence, hot->self.share, hot_factor),
			"the function becomes %.0f times as fast", hot_factor);
	free(words);
}

const struct finding_rule rule_hot_function = {
	.id = "hot-function",
	.title = "One function is most of the computing",
	.fires = "by CPU samples (run --cpu; 100 or more that stand for 80 % of the stage's CPU time) at least half of "
		 "it "
		 "is spent in one function of the program or a library other than the C library, native code that a "
		 "Python function calls included",
	.why = "by Amdahl's law nothing done elsewhere can gain more than what is left beside it",
	.todo = "change this function first: less work, a better algorithm, a library",
	.depth = 2,
	.examine = examine_hot,
};

static void examine_loop(const struct evidence *evidence, struct finding_list *out)
{
	const struct code_report *code = rule_code_profile(evidence);
	if (!code || !rule_code_surely(&code->interpreter.share, loop_share) ||
	    !rule_code_surely(&code->interpreter.line.self, loop_function))
		return;
	const struct code_row *hot = &code->interpreter.line;
	char *words = code_row_words(hot);
	struct finding *finding = finding_add(out, &rule_interpreter_loop, evidence, FINDING_LOOK);
	finding_say(finding,
		    "%.0f %% of its CPU time is the Python interpreter going through statements one by one, %.0f %% "
		    "in %s.",
		    100 * code->interpreter.share.share, 100 * hot->self.share, words);
	finding_advise(finding, "Let native code do the loop: whole-array operations (NumPy, pandas without apply), "
				"built-ins such as sum, sorted, str.join and comprehensions, or compile the function "
				"(Numba, Cython).");
	rule_code_cite(finding, "interpreter_share", &code->interpreter.share);
	rule_code_cite(finding, "function_self_share", &hot->self);
	finding_predict(finding, evidence, rule_code_saved_s(evidence, hot->self.share, loop_factor),
			"that function's statements take a fifth in native code");
	free(words);
}

const struct finding_rule rule_interpreter_loop = {
	.id = "interpreter-loop",
	.title = "A loop in interpreted code",
	.fires = "by CPU samples (run --cpu) at least half of a stage's CPU time is the Python interpreter's own, at "
		 "least "
		 "30 % of it in one function",
	.why = "each statement costs the interpreter tens of machine instructions before it does anything",
	.todo = "whole-array operations, built-ins, or a compiler for that function",
	.depth = 3,
	.examine = examine_loop,
};
