/*
 * expr_number.c - kernels on numbers, truth values and dates: whole columns in, whole columns out. NaN is what is missing, and
 * goes through arithmetic by itself; comparisons see to it.
 */
#include "table/date.h"
#include "table/expr_eval.h"

#include <math.h>
#include <string.h>

enum { NUMBER_ADD, NUMBER_SUBTRACT, NUMBER_MULTIPLY, NUMBER_DIVIDE };

static int number_arithmetic(struct expr_call *call)
{
	const double *a = call->args[0]->numbers, *b = call->args[1]->numbers;
	double *out = call->out->numbers;
	size_t rows = call->run->rows;
	switch (call->node->function->variant) {
	case NUMBER_ADD:
		for (size_t i = 0; i < rows; i++)
			out[i] = a[i] + b[i];
		break;
	case NUMBER_SUBTRACT:
		for (size_t i = 0; i < rows; i++)
			out[i] = a[i] - b[i];
		break;
	case NUMBER_MULTIPLY:
		for (size_t i = 0; i < rows; i++)
			out[i] = a[i] * b[i];
		break;
	default:
		for (size_t i = 0; i < rows; i++)
			out[i] = b[i] != 0 ? a[i] / b[i] : (double)NAN;
		break;
	}
	return 0;
}

static double number_modulo(double a, double b)
{
	return b != 0 ? a - floor(a / b) * b : (double)NAN;
}

static double number_power(double a, double b)
{
	return b == 2 ? a * a : pow(a, b);
}

static double number_least(double a, double b)
{
	return isnan(a) || isnan(b) ? (double)NAN : a < b ? a : b;
}

static double number_most(double a, double b)
{
	return isnan(a) || isnan(b) ? (double)NAN : a > b ? a : b;
}

static double number_and(double a, double b)
{
	if (a == 0 || b == 0)
		return 0;
	return isnan(a) || isnan(b) ? (double)NAN : 1;
}

static double number_or(double a, double b)
{
	if ((a != 0 && !isnan(a)) || (b != 0 && !isnan(b)))
		return 1;
	return isnan(a) || isnan(b) ? (double)NAN : 0;
}

static int number_binary(struct expr_call *call)
{
	static double (*const functions[])(double, double) = {number_modulo, number_power, number_least,
							      number_most,   number_and,   number_or};
	double (*function)(double, double) = functions[call->node->function->variant];
	const double *a = call->args[0]->numbers, *b = call->args[1]->numbers;
	for (size_t i = 0; i < call->run->rows; i++)
		call->out->numbers[i] = function(a[i], b[i]);
	return 0;
}

static double number_not(double a)
{
	return isnan(a) ? (double)NAN : a == 0;
}

static double number_negative(double a)
{
	return -a;
}

static double number_log(double a)
{
	return a > 0 ? log(a) : (double)NAN;
}

static double number_sqrt(double a)
{
	return a >= 0 ? sqrt(a) : (double)NAN;
}

static int number_unary(struct expr_call *call)
{
	static double (*const functions[])(double) = {fabs,  number_sqrt, number_log,     exp, floor, ceil,
						      round, number_not,  number_negative};
	double (*function)(double) = functions[call->node->function->variant];
	for (size_t i = 0; i < call->run->rows; i++)
		call->out->numbers[i] = function(call->args[0]->numbers[i]);
	return 0;
}

enum { COMPARE_EQUAL, COMPARE_UNEQUAL, COMPARE_LESS, COMPARE_LESS_EQUAL, COMPARE_MORE, COMPARE_MORE_EQUAL };

static bool number_holds(int variant, int order)
{
	switch (variant) {
	case COMPARE_EQUAL:
		return order == 0;
	case COMPARE_UNEQUAL:
		return order != 0;
	case COMPARE_LESS:
		return order < 0;
	case COMPARE_LESS_EQUAL:
		return order <= 0;
	case COMPARE_MORE:
		return order > 0;
	default:
		return order >= 0;
	}
}

static int number_order_texts(struct span a, struct span b)
{
	uint32_t least = a.length < b.length ? a.length : b.length;
	int order = least ? memcmp(a.text, b.text, least) : 0;
	return order ? order : (a.length > b.length) - (a.length < b.length);
}

static int number_compare(struct expr_call *call)
{
	int variant = call->node->function->variant;
	double *out = call->out->numbers;
	if (call->arg_nodes[0]->type == COLUMN_TEXT) {
		const struct span *a = call->args[0]->texts, *b = call->args[1]->texts;
		for (size_t i = 0; i < call->run->rows; i++) {
			if (variant <= COMPARE_UNEQUAL && a[i].length != b[i].length)
				out[i] = variant == COMPARE_UNEQUAL;
			else
				out[i] = number_holds(variant, number_order_texts(a[i], b[i]));
		}
		return 0;
	}
	const double *a = call->args[0]->numbers, *b = call->args[1]->numbers;
	for (size_t i = 0; i < call->run->rows; i++) {
		int order = (a[i] > b[i]) - (a[i] < b[i]);
		out[i] = isnan(a[i]) || isnan(b[i]) ? (double)NAN : (double)number_holds(variant, order);
	}
	return 0;
}

static int number_if(struct expr_call *call)
{
	const double *truth = call->args[0]->numbers;
	const struct span missing = {"", 0};
	if (call->node->type == COLUMN_TEXT) {
		const struct span *a = call->args[1]->texts, *b = call->args[2]->texts;
		for (size_t i = 0; i < call->run->rows; i++)
			call->out->texts[i] = isnan(truth[i]) ? missing : truth[i] != 0 ? a[i] : b[i];
		return 0;
	}
	const double *a = call->args[1]->numbers, *b = call->args[2]->numbers;
	for (size_t i = 0; i < call->run->rows; i++)
		call->out->numbers[i] = isnan(truth[i]) ? (double)NAN : truth[i] != 0 ? a[i] : b[i];
	return 0;
}

static int number_coalesce(struct expr_call *call)
{
	if (call->node->type == COLUMN_TEXT) {
		const struct span *a = call->args[0]->texts, *b = call->args[1]->texts;
		for (size_t i = 0; i < call->run->rows; i++)
			call->out->texts[i] = a[i].length ? a[i] : b[i];
		return 0;
	}
	const double *a = call->args[0]->numbers, *b = call->args[1]->numbers;
	for (size_t i = 0; i < call->run->rows; i++)
		call->out->numbers[i] = isnan(a[i]) ? b[i] : a[i];
	return 0;
}

static int number_is_missing(struct expr_call *call)
{
	bool text = call->arg_nodes[0]->type == COLUMN_TEXT;
	for (size_t i = 0; i < call->run->rows; i++)
		call->out->numbers[i] = text ? !call->args[0]->texts[i].length : isnan(call->args[0]->numbers[i]);
	return 0;
}

enum { DATE_YEAR, DATE_MONTH, DATE_DAY, DATE_WEEKDAY, DATE_DAY_OF_YEAR, DATE_DAYS };

/* One part of every date: a loop of its own for each. NaN is not between the limits. */
#define NUMBER_DATE_LOOP(expression)                                                                                   \
	for (size_t i = 0; i < rows; i++) {                                                                            \
		double days = in[i], value = NAN;                                                                      \
		struct date_parts parts;                                                                               \
		if (days > -1e8 && days < 1e8) {                                                                       \
			date_split(days, &parts);                                                                      \
			value = (expression);                                                                          \
		}                                                                                                      \
		out[i] = value;                                                                                        \
	}

static double number_day_of_year(double days)
{
	struct date_parts parts;
	for (double at = floor(days);; at--) { /* back to the first of January */
		date_split(at, &parts);
		if (parts.month == 1 && parts.day == 1)
			return floor(days) - at + 1;
	}
}

static int number_of_date(struct expr_call *call)
{
	const double *in = call->args[0]->numbers;
	double *out = call->out->numbers;
	size_t rows = call->run->rows;
	switch (call->node->function->variant) {
	case DATE_YEAR:
		NUMBER_DATE_LOOP(parts.year)
		break;
	case DATE_MONTH:
		NUMBER_DATE_LOOP(parts.month)
		break;
	case DATE_DAY:
		NUMBER_DATE_LOOP(parts.day)
		break;
	case DATE_WEEKDAY: /* Monday is 1; 1970-01-01 was a Thursday */
		NUMBER_DATE_LOOP(number_modulo(floor(days) + 3, 7) + 1)
		break;
	case DATE_DAY_OF_YEAR:
		NUMBER_DATE_LOOP(number_day_of_year(days))
		break;
	default:
		NUMBER_DATE_LOOP(days)
		break;
	}
	return 0;
}

const struct expr_function expr_number_functions[] = {
	{"+", "nn", 'n', number_arithmetic, NUMBER_ADD, .shape = "a + b"},
	{"-", "nn", 'n', number_arithmetic, NUMBER_SUBTRACT, .shape = "a - b"},
	{"*", "nn", 'n', number_arithmetic, NUMBER_MULTIPLY, .shape = "a * b"},
	{"/", "nn", 'n', number_arithmetic, NUMBER_DIVIDE, .shape = "a / b"},
	{"%", "nn", 'n', number_binary, 0, .shape = "a % b"},
	{"^", "nn", 'n', number_binary, 1, .shape = "a ^ b"},
	{"min", "nn", 'n', number_binary, 2, .shape = "min(a, b)"},
	{"max", "nn", 'n', number_binary, 3, .shape = "max(a, b)"},
	{"and", "nn", 'n', number_binary, 4, .shape = "a and b"},
	{"or", "nn", 'n', number_binary, 5, .shape = "a or b"},
	{"abs", "n", 'n', number_unary, 0, .shape = "abs(x)"},
	{"sqrt", "n", 'n', number_unary, 1, .shape = "sqrt(x)"},
	{"log", "n", 'n', number_unary, 2, .shape = "log(x)"},
	{"exp", "n", 'n', number_unary, 3, .shape = "exp(x)"},
	{"floor", "n", 'n', number_unary, 4, .shape = "floor(x)"},
	{"ceil", "n", 'n', number_unary, 5, .shape = "ceil(x)"},
	{"round", "n", 'n', number_unary, 6, .shape = "round(x)"},
	{"not", "n", 'n', number_unary, 7, .shape = "not x"},
	{"negative", "n", 'n', number_unary, 8, .shape = "-x"},
	{"==", "aa", 'n', number_compare, COMPARE_EQUAL, .shape = "a == b"},
	{"!=", "aa", 'n', number_compare, COMPARE_UNEQUAL, .shape = "a != b"},
	{"<", "aa", 'n', number_compare, COMPARE_LESS, .shape = "a < b"},
	{"<=", "aa", 'n', number_compare, COMPARE_LESS_EQUAL, .shape = "a <= b"},
	{">", "aa", 'n', number_compare, COMPARE_MORE, .shape = "a > b"},
	{">=", "aa", 'n', number_compare, COMPARE_MORE_EQUAL, .shape = "a >= b"},
	{"if", "naa", 'a', number_if, 0, .shape = "if(condition, a, b)"},
	{"coalesce", "aa", 'a', number_coalesce, 0, .shape = "coalesce(a, b)"},
	{"is_missing", "a", 'n', number_is_missing, 0, .shape = "is_missing(x)"},
	{"year", "d", 'n', number_of_date, DATE_YEAR, .shape = "year(date)"},
	{"month", "d", 'n', number_of_date, DATE_MONTH, .shape = "month(date)"},
	{"day", "d", 'n', number_of_date, DATE_DAY, .shape = "day(date)"},
	{"weekday", "d", 'n', number_of_date, DATE_WEEKDAY, .shape = "weekday(date)"},
	{"day_of_year", "d", 'n', number_of_date, DATE_DAY_OF_YEAR, .shape = "day_of_year(date)"},
	{"days", "d", 'n', number_of_date, DATE_DAYS, .shape = "days(date)"},
	{0},
};
