/*
 * gate.c - see gate.h.
 *
 * Every threshold that compares is turned into one form first: an effect that may not exceed the limit. A drop is an
 * increase the other way round, and a least delta is a drop with the sign changed. The effect's interval is Hodges and
 * Lehmann's; the test that the limit is broken moves A by the limit and asks Mann and Whitney whether B still is worse,
 * so interval and test always agree.
 */
#include "analyze/gate.h"
#include "base/str.h"
#include "stats/compare.h"
#include "stats/describe.h"
#include "stats/dist.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* 0.85 - 0.83 is a little more than 0.02 in binary: such a difference does not break a limit. */
static const double ROUNDING = 1e-9;

const char *gate_outcome_name(enum gate_outcome outcome)
{
	static const char *const names[] = {
#define GATE_NAME(id, name) [GATE_##id] = name,
		GATE_LIST(GATE_NAME)
#undef GATE_NAME
	};
	return names[outcome];
}

/* What is compared, and how. */
struct question {
	const double *values[2];
	size_t n[2];
	bool exact;             /* nothing varies, and it is something that may not */
	bool percent;           /* of A, else the difference */
	bool down;              /* falling is bad */
	double limit;           /* what the bad direction may not exceed, in the effect's unit */
	double level;           /* of the interval */
	struct interval effect; /* B less A, or B over A less 1; not yet turned by `down` */
	double p;               /* one-sided: the limit is kept */
};

static void conclude(struct gate_check *check, enum gate_outcome outcome, char *why)
{
	free(check->why);
	check->outcome = outcome;
	check->why = why;
}

static bool exceeds(double effect, double limit, double scale)
{
	return effect - limit > ROUNDING * fmax(fabs(limit), scale);
}

static bool all_equal(const double *values, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (values[i] != values[0])
			return false;
	return true;
}

/* ---- what compares two sides ---- */

static double relative(double a, double b)
{
	return a == b ? 0 : b / a - 1;
}

static double *moved(const struct question *question)
{
	double by = question->down ? -question->limit : question->limit;
	double *values = mem_alloc((question->n[0] + 1) * sizeof(*values));
	for (size_t i = 0; i < question->n[0]; i++)
		values[i] = question->percent ? question->values[0][i] * (1 + by) : question->values[0][i] + by;
	return values;
}

static void test_limit(struct question *question)
{
	double *shifted = moved(question);
	struct test test;
	compare_mann_whitney(shifted, question->n[0], question->values[1], question->n[1], &test);
	question->p = question->down ? test.p_less : test.p_greater;
	free(shifted);
}

static double *logs_of(const double *values, size_t n)
{
	double *logs = mem_alloc((n + 1) * sizeof(*logs));
	for (size_t i = 0; i < n; i++)
		logs[i] = log(values[i]);
	return logs;
}

static void estimate(struct question *question)
{
	const double *a = question->values[0], *b = question->values[1];
	if (!question->percent) {
		compare_shift(a, question->n[0], b, question->n[1], question->level, &question->effect);
		return;
	}
	double *a_logs = logs_of(a, question->n[0]), *b_logs = logs_of(b, question->n[1]);
	compare_shift(a_logs, question->n[0], b_logs, question->n[1], question->level, &question->effect);
	question->effect.estimate = expm1(question->effect.estimate);
	question->effect.low = expm1(question->effect.low);
	question->effect.high = expm1(question->effect.high);
	free(a_logs);
	free(b_logs);
}

static bool all_zero(const struct question *question)
{
	for (int side = 0; side < 2; side++)
		if (!question->n[side] || !all_equal(question->values[side], question->n[side]) ||
		    question->values[side][0] != 0)
			return false;
	return true;
}

/* In the threshold's own terms: a drop of 0.02 is 0.02, not -0.02, and per cent are per cent. */
static void report_effect(const struct question *question, const struct threshold *threshold, struct gate_check *check)
{
	double scale = question->percent ? 100 : 1;
	bool turned = threshold->kind == THRESHOLD_MAX_DROP || threshold->kind == THRESHOLD_MAX_DROP_PCT;
	double low = question->effect.low * scale, high = question->effect.high * scale;
	check->observed = question->effect.estimate * (turned ? -scale : scale);
	check->low = turned ? -high : low;
	check->high = turned ? -low : high;
	check->level = question->effect.exists ? question->effect.level : NAN;
	check->method = interval_method_words(question->effect.method);
}

static void judge_exact(struct question *question, struct gate_check *check)
{
	double a = question->values[0][0], b = question->values[1][0];
	double effect = question->percent ? relative(a, b) : b - a;
	question->effect =
		(struct interval){.exists = true, .estimate = effect, .low = effect, .high = effect, .level = 1};
	report_effect(question, &check->threshold, check);
	check->method = "exact";
	bool bad = exceeds(question->down ? -effect : effect, question->limit,
			   question->percent ? 1 : fmax(fabs(a), fabs(b)));
	conclude(
		check, bad ? GATE_FAIL : GATE_PASS,
		mem_strdup(bad ? "beyond the limit; it does not vary, so the difference is real" : "within the limit"));
}

/* What the interval says before the other thresholds are heard; a failure is only decided by decide_failures. */
static void judge_noisy(struct question *question, struct gate_check *check)
{
	estimate(question);
	report_effect(question, &check->threshold, check);
	if (!question->effect.exists) {
		conclude(check, GATE_INCONCLUSIVE,
			 mem_printf("too few repetitions (%zu and %zu): at least %zu a side are needed", question->n[0],
				    question->n[1], compare_runs_needed(1 - question->level, false)));
		return;
	}
	test_limit(question);
	check->p = question->p;
	double worst = question->down ? -question->effect.low : question->effect.high;
	double best = question->down ? -question->effect.high : question->effect.low;
	if (isnan(worst))
		conclude(check, GATE_INCONCLUSIVE, mem_strdup("runs with 0 make the ratio undefined"));
	else if (!exceeds(worst, question->limit, 0))
		conclude(check, GATE_PASS, mem_strdup("the whole interval is within the limit"));
	else if (best > question->limit)
		conclude(check, GATE_INCONCLUSIVE,
			 mem_strdup("beyond the limit, but not clear enough among so many thresholds"));
	else
		conclude(check, GATE_INCONCLUSIVE, mem_strdup("the interval holds the limit"));
}

static bool is_drop(enum threshold_kind kind)
{
	return kind == THRESHOLD_MAX_DROP || kind == THRESHOLD_MAX_DROP_PCT || kind == THRESHOLD_MIN_DELTA;
}

static bool has_negative(const struct question *question)
{
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < question->n[side]; i++)
			if (question->values[side][i] < 0)
				return true;
	return false;
}

static void judge_change(struct question *question, struct gate_check *check)
{
	question->percent = check->percent;
	question->down = is_drop(check->threshold.kind);
	question->limit = check->limit / (check->percent ? 100 : 1);
	if (check->threshold.kind == THRESHOLD_MIN_DELTA)
		question->limit = -question->limit;
	if (question->percent && has_negative(question))
		conclude(check, GATE_INCONCLUSIVE, mem_strdup("values below 0 have no per cent"));
	else if (question->exact || all_zero(question))
		judge_exact(question, check);
	else
		judge_noisy(question, check);
}

/* ---- limits of the run itself ---- */

static size_t count_beyond(const struct question *question, double limit, bool below)
{
	size_t count = 0;
	for (size_t i = 0; i < question->n[1]; i++) {
		double value = question->values[1][i];
		count += below ? exceeds(-value, -limit, 0) : exceeds(value, limit, 0);
	}
	return count;
}

static void judge_by_median(const struct question *question, const struct interval *median, bool below,
			    struct gate_check *check)
{
	double worst = below ? -median->low : median->high, best = below ? -median->high : median->low;
	double limit = below ? -check->limit : check->limit;
	size_t n = question->n[1], beyond = count_beyond(question, check->limit, below);
	check->low = median->low;
	check->high = median->high;
	check->level = median->level;
	check->method = interval_method_words(median->method);
	/* If the median kept the limit, at most half of the runs should be beyond it. */
	check->p = 1 - dist_binomial_cdf((int64_t)beyond - 1, (int64_t)n, 0.5);
	if (!exceeds(worst, limit, 0))
		conclude(check, GATE_PASS, mem_strdup("the whole interval of the median is within the limit"));
	else if (best > limit)
		conclude(check, GATE_INCONCLUSIVE,
			 mem_strdup("beyond the limit, but not clear enough among so many thresholds"));
	else
		conclude(check, GATE_INCONCLUSIVE, mem_strdup("the interval of the median holds the limit"));
}

static void judge_value(const struct question *question, struct gate_check *check)
{
	struct interval median;
	bool below = check->threshold.kind == THRESHOLD_MIN;
	size_t n = question->n[1], beyond = count_beyond(question, check->limit, below);
	interval_median(question->values[1], n, question->level, &median);
	check->observed = check->medians[1];
	if (median.exists && beyond > 0 && beyond < n) {
		judge_by_median(question, &median, below, check);
		return;
	}
	/* All agree, which no interval can say better; or they do not, and are too few. */
	check->method = "all runs";
	if (beyond == 0)
		conclude(check, GATE_PASS, mem_strdup("within the limit"));
	else if (beyond == n)
		conclude(check, GATE_FAIL, mem_printf("beyond the limit%s", n > 1 ? " in all repetitions" : ""));
	else
		conclude(check, GATE_INCONCLUSIVE,
			 mem_printf("beyond the limit in %zu of %zu repetitions; too few to say what is usual", beyond,
				    n));
}

/* ---- one threshold ---- */

static const struct side_values *values_of(const struct side *side, const struct threshold *threshold,
					   const char **reason)
{
	const struct side_quality *quality = threshold->quality ? side_quality_of(side, threshold->quality) : NULL;
	const struct side_part *part = threshold->stage ? side_stage(side, threshold->stage) : &side->run;
	const struct side_values *values = NULL;
	if (threshold->quality)
		values = quality ? &quality->values : NULL;
	else if (part)
		values = &part->metrics[threshold->metric];
	*reason = values && values->reason ? values->reason : values ? "not measured" : "not there";
	return values && values->values.len ? values : NULL;
}

static bool is_countable(const struct side_values *a, const struct side_values *b, const struct threshold *threshold)
{
	enum metric_noise noise = threshold->quality ? NOISE_COUNT : metrics[threshold->metric].noise;
	return noise == NOISE_COUNT && !(a && a->inexact) && !(b && b->inexact);
}

static void judge(const struct diff *diff, double alpha, struct gate_check *check)
{
	const struct side_values *sides[2];
	const char *reasons[2];
	double *owned[2];
	struct question question = {.level = 1 - 2 * alpha};
	bool compares = threshold_compares(check->threshold.kind);
	for (int i = 0; i < 2; i++) {
		sides[i] = values_of(&diff->sides[i], &check->threshold, &reasons[i]);
		question.values[i] = owned[i] = side_thin(sides[i], &question.n[i]);
		check->n[i] = sides[i] ? sides[i]->values.len : 0;
		check->medians[i] = quantile(question.values[i], question.n[i], 0.5);
	}
	int missing = !sides[1] ? 1 : compares && !sides[0] ? 0 : -1;
	question.exact = is_countable(sides[0], sides[1], &check->threshold) &&
			 all_equal(question.values[0], question.n[0]) && all_equal(question.values[1], question.n[1]);
	if (missing >= 0)
		conclude(check, GATE_INCONCLUSIVE,
			 mem_printf("not known of %s: %s", missing ? "B" : "A", reasons[missing]));
	else if (compares)
		judge_change(&question, check);
	else
		judge_value(&question, check);
	free(owned[0]);
	free(owned[1]);
}

/* ---- all of them ---- */

static int check_stage(const struct diff *diff, const struct threshold *threshold, struct err *err)
{
	VEC(const char *) names = {0};
	for (int side = 0; side < 2; side++) {
		if (side_stage(&diff->sides[side], threshold->stage)) {
			vec_fini(&names);
			return 0;
		}
		for (size_t i = 0; i < diff->sides[side].stages.len; i++)
			vec_push(&names, diff->sides[side].stages.items[i].name);
	}
	const char *meant = str_suggest(threshold->stage, names.items, names.len);
	vec_fini(&names);
	return meant ? err_set(err, ERR_INPUT, "no stage is called '%s'; did you mean '%s'?", threshold->stage, meant)
		     : err_set(err, ERR_INPUT, "no stage is called '%s'", threshold->stage);
}

static int parse_limit(const struct diff *diff, const struct gate_limit *limit, struct threshold *out, struct err *err)
{
	VEC(const char *) quality = {0};
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < diff->sides[side].quality.len; i++)
			vec_push(&quality, diff->sides[side].quality.items[i].name);
	int code = threshold_parse(limit->name, quality.items, quality.len, out, err);
	vec_fini(&quality);
	if (!code && out->stage) {
		code = check_stage(diff, out, err);
		if (code)
			threshold_fini(out);
	}
	if (code && limit->from_flag && err)
		err->code = ERR_USAGE;
	return code && limit->from_flag ? ERR_USAGE : code;
}

static struct gate_check *add_check(struct gate *gate, const char *name, double limit)
{
	struct gate_check *check = vec_add(&gate->checks);
	*check = (struct gate_check){.name = mem_strdup(name),
				     .limit = limit,
				     .threshold.metric = -1,
				     .medians = {NAN, NAN},
				     .observed = NAN,
				     .low = NAN,
				     .high = NAN,
				     .level = NAN,
				     .p = NAN,
				     .unit = UNIT_RATIO,
				     .method = "none"};
	return check;
}

static void add_status(const struct diff *diff, struct gate *gate)
{
	const struct side_part *run = &diff->sides[1].run;
	if (!run->failed)
		return;
	struct gate_check *check = add_check(gate, "status", NAN);
	const char *what = run->why ? run->why : status_name(run->status);
	check->method = "exact";
	conclude(check, GATE_FAIL,
		 run->repetitions > 1
			 ? mem_printf("%zu of %zu repetitions of B failed (%s)", run->failed, run->repetitions, what)
			 : mem_printf("B failed (%s)", what));
}

/* By Holm's method over all that was tested. */
static void decide_failures(struct gate *gate)
{
	double *p = mem_alloc((gate->checks.len + 1) * sizeof(*p));
	for (size_t i = 0; i < gate->checks.len; i++)
		p[i] = gate->checks.items[i].p;
	compare_adjust_holm(p, gate->checks.len, p);
	for (size_t i = 0; i < gate->checks.len; i++) {
		struct gate_check *check = &gate->checks.items[i];
		check->p = p[i];
		if (p[i] <= gate->alpha * (1 + ROUNDING) && check->outcome != GATE_PASS)
			conclude(check, GATE_FAIL, mem_strdup("the whole interval is beyond the limit"));
	}
	free(p);
}

static void count_outcomes(struct gate *gate)
{
	for (size_t i = 0; i < gate->checks.len; i++)
		gate->counts[gate->checks.items[i].outcome]++;
	gate->outcome = gate->counts[GATE_FAIL]           ? GATE_FAIL
			: gate->counts[GATE_INCONCLUSIVE] ? GATE_INCONCLUSIVE
							  : GATE_PASS;
}

int gate_compute(const struct diff *diff, const struct gate_limit *limits, size_t count, struct gate *out,
		 struct err *err)
{
	struct gate gate = {.alpha = diff->options.alpha};
	add_status(diff, &gate);
	for (size_t i = 0; i < count; i++) {
		struct threshold threshold;
		int code = parse_limit(diff, &limits[i], &threshold, err);
		if (code) {
			gate_fini(&gate);
			return code;
		}
		struct gate_check *check = add_check(&gate, limits[i].name, limits[i].limit);
		check->threshold = threshold;
		check->unit = threshold.metric >= 0 ? metrics[threshold.metric].unit : UNIT_RATIO;
		check->percent =
			threshold.kind == THRESHOLD_MAX_INCREASE_PCT || threshold.kind == THRESHOLD_MAX_DROP_PCT;
		judge(diff, gate.alpha, check);
	}
	decide_failures(&gate);
	count_outcomes(&gate);
	*out = gate;
	return 0;
}

void gate_fini(struct gate *gate)
{
	for (size_t i = 0; i < gate->checks.len; i++) {
		free(gate->checks.items[i].name);
		free(gate->checks.items[i].why);
		threshold_fini(&gate->checks.items[i].threshold);
	}
	vec_fini(&gate->checks);
}
