/*
 * test_model_onnx.c - an ONNX file is not only counted but computed as its author meant: against PyTorch's own results
 * (tests/make_model_vectors.py), and against a sum that can be done by hand. Runs from the project's root.
 */
#include "base/file.h"
#include "base/str.h"
#include "model/exec.h"
#include "model/onnx.h"
#include "near.h"
#include "unit.h"

/* The first output; `value` gives element i of every input. The caller frees it. */
static float *compute(const char *path, const struct onnx_options *options, float (*value)(int64_t i), int64_t *count)
{
	struct graph graph;
	struct exec *exec = NULL;
	struct err err;
	float *copy = NULL;
	if (onnx_load(path, options, &graph, &err) != 0 ||
	    exec_new(&graph, &(struct exec_options){.threads = 1, .seed = 1}, &exec, &err) != 0)
		fail_msg("%s", err.text);
	for (size_t i = 0; i < graph.tensors.len; i++)
		for (int64_t k = 0;
		     graph.tensors.items[i].role == TENSOR_INPUT && k < shape_elements(&graph.tensors.items[i].shape);
		     k++)
			exec_tensor(exec, i)[k] = value(k);
	exec_run(exec, NULL);
	for (size_t i = 0; i < graph.tensors.len && !copy; i++)
		if (graph.tensors.items[i].output) {
			*count = shape_elements(&graph.tensors.items[i].shape);
			copy = mem_alloc((size_t)*count * sizeof(*copy));
			memcpy(copy, exec_tensor(exec, i), (size_t)*count * sizeof(*copy));
		}
	exec_free(exec);
	graph_fini(&graph);
	return copy;
}

static float mixed(int64_t i)
{
	return (float)(i * 37 % 101 - 50) / 50;
}

static float one(int64_t i)
{
	(void)i;
	return 1;
}

static void a_network_that_pytorch_exported_computes_what_pytorch_computes(void **state)
{
	(void)state;
	char *text;
	size_t size;
	struct err err;
	int64_t count, at = 0;
	float *got = compute("tests/vectors/model/mix.onnx", &(struct onnx_options){0}, mixed, &count);
	if (file_read("tests/vectors/model/mix.txt", 1 << 20, &text, &size, &err) != 0)
		fail_msg("%s", err.text);
	char *rest = text;
	for (char *line = strsep(&rest, "\n"); line && *line; line = strsep(&rest, "\n"), at++) {
		double expected;
		assert_true(str_to_double(line, &expected));
		assert_true(at < count);
		assert_near(got[at], expected, 1e-5 * (1 + fabs(expected)));
	}
	assert_int_equal(at, count);
	free(text);
	free(got);
}

static void a_convolution_of_ones_is_what_a_hand_adds_up(void **state)
{
	(void)state;
	int64_t count;
	float *got = compute("tests/fuzz/corpus/model/conv.onnx", &(struct onnx_options){.batch = 2}, one, &count);
	/* All weights are 0.5. 36 pixels see 27 ones, 24 at the edges 18, 4 in the corners 12; the norm; the mean; four of them. */
	double mean = (36 * (27 * 0.5 + 0.5) + 24 * (18 * 0.5 + 0.5) + 4 * (12 * 0.5 + 0.5)) / 64;
	double expected = 4 * 0.5 * ((mean - 0.5) / sqrt(0.5 + 1e-5) * 0.5 + 0.5);
	assert_int_equal(count, 2 * 5);
	for (int64_t i = 0; i < count; i++)
		assert_near(got[i], expected, 1e-4);
	free(got);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_network_that_pytorch_exported_computes_what_pytorch_computes),
	cmocka_unit_test(a_convolution_of_ones_is_what_a_hand_adds_up),
};

UNIT_MAIN(tests)
