/* whatif_span.c - see whatif_span.h. */
#include "analyze/whatif_span.h"
#include "base/str.h"

#include <math.h>
#include <string.h>

static const char prefix[] = "operator:";

bool whatif_is_operator(const char *text)
{
	return str_starts(text, prefix);
}

/* Seconds of the stage's elapsed time that go into the operator. */
static double used_s(const struct span_report *spans, size_t line, double wall_s)
{
	double roots_s = 0;
	for (size_t i = 0; i < spans->operators.len; i++)
		if (spans->operators.items[i].depth == 0)
			roots_s += spans->operators.items[i].total_s;
	double total_s = spans->operators.items[line].total_s;
	return fmin(roots_s > wall_s ? total_s * wall_s / roots_s : total_s, wall_s);
}

static void add_changes(const struct report *report, const struct plan *plan, const char *name, double factor,
			struct whatif_changes *out)
{
	for (size_t i = 0; i < plan->stages.len; i++) {
		const struct plan_stage *stage = &plan->stages.items[i];
		const struct span_report *spans = report->stages.items[i].spans;
		size_t line = spans ? span_report_find(spans, name) : SIZE_MAX;
		if (line == SIZE_MAX || !(stage->wall_s > 0))
			continue;
		double used = used_s(spans, line, stage->wall_s);
		vec_push(&out->items, ((struct whatif_change){.stage = i,
							      .old_s = stage->wall_s,
							      .new_s = stage->wall_s - used * (1 - 1 / factor),
							      .least_s = stage->wall_s - used,
							      .part = true}));
	}
}

/* The paths that a name could have meant. */
static int complain(const struct report *report, const char *name, struct err *err)
{
	VEC(const char *) paths = {0};
	size_t same = 0;
	for (size_t i = 0; i < report->stages.len; i++) {
		const struct span_report *spans = report->stages.items[i].spans;
		for (size_t k = 0; spans && k < spans->operators.len; k++) {
			vec_push(&paths, spans->operators.items[k].path);
			same += strcmp(spans->operators.items[k].name, name) == 0;
		}
	}
	const char *meant = paths.len ? str_suggest(name, paths.items, paths.len) : NULL;
	int code = !paths.len ? err_set(err, ERR_INPUT,
					"this run has no spans: its programs recorded none (pitot-span(1))")
		   : same     ? err_set(err, ERR_INPUT,
					"'%s' is the name of several operators; give the path, as pitot report --format md "
					    "prints it",
					name)
		   : meant ? err_set(err, ERR_INPUT, "no program of this run has an operator '%s'; did you mean '%s'?",
				     name, meant)
			   : err_set(err, ERR_INPUT, "no program of this run has an operator '%s'", name);
	vec_fini(&paths);
	return code;
}

int whatif_parse_operator(const struct report *report, const struct plan *plan, const char *text,
			  struct whatif_changes *out, struct err *err)
{
	const char *start = text + strlen(prefix), *equals = strrchr(start, '=');
	double factor;
	size_t before = out->items.len;
	if (!equals || equals == start || !whatif_parse_factor(equals + 1, &factor))
		return err_set(err, ERR_USAGE, "'%s': expected operator:NAME=FACTOR, such as operator:encode=2x", text);
	char *name = mem_strndup(start, (size_t)(equals - start));
	add_changes(report, plan, name, factor, out);
	int code = out->items.len == before ? complain(report, name, err) : 0;
	free(name);
	return code;
}
