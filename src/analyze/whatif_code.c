/* whatif_code.c - see whatif_code.h. */
#include "analyze/whatif_code.h"
#include "analyze/code_calls.h"
#include "base/str.h"

#include <math.h>
#include <string.h>

static const char prefix[] = "function:";

bool whatif_is_code(const char *text)
{
	return str_starts(text, prefix);
}

bool whatif_parse_factor(const char *text, double *factor)
{
	size_t length = strlen(text);
	if (strcmp(text, "0") == 0) {
		*factor = INFINITY;
		return true;
	}
	if (length < 2 || (text[length - 1] != 'x' && text[length - 1] != 'X'))
		return false;
	char *number = mem_strndup(text, length - 1);
	bool good = str_to_double(number, factor) && isfinite(*factor) && *factor > 0;
	free(number);
	return good;
}

/* The function's row with the most time; NULL: no sample has it. */
static const struct code_row *find_function(const struct code_report *code, const char *name)
{
	const struct code_row *best = NULL;
	int best_match = 0;
	for (size_t i = 0; code && i < code->by_total.items.len; i++) {
		int match = code_name_match(code->by_total.items.items[i].function, name);
		if (match > best_match) {
			best = &code->by_total.items.items[i];
			best_match = match;
		}
	}
	return best;
}

static void add_changes(const struct report *report, const struct plan *plan, const char *name, double factor,
			struct whatif_changes *out)
{
	for (size_t i = 0; i < plan->stages.len; i++) {
		const struct plan_stage *stage = &plan->stages.items[i];
		const struct code_row *row = find_function(report->stages.items[i].code, name);
		if (!row || !(stage->wall_s > 0))
			continue;
		double computing_s = fmin(stage->cpu_s, stage->wall_s);
		double used_s = computing_s * row->total.share;
		vec_push(&out->items, ((struct whatif_change){.stage = i,
							      .old_s = stage->wall_s,
							      .new_s = stage->wall_s - used_s * (1 - 1 / factor),
							      .least_s = stage->wall_s - used_s,
							      .part = true}));
	}
}

int whatif_parse_code(const struct report *report, const struct plan *plan, const char *text,
		      struct whatif_changes *out, struct err *err)
{
	const char *start = text + strlen(prefix), *equals = strrchr(start, '=');
	double factor;
	size_t before = out->items.len;
	bool any = false;
	for (size_t i = 0; i < report->stages.len; i++)
		any = any || report->stages.items[i].code;
	if (!any)
		return err_set(err, ERR_INPUT, "this run has no code profile; run it with --cpu");
	if (!equals || equals == start || !whatif_parse_factor(equals + 1, &factor))
		return err_set(err, ERR_USAGE, "'%s': expected function:NAME=FACTOR, such as function:parse_row=2x",
			       text);
	char *name = mem_strndup(start, (size_t)(equals - start));
	add_changes(report, plan, name, factor, out);
	int code = out->items.len == before ? err_set(err, ERR_INPUT, "no sample of this run has a function '%s'", name)
					    : 0;
	free(name);
	return code;
}
