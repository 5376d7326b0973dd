/*
 * op_recurrent.c - LSTM, GRU and plain recurrent layers, forward and backward through time; layouts and gates as in op.h.
 *
 *	lstm   i o f c:   c = f·c + i·c̃, h = o·tanh(c)
 *	gru    z r h:     h = (1 - z)·h̃ + z·h; the reset gate before (h̃ = tanh(x + (r·h)·R)) or after its product
 *	rnn    h:         h = tanh(x + h·R)
 *
 * What the input adds to the gates is one product for all steps. `state` keeps, per direction and step, the gates after their
 * functions (which backward turns into their gradients) and one row more: the cell of an LSTM, h·R + b of a GRU's last gate.
 */
#include "model/matmul.h"
#include "model/op_kernel.h"

#include <math.h>
#include <string.h>

static const struct unary_call no_call = {.fn = KERNEL_NONE};

struct layer {
	const struct compute *compute;
	const struct op_node *node;
	enum op_kind kind;
	size_t steps, batch, in, hidden, directions, gates; /* gates: how many × hidden */
	bool after;                                         /* the reset gate comes after its product */
	size_t direction;
	bool reverse;
	const float *w, *r, *b; /* of this direction; b may be NULL */
	float *gate, *extra;    /* state of this direction: steps × batch × gates, steps × batch × hidden */
	float *h, *work;        /* two of batch × hidden; batch × gates */
	float *out;             /* of all steps and directions: the output, or state where nobody wants it */
};

static size_t gate_count(enum op_kind kind)
{
	return kind == OP_LSTM ? 4 : kind == OP_GRU ? 3 : 1;
}

static struct layer layer_of(const struct compute *compute, const struct op_node *node)
{
	const struct op_recurrent *how = &node->op->attributes.recurrent;
	size_t hidden = (size_t)how->hidden;
	return (struct layer){.compute = compute,
			      .node = node,
			      .kind = node->op->kind,
			      .steps = op_dim(&node->in[0], 0),
			      .batch = op_dim(&node->in[0], 1),
			      .in = op_dim(&node->in[0], 2),
			      .hidden = hidden,
			      .directions = how->directions,
			      .gates = gate_count(node->op->kind) * hidden,
			      .after = how->linear_before_reset};
}

/* Floats of the gates and the extra row of all directions, and of h and work. */
static size_t layer_floats(const struct op_node *node)
{
	struct layer l = layer_of(NULL, node);
	size_t rows = l.directions * l.steps * l.batch, out = node->out[0].present ? 0 : rows * l.hidden;
	return rows * (l.gates + l.hidden) + (l.batch + 1) * (2 * l.hidden + l.gates) + out;
}

static void choose_direction(struct layer *l, size_t direction)
{
	const struct op_node *node = l->node;
	size_t rows = l->steps * l->batch;
	l->direction = direction;
	l->reverse = direction == 1 || node->op->attributes.recurrent.reverse;
	l->w = node->in[1].at + direction * l->gates * l->in;
	l->r = node->in[2].at + direction * l->gates * l->hidden;
	l->b = op_in(node, 3) ? node->in[3].at + direction * 2 * l->gates : NULL;
	l->gate = node->state + direction * rows * (l->gates + l->hidden);
	l->extra = l->gate + rows * l->gates;
	l->h = node->state + l->directions * rows * (l->gates + l->hidden);
	l->work = l->h + 2 * l->batch * l->hidden;
	l->out = node->out[0].present ? node->out[0].at : l->work + (l->batch + 1) * l->gates;
}

static size_t time_of(const struct layer *l, size_t step)
{
	return l->reverse ? l->steps - 1 - step : step;
}

static float *gate_at(const struct layer *l, size_t step)
{
	return l->gate + time_of(l, step) * l->batch * l->gates;
}

static float *extra_at(const struct layer *l, size_t step)
{
	return l->extra + time_of(l, step) * l->batch * l->hidden;
}

static size_t out_at(const struct layer *l, size_t step)
{
	return (time_of(l, step) * l->directions + l->direction) * l->batch * l->hidden;
}

/* The state before a step: the output of the one before, or the initial one, or zeros. */
static const float *before(const struct layer *l, size_t step, size_t initial)
{
	const struct op_value *first = op_in(l->node, initial);
	if (step == 0)
		return first ? first->at + l->direction * l->batch * l->hidden : NULL;
	return initial == 4 ? l->out + out_at(l, step - 1) : extra_at(l, step - 1);
}

/* c (+)= a·b of plain or turned matrices. */
static void product(const struct layer *l, struct matmul job)
{
	job.finish.call = no_call;
	matmul_run(l->compute, &job);
}

static float sigmoid(float x)
{
	return 1 / (1 + expf(-x));
}

static void lstm_step(const struct layer *l, size_t step, const float *c_before)
{
	float *gate = gate_at(l, step), *c = extra_at(l, step), *h = l->out + out_at(l, step);
	size_t hidden = l->hidden;
	for (size_t n = 0; n < l->batch; n++, gate += l->gates)
		for (size_t j = 0; j < hidden; j++) {
			size_t at = n * hidden + j;
			float i = gate[j] = sigmoid(gate[j]), o = gate[hidden + j] = sigmoid(gate[hidden + j]);
			float f = gate[2 * hidden + j] = sigmoid(gate[2 * hidden + j]);
			float made = gate[3 * hidden + j] = tanhf(gate[3 * hidden + j]);
			c[at] = f * (c_before ? c_before[at] : 0) + i * made;
			h[at] = o * tanhf(c[at]);
		}
}

/* `work` holds h·R + b of the three gates where the reset comes after; of z and r only where it comes before. */
static void gru_gates(const struct layer *l, size_t step, const float *h_before)
{
	float *gate = gate_at(l, step), *extra = extra_at(l, step);
	size_t hidden = l->hidden;
	for (size_t n = 0; n < l->batch; n++)
		for (size_t j = 0; j < hidden; j++) {
			float *row = gate + n * l->gates, *work = l->work + n * l->gates,
			      h = h_before ? h_before[n * hidden + j] : 0;
			row[j] = sigmoid(row[j] + work[j]);
			row[hidden + j] = sigmoid(row[hidden + j] + work[hidden + j]);
			extra[n * hidden + j] = l->after ? work[2 * hidden + j] : row[hidden + j] * h;
		}
}

static void gru_step(const struct layer *l, size_t step, const float *h_before)
{
	float *gate = gate_at(l, step), *h = l->out + out_at(l, step), *extra = extra_at(l, step);
	size_t hidden = l->hidden;
	gru_gates(l, step, h_before);
	if (!l->after)
		product(l, (struct matmul){.m = l->batch,
					   .n = hidden,
					   .k = hidden,
					   .a = extra,
					   .a_row = hidden,
					   .a_depth = 1,
					   .b = l->r + 2 * hidden * hidden,
					   .b_depth = 1,
					   .b_column = hidden,
					   .c = gate + 2 * hidden,
					   .c_row = l->gates,
					   .add = true});
	for (size_t n = 0; n < l->batch; n++, gate += l->gates)
		for (size_t j = 0; j < hidden; j++) {
			size_t at = n * hidden + j;
			float r = gate[hidden + j], last = h_before ? h_before[at] : 0;
			float made = tanhf(gate[2 * hidden + j] + (l->after ? r * extra[at] : 0));
			gate[2 * hidden + j] = made;
			h[at] = (1 - gate[j]) * made + gate[j] * last;
		}
}

static void rnn_step(const struct layer *l, size_t step)
{
	float *h = l->out + out_at(l, step), *gate = gate_at(l, step);
	for (size_t i = 0; i < l->batch * l->hidden; i++)
		h[i] = gate[i] = tanhf(gate[i]);
}

/* What all steps get from the input and the constant terms; a GRU's second row of terms belongs to its products with h. */
static void input_gates(const struct layer *l)
{
	size_t rows = l->steps * l->batch;
	float *bias = l->work;
	for (size_t j = 0; j < l->gates; j++)
		bias[j] = l->b ? l->b[j] + (l->kind == OP_GRU ? 0 : l->b[l->gates + j]) : 0;
	/* With the reset before its product the constant of that product can be added here. */
	for (size_t j = 2 * l->hidden; l->b && l->kind == OP_GRU && !l->after && j < l->gates; j++)
		bias[j] += l->b[l->gates + j];
	struct matmul job = {.m = rows,
			     .n = l->gates,
			     .k = l->in,
			     .a = l->node->in[0].at,
			     .a_row = l->in,
			     .a_depth = 1,
			     .b = l->w,
			     .b_depth = 1,
			     .b_column = l->in,
			     .c = l->gate,
			     .c_row = l->gates};
	job.finish.column_bias = bias;
	product(l, job);
}

/* gate += h·Rᵀ; of a GRU work = h·Rᵀ + its terms. */
static void hidden_gates(const struct layer *l, size_t step, const float *h_before)
{
	bool gru = l->kind == OP_GRU;
	float *to = gru ? l->work : gate_at(l, step);
	for (size_t n = 0; gru && n < l->batch; n++)
		for (size_t j = 0; j < l->gates; j++)
			to[n * l->gates + j] = l->b ? l->b[l->gates + j] : 0;
	if (h_before)
		product(l, (struct matmul){.m = l->batch,
					   .n = l->gates,
					   .k = l->hidden,
					   .a = h_before,
					   .a_row = l->hidden,
					   .a_depth = 1,
					   .b = l->r,
					   .b_depth = 1,
					   .b_column = l->hidden,
					   .c = to,
					   .c_row = l->gates,
					   .add = true});
}

static void store_last(const struct layer *l)
{
	size_t size = l->batch * l->hidden, at = l->direction * size;
	if (l->node->out_count > 1 && l->node->out[1].present)
		memcpy(l->node->out[1].at + at, l->out + out_at(l, l->steps - 1), size * sizeof(float));
	if (l->node->out_count > 2 && l->node->out[2].present)
		memcpy(l->node->out[2].at + at, extra_at(l, l->steps - 1), size * sizeof(float));
}

static void recurrent_forward(const struct compute *compute, const struct op_node *node)
{
	struct layer l = layer_of(compute, node);
	for (size_t d = 0; d < l.directions; d++) {
		choose_direction(&l, d);
		input_gates(&l);
		for (size_t step = 0; step < l.steps; step++) {
			const float *h_before = before(&l, step, 4);
			hidden_gates(&l, step, h_before);
			if (l.kind == OP_LSTM)
				lstm_step(&l, step, before(&l, step, 5));
			else if (l.kind == OP_GRU)
				gru_step(&l, step, h_before);
			else
				rnn_step(&l, step);
		}
		store_last(&l);
	}
}

/* The gradients that come down through time, in `h`: of the hidden state, then of the cell. */
static void lstm_step_back(const struct layer *l, size_t step, const float *c_before)
{
	float *gate = gate_at(l, step), *dh = l->h, *dc = l->h + l->batch * l->hidden;
	const float *c = extra_at(l, step);
	size_t hidden = l->hidden;
	for (size_t n = 0; n < l->batch; n++, gate += l->gates)
		for (size_t j = 0; j < hidden; j++) {
			size_t at = n * hidden + j;
			float i = gate[j], o = gate[hidden + j], f = gate[2 * hidden + j], made = gate[3 * hidden + j];
			float t = tanhf(c[at]), d = dc[at] + dh[at] * o * (1 - t * t);
			gate[j] = d * made * i * (1 - i);
			gate[hidden + j] = dh[at] * t * o * (1 - o);
			gate[2 * hidden + j] = d * (c_before ? c_before[at] : 0) * f * (1 - f);
			gate[3 * hidden + j] = d * i * (1 - made * made);
			dc[at] = d * f;
			dh[at] = 0; /* what follows is all through the gates */
		}
}

static void rnn_step_back(const struct layer *l, size_t step)
{
	float *gate = gate_at(l, step);
	for (size_t i = 0; i < l->batch * l->hidden; i++) {
		gate[i] = l->h[i] * (1 - gate[i] * gate[i]);
		l->h[i] = 0;
	}
}

/* Leaves in `gate` the gradients for the input's terms, in `work` those for the products with h. */
static void gru_step_back(const struct layer *l, size_t step, const float *h_before)
{
	float *gate = gate_at(l, step), *extra = extra_at(l, step), *dh = l->h, *through = l->h + l->batch * l->hidden;
	size_t hidden = l->hidden;
	for (size_t n = 0; n < l->batch; n++)
		for (size_t j = 0; j < hidden; j++) {
			size_t at = n * hidden + j;
			float *row = gate + n * l->gates, *work = l->work + n * l->gates;
			float z = row[j], r = row[hidden + j], made = row[2 * hidden + j],
			      last = h_before ? h_before[at] : 0;
			float d = dh[at] * (1 - z) * (1 - made * made);
			row[j] = work[j] = dh[at] * (last - made) * z * (1 - z);
			row[2 * hidden + j] = d;
			work[2 * hidden + j] = l->after ? d * r : d;
			row[hidden + j] = work[hidden + j] = l->after ? d * extra[at] * r * (1 - r) : r;
			dh[at] *= z;
		}
	if (l->after)
		return;
	/* d(r·h) = d·R of the last gate, then to r and to h. */
	product(l, (struct matmul){.m = l->batch,
				   .n = hidden,
				   .k = hidden,
				   .a = gate + 2 * hidden,
				   .a_row = l->gates,
				   .a_depth = 1,
				   .b = l->r + 2 * hidden * hidden,
				   .b_depth = hidden,
				   .b_column = 1,
				   .c = through,
				   .c_row = hidden});
	for (size_t n = 0; n < l->batch; n++)
		for (size_t j = 0; j < hidden; j++) {
			size_t at = n * hidden + j;
			float r = gate[n * l->gates + hidden + j], last = h_before ? h_before[at] : 0;
			float d = through[at] * last * r * (1 - r);
			gate[n * l->gates + hidden + j] = l->work[n * l->gates + hidden + j] = d;
			dh[at] += through[at] * r;
		}
}

/* With the gradients of the products with h known: on to h, to R and to its terms. */
static void through_products(const struct layer *l, size_t step, const float *h_before)
{
	const struct op_node *node = l->node;
	bool gru = l->kind == OP_GRU, apart = gru && !l->after;
	const float *grad = gru ? l->work : gate_at(l, step);
	float *dr = node->in[2].grad ? node->in[2].grad + l->direction * l->gates * l->hidden : NULL;
	float *db = op_in(node, 3) && node->in[3].grad ? node->in[3].grad + (l->direction * 2 + 1) * l->gates : NULL;
	/* Where the reset came first, the last gate saw r·h, which `extra` has. */
	size_t direct = apart ? 2 * l->hidden : l->gates, hidden = l->hidden;
	product(l, (struct matmul){.m = l->batch,
				   .n = hidden,
				   .k = direct,
				   .a = grad,
				   .a_row = l->gates,
				   .a_depth = 1,
				   .b = l->r,
				   .b_depth = hidden,
				   .b_column = 1,
				   .c = l->h,
				   .c_row = hidden,
				   .add = true});
	if (dr && h_before)
		product(l, (struct matmul){.m = direct,
					   .n = hidden,
					   .k = l->batch,
					   .a = grad,
					   .a_row = 1,
					   .a_depth = l->gates,
					   .b = h_before,
					   .b_depth = hidden,
					   .b_column = 1,
					   .c = dr,
					   .c_row = hidden,
					   .add = true});
	if (dr && apart)
		product(l, (struct matmul){.m = hidden,
					   .n = hidden,
					   .k = l->batch,
					   .a = grad + 2 * hidden,
					   .a_row = 1,
					   .a_depth = l->gates,
					   .b = extra_at(l, step),
					   .b_depth = hidden,
					   .b_column = 1,
					   .c = dr + 2 * hidden * hidden,
					   .c_row = hidden,
					   .add = true});
	if (db)
		op_add_rows(l->compute, grad, l->batch, l->gates, db);
}

/* All steps' gates at once: to the input, to W and to its terms. */
static void through_input(const struct layer *l)
{
	const struct op_node *node = l->node;
	size_t rows = l->steps * l->batch;
	if (node->in[0].grad)
		product(l, (struct matmul){.m = rows,
					   .n = l->in,
					   .k = l->gates,
					   .a = l->gate,
					   .a_row = l->gates,
					   .a_depth = 1,
					   .b = l->w,
					   .b_depth = l->in,
					   .b_column = 1,
					   .c = node->in[0].grad,
					   .c_row = l->in,
					   .add = true});
	if (node->in[1].grad)
		product(l, (struct matmul){.m = l->gates,
					   .n = l->in,
					   .k = rows,
					   .a = l->gate,
					   .a_row = 1,
					   .a_depth = l->gates,
					   .b = node->in[0].at,
					   .b_depth = l->in,
					   .b_column = 1,
					   .c = node->in[1].grad + l->direction * l->gates * l->in,
					   .c_row = l->in,
					   .add = true});
	if (op_in(node, 3) && node->in[3].grad)
		op_add_rows(l->compute, l->gate, rows, l->gates, node->in[3].grad + l->direction * 2 * l->gates);
}

/* The gradient of an output or an initial state of this direction; NULL where there is none. */
static float *side_grad(const struct layer *l, const struct op_value *values, size_t count, size_t index)
{
	return index < count && values[index].present && values[index].grad
		       ? values[index].grad + l->direction * l->batch * l->hidden
		       : NULL;
}

static void begin_back(const struct layer *l)
{
	size_t size = l->batch * l->hidden;
	for (size_t i = 0; i < 2; i++) {
		const float *last = side_grad(l, l->node->out, l->node->out_count, 1 + i);
		for (size_t j = 0; j < size; j++)
			l->h[i * size + j] = last ? last[j] : 0;
	}
}

static void end_back(const struct layer *l)
{
	size_t size = l->batch * l->hidden;
	float *h0 = side_grad(l, l->node->in, l->node->in_count, 4),
	      *c0 = side_grad(l, l->node->in, l->node->in_count, 5);
	if (h0)
		op_add(l->compute, h0, l->h, size);
	if (c0 && l->kind == OP_LSTM)
		op_add(l->compute, c0, l->h + size, size);
}

static void recurrent_backward(const struct compute *compute, const struct op_node *node)
{
	struct layer l = layer_of(compute, node);
	for (size_t d = 0; d < l.directions; d++) {
		choose_direction(&l, d);
		begin_back(&l);
		for (size_t step = l.steps; step-- > 0;) {
			const float *h_before = before(&l, step, 4);
			if (node->out[0].present && node->out[0].grad)
				op_add(compute, l.h, node->out[0].grad + out_at(&l, step), l.batch * l.hidden);
			if (l.kind == OP_LSTM)
				lstm_step_back(&l, step, before(&l, step, 5));
			else if (l.kind == OP_GRU)
				gru_step_back(&l, step, h_before);
			else
				rnn_step_back(&l, step);
			through_products(&l, step, h_before);
		}
		through_input(&l);
		end_back(&l);
	}
}

static const char *recurrent_refuse(const struct op_node *node)
{
	const struct op_recurrent *how = &node->op->attributes.recurrent;
	if (how->directions < 1 || how->directions > 2 || how->hidden < 1)
		return "a recurrent layer has one or two directions and a hidden size";
	return NULL;
}

#define RECURRENT                                                                                                      \
	{                                                                                                              \
		.words = "product and steps", .refuse = recurrent_refuse, .state = layer_floats,                       \
		.forward = recurrent_forward, .backward = recurrent_backward, .back_reads_in = true,                   \
		.back_reads_out = true                                                                                 \
	}

const struct op_kernel op_lstm = RECURRENT;
const struct op_kernel op_gru = RECURRENT;
const struct op_kernel op_rnn = RECURRENT;
