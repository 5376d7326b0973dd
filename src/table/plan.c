/* plan.c - see plan.h. */
#include "table/plan.h"

#include "base/str.h"
#include "table/expr_eval.h"

#include <stdlib.h>
#include <string.h>

struct plan_maker {
	struct plan *plan;
	const struct csv *csv;
	uint32_t *cells;    /* by input column, or EXPR_NONE */
	const char **names; /* input columns, then derived ones: for suggestions */
	size_t name_count;
	struct err *err;
};

static int plan_fail(const struct plan_maker *maker, int line)
{
	const char *path = maker->plan->recipe->path;
	return line ? err_prefix(maker->err, "%s:%d", path, line) : err_prefix(maker->err, "%s", path);
}

/* A leaf for the cells of an input column. The target's own cells carry its mark. */
static uint32_t plan_cell(struct plan_maker *maker, size_t column)
{
	const char *target = maker->plan->recipe->target;
	if (maker->cells[column] == EXPR_NONE) {
		struct expr_node leaf = {.op = EXPR_CELL, .type = COLUMN_TEXT, .leaf = column};
		leaf.from_target = target && strcmp(csv_column_name(maker->csv, column), target) == 0;
		maker->cells[column] = expr_add(&maker->plan->set, &leaf);
		maker->plan->wanted[column] = true;
	}
	return maker->cells[column];
}

static uint32_t plan_find_cell(void *context, const char *name)
{
	struct plan_maker *maker = context;
	for (size_t i = 0; i < csv_column_count(maker->csv); i++)
		if (strcmp(csv_column_name(maker->csv, i), name) == 0)
			return plan_cell(maker, i);
	return EXPR_NONE;
}

static size_t plan_find(const struct plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->columns.len; i++)
		if (strcmp(plan->columns.items[i].name, name) == 0)
			return i;
	return PLAN_NONE;
}

static uint32_t plan_find_column(void *context, const char *name)
{
	struct plan_maker *maker = context;
	size_t column = plan_find(maker->plan, name);
	return column == PLAN_NONE ? EXPR_NONE : maker->plan->columns.items[column].node;
}

static size_t plan_add_slot(struct plan *plan, uint32_t node)
{
	for (size_t i = plan->slots.len > 64 ? plan->slots.len - 64 : 0; i < plan->slots.len; i++)
		if (plan->slots.items[i].node == node && !plan->slots.items[i].filled)
			return i;
	struct plan_slot slot = {.node = node, .text = plan->set.nodes.items[node].type == COLUMN_TEXT};
	slot.series = slot.missing_node = slot.parsed_node = EXPR_NONE;
	vec_push(&plan->slots, slot);
	return plan->slots.len - 1;
}

static int plan_convert(struct plan_maker *maker, const struct recipe_column *column, uint32_t *node)
{
	struct expr_set *set = &maker->plan->set;
	enum column_kind have = set->nodes.items[*node].type;
	enum column_kind want = column->type == RECIPE_NUMBER ? COLUMN_NUMBER
				: column->type == RECIPE_DATE ? COLUMN_DATE
							      : COLUMN_TEXT;
	uint32_t args[2] = {*node};
	if (have == want)
		return 0;
	if (have != COLUMN_TEXT) {
		err_set(maker->err, ERR_INPUT, "column '%s': 'from' gives a %s, not a %s", column->name,
			column_kind_name(have), column_kind_name(want));
		return plan_fail(maker, column->line);
	}
	if (want == COLUMN_NUMBER)
		return expr_call(set, "number", args, 1, node, maker->err);
	struct expr_node format = {.op = EXPR_TEXT, .type = COLUMN_TEXT};
	format.text = column->format ? column->format : (char *)"%Y-%m-%d";
	args[1] = expr_add(set, &format);
	return expr_call(set, "date", args, 2, node, maker->err);
}

static char *plan_fill_text(const struct recipe *recipe, const struct recipe_column *column)
{
	struct str text = {0};
	const char *at = recipe->fill_text;
	if (column->missing)
		return mem_strdup(column->missing);
	for (const char *mark; (mark = strstr(at, "{column}")); at = mark + strlen("{column}")) {
		str_append_bytes(&text, at, (size_t)(mark - at));
		str_append(&text, column->name);
	}
	str_append(&text, at);
	return str_take(&text);
}

/* What is done about missing cells: a text and a fixed number at once; a median or mean later, in order. */
static void plan_fill(struct plan *plan, const struct recipe_column *from, struct plan_column *column, uint32_t node)
{
	const struct recipe *recipe = plan->recipe;
	uint32_t raw = node;
	if (column->kind == COLUMN_TEXT) {
		char *text = plan_fill_text(recipe, from);
		struct expr_node fill = {
			.op = EXPR_FILL, .type = COLUMN_TEXT, .args = {node}, .count = 1, .text = text};
		node = text && *text ? expr_add(&plan->set, &fill) : node;
		free(text);
	} else if (column->kind == COLUMN_NUMBER && from->missing) {
		struct expr_node constant = {.op = EXPR_NUMBER, .type = COLUMN_NUMBER};
		str_to_double(from->missing, &constant.number);
		uint32_t args[] = {node, expr_add(&plan->set, &constant)};
		expr_call(&plan->set, "coalesce", args, 2, &node, NULL);
	} else if (column->kind == COLUMN_NUMBER && recipe->fill == RECIPE_FILL_ZERO) {
		struct expr_node fill = {.op = EXPR_ZERO, .type = COLUMN_NUMBER, .args = {node}, .count = 1};
		node = expr_add(&plan->set, &fill);
	}
	bool filled = column->kind == COLUMN_NUMBER && node == raw && recipe->fill != RECIPE_FILL_KEEP;
	column->slot = plan_add_slot(plan, node);
	column->node = node;
	if (filled) {
		struct expr_node series = {.op = EXPR_SERIES, .type = COLUMN_NUMBER, .leaf = plan->columns.len};
		series.ordered = true;
		series.from_target = plan->set.nodes.items[node].from_target;
		column->node = expr_add(&plan->set, &series);
		plan->slots.items[column->slot].filled = true;
		plan->slots.items[column->slot].series = column->node;
	}
	plan->slots.items[column->slot].missing_node = raw;
	plan->slots.items[column->slot].parsed_node = column->kind == COLUMN_TEXT ? EXPR_NONE : raw;
}

static int plan_add_column(struct plan_maker *maker, size_t number, const struct recipe_column *from)
{
	struct plan *plan = maker->plan;
	struct expr_scope scope = {plan_find_cell, maker, maker->names, csv_column_count(maker->csv)};
	struct plan_column column = {0};
	uint32_t node = EXPR_NONE;
	if (from->type == RECIPE_SKIP)
		return 0;
	if (!from->from)
		node = plan_cell(maker, number);
	else if (expr_parse(&plan->set, from->from, &scope, &node, maker->err))
		return plan_fail(maker, from->from_line);
	if (plan->set.nodes.items[node].ordered) {
		err_set(maker->err, ERR_INPUT, "column '%s': windows and statistics belong in derive", from->name);
		return plan_fail(maker, from->from_line);
	}
	int code = plan_convert(maker, from, &node);
	if (code)
		return code;
	column.name = mem_strdup(from->name);
	column.kind = plan->set.nodes.items[node].type;
	plan_fill(plan, from, &column, node);
	column.from_target = plan->set.nodes.items[node].from_target;
	vec_push(&plan->columns, column);
	return 0;
}

static int plan_add_derived(struct plan_maker *maker, const struct recipe_derived *derived)
{
	struct plan *plan = maker->plan;
	struct expr_scope scope = {plan_find_column, maker, maker->names, maker->name_count};
	struct plan_column column = {.derived = true, .slot = PLAN_NONE};
	if (plan_find(plan, derived->name) != PLAN_NONE) {
		err_set(maker->err, ERR_INPUT, "there is a column '%s' already", derived->name);
		return plan_fail(maker, derived->line);
	}
	if (expr_parse(&plan->set, derived->expression, &scope, &column.node, maker->err))
		return plan_fail(maker, derived->line);
	const struct expr_node *node = &plan->set.nodes.items[column.node];
	if (node->op == EXPR_TEXT || (node->ordered && node->type == COLUMN_TEXT)) {
		err_set(maker->err, ERR_INPUT, "'%s': a text must come from the row's own texts", derived->name);
		return plan_fail(maker, derived->line);
	}
	column.name = mem_strdup(derived->name);
	column.kind = node->type;
	column.from_target = node->from_target;
	if (!node->ordered) {
		size_t before = plan->slots.len;
		column.slot = plan_add_slot(plan, column.node);
		plan->slots.items[column.slot].derived |= column.slot >= before;
	}
	vec_push(&plan->columns, column);
	return 0;
}

/* The ends of the ordered part of an expression become slots. */
static void plan_add_ends(struct plan *plan, uint32_t number, bool *seen)
{
	const struct expr_node *node = &plan->set.nodes.items[number];
	if (seen[number])
		return;
	seen[number] = true;
	for (unsigned i = 0; i < node->count; i++) {
		const struct expr_node *arg = &plan->set.nodes.items[node->args[i]];
		bool constant = arg->op == EXPR_NUMBER || arg->op == EXPR_TEXT;
		if (arg->ordered) {
			plan_add_ends(plan, node->args[i], seen);
		} else if (!constant) {
			size_t before = plan->slots.len, slot = plan_add_slot(plan, node->args[i]);
			plan->slots.items[slot].derived |= slot >= before;
			plan->slots.items[slot].key |= arg->type == COLUMN_TEXT;
		}
	}
}

static int plan_check_names(struct plan_maker *maker)
{
	const struct recipe *recipe = maker->plan->recipe;
	const char *unknown = NULL;
	int line = 0;
	for (size_t i = 0; i < recipe->columns.len && !unknown; i++) {
		const char *name = recipe->columns.items[i].name;
		bool there = i < csv_column_count(maker->csv) && strcmp(csv_column_name(maker->csv, i), name) == 0;
		for (size_t j = 0; j < csv_column_count(maker->csv) && !there; j++)
			there = strcmp(csv_column_name(maker->csv, j), name) == 0;
		unknown = there ? NULL : name;
		line = recipe->columns.items[i].line;
	}
	for (size_t i = 0; i < recipe->drop.len && !unknown; i++) {
		line = 0;
		bool known = plan_find(maker->plan, recipe->drop.items[i]) != PLAN_NONE;
		const struct recipe_column *column = recipe_find_column(recipe, recipe->drop.items[i], 0);
		unknown = known || column ? NULL : recipe->drop.items[i];
	}
	if (!unknown)
		return 0;
	const char *meant = str_suggest(unknown, maker->names, maker->name_count);
	err_set(maker->err, ERR_INPUT, "the table '%s' has no column '%s'%s%s%s", csv_path(maker->csv), unknown,
		meant ? "; did you mean '" : "", meant ? meant : "", meant ? "'?" : "");
	return plan_fail(maker, line);
}

/* `before` and `after` the name. */
static void plan_say_missing(struct plan_maker *maker, const char *before, const char *name, const char *after)
{
	const char *meant = str_suggest(name, maker->names, maker->name_count);
	err_set(maker->err, ERR_INPUT, "%s '%s'%s%s%s%s", before, name, after, meant ? "; did you mean '" : "",
		meant ? meant : "", meant ? "'?" : "");
}

static int plan_set_target(struct plan_maker *maker)
{
	struct plan *plan = maker->plan;
	const struct recipe *recipe = plan->recipe;
	plan->target = PLAN_NONE;
	if (!recipe->target)
		return 0;
	plan->target = plan_find(plan, recipe->target);
	if (plan->target == PLAN_NONE)
		plan_say_missing(maker, "the target", recipe->target, " is no column");
	else if (plan->columns.items[plan->target].kind != COLUMN_NUMBER)
		err_set(maker->err, ERR_INPUT, "the target '%s' is a %s, not a number", recipe->target,
			column_kind_name(plan->columns.items[plan->target].kind));
	else
		return 0;
	return plan_fail(maker, recipe->target_line);
}

static int plan_set_sort(struct plan_maker *maker)
{
	struct plan *plan = maker->plan;
	const struct recipe *recipe = plan->recipe;
	plan->sort = EXPR_NONE;
	plan->sort_column = PLAN_NONE;
	if (!recipe->sort)
		return 0;
	size_t column = plan_find(plan, recipe->sort);
	if (column == PLAN_NONE)
		plan_say_missing(maker, "sort: there is no column", recipe->sort, "");
	else if (plan->columns.items[column].kind == COLUMN_TEXT)
		err_set(maker->err, ERR_INPUT, "sort: '%s' is a text; numbers and dates can be sorted by",
			recipe->sort);
	else if (plan->set.nodes.items[plan->columns.items[column].node].windowed)
		err_set(maker->err, ERR_INPUT, "sort: '%s' needs the rows in order already", recipe->sort);
	else {
		plan->sort = plan->columns.items[column].node;
		plan->sort_column = column;
		return 0;
	}
	return plan_fail(maker, recipe->sort_line);
}

static void plan_mark_columns(struct plan *plan)
{
	const struct recipe *recipe = plan->recipe;
	struct str leaks = {0};
	for (size_t i = 0; i < plan->columns.len; i++) {
		struct plan_column *column = &plan->columns.items[i];
		column->encoded = i != plan->target && column->kind != COLUMN_DATE;
		column->compared = i != plan->target && column->kind == COLUMN_NUMBER;
		for (size_t j = 0; j < recipe->drop.len; j++)
			if (strcmp(recipe->drop.items[j], column->name) == 0)
				column->encoded = false;
		if (column->from_target && column->encoded)
			str_appendf(&leaks, "%s%s", leaks.len ? ", " : "", column->name);
	}
	if (leaks.len && plan->target != PLAN_NONE)
		vec_push(&plan->warnings,
			 mem_printf("target leakage: the row's own %s went into %s; %s", recipe->target,
				    str_text(&leaks),
				    recipe->use_target_derived
					    ? "the model uses them, as the recipe says, and its quality means little"
					    : "the model is kept from them"));
	str_fini(&leaks);
}

/* Columns that are computed in order for a chunk, constants among them. */
static size_t plan_ordered_bytes(const struct plan *plan)
{
	bool *counted = mem_alloc(plan->set.nodes.len + 1);
	size_t bytes = 0;
	for (size_t i = 0; i < plan->set.nodes.len; i++) {
		const struct expr_node *node = &plan->set.nodes.items[i];
		if (!node->ordered || node->op == EXPR_SERIES)
			continue;
		bytes += sizeof(double) + (node->function && node->function->windowed ? sizeof(double) : 0);
		for (unsigned j = 0; j < node->count; j++) {
			const struct expr_node *arg = &plan->set.nodes.items[node->args[j]];
			bool column = arg->op == EXPR_NUMBER && !expr_is_inline(node, j) && !counted[node->args[j]];
			counted[node->args[j]] |= column;
			bytes += column ? sizeof(double) : 0;
		}
	}
	free(counted);
	return bytes;
}

/* Per row of a chunk: slots, what is computed in order, the order itself and room to sort, the encoded columns, predictions. */
static size_t plan_row_bytes(const struct plan *plan)
{
	size_t bytes = 3 * sizeof(double) + 2 * sizeof(uint32_t) + plan_ordered_bytes(plan);
	for (size_t i = 0; i < plan->slots.len; i++)
		bytes += plan->slots.items[i].text ? sizeof(uint32_t) : sizeof(double);
	for (size_t i = 0; i < plan->columns.len; i++) {
		const struct plan_column *column = &plan->columns.items[i];
		if (column->encoded)
			bytes += column->kind == COLUMN_NUMBER ? sizeof(double) : sizeof(uint32_t);
	}
	return bytes;
}

static int plan_add_all(struct plan_maker *maker)
{
	const struct recipe *recipe = maker->plan->recipe;
	int code = 0;
	for (size_t i = 0; i < csv_column_count(maker->csv) && !code; i++) {
		const struct recipe_column *column = recipe_find_column(recipe, csv_column_name(maker->csv, i), i);
		code = plan_add_column(maker, i, column);
	}
	for (size_t i = 0; i < recipe->derived.len && !code; i++) {
		code = plan_add_derived(maker, &recipe->derived.items[i]);
		maker->names[maker->name_count++] = recipe->derived.items[i].name;
	}
	if (!code)
		code = plan_check_names(maker);
	if (!code)
		code = plan_set_target(maker);
	return code ? code : plan_set_sort(maker);
}

int plan_make(const struct recipe *recipe, const struct csv *csv, struct plan **out, struct err *err)
{
	struct plan *plan = mem_alloc(sizeof(*plan));
	struct err unheard = {0};
	struct plan_maker maker = {.plan = plan, .csv = csv, .err = err ? err : &unheard};
	size_t columns = csv_column_count(csv);
	plan->recipe = recipe;
	plan->input_columns = columns;
	plan->wanted = mem_alloc(columns * sizeof(bool));
	maker.cells = mem_alloc(columns * sizeof(uint32_t));
	maker.names = mem_alloc((columns + recipe->derived.len) * sizeof(char *));
	for (size_t i = 0; i < columns; i++) {
		maker.cells[i] = EXPR_NONE;
		maker.names[maker.name_count++] = csv_column_name(csv, i);
	}
	int code = plan_add_all(&maker);
	if (!code) {
		bool *seen = mem_alloc(plan->set.nodes.len + 1);
		for (size_t i = 0; i < plan->columns.len; i++)
			if (plan->columns.items[i].slot == PLAN_NONE)
				plan_add_ends(plan, plan->columns.items[i].node, seen);
		free(seen);
		plan_mark_columns(plan);
		plan->row_bytes = plan_row_bytes(plan);
	}
	free(maker.cells);
	free(maker.names);
	if (code)
		plan_free(plan);
	else
		*out = plan;
	return code;
}

void plan_free(struct plan *plan)
{
	if (!plan)
		return;
	for (size_t i = 0; i < plan->columns.len; i++)
		free(plan->columns.items[i].name);
	for (size_t i = 0; i < plan->warnings.len; i++)
		free(plan->warnings.items[i]);
	vec_fini(&plan->columns);
	vec_fini(&plan->warnings);
	vec_fini(&plan->slots);
	expr_set_fini(&plan->set);
	free(plan->wanted);
	free(plan);
}
