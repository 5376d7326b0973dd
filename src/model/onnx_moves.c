/* onnx_moves.c - ONNX nodes that move, pick or reshape elements. */
#include "model/infer.h"
#include "model/onnx_load.h"
#include "model/values.h"
#include "onnx.pb-c.h"

#include <math.h>
#include <string.h>

static int unknown_shape(const struct onnx_site *site)
{
	return onnx_emit_unknown(site, "the shape of its input is not known");
}

static int computed(const struct onnx_site *site)
{
	return onnx_emit_unknown(site, "the shape of its output depends on values that are computed");
}

static int convert_identity(const struct onnx_site *site)
{
	/* A dropout's mask is nobody's at inference; where somebody reads it, the file is for training. */
	struct onnx_op op = {.kind = OP_IDENTITY, .inputs = 1};
	Onnx__Node node = *site->node;
	if (strcmp(node.op_type, "Dropout") == 0 && node.n_output > 1)
		node.n_output = 1;
	return onnx_emit(&(struct onnx_site){site->load, &node}, &op);
}

static int convert_reshape(const struct onnx_site *site)
{
	const struct shape *x = onnx_shape(site, 0);
	int64_t wanted[SHAPE_MAX_RANK], count, known = 1;
	struct shape shape = {0};
	size_t open = SHAPE_MAX_RANK;
	if (!x)
		return unknown_shape(site);
	count = onnx_list(site, "shape", 1, wanted, SHAPE_MAX_RANK);
	if (count < 0)
		return computed(site);
	for (int64_t i = 0; i < count; i++) {
		int64_t dim = wanted[i];
		if (dim == 0 && !onnx_int(site, "allowzero", 0) && (size_t)i < x->rank)
			dim = x->dims[i];
		if (dim == -1 && open == SHAPE_MAX_RANK)
			open = (size_t)i;
		else if (dim < 0 || dim > INFER_MAX_DIM || !count_multiply(known, dim, &known))
			return onnx_bad(site, "it asks for a dimension of %lld", (long long)wanted[i]);
		shape.dims[shape.rank++] = dim;
	}
	if (open != SHAPE_MAX_RANK)
		shape.dims[open] = known > 0 ? shape_elements(x) / known : 0;
	return onnx_emit(site, &(struct onnx_op){.kind = OP_RESHAPE, .inputs = 1, .given = &shape});
}

static int convert_flatten(const struct onnx_site *site)
{
	const struct shape *x = onnx_shape(site, 0);
	struct shape shape = {.rank = 2};
	int64_t axis = onnx_int(site, "axis", 1);
	if (!x)
		return unknown_shape(site);
	if (axis < 0)
		axis += (int64_t)x->rank;
	if (axis < 0 || axis > (int64_t)x->rank || !shape_product(x, 0, (size_t)axis, &shape.dims[0]) ||
	    !shape_product(x, (size_t)axis, x->rank, &shape.dims[1]))
		return onnx_bad(site, "it has no such axis");
	return onnx_emit(site, &(struct onnx_op){.kind = OP_RESHAPE, .inputs = 1, .given = &shape});
}

/* Which axes of a shape of that rank are named. */
static int name_axes(const struct onnx_site *site, size_t rank, bool *named, int64_t *count)
{
	int64_t axes[SHAPE_MAX_RANK];
	struct shape shape = {.rank = rank};
	*count = onnx_list(site, "axes", 1, axes, SHAPE_MAX_RANK);
	for (int64_t i = 0; i < *count; i++) {
		size_t axis;
		if (!shape_axis(&shape, axes[i], &axis))
			return onnx_bad(site, "it has no axis %lld", (long long)axes[i]);
		named[axis] = true;
	}
	return 0;
}

static int convert_squeeze(const struct onnx_site *site)
{
	const struct shape *x = onnx_shape(site, 0);
	bool named[SHAPE_MAX_RANK] = {false};
	struct shape shape = {0};
	int64_t count;
	if (!x)
		return unknown_shape(site);
	int code = name_axes(site, x->rank, named, &count);
	if (code || count < 0)
		return code ? code : computed(site);
	for (size_t i = 0; i < x->rank; i++)
		if (count ? !named[i] : x->dims[i] != 1)
			shape.dims[shape.rank++] = x->dims[i];
	return onnx_emit(site, &(struct onnx_op){.kind = OP_RESHAPE, .inputs = 1, .given = &shape});
}

static int convert_unsqueeze(const struct onnx_site *site)
{
	const struct shape *x = onnx_shape(site, 0);
	bool named[SHAPE_MAX_RANK] = {false};
	int64_t axes[SHAPE_MAX_RANK], count;
	struct shape shape = {0};
	if (!x)
		return unknown_shape(site);
	count = onnx_list(site, "axes", 1, axes, SHAPE_MAX_RANK);
	if (count < 0)
		return computed(site);
	if (x->rank + (size_t)count > SHAPE_MAX_RANK)
		return onnx_bad(site, "its output has more than %d dimensions", SHAPE_MAX_RANK);
	int code = name_axes(site, x->rank + (size_t)count, named, &count);
	if (code)
		return code;
	for (size_t i = 0, from = 0; i < x->rank + (size_t)count && from <= x->rank; i++)
		shape.dims[shape.rank++] = named[i] || from >= x->rank ? 1 : x->dims[from++];
	return onnx_emit(site, &(struct onnx_op){.kind = OP_RESHAPE, .inputs = 1, .given = &shape});
}

static int convert_transpose(const struct onnx_site *site)
{
	const struct shape *x = onnx_shape(site, 0);
	struct onnx_op op = {.kind = OP_TRANSPOSE, .inputs = 1};
	int64_t perm[SHAPE_MAX_RANK];
	if (!x)
		return unknown_shape(site);
	size_t count = onnx_ints(site, "perm", perm, SHAPE_MAX_RANK);
	if (count && count != x->rank)
		return onnx_bad(site, "its order has %zu dimensions, its input %zu", count, x->rank);
	for (size_t i = 0; i < x->rank; i++)
		op.attributes.perm[i] = count ? (perm[i] < 0 ? SIZE_MAX : (size_t)perm[i]) : x->rank - 1 - i;
	return onnx_emit(site, &op);
}

static int convert_concat(const struct onnx_site *site)
{
	const struct shape *x = onnx_shape(site, 0);
	struct onnx_op op = {.kind = OP_CONCAT, .inputs = site->node->n_input};
	if (!x)
		return unknown_shape(site);
	if (!shape_axis(x, onnx_int(site, "axis", 1), &op.attributes.axis))
		return onnx_bad(site, "it has no such axis");
	return onnx_emit(site, &op);
}

enum { SPLITS_MOST = 256 };

static int convert_split(const struct onnx_site *site)
{
	const struct shape *x = onnx_shape(site, 0);
	struct onnx_op op = {.kind = OP_SPLIT, .inputs = 1, .outputs = site->node->n_output};
	struct shape shapes[SPLITS_MOST];
	int64_t sizes[SPLITS_MOST], count, outputs = (int64_t)site->node->n_output;
	size_t axis;
	if (!x)
		return unknown_shape(site);
	if (!shape_axis(x, onnx_int(site, "axis", 0), &axis) || outputs < 1 || outputs > SPLITS_MOST)
		return onnx_bad(site, "it has no such axis, or too many outputs");
	count = onnx_list(site, "split", 1, sizes, SPLITS_MOST);
	if (count < 0)
		return computed(site);
	if (count > 0 && count != outputs)
		return onnx_bad(site, "it has %lld outputs, but %lld sizes", (long long)outputs, (long long)count);
	int64_t part = (x->dims[axis] + outputs - 1) / outputs;
	for (int64_t i = 0; i < outputs; i++) {
		int64_t rest = x->dims[axis] - i * part;
		shapes[i] = *x;
		shapes[i].dims[axis] = count ? sizes[i] : rest < part ? (rest < 0 ? 0 : rest) : part;
	}
	op.attributes.axis = axis;
	op.all_given = shapes;
	return onnx_emit(site, &op);
}

/* Into 0 … size, as Python does: from the end where negative, cut where beyond. */
static int64_t clamp_index(int64_t index, int64_t low, int64_t high, int64_t size)
{
	if (index < 0)
		index = index < -size ? low : index + size;
	return index < low ? low : index > high ? high : index;
}

/* How many elements from `start` towards `end`. */
static int64_t slice_count(int64_t size, int64_t *start, int64_t end, int64_t step)
{
	if (step > 0) {
		*start = clamp_index(*start, 0, size, size);
		end = clamp_index(end, 0, size, size);
		return end > *start ? (end - *start - 1) / step + 1 : 0;
	}
	*start = clamp_index(*start, 0, size - 1, size);
	/* Before the first element is -1 here, which a negative index cannot say. */
	end = end < -size ? -1 : clamp_index(end, -1, size - 1, size);
	return *start > end && step != INT64_MIN ? (*start - end - 1) / -step + 1 : *start > end;
}

static int convert_slice(const struct onnx_site *site)
{
	const struct shape *x = onnx_shape(site, 0);
	struct onnx_op op = {.kind = OP_SLICE, .inputs = 1};
	int64_t starts[SHAPE_MAX_RANK], ends[SHAPE_MAX_RANK], axes[SHAPE_MAX_RANK], steps[SHAPE_MAX_RANK];
	if (!x)
		return unknown_shape(site);
	int64_t count = onnx_list(site, "starts", 1, starts, SHAPE_MAX_RANK);
	int64_t end_count = onnx_list(site, "ends", 2, ends, SHAPE_MAX_RANK);
	int64_t axis_count = onnx_list(site, "axes", 3, axes, SHAPE_MAX_RANK);
	int64_t step_count = onnx_list(site, "steps", 4, steps, SHAPE_MAX_RANK);
	if (count < 0 || end_count < 0 || axis_count < 0 || step_count < 0)
		return computed(site);
	if (count != end_count || (axis_count && axis_count != count) || (step_count && step_count != count))
		return onnx_bad(site, "starts, ends, axes and steps differ in number");
	struct shape shape = *x;
	for (size_t i = 0; i < SHAPE_MAX_RANK; i++)
		op.attributes.slice.step[i] = 1;
	for (int64_t i = 0; i < count; i++) {
		size_t axis;
		int64_t step = step_count ? steps[i] : 1;
		if (!shape_axis(x, axis_count ? axes[i] : i, &axis) || step == 0)
			return onnx_bad(site, "it has no such axis, or a step of 0");
		shape.dims[axis] = slice_count(x->dims[axis], &starts[i], ends[i], step);
		op.attributes.slice.start[axis] = starts[i];
		op.attributes.slice.step[axis] = step;
	}
	op.given = &shape;
	return onnx_emit(site, &op);
}

static int convert_expand(const struct onnx_site *site)
{
	const struct shape *x = onnx_shape(site, 0);
	int64_t wanted[SHAPE_MAX_RANK], count;
	struct shape asked = {0}, shape;
	if (!x)
		return unknown_shape(site);
	count = onnx_constant(site, 1, wanted, SHAPE_MAX_RANK);
	if (count < 0)
		return computed(site);
	for (int64_t i = 0; i < count; i++) {
		if (wanted[i] < 0 || wanted[i] > INFER_MAX_DIM)
			return onnx_bad(site, "it asks for a dimension of %lld", (long long)wanted[i]);
		asked.dims[asked.rank++] = wanted[i];
	}
	if (!shape_broadcast(x, &asked, &shape))
		return onnx_bad(site, "its input cannot be broadcast to what it asks for");
	return onnx_emit(site, &(struct onnx_op){.kind = OP_EXPAND, .inputs = 1, .given = &shape});
}

static int convert_pad(const struct onnx_site *site)
{
	const struct shape *x = onnx_shape(site, 0);
	struct onnx_op op = {.kind = OP_PAD, .inputs = 1};
	int64_t pads[2 * SHAPE_MAX_RANK], count;
	char mode[32];
	if (!x)
		return unknown_shape(site);
	count = onnx_list(site, "pads", 1, pads, 2 * SHAPE_MAX_RANK);
	if (count < 0)
		return computed(site);
	onnx_text(site, "mode", mode, sizeof(mode));
	if ((*mode && strcmp(mode, "constant") != 0) || onnx_in(site, 3) != GRAPH_NONE)
		return onnx_emit_unknown(site, "pitot knows padding with a constant along all axes only");
	if ((size_t)count != 2 * x->rank)
		return onnx_bad(site, "has %lld numbers of padding, expected %zu", (long long)count, 2 * x->rank);
	for (size_t i = 0; i < x->rank; i++) {
		op.attributes.pad.begin[i] = pads[i];
		op.attributes.pad.end[i] = pads[x->rank + i];
	}
	size_t value = onnx_in(site, 2);
	op.attributes.pad.value = onnx_float(site, "value", 0);
	if (value != GRAPH_NONE && onnx_is_constant(&site->load->graph->tensors.items[value]) &&
	    shape_elements(&site->load->graph->tensors.items[value].shape) == 1)
		op.attributes.pad.value = values_element(&site->load->graph->tensors.items[value], 0);
	return onnx_emit(site, &op);
}

static int convert_cast(const struct onnx_site *site)
{
	enum element element;
	if (!onnx_element(onnx_int(site, "to", 0), &element))
		return onnx_emit_unknown(site, "it casts to a type that pitot does not read");
	return onnx_emit(site, &(struct onnx_op){.kind = OP_CAST, .inputs = 1, .element = &element});
}

/* The factor of a dimension: from the input of scales, or the attribute of old files. */
static bool read_scales(const struct onnx_site *site, size_t input, size_t rank, double *out)
{
	size_t tensor = onnx_in(site, input);
	const Onnx__Attribute *attribute = onnx_attribute(site, "scales");
	if (tensor == GRAPH_NONE) {
		for (size_t i = 0; attribute && i < attribute->n_floats && i < rank; i++)
			out[i] = (double)attribute->floats[i];
		return attribute && attribute->n_floats == rank;
	}
	const struct graph_tensor *found = &site->load->graph->tensors.items[tensor];
	if (!onnx_is_constant(found) || shape_elements(&found->shape) != (int64_t)rank)
		return false;
	for (size_t i = 0; i < rank; i++)
		out[i] = values_element(found, (int64_t)i);
	return true;
}

static int convert_resize(const struct onnx_site *site)
{
	const struct shape *x = onnx_shape(site, 0);
	struct onnx_op op = {.kind = OP_RESIZE, .inputs = 1};
	bool upsample = strcmp(site->node->op_type, "Upsample") == 0;
	int64_t sizes[SHAPE_MAX_RANK];
	double scales[SHAPE_MAX_RANK];
	char mode[32];
	if (!x)
		return unknown_shape(site);
	struct shape shape = *x;
	int64_t count = upsample ? -1 : onnx_constant(site, 3, sizes, SHAPE_MAX_RANK);
	if (count >= 0 && (size_t)count != x->rank)
		return onnx_bad(site, "its sizes have not as many dimensions as its input");
	if (count < 0 && !read_scales(site, upsample ? 1 : site->load->opset < 11 ? 1 : 2, x->rank, scales))
		return computed(site);
	for (size_t i = 0; i < x->rank; i++) {
		double scaled = count < 0 ? floor((double)x->dims[i] * scales[i]) : (double)sizes[i];
		if (!(scaled >= 0 && scaled <= (double)INFER_MAX_DIM))
			return onnx_bad(site, "it asks for a dimension that cannot be");
		shape.dims[i] = (int64_t)scaled;
	}
	op.attributes.resize.linear = strcmp(onnx_text(site, "mode", mode, sizeof(mode)), "linear") == 0;
	if (strcmp(mode, "cubic") == 0)
		return onnx_emit_unknown(site, "pitot does not know cubic resizing");
	op.given = &shape;
	return onnx_emit(site, &op);
}

static int convert_gather(const struct onnx_site *site)
{
	const struct shape *x = onnx_shape(site, 0);
	struct onnx_op op = {.kind = OP_GATHER, .inputs = 2};
	size_t axis, tensor = onnx_in(site, 0);
	if (!x)
		return unknown_shape(site);
	if (!shape_axis(x, onnx_int(site, "axis", 0), &axis))
		return onnx_bad(site, "it has no such axis");
	const struct graph_tensor *table = &site->load->graph->tensors.items[tensor];
	bool is_table = x->rank == 2 && axis == 0 && element_is_float(table->element) &&
			table->role != TENSOR_ACTIVATION && table->role != TENSOR_INPUT;
	op.attributes.axis = axis;
	if (is_table) {
		op.kind = OP_EMBEDDING;
		onnx_is_weight(site, 0, TENSOR_WEIGHT);
		/* Synthetic ids are rows of the table. */
		size_t ids = onnx_in(site, 1);
		if (ids != GRAPH_NONE && site->load->graph->tensors.items[ids].role == TENSOR_INPUT)
			site->load->graph->tensors.items[ids].fill = (double)x->dims[0];
	}
	return onnx_emit(site, &op);
}

const struct onnx_type onnx_move_types[] = {{"Identity", convert_identity},
					    {"Dropout", convert_identity},
					    {"Reshape", convert_reshape},
					    {"Flatten", convert_flatten},
					    {"Squeeze", convert_squeeze},
					    {"Unsqueeze", convert_unsqueeze},
					    {"Transpose", convert_transpose},
					    {"Concat", convert_concat},
					    {"Split", convert_split},
					    {"Slice", convert_slice},
					    {"Expand", convert_expand},
					    {"Pad", convert_pad},
					    {"Cast", convert_cast},
					    {"Resize", convert_resize},
					    {"Upsample", convert_resize},
					    {"Gather", convert_gather},
					    {0}};
