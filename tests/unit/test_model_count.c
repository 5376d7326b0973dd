/* test_model_count.c - parameters and multiply-accumulates of the published models, exactly; lifetimes of activations. */
#include "model/arch.h"
#include "model/build.h"
#include "model/count.h"
#include "model/memory.h"
#include "unit.h"

static void make(const char *name, const struct sizes *sizes, struct graph *graph, struct count *count)
{
	struct err err;
	const struct arch *arch = arch_find(name);
	assert_non_null(arch);
	if (arch_make(arch, sizes, graph, &err) != 0 || count_graph(graph, count, &err) != 0)
		fail_msg("%s: %s", name, err.text);
}

static void drop(struct graph *graph, struct count *count)
{
	count_fini(count);
	graph_fini(graph);
}

static void published_models_have_their_published_counts(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		int64_t seq, parameters, macs;
	} rows[] = {
		{"lenet5", 0, 61706, 416520},
		{"alexnet", 0, 61100840, 714188480},
		{"alexnet-bvlc", 0, 60965224, 654560384},
		{"resnet18", 0, 11689512, 1814073344},
		{"resnet50", 0, 25557032, 4089184256},
		{"vgg16", 0, 138357544, 15470264320},
		{"mobilenetv2", 0, 3504872, 300774272},
		{"vit-b16", 0, 86567656, 17563828224},
		{"bert-base", 128, 109482240, 11174215680},
		{"bert-base", 512, 109482240, 48318971904},
		{"gpt2", 1024, 124439808, 145824153600},
		{"lstm", 100, 33280, 3276800},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sizes sizes = {.value = {[DIM_SEQ] = rows[i].seq}};
		struct graph graph;
		struct count count;
		make(rows[i].name, &sizes, &graph, &count);
		if (count.total.parameters != rows[i].parameters || count.total.macs != rows[i].macs)
			fail_msg("%s: %lld parameters, %lld MACs", rows[i].name, (long long)count.total.parameters,
				 (long long)count.total.macs);
		assert_int_equal(count.total.uncounted, 0);
		drop(&graph, &count);
	}
}

static void causal_attention_is_counted_exactly_beside_the_whole_square(void **state)
{
	(void)state;
	struct graph graph;
	struct count count;
	make("gpt2", &(struct sizes){0}, &graph, &count);
	assert_int_equal(2 * count.total.macs, 291648307200);
	assert_int_equal(2 * count.total.causal_macs, 272339828736);
	assert_int_equal(count.total.backward_macs, 2 * count.total.macs);
	/* All products have two operands that need gradients: the tables come first. */
	assert_int_equal(count.total.needed_backward_macs, 2 * count.total.causal_macs);
	drop(&graph, &count);
}

static void the_batch_multiplies_work_but_not_parameters(void **state)
{
	(void)state;
	struct graph one, many;
	struct count single, batch;
	make("resnet18", &(struct sizes){0}, &one, &single);
	make("resnet18", &(struct sizes){.value = {[DIM_BATCH] = 32}}, &many, &batch);
	assert_int_equal(batch.total.macs, 32 * single.total.macs);
	assert_int_equal(batch.total.point_ops, 32 * single.total.point_ops);
	assert_int_equal(batch.total.parameters, single.total.parameters);
	assert_int_equal(batch.total.weight_bytes, single.total.weight_bytes);
	drop(&one, &single);
	drop(&many, &batch);
}

static void the_gradient_of_the_models_input_is_not_needed(void **state)
{
	(void)state;
	struct graph graph;
	struct count count;
	make("lenet5", &(struct sizes){0}, &graph, &count);
	assert_int_equal(count.total.backward_macs, 2 * 416520);
	assert_int_equal(count.total.needed_backward_macs, 2 * 416520 - 117600);
	drop(&graph, &count);
}

static void layers_add_up_to_the_model(void **state)
{
	(void)state;
	struct graph graph;
	struct count count;
	make("resnet50", &(struct sizes){0}, &graph, &count);
	assert_int_equal(count.layers.items[0].macs, count.total.macs);
	int64_t top = 0;
	for (size_t i = 0; i < graph.layers.len; i++)
		if (graph.layers.items[i].parent == 0)
			top += count.layers.items[i].macs;
	for (size_t i = 0; i < graph.ops.len; i++)
		if (graph.ops.items[i].layer == 0)
			top += count.ops.items[i].macs;
	assert_int_equal(top, count.total.macs);
	drop(&graph, &count);
}

/* One operator on an input, counted. */
static struct work single(size_t (*add)(struct build *build, size_t x), const struct shape *shape)
{
	struct graph graph;
	struct err err;
	struct count count;
	graph_init(&graph, "single");
	struct build build = {.graph = &graph, .err = &err};
	size_t y = add(&build, build_input(&build, "x", shape, 0));
	if (build_finish(&build, y) != 0 || count_graph(&graph, &count, &err) != 0)
		fail_msg("%s", err.text);
	struct work work = count.total;
	build_fini(&build);
	drop(&graph, &count);
	return work;
}

static size_t add_linear_64(struct build *build, size_t x)
{
	return build_linear(build, "fc", x, 64, true);
}

static size_t add_linear_5(struct build *build, size_t x)
{
	return build_linear(build, "fc", x, 5, true);
}

static size_t add_linear_3072(struct build *build, size_t x)
{
	return build_linear(build, "fc", x, 3072, true);
}

static size_t add_conv_7x7(struct build *build, size_t x)
{
	return build_conv(build, "conv", x,
			  &(struct build_conv){.out = 64, .kernel = 7, .stride = 2, .pad = 3, .no_bias = true});
}

static size_t add_conv_transpose(struct build *build, size_t x)
{
	return build_conv(
		build, "conv", x,
		&(struct build_conv){.out = 8, .kernel = 3, .stride = 2, .pad = 1, .output_pad = 1, .transpose = true});
}

static size_t add_attention_12(struct build *build, size_t x)
{
	return build_attention(build, "attention", x, GRAPH_NONE, GRAPH_NONE,
			       &(struct op_attention){.heads = 12, .kv_heads = 12});
}

static size_t add_grouped_query(struct build *build, size_t x)
{
	return build_attention(build, "attention", x, GRAPH_NONE, GRAPH_NONE,
			       &(struct op_attention){.heads = 8, .kv_heads = 2, .causal = true});
}

static void single_layers_have_their_known_counts(void **state)
{
	(void)state;
	struct work work = single(add_linear_64, &SHAPE(1, 128));
	assert_int_equal(work.parameters, 8256);
	assert_int_equal(2 * work.macs, 16384);
	assert_int_equal(single(add_linear_5, &SHAPE(1, 10)).parameters, 55);
	work = single(add_linear_3072, &SHAPE(32, 512, 768));
	assert_int_equal(work.parameters, 2362368);
	assert_int_equal(2 * work.macs, 77309411328);
	assert_int_equal(2 * single(add_attention_12, &SHAPE(1, 64, 3 * 12 * 64)).macs, 12582912);
	work = single(add_conv_7x7, &SHAPE(1, 3, 224, 224));
	assert_int_equal(work.parameters, 9408);
	assert_int_equal(work.macs, 118013952);
	/* Every input meets every weight of its channel: 4·10·10 × 8·3·3. */
	assert_int_equal(single(add_conv_transpose, &SHAPE(1, 4, 10, 10)).macs, 4 * 100 * 8 * 9);
	/* Eight heads of queries of 16 on two of keys; 10·11/2 pairs. */
	work = single(add_grouped_query, &SHAPE(3, 10, (8 + 2 * 2) * 16));
	assert_int_equal(work.macs, 3 * 8 * 2 * 100 * 16);
	assert_int_equal(work.causal_macs, 3 * 8 * 2 * 55 * 16);
}

static void a_size_that_an_architecture_does_not_have_is_refused(void **state)
{
	(void)state;
	struct graph graph;
	struct err err;
	assert_int_equal(arch_make(arch_find("mlp"), &(struct sizes){.value = {[DIM_HEADS] = 4}}, &graph, &err),
			 ERR_USAGE);
	assert_string_equal(err.text, "mlp has no --heads");
	assert_int_equal(arch_make(arch_find("vgg16"), &(struct sizes){.value = {[DIM_CLASSES] = 4}}, &graph, &err),
			 ERR_USAGE);
	assert_int_equal(arch_make(arch_find("gpt2"), &(struct sizes){.value = {[DIM_SEQ] = 2048}}, &graph, &err),
			 ERR_INPUT);
	assert_int_equal(arch_make(arch_find("transformer"), &(struct sizes){.value = {[DIM_HEADS] = 7}}, &graph, &err),
			 ERR_INPUT);
	assert_int_equal(arch_make(arch_find("resnet18"), &(struct sizes){.value = {[DIM_BATCH] = (int64_t)1 << 50}},
				   &graph, &err),
			 ERR_INPUT);
	assert_string_equal(arch_suggest("resnet-50"), "resnet50");
}

static void memory_is_the_peak_of_what_lives_at_once(void **state)
{
	(void)state;
	struct graph graph;
	struct memory memory;
	struct err err;
	graph_init(&graph, "chain");
	struct build build = {.graph = &graph, .err = &err};
	/* 1000 → 500 → view → relu 500 → 10 floats. */
	size_t x = build_input(&build, "x", &SHAPE(1, 1000), 0);
	size_t y = build_linear(&build, "a", x, 500, true);
	y = build_reshape(&build, "view", y, &SHAPE(1, 5, 100));
	y = build_flatten(&build, "flat", build_unary(&build, "relu", y, UNARY_RELU), 1);
	y = build_linear(&build, "b", y, 10, true);
	assert_int_equal(build_finish(&build, y), 0);
	assert_int_equal(memory_graph(&graph, &memory, &err), 0);
	assert_int_equal(memory.weight_bytes, 4 * (1000 * 500 + 500 + 500 * 10 + 10));
	assert_int_equal(memory.gradient_bytes, memory.weight_bytes);
	assert_int_equal(memory_optimizer_bytes(&memory, OPTIMIZER_SGD), 0);
	assert_int_equal(memory_optimizer_bytes(&memory, OPTIMIZER_MOMENTUM), memory.gradient_bytes);
	assert_int_equal(memory_optimizer_bytes(&memory, OPTIMIZER_ADAM), 2 * memory.gradient_bytes);
	/* Input and first result live together; the input is dead when relu runs; the views cost nothing. */
	assert_int_equal(memory.inference_bytes, 4 * (1000 + 500));
	assert_string_equal(graph.ops.items[memory.inference_op].name, "a");
	assert_int_equal(memory.all_activation_bytes, 4 * (500 + 500 + 10));
	/* The input for a's weights, relu's output for b's and its own gradient; b's result lives to the end. */
	assert_int_equal(memory.saved_bytes, 4 * (1000 + 500 + 10));
	/* While relu goes back: input, relu's output, and the gradients of its output and its input; in b's backward pass the
	 * gradients of b's output and input: more. */
	assert_int_equal(memory.training_bytes, 4 * (1000 + 500 + 500 + 500));
	assert_true(memory.training_in_backward);
	build_fini(&build);
	graph_fini(&graph);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(published_models_have_their_published_counts),
	cmocka_unit_test(causal_attention_is_counted_exactly_beside_the_whole_square),
	cmocka_unit_test(the_batch_multiplies_work_but_not_parameters),
	cmocka_unit_test(the_gradient_of_the_models_input_is_not_needed),
	cmocka_unit_test(layers_add_up_to_the_model),
	cmocka_unit_test(single_layers_have_their_known_counts),
	cmocka_unit_test(a_size_that_an_architecture_does_not_have_is_refused),
	cmocka_unit_test(memory_is_the_peak_of_what_lives_at_once),
};

UNIT_MAIN(tests)
