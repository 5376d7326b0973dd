/* test_model_infer.c - shapes that follow from shapes, and those that do not fit together. */
#include "model/build.h"
#include "model/infer.h"
#include "unit.h"

static struct graph graph;
static struct err err;
static struct build build;

static int setup(void **state)
{
	(void)state;
	graph_init(&graph, "shapes");
	build = (struct build){.graph = &graph, .err = &err};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	build_fini(&build);
	graph_fini(&graph);
	return 0;
}

static void assert_shape(size_t tensor, const struct shape *expected)
{
	char text[SHAPE_TEXT_SIZE];
	if (tensor == GRAPH_NONE)
		fail_msg("%s", err.text);
	if (!shape_equal(build_shape(&build, tensor), expected))
		fail_msg("the shape is %s", shape_text(build_shape(&build, tensor), text));
}

static void the_size_of_a_convolution_follows_padding_stride_and_dilation(void **state)
{
	(void)state;
	static const struct {
		struct build_conv conv;
		int64_t in, out;
	} rows[] = {
		{{.kernel = 3}, 8, 6},
		{{.kernel = 3, .pad = 1}, 8, 8},
		{{.kernel = 3, .pad = 1, .stride = 2}, 8, 4},
		{{.kernel = 3, .pad = 1, .stride = 2}, 7, 4},
		{{.kernel = 7, .pad = 3, .stride = 2}, 224, 112},
		{{.kernel = 3, .dilation = 2}, 8, 4},
		{{.kernel = 2, .stride = 3}, 9, 3},
		{{.kernel = 3, .stride = 2, .pad = 1, .output_pad = 1, .transpose = true}, 10, 20},
		{{.kernel = 4, .stride = 2, .pad = 1, .transpose = true}, 7, 14},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct build_conv conv = rows[i].conv;
		conv.out = 5;
		size_t x = build_input(&build, "x", &SHAPE(2, 3, rows[i].in, rows[i].in), 0);
		assert_shape(build_conv(&build, "conv", x, &conv), &SHAPE(2, 5, rows[i].out, rows[i].out));
	}
}

static void a_pool_that_rounds_up_does_not_begin_in_the_padding(void **state)
{
	(void)state;
	static const struct {
		struct build_pool pool;
		int64_t in, out;
	} rows[] = {{{.kernel = 2}, 7, 3},
		    {{.kernel = 2, .ceil_mode = true}, 7, 4},
		    {{.kernel = 3, .stride = 2, .ceil_mode = true}, 6, 3},
		    {{.kernel = 2, .stride = 2, .pad = 1, .ceil_mode = true}, 5, 3},
		    {{.kernel = 1, .stride = 3, .ceil_mode = true}, 4, 2}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t x = build_input(&build, "x", &SHAPE(1, 1, rows[i].in), 0);
		assert_shape(build_pool(&build, "pool", OP_MAX_POOL, x, &rows[i].pool), &SHAPE(1, 1, rows[i].out));
	}
}

static void shapes_of_moves_follow(void **state)
{
	(void)state;
	size_t x = build_input(&build, "x", &SHAPE(2, 3, 4), 0), y = build_input(&build, "y", &SHAPE(3, 1), 0);
	assert_shape(build_transpose(&build, "t", x, 1, 2), &SHAPE(2, 4, 3));
	assert_shape(build_flatten(&build, "f", x, 1), &SHAPE(2, 12));
	assert_shape(build_binary(&build, "b", BINARY_ADD, x, y), &SHAPE(2, 3, 4));
	assert_shape(build_slice(&build, "s", x, -1, 1, 2), &SHAPE(2, 3, 2));
	assert_shape(build_mean(&build, "m", x, 1), &SHAPE(2, 4));
	assert_shape(build_concat(&build, "c", x, x, 2), &SHAPE(2, 3, 8));
	assert_shape(build_linear(&build, "l", x, 7, true), &SHAPE(2, 3, 7));
}

static void what_does_not_fit_is_refused_with_the_operators_name(void **state)
{
	size_t x, y;
	for (int i = 0; i < 8; i++) {
		teardown(state);
		setup(state);
		x = build_input(&build, "x", &SHAPE(2, 3, 4), 0);
		y = build_input(&build, "y", &SHAPE(2, 5), 0);
		if (i == 0)
			build_binary(&build, "wrong", BINARY_ADD, x, y);
		else if (i == 1)
			build_conv(&build, "wrong", x, &(struct build_conv){.out = 4, .kernel = 9});
		else if (i == 2)
			build_conv(&build, "wrong", x, &(struct build_conv){.out = 4, .kernel = 1, .groups = 2});
		else if (i == 3)
			build_reshape(&build, "wrong", x, &SHAPE(5, 5));
		else if (i == 4)
			build_slice(&build, "wrong", x, 1, 2, 2);
		else if (i == 5)
			build_attention(&build, "wrong", x, GRAPH_NONE, GRAPH_NONE,
					&(struct op_attention){.heads = 3, .kv_heads = 2});
		else if (i == 6)
			build_concat(&build, "wrong", x, y, 1);
		else
			build_expand(&build, "wrong", x, &SHAPE((int64_t)1 << 40, (int64_t)1 << 40, 3, 4));
		assert_int_equal(build.code, ERR_INPUT);
		assert_non_null(strstr(err.text, "wrong"));
		/* The first error stays, and nothing is built after it. */
		size_t ops = graph.ops.len;
		assert_int_equal(build_linear(&build, "later", x, 2, true), GRAPH_NONE);
		assert_int_equal(graph.ops.len, ops);
	}
}

#define SHAPES(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

static const struct CMUnitTest tests[] = {
	SHAPES(the_size_of_a_convolution_follows_padding_stride_and_dilation),
	SHAPES(a_pool_that_rounds_up_does_not_begin_in_the_padding),
	SHAPES(shapes_of_moves_follow),
	SHAPES(what_does_not_fit_is_refused_with_the_operators_name),
};

UNIT_MAIN(tests)
