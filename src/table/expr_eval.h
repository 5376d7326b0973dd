/*
 * expr_eval.h - computing the nodes of a graph for some rows, and the kernels that do it.
 *
 * A run belongs to one thread. It is told the rows (expr_run_begin), given the values of the leaves (expr_bind_*), and then asked for
 * nodes; each is computed at most once per begin. Values are borrowed until the next begin. What windows and statistics remember
 * from earlier rows lives in the run as well, one state per node.
 */
#ifndef PITOT_TABLE_EXPR_EVAL_H
#define PITOT_TABLE_EXPR_EVAL_H

#include "table/expr.h"
#include "table/moments.h"

struct expr_value {
	bool ready;
	double *numbers;
	struct span *texts;
	const uint32_t *codes; /* of a bound or remembered text; its texts are looked up when they are wanted */
	const struct dictionary *values;
	uint64_t unparsed; /* texts that were there but no number or date */
	/* What the value owns; `numbers` and `texts` may be somebody else's. */
	double *own_numbers;
	struct span *own_texts;
	size_t number_room, text_room;
};

/* What a node remembers between calls. */
struct expr_state {
	double *carry; /* the last values of a window, oldest first */
	size_t carry_count, carry_room;
	double *joined; /* the carried values and the new ones */
	size_t joined_room;
	struct moments moments;
	struct moments *groups; /* by code; the last is that of COLUMN_OTHER and beyond */
	size_t group_count;
};

struct expr_arena_part {
	struct expr_arena_part *next;
	size_t size, used;
	char bytes[];
};

struct expr_run {
	const struct expr_set *set;
	struct memory *memory;
	size_t rows;
	struct expr_value *values;       /* by node */
	struct expr_state **states;      /* by node, or NULL */
	const struct span *const *cells; /* by input column */
	char *const *missing;            /* cells that count as missing besides empty ones */
	size_t missing_count;
	struct expr_arena_part *arena;
	enum recipe_sd sd;
	struct expr_memo *memo; /* or NULL */
	bool per_chunk;         /* statistics begin anew with every begin; windows do not */
};

struct expr_memo;

void expr_run_init(struct expr_run *run, const struct expr_set *set, struct memory *memory);
void expr_run_fini(struct expr_run *run);
void expr_run_begin(struct expr_run *run, size_t rows);
void expr_bind_numbers(struct expr_run *run, uint32_t node, const double *numbers);
void expr_bind_codes(struct expr_run *run, uint32_t node, const uint32_t *codes, const struct dictionary *values);
/* 0, or ERR_UNAVAILABLE where the account refuses memory. */
int expr_eval(struct expr_run *run, uint32_t node, struct err *err);

/* Whether the kernel reads the argument from its node: it needs no column of its own. */
bool expr_is_inline(const struct expr_node *node, unsigned argument);

/* For the kernels. */
int expr_no_memory(size_t bytes, struct err *err);
double *expr_own_numbers(struct expr_run *run, struct expr_value *value, struct err *err);
struct span *expr_own_texts(struct expr_run *run, struct expr_value *value, struct err *err);
char *expr_arena_take(struct expr_run *run, size_t bytes, struct err *err);
struct expr_state *expr_state_of(struct expr_run *run, const struct expr_node *node);

struct expr_call {
	struct expr_run *run;
	const struct expr_node *node;
	const struct expr_value *args[EXPR_MOST_ARGUMENTS];
	const struct expr_node *arg_nodes[EXPR_MOST_ARGUMENTS];
	struct expr_value *out; /* with room for the rows, by the node's type */
	struct err *err;
};

typedef int expr_kernel(struct expr_call *call);

/*
 * Arguments and result, a letter each: n number, t text, d date, a anything (all `a` of one call are of one kind), k text as a
 * key, N and T constants, W a constant window. In the result: n, t, d, or a.
 */
struct expr_function {
	const char *name;
	const char *arguments;
	char result;
	expr_kernel *kernel;
	int variant; /* for the kernel */
	bool ordered;
	bool windowed;
	bool forgets_target; /* only earlier rows go in */
	const char *shape;   /* for messages: "part(text, separator, number)" */
};

extern const struct expr_function expr_number_functions[], expr_text_functions[], expr_window_functions[];

#endif
