/*
 * expr.h - the expressions of a recipe: read into a graph of nodes, worked on a column at a time.
 *
 *	text       part(t, sep, n)  before(t, sep)  after(t, sep)  replace(t, old, new)  slice(t, from, count)  last_digits(t)
 *	           digits(t)  trim(t)  lower(t)  upper(t)  length(t)  starts(t, s)  ends(t, s)  contains(t, s)  concat(t, u)
 *	           number(t)  date(t, format)
 *	number     + - * / % ^  abs sqrt log exp floor ceil round  min(a, b) max(a, b)
 *	logic      == != < <= > >=  and or not  if(c, a, b)  is_missing(x)  coalesce(a, b); true is 1
 *	date       year month day weekday day_of_year days(d); date - date is a number of days, date + number a date
 *	window     rolling_mean(x, n) rolling_sd(x, n) rolling_sum rolling_min rolling_max lag(x, n) diff(x): rows in order, this one
 *	           included, over chunk borders
 *	statistic  zscore(x) column_mean(x) column_sd(x) column_min(x) column_max(x): of the whole column, so far, or of the chunk
 *	group      group_mean(x, key) group_sd group_min group_max group_count(key): the same per value of a text column
 *
 * `a name` in backticks is a column whose name is no word. Parts count from 1, or from -1 at the end. Any number with something
 * missing is missing; a text is missing where it is empty. Equal parts of expressions are one node, so nothing is computed twice.
 *
 * A node either depends on nothing but its own row as it stands in the file (`ordered` false), so that any thread can compute it, or
 * on rows around it or on statistics, and is computed in order. `from_target` follows the row's own target through the graph; lag
 * stops it, because an earlier row's target is known.
 */
#ifndef PITOT_TABLE_EXPR_H
#define PITOT_TABLE_EXPR_H

#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "table/column.h"
#include "table/recipe.h"

enum { EXPR_MOST_ARGUMENTS = 3, EXPR_MOST_DEPTH = 100, EXPR_MOST_NODES = 20000, EXPR_MOST_WINDOW = 1 << 20 };
#define EXPR_NONE     UINT32_MAX
#define EXPR_CONSTANT SIZE_MAX
#define EXPR_NO_CELL  (SIZE_MAX - 1)

enum expr_op {
	EXPR_CELL,   /* leaf: text of the file; `leaf` is the input column */
	EXPR_SERIES, /* leaf: a column as the chunk has it; `leaf` is whose, by the plan's numbers */
	EXPR_NUMBER,
	EXPR_TEXT,
	EXPR_FILL, /* arg 0, `text` where that is missing */
	EXPR_ZERO, /* arg 0, 0 where that is missing */
	EXPR_CALL, /* `function` */
};

struct expr_function;

struct expr_node {
	enum expr_op op;
	enum column_kind type;
	const struct expr_function *function;
	uint32_t args[EXPR_MOST_ARGUMENTS];
	unsigned count;
	double number;
	char *text;
	size_t leaf;
	size_t cell; /* the one input column that it is a function of, EXPR_CONSTANT where of none, EXPR_NO_CELL where of more */
	bool ordered;
	bool windowed; /* or something below it is: may be computed once per row only, and after sorting */
	bool from_target;
};

struct expr_set {
	VEC(struct expr_node) nodes;
	struct map index; /* by hash: the node's number + 1 */
};

/* What a name means: a node, or EXPR_NONE. `names` and `name_count` are for suggestions. */
struct expr_scope {
	uint32_t (*find)(void *context, const char *name);
	void *context;
	const char *const *names;
	size_t name_count;
};

void expr_set_fini(struct expr_set *set);
/* Adds a node, or gives the one that is there already. `text` is copied. */
uint32_t expr_add(struct expr_set *set, const struct expr_node *node);
int expr_parse(struct expr_set *set, const char *text, const struct expr_scope *scope, uint32_t *out, struct err *err);
/* The function of this name, or NULL. */
const struct expr_function *expr_function_find(const char *name);
/* A call with the arguments checked; `what` names it in messages. */
int expr_call(struct expr_set *set, const char *name, const uint32_t *args, unsigned count, uint32_t *out,
	      struct err *err);
/* Whether the text can stand as a name without backticks. */
bool expr_is_name(const char *text);

#endif
