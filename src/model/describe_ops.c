/* describe_ops.c - the operators of the text format, one row each: see describe.h. */
#include "base/str.h"
#include "model/describe_line.h"

#include <stdio.h>
#include <string.h>

enum { KEYS_MOST = 8, NUMBERS_MOST = 8 };

/* A line with its numbers read. */
struct call {
	struct build *build;
	const char *leaf;
	int64_t numbers[NUMBERS_MOST]; /* plain ones, in order */
	size_t number_count;
	int64_t keys[KEYS_MOST]; /* as the row's list has them; defaults where absent */
	size_t in[4];
	size_t in_count;
};

static size_t op_conv(const struct call *call)
{
	return build_conv(call->build, call->leaf, call->in[0],
			  &(struct build_conv){.out = call->numbers[0],
					       .kernel = call->keys[0],
					       .stride = call->keys[1],
					       .pad = call->keys[2],
					       .dilation = call->keys[3],
					       .groups = call->keys[4],
					       .no_bias = !call->keys[5]});
}

static size_t op_conv_transpose(const struct call *call)
{
	return build_conv(call->build, call->leaf, call->in[0],
			  &(struct build_conv){.out = call->numbers[0],
					       .kernel = call->keys[0],
					       .stride = call->keys[1],
					       .pad = call->keys[2],
					       .dilation = call->keys[3],
					       .groups = call->keys[4],
					       .no_bias = !call->keys[5],
					       .output_pad = call->keys[6],
					       .transpose = true});
}

static size_t op_linear(const struct call *call)
{
	return build_linear(call->build, call->leaf, call->in[0], call->numbers[0], call->keys[0] != 0);
}

static size_t pool(const struct call *call, enum op_kind kind)
{
	struct build_pool how = {.kernel = call->keys[0],
				 .stride = call->keys[1],
				 .pad = call->keys[2],
				 .ceil_mode = call->keys[3] != 0};
	return build_pool(call->build, call->leaf, kind, call->in[0], &how);
}

static size_t op_max_pool(const struct call *call)
{
	return pool(call, OP_MAX_POOL);
}

static size_t op_avg_pool(const struct call *call)
{
	return pool(call, OP_AVG_POOL);
}

static size_t op_adaptive(const struct call *call)
{
	return build_adaptive_pool(call->build, call->leaf, call->in[0], call->numbers[0]);
}

static size_t op_global_pool(const struct call *call)
{
	return build_adaptive_pool(call->build, call->leaf, call->in[0], 1);
}

static size_t op_batch_norm(const struct call *call)
{
	return build_norm(call->build, call->leaf, OP_BATCH_NORM, call->in[0], 1e-5, 0);
}

static size_t op_layer_norm(const struct call *call)
{
	return build_norm(call->build, call->leaf, OP_LAYER_NORM, call->in[0], 1e-5, 0);
}

static size_t op_rms_norm(const struct call *call)
{
	return build_norm(call->build, call->leaf, OP_RMS_NORM, call->in[0], 1e-6, 0);
}

static size_t op_group_norm(const struct call *call)
{
	return build_norm(call->build, call->leaf, OP_GROUP_NORM, call->in[0], 1e-5, call->keys[0]);
}

static size_t op_relu6(const struct call *call)
{
	return build_clip(call->build, call->leaf, call->in[0], 0, 6);
}

static size_t op_softmax(const struct call *call)
{
	return build_axis(call->build, call->leaf, OP_SOFTMAX, call->in[0], call->keys[0]);
}

static size_t op_attention(const struct call *call)
{
	bool apart = call->in_count == 3;
	struct op_attention attention = {.heads = call->keys[0],
					 .kv_heads = call->keys[1] ? call->keys[1] : call->keys[0],
					 .causal = call->keys[2] != 0};
	if (call->in_count == 2) {
		build_fail(call->build, "attention reads one value (queries, keys and values side by side) or three");
		return GRAPH_NONE;
	}
	return build_attention(call->build, call->leaf, call->in[0], apart ? call->in[1] : GRAPH_NONE,
			       apart ? call->in[2] : GRAPH_NONE, &attention);
}

static size_t op_embedding(const struct call *call)
{
	size_t table = build_weight(call->build, call->leaf, &SHAPE(call->numbers[0], call->numbers[1]), 0.02);
	return build_embedding(call->build, call->leaf, table, call->in[0]);
}

/* A learned value for each element but the batch's. */
static size_t op_add_learned(const struct call *call)
{
	struct shape shape = *build_shape(call->build, call->in[0]);
	if (shape.rank)
		shape.dims[0] = 1;
	return build_binary(call->build, call->leaf, BINARY_ADD, call->in[0],
			    build_weight(call->build, call->leaf, &shape, 0.02));
}

static size_t op_flatten(const struct call *call)
{
	return build_flatten(call->build, call->leaf, call->in[0],
			     call->keys[0] < 0 ? SIZE_MAX : (size_t)call->keys[0]);
}

static size_t op_reshape(const struct call *call)
{
	struct shape shape = {.rank = 1};
	shape.dims[0] =
		build_shape(call->build, call->in[0])->rank ? build_shape(call->build, call->in[0])->dims[0] : 1;
	for (size_t i = 0; i < call->number_count && shape.rank < SHAPE_MAX_RANK; i++)
		shape.dims[shape.rank++] = call->numbers[i];
	return build_reshape(call->build, call->leaf, call->in[0], &shape);
}

static size_t op_transpose(const struct call *call)
{
	return build_transpose(call->build, call->leaf, call->in[0], (size_t)call->numbers[0],
			       (size_t)call->numbers[1]);
}

static size_t op_concat(const struct call *call)
{
	return build_concat(call->build, call->leaf, call->in[0], call->in[1], call->keys[0]);
}

static size_t op_mean(const struct call *call)
{
	return build_mean(call->build, call->leaf, call->in[0], call->keys[0]);
}

static size_t op_slice(const struct call *call)
{
	return build_slice(call->build, call->leaf, call->in[0], call->keys[0], call->keys[1], call->keys[2]);
}

static size_t op_dropout(const struct call *call)
{
	return build_identity(call->build, call->leaf, call->in[0]);
}

static size_t recurrent(const struct call *call, enum op_kind kind)
{
	return build_recurrent(call->build, call->leaf, kind, call->in[0], call->numbers[0],
			       call->keys[0] == 2 ? 2 : 1);
}

static size_t op_lstm(const struct call *call)
{
	return recurrent(call, OP_LSTM);
}

static size_t op_gru(const struct call *call)
{
	return recurrent(call, OP_GRU);
}

struct key {
	const char *name; /* NULL ends the list */
	int64_t otherwise;
};

struct described_op {
	const char *name;
	size_t numbers, inputs, most_inputs; /* numbers: how many plain ones; 99: any */
	size_t (*make)(const struct call *call);
	struct key keys[KEYS_MOST];
};

#define WINDOW_KEYS                                                                                                    \
	{"kernel", 1}, {"stride", 1}, {"pad", 0}, {"dilation", 1}, {"groups", 1},                                      \
	{                                                                                                              \
		"bias", 1                                                                                              \
	}
#define POOL_KEYS                                                                                                      \
	{"kernel", 2}, {"stride", 0}, {"pad", 0},                                                                      \
	{                                                                                                              \
		"ceil", 0                                                                                              \
	}

static const struct described_op ops[] = {
	{"conv", 1, 1, 1, op_conv, {WINDOW_KEYS}},
	{"conv_transpose", 1, 1, 1, op_conv_transpose, {WINDOW_KEYS, {"output_pad", 0}}},
	{"linear", 1, 1, 1, op_linear, {{"bias", 1}}},
	{"max_pool", 0, 1, 1, op_max_pool, {POOL_KEYS}},
	{"avg_pool", 0, 1, 1, op_avg_pool, {POOL_KEYS}},
	{"adaptive_avg_pool", 1, 1, 1, op_adaptive, {{0}}},
	{"global_avg_pool", 0, 1, 1, op_global_pool, {{0}}},
	{"batch_norm", 0, 1, 1, op_batch_norm, {{0}}},
	{"layer_norm", 0, 1, 1, op_layer_norm, {{0}}},
	{"rms_norm", 0, 1, 1, op_rms_norm, {{0}}},
	{"group_norm", 0, 1, 1, op_group_norm, {{"groups", 1}}},
	{"relu6", 0, 1, 1, op_relu6, {{0}}},
	{"softmax", 0, 1, 1, op_softmax, {{"axis", -1}}},
	{"attention", 0, 1, 3, op_attention, {{"heads", 1}, {"kv_heads", 0}, {"causal", 0}}},
	{"embedding", 2, 1, 1, op_embedding, {{0}}},
	{"add_learned", 0, 1, 1, op_add_learned, {{0}}},
	{"flatten", 0, 1, 1, op_flatten, {{"from", 1}}},
	{"reshape", 99, 1, 1, op_reshape, {{0}}},
	{"transpose", 2, 1, 1, op_transpose, {{0}}},
	{"concat", 0, 2, 2, op_concat, {{"axis", 1}}},
	{"mean", 0, 1, 1, op_mean, {{"axis", 1}}},
	{"slice", 0, 1, 1, op_slice, {{"axis", 1}, {"first", 0}, {"count", 1}}},
	{"dropout", 0, 1, 1, op_dropout, {{0}}},
	{"lstm", 1, 1, 1, op_lstm, {{"directions", 1}}},
	{"gru", 1, 1, 1, op_gru, {{"directions", 1}}},
};

static int read_key(struct describe *describe, const struct describe_line *line, const struct described_op *op,
		    char *word, char *equal, struct call *call)
{
	for (size_t i = 0; op && i < KEYS_MOST && op->keys[i].name; i++)
		if (strncmp(op->keys[i].name, word, (size_t)(equal - word)) == 0 &&
		    strlen(op->keys[i].name) == (size_t)(equal - word))
			return describe_number(describe, line, equal + 1, &call->keys[i]);
	return describe_bad(describe, line, "%s takes no '%.*s'", line->words[line->first], (int)(equal - word), word);
}

static int read_numbers(struct describe *describe, const struct describe_line *line, const struct described_op *op,
			struct call *call)
{
	size_t wanted = op ? op->numbers : 0;
	for (size_t i = 0; op && i < KEYS_MOST; i++)
		call->keys[i] = op->keys[i].otherwise;
	for (size_t i = line->first + 1; i < line->end; i++) {
		char *word = line->words[i], *equal = strchr(word, '=');
		int code;
		if (equal)
			code = read_key(describe, line, op, word, equal, call);
		else if (call->number_count == NUMBERS_MOST)
			code = describe_bad(describe, line, "too many numbers");
		else
			code = describe_number(describe, line, word, &call->numbers[call->number_count++]);
		if (code)
			return code;
	}
	if (wanted != 99 && call->number_count != wanted)
		return describe_bad(describe, line, "%s takes %zu number%s, but has %zu", line->words[line->first],
				    wanted, wanted == 1 ? "" : "s", call->number_count);
	return 0;
}

static int read_inputs(struct describe *describe, const struct describe_line *line, size_t least, size_t most,
		       struct call *call)
{
	for (size_t i = line->of; i < line->count; i++) {
		if (call->in_count == most)
			return describe_bad(describe, line, "%s reads %zu value%s at most", line->words[line->first],
					    most, most == 1 ? "" : "s");
		int code = describe_find(describe, line, line->words[i], &call->in[call->in_count++]);
		if (code)
			return code;
	}
	if (line->of == line->count) {
		if (describe->last == GRAPH_NONE)
			return describe_bad(describe, line, "there is no input before it");
		call->in[call->in_count++] = describe->last;
	}
	if (call->in_count < least)
		return describe_bad(describe, line, "%s reads %zu values: say '%s … of a b'", line->words[line->first],
				    least, line->words[line->first]);
	return 0;
}

/* Activations and two-operand arithmetic by their names; GRAPH_NONE and *known false where it is neither. */
static size_t make_point(const struct call *call, const char *word, size_t inputs, bool *known)
{
	*known = true;
	for (int i = 0; inputs == 1 && i < UNARY_COUNT; i++)
		if (strcmp(unary_name((enum unary_fn)i), word) == 0)
			return build_unary(call->build, call->leaf, call->in[0], (enum unary_fn)i);
	for (int i = 0; inputs == 2 && i <= BINARY_MAX; i++)
		if (strcmp(binary_name((enum binary_fn)i), word) == 0)
			return build_binary(call->build, call->leaf, (enum binary_fn)i, call->in[0], call->in[1]);
	*known = false;
	return GRAPH_NONE;
}

static size_t point_inputs(const char *word)
{
	for (int i = 0; i < UNARY_COUNT; i++)
		if (strcmp(unary_name((enum unary_fn)i), word) == 0)
			return 1;
	for (int i = 0; i <= BINARY_MAX; i++)
		if (strcmp(binary_name((enum binary_fn)i), word) == 0)
			return 2;
	return 0;
}

static int unknown_op(struct describe *describe, const struct describe_line *line, const char *word)
{
	const char *names[sizeof(ops) / sizeof(ops[0])];
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		names[i] = ops[i].name;
	const char *meant = str_suggest(word, names, sizeof(ops) / sizeof(ops[0]));
	return describe_bad(describe, line, "there is no operator '%s'%s%s%s", word, meant ? "; did you mean '" : "",
			    meant ? meant : "", meant ? "'?" : "");
}

/* The name's layers are entered, its last part is the leaf. */
static const char *enter_layers(struct describe *describe, const char *name, size_t *mark)
{
	const char *dot = strrchr(name, '.');
	*mark = describe->build.scope.len;
	if (!dot || dot == name || !dot[1])
		return name;
	build_enter(&describe->build, "%.*s", (int)(dot - name < 200 ? dot - name : 200), name);
	return dot + 1;
}

int describe_op(struct describe *describe, const struct describe_line *line)
{
	const char *word = line->words[line->first];
	const struct described_op *op = NULL;
	struct call call = {.build = &describe->build};
	char made[64];
	size_t mark, tensor;
	bool known = true;
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (strcmp(ops[i].name, word) == 0)
			op = &ops[i];
	size_t points = op ? 0 : point_inputs(word);
	if (!op && !points)
		return unknown_op(describe, line, word);
	int code = read_numbers(describe, line, op, &call);
	if (!code)
		code = read_inputs(describe, line, op ? op->inputs : points, op ? op->most_inputs : points, &call);
	if (code)
		return code;
	snprintf(made, sizeof(made), "%.40s%zu", word, line->number);
	const char *name = line->name ? line->name : made;
	call.leaf = enter_layers(describe, name, &mark);
	tensor = op ? op->make(&call) : make_point(&call, word, points, &known);
	build_leave(&describe->build, mark);
	if (describe->build.code)
		return err_prefix(describe->build.err, "%s:%zu", describe->name, line->number);
	return describe_call(describe, line, name, tensor);
}
