/* whatif.c - see whatif.h. */
#include "analyze/whatif.h"
#include "base/str.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static int unknown_stage(const struct plan *plan, const char *name, struct err *err)
{
	const char **names = mem_alloc((plan->stages.len + 1) * sizeof(*names));
	for (size_t i = 0; i < plan->stages.len; i++)
		names[i] = plan->stages.items[i].name;
	const char *meant = str_suggest(name, names, plan->stages.len);
	free(names);
	if (meant)
		return err_set(err, ERR_USAGE, "the run has no stage '%s'; did you mean '%s'?", name, meant);
	return err_set(err, ERR_USAGE, "the run has no stage '%s'; pitot report lists them", name);
}

static bool parse_factor(const char *text, double *factor)
{
	size_t length = strlen(text);
	if (length < 2 || (text[length - 1] != 'x' && text[length - 1] != 'X'))
		return false;
	char *number = mem_strndup(text, length - 1);
	bool good = str_to_double(number, factor) && isfinite(*factor) && *factor > 0;
	free(number);
	return good;
}

/* The new time by what stands after the "="; false where it says nothing known. */
static bool parse_time(const char *text, double old_s, double *new_s)
{
	double factor;
	uint64_t ns;
	bool less = text[0] == '-', more = text[0] == '+';
	if (parse_factor(text, &factor)) {
		*new_s = old_s / factor;
		return true;
	}
	if (!str_to_duration_ns(text + (less || more), &ns))
		return false;
	double seconds = (double)ns / 1e9;
	*new_s = less ? fmax(old_s - seconds, 0) : more ? old_s + seconds : seconds;
	return true;
}

int whatif_parse(const struct plan *plan, const char *text, struct whatif_change *out, struct err *err)
{
	/* The last one: a name may have a "=" in it, a time cannot. */
	const char *equals = strrchr(text, '=');
	if (!equals || equals == text)
		return err_set(err, ERR_USAGE, "'%s': expected STAGE=TIME, such as train=2x, train=-3s or train=12s",
			       text);
	char *name = mem_strndup(text, (size_t)(equals - text));
	size_t stage = 0;
	while (stage < plan->stages.len && strcmp(plan->stages.items[stage].name, name) != 0)
		stage++;
	int code = 0;
	double old_s = stage < plan->stages.len ? plan->stages.items[stage].wall_s : 0, new_s = 0;
	if (stage == plan->stages.len)
		code = unknown_stage(plan, name, err);
	else if (!(old_s > 0))
		code = err_set(err, ERR_USAGE, "stage '%s' has no time in this run: it did not run or has not ended",
			       name);
	else if (!parse_time(equals + 1, old_s, &new_s))
		code = err_set(err, ERR_USAGE,
			       "'%s': cannot read '%s'; expected a factor (2x), a time (12s, 250ms), a difference "
			       "(-3s) or 0",
			       text, equals + 1);
	free(name);
	if (!code)
		*out = (struct whatif_change){.stage = stage, .old_s = old_s, .new_s = new_s};
	return code;
}

static double *measured_walls(const struct plan *plan)
{
	double *walls = mem_alloc((plan->stages.len + 1) * sizeof(*walls));
	for (size_t i = 0; i < plan->stages.len; i++)
		walls[i] = plan->stages.items[i].wall_s;
	return walls;
}

double whatif_single_s(const struct plan *plan, size_t stage, double new_s, int jobs)
{
	double *walls = measured_walls(plan);
	walls[stage] = new_s;
	double total = plan_predict_s(plan, walls, jobs);
	free(walls);
	return total;
}

static void find_next(struct whatif *whatif, const double *walls)
{
	whatif->next = SIZE_MAX;
	for (size_t i = 0; i < whatif->after.path.len; i++) {
		size_t stage = whatif->after.path.items[i];
		if (whatif->next == SIZE_MAX || walls[stage] > whatif->next_s) {
			whatif->next = stage;
			whatif->next_s = walls[stage];
		}
	}
}

void whatif_compute(const struct plan *plan, const struct whatif_change *changes, size_t count, int jobs,
		    struct whatif *out)
{
	*out = (struct whatif){.plan = plan, .jobs = jobs > 0 ? jobs : plan->jobs};
	double *walls = measured_walls(plan);
	for (size_t i = 0; i < count; i++) {
		vec_push(&out->changes, changes[i]);
		walls[changes[i].stage] = changes[i].new_s;
	}
	plan_schedule(plan, NULL, plan->jobs, &out->before);
	plan_schedule(plan, walls, out->jobs, &out->after);
	out->old_s = plan_predict_s(plan, NULL, plan->jobs);
	out->new_s = plan_predict_s(plan, walls, out->jobs);
	find_next(out, walls);
	for (size_t i = 0; i < count; i++)
		walls[changes[i].stage] = changes[i].least_s;
	out->limit_s = plan_predict_s(plan, walls, out->jobs);
	free(walls);
}

void whatif_fini(struct whatif *whatif)
{
	vec_fini(&whatif->changes);
	schedule_fini(&whatif->before);
	schedule_fini(&whatif->after);
}
