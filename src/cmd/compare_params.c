/* compare_params.c - see compare_params.h. */
#include "cmd/compare_params.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_VALUES = 1000 };

/* ---- words ---- */

static bool is_number(const char *text)
{
	double number;
	return text && str_to_double(text, &number);
}

/* How many words of `--parameter-scan NAME FROM TO [STEP]` follow at `words`; 0 where it is written in one. */
static int scan_words(int count, char **words)
{
	if (count < 3 || strchr(words[0], '=') || !is_number(words[1]) || !is_number(words[2]))
		return 0;
	return count > 3 && is_number(words[3]) ? 4 : 3;
}

void compare_fold_words(int argc, char **argv, struct compare_words *out, struct compare_words *owned)
{
	for (int i = 0; i < argc; i++) {
		vec_push(&out->items, argv[i]);
		if (strcmp(argv[i], "--") == 0) {
			while (++i < argc)
				vec_push(&out->items, argv[i]);
			break;
		}
		char **words = argv + i + 1;
		int left = argc - i - 1, used = 0;
		char *folded = NULL;
		if (strcmp(argv[i], "--parameter-scan") == 0 || strcmp(argv[i], "-P") == 0)
			used = scan_words(left, words);
		if (used)
			folded = mem_printf("%s=%s:%s%s%s", words[0], words[1], words[2], used == 4 ? ":" : "",
					    used == 4 ? words[3] : "");
		bool list = strcmp(argv[i], "--parameter-list") == 0 || strcmp(argv[i], "-L") == 0;
		if (list && left >= 2 && !strchr(words[0], '=')) {
			folded = mem_printf("%s=%s", words[0], words[1]);
			used = 2;
		}
		if (folded) {
			vec_push(&owned->items, folded);
			vec_push(&out->items, folded);
			i += used;
		}
	}
	vec_push(&out->items, NULL);
	out->items.len--;
}

/* ---- values ---- */

static bool is_name(const char *text, size_t length)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
	return length > 0 && strspn(text, allowed) >= length;
}

static int new_parameter(struct compare_plan *plan, const char *option, const char *text, const char **values,
			 struct compare_parameter **out)
{
	size_t length = strcspn(text, "=");
	if (!text[length] || !is_name(text, length))
		return cmd_usage_error(&cmd_compare,
				       "%s: expected NAME=VALUES with a NAME of letters, digits, _ and -, "
				       "not '%s'",
				       option, text);
	char *name = compare_own(plan, mem_strndup(text, length));
	for (size_t i = 0; i < plan->parameters.len; i++)
		if (strcmp(plan->parameters.items[i].name, name) == 0)
			return cmd_usage_error(&cmd_compare, "%s: parameter '%s' is given twice", option, name);
	*out = vec_add(&plan->parameters);
	(*out)->name = name;
	*values = text + length + 1;
	return 0;
}

static int add_list(struct compare_plan *plan, const char *text)
{
	struct compare_parameter *parameter;
	const char *at;
	int status = new_parameter(plan, "--parameter-list", text, &at, &parameter);
	if (status)
		return status;
	for (;;) {
		size_t length = strcspn(at, ",");
		vec_push(&parameter->values, compare_own(plan, mem_strndup(at, length)));
		if (!at[length])
			return 0;
		at += length + 1;
	}
}

/* "1:8:2" to three numbers; the step is 1 where it is not said. */
static bool parse_scan(const char *text, double numbers[3])
{
	size_t count = 0;
	numbers[2] = 1;
	for (; count < 3; count++) {
		size_t length = strcspn(text, ":");
		char *part = mem_strndup(text, length);
		bool good = str_to_double(part, &numbers[count]) && isfinite(numbers[count]);
		free(part);
		if (!good)
			return false;
		text += length;
		if (!*text)
			return count >= 1;
		text++;
	}
	return false;
}

static int add_scan(struct compare_plan *plan, const char *text)
{
	struct compare_parameter *parameter;
	const char *at;
	double numbers[3];
	int status = new_parameter(plan, "--parameter-scan", text, &at, &parameter);
	if (status)
		return status;
	if (!parse_scan(at, numbers) || !(numbers[2] > 0) || numbers[1] < numbers[0])
		return cmd_usage_error(
			&cmd_compare,
			"--parameter-scan: expected NAME FROM TO [STEP] with FROM <= TO and a STEP above "
			"0, not '%s'",
			text);
	double steps = floor((numbers[1] - numbers[0]) / numbers[2] + 1e-9);
	if (steps >= MOST_VALUES)
		return cmd_usage_error(&cmd_compare, "--parameter-scan: more than %d values", MOST_VALUES);
	for (int i = 0; i <= (int)steps; i++)
		vec_push(&parameter->values,
			 compare_own(plan, mem_printf("%.12g", numbers[0] + (double)i * numbers[2])));
	return 0;
}

int compare_parameters(const struct compare_args *args, struct compare_plan *plan)
{
	int status = 0;
	for (size_t i = 0; i < args->scans.len && !status; i++)
		status = add_scan(plan, args->scans.items[i]);
	for (size_t i = 0; i < args->lists.len && !status; i++)
		status = add_list(plan, args->lists.items[i]);
	if (!status && compare_combinations(plan) > MOST_VALUES)
		status = cmd_usage_error(&cmd_compare, "more than %d combinations of parameters", MOST_VALUES);
	return status;
}

size_t compare_combinations(const struct compare_plan *plan)
{
	size_t count = 1;
	for (size_t i = 0; i < plan->parameters.len && count <= MOST_VALUES; i++)
		count *= plan->parameters.items[i].values.len;
	return count;
}

void compare_combination(const struct compare_plan *plan, size_t number, struct template_values *out)
{
	size_t block = compare_combinations(plan);
	for (size_t i = 0; i < plan->parameters.len; i++) {
		const struct compare_parameter *parameter = &plan->parameters.items[i];
		block /= parameter->values.len;
		vec_push(&out->items,
			 ((struct template_value){parameter->name, parameter->values.items[number / block]}));
		number %= block;
	}
}
