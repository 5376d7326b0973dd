/*
 * test_exec.c - plans and passes over small graphs: what shares memory, what is fused, what is refused, what is learned.
 */
#include "model/account.h"
#include "model/exec.h"
#include "model/exec_plan.h"
#include "unit.h"

#include <math.h>

/* A small convolutional network: image → conv → norm → relu → pool → linear → gelu → linear. */
struct net {
	struct graph graph;
	size_t image, filters, gamma, first, bias, second, between, logits;
	size_t layer;
};

static size_t put(struct net *net, const char *name, enum tensor_role role, struct shape shape,
		  enum tensor_source source, double fill)
{
	size_t tensor = graph_add_tensor(&net->graph, name, role, ELEMENT_F32, &shape);
	net->graph.tensors.items[tensor].source = source;
	net->graph.tensors.items[tensor].fill = fill;
	return tensor;
}

static size_t weight(struct net *net, const char *name, struct shape shape)
{
	return put(net, name, TENSOR_WEIGHT, shape, TENSOR_NORMAL, 0.3);
}

/* The operator's index is the last one's; its output has the given shape. */
static size_t add_op(struct net *net, enum op_kind kind, const char *name, const size_t *inputs, size_t count,
		     struct shape shape)
{
	size_t op = graph_add_op(&net->graph, kind, name, net->layer);
	for (size_t i = 0; i < count; i++)
		graph_op_reads(&net->graph, op, inputs[i]);
	size_t made = graph_op_writes(&net->graph, op, name, ELEMENT_F32);
	net->graph.tensors.items[made].shape = shape;
	net->graph.tensors.items[made].shaped = true;
	return made;
}
#define ADD(net, kind, name, shape, ...)                                                                               \
	add_op(net, kind, name, (size_t[]){__VA_ARGS__}, sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t), shape)

static union op_attributes *last_attributes(struct net *net)
{
	return &vec_last(&net->graph.ops)->attributes;
}

static size_t unary_after(struct net *net, const char *name, size_t x, struct shape shape, enum unary_fn fn)
{
	size_t made = ADD(net, OP_UNARY, name, shape, x);
	last_attributes(net)->unary.fn = fn;
	return made;
}

static void net_init(struct net *net, int64_t batch)
{
	*net = (struct net){0};
	graph_init(&net->graph, "net");
	net->layer = graph_layer(&net->graph, "");
	net->image = put(net, "image", TENSOR_INPUT, SHAPE(batch, 3, 8, 8), TENSOR_NORMAL, 1);
	net->filters = weight(net, "filters", SHAPE(6, 3, 3, 3));
	net->gamma = weight(net, "gamma", SHAPE(6));
	size_t beta = weight(net, "beta", SHAPE(6));
	size_t mean = put(net, "mean", TENSOR_BUFFER, SHAPE(6), TENSOR_NORMAL, 0.5);
	size_t variance = put(net, "variance", TENSOR_BUFFER, SHAPE(6), TENSOR_FILLED, 1.5);
	size_t at = ADD(net, OP_CONV, "conv", SHAPE(batch, 6, 8, 8), net->image, net->filters);
	last_attributes(net)->window = (struct op_window){.spatial = 2,
							  .kernel = {3, 3},
							  .stride = {1, 1},
							  .dilation = {1, 1},
							  .pad_begin = {1, 1},
							  .pad_end = {1, 1},
							  .groups = 1};
	at = ADD(net, OP_BATCH_NORM, "norm", SHAPE(batch, 6, 8, 8), at, net->gamma, beta, mean, variance);
	last_attributes(net)->norm.epsilon = 1e-5;
	at = unary_after(net, "relu", at, SHAPE(batch, 6, 8, 8), UNARY_TANH);
	at = ADD(net, OP_AVG_POOL, "pool", SHAPE(batch, 6, 4, 4), at);
	last_attributes(net)->window =
		(struct op_window){.spatial = 2, .kernel = {2, 2}, .stride = {2, 2}, .dilation = {1, 1}, .groups = 1};
	at = ADD(net, OP_RESHAPE, "flat", SHAPE(batch, 96), at);
	net->first = weight(net, "first", SHAPE(20, 96));
	net->bias = weight(net, "bias", SHAPE(20));
	net->between = ADD(net, OP_LINEAR, "linear", SHAPE(batch, 20), at, net->first, net->bias);
	at = unary_after(net, "gelu", net->between, SHAPE(batch, 20), UNARY_GELU);
	net->second = weight(net, "second", SHAPE(5, 20));
	net->logits = ADD(net, OP_LINEAR, "head", SHAPE(batch, 5), at, net->second);
	net->graph.tensors.items[net->logits].output = true;
	struct err err = {0};
	if (graph_finish(&net->graph, &err))
		fail_msg("%s", err.text);
}

static struct exec *made_exec(const struct net *net, struct exec_options options)
{
	struct err err = {0};
	struct exec *exec = NULL;
	options.seed = 7;
	if (exec_new(&net->graph, &options, &exec, &err))
		fail_msg("%s", err.text);
	return exec;
}

static void fused_and_unfused_passes_agree(void **state)
{
	(void)state;
	struct net net;
	net_init(&net, 3);
	struct exec *plain = made_exec(&net, (struct exec_options){.unfused = true});
	struct exec *fused = made_exec(&net, (struct exec_options){.threads = 2});
	struct exec *blas = NULL;
	struct err err = {0};
	exec_run(plain, NULL);
	exec_run(fused, NULL);
	const float *a = exec_tensor(plain, net.logits), *b = exec_tensor(fused, net.logits);
	for (size_t i = 0; i < 15; i++)
		assert_true(fabsf(a[i] - b[i]) < 1e-4f && isfinite(a[i]));
	if (exec_new(&net.graph, &(struct exec_options){.blas = true, .seed = 7}, &blas, &err) == 0) {
		exec_run(blas, NULL);
		for (size_t i = 0; i < 15; i++)
			assert_true(fabsf(a[i] - exec_tensor(blas, net.logits)[i]) < 1e-4f);
	}
	exec_free(plain);
	exec_free(fused);
	exec_free(blas);
	graph_fini(&net.graph);
}

static void every_operator_belongs_to_exactly_one_step(void **state)
{
	(void)state;
	struct net net;
	net_init(&net, 2);
	struct exec *exec = made_exec(&net, (struct exec_options){0});
	size_t seen[16] = {0};
	/* conv + norm + tanh, pool, linear + gelu, head; the reshape is no step. */
	assert_int_equal(exec_steps(exec), 4);
	for (size_t s = 0; s < exec_steps(exec); s++)
		for (size_t i = 0; i < exec_step_at(exec, s)->op_count; i++)
			seen[exec_step_at(exec, s)->ops[i]]++;
	for (size_t i = 0; i < net.graph.ops.len; i++)
		assert_int_equal(seen[i], net.graph.ops.items[i].kind != OP_RESHAPE);
	assert_int_equal(exec_step_at(exec, 0)->op_count, 3);
	exec_free(exec);
	graph_fini(&net.graph);
}

static void a_packed_weight_can_still_be_read(void **state)
{
	(void)state;
	struct net net;
	net_init(&net, 2);
	struct exec *exec = made_exec(&net, (struct exec_options){0}),
		    *kept = made_exec(&net, (struct exec_options){.keep = true});
	float first[27];
	memcpy(first, exec_tensor(exec, net.filters), sizeof(first));
	exec_run(exec, NULL);
	assert_memory_equal(first, exec_tensor(exec, net.filters), sizeof(first));
	assert_memory_equal(first, exec_tensor(kept, net.filters), sizeof(first));
	assert_null(exec_tensor(exec, net.between));
	assert_non_null(exec_tensor(kept, net.between));
	exec_free(exec);
	exec_free(kept);
	graph_fini(&net.graph);
}

static void inputs_may_be_written_before_a_pass(void **state)
{
	(void)state;
	struct net net;
	net_init(&net, 1);
	struct exec *exec = made_exec(&net, (struct exec_options){0});
	exec_run(exec, NULL);
	float before = exec_tensor(exec, net.logits)[0];
	for (size_t i = 0; i < 192; i++)
		exec_tensor(exec, net.image)[i] = 1;
	exec_run(exec, NULL);
	assert_true(before != exec_tensor(exec, net.logits)[0]);
	exec_free(exec);
	graph_fini(&net.graph);
}

static double loss_with(struct exec *exec, size_t tensor, size_t index, float value)
{
	exec_tensor(exec, tensor)[index] = value;
	exec_run(exec, NULL);
	return exec_loss(exec);
}

/* (loss(w + h) - loss(w - h)) / 2h, with updates too small to matter. */
static void gradients_are_the_slopes_of_the_loss(void **state)
{
	(void)state;
	struct net net;
	net_init(&net, 4);
	struct exec *exec = made_exec(&net, (struct exec_options){.training = true, .rate = 1e-30, .threads = 2});
	const size_t tensors[] = {net.filters, net.gamma, net.first, net.bias, net.second};
	for (size_t t = 0; t < 5; t++)
		for (size_t index = 0; index < 5; index++) {
			float at = exec_tensor(exec, tensors[t])[index], step = 1e-2f;
			double high = loss_with(exec, tensors[t], index, at + step);
			double low = loss_with(exec, tensors[t], index, at - step);
			loss_with(exec, tensors[t], index, at);
			double slope = (high - low) / (2 * (double)step), got = exec_gradient(exec, tensors[t])[index];
			if (!(fabs(slope - got) < 2e-3))
				fail_msg("tensor %zu, weight %zu: slope %g, gradient %g", t, index, slope, got);
		}
	exec_free(exec);
	graph_fini(&net.graph);
}

static void every_optimizer_lowers_the_loss(void **state)
{
	(void)state;
	for (int optimizer = EXEC_SGD; optimizer <= EXEC_ADAM; optimizer++) {
		struct net net;
		net_init(&net, 8);
		struct exec *exec = made_exec(
			&net, (struct exec_options){.training = true, .optimizer = (enum exec_optimizer)optimizer});
		const int64_t labels[8] = {0, 1, 2, 3, 4, 0, 1, 2};
		exec_set_labels(exec, labels, 8);
		assert_true(isnan(exec_loss(exec)));
		exec_run(exec, NULL);
		double first = exec_loss(exec);
		for (size_t i = 0; i < 100; i++)
			exec_run(exec, NULL);
		if (!(exec_loss(exec) < 0.9 * first))
			fail_msg("optimizer %d: %g, then %g", optimizer, first, exec_loss(exec));
		struct exec_memory memory;
		exec_memory(exec, &memory);
		assert_true(memory.gradient_bytes > 0);
		assert_int_equal(memory.optimizer_bytes, memory.gradient_bytes * (uint64_t)optimizer);
		exec_free(exec);
		graph_fini(&net.graph);
	}
}

static void threads_do_not_change_the_gradients(void **state)
{
	(void)state;
	struct net net;
	net_init(&net, 4);
	struct exec *one = made_exec(&net, (struct exec_options){.training = true});
	struct exec *three = made_exec(&net, (struct exec_options){.training = true, .threads = 3});
	exec_run(one, NULL);
	exec_run(three, NULL);
	for (size_t i = 0; i < 162; i++)
		assert_true(fabsf(exec_gradient(one, net.filters)[i] - exec_gradient(three, net.filters)[i]) < 1e-5f);
	assert_null(exec_gradient(one, net.image));
	exec_free(one);
	exec_free(three);
	graph_fini(&net.graph);
}

static void activations_share_memory_and_all_of_it_is_accounted(void **state)
{
	(void)state;
	struct net net;
	net_init(&net, 64);
	struct exec *exec = made_exec(&net, (struct exec_options){.unfused = true}),
		    *kept = made_exec(&net, (struct exec_options){.keep = true});
	struct exec_memory memory, apart;
	exec_memory(exec, &memory);
	exec_memory(kept, &apart);
	assert_true(memory.activation_bytes < memory.apart_bytes || memory.activation_bytes < apart.activation_bytes);
	assert_true(memory.activation_bytes >= 64 * 6 * 64 * sizeof(float));
	assert_int_equal(apart.activation_bytes, apart.apart_bytes);
	assert_true(memory.peak_bytes >=
		    memory.weight_bytes + memory.activation_bytes + memory.scratch_bytes + memory.input_bytes);
	assert_int_equal(memory.input_bytes, 64 * 192 * sizeof(float));
	exec_free(exec);
	exec_free(kept);
	graph_fini(&net.graph);
}

static void a_model_that_does_not_fit_is_refused_before_it_is_allocated(void **state)
{
	(void)state;
	struct net net;
	net_init(&net, 1 << 20);
	struct err err = {0};
	struct exec *exec = NULL;
	uint64_t before = account_resident();
	assert_int_equal(exec_new(&net.graph, &(struct exec_options){.most_bytes = 64 << 20}, &exec, &err),
			 ERR_UNAVAILABLE);
	assert_null(exec);
	assert_non_null(strstr(err.text, "MiB are available"));
	assert_true(account_resident() < before + (32 << 20));
	graph_fini(&net.graph);
}

static void a_tensor_of_absurd_size_is_refused(void **state)
{
	(void)state;
	struct net net = {0};
	struct err err = {0};
	struct exec *exec = NULL;
	graph_init(&net.graph, "absurd");
	net.layer = graph_layer(&net.graph, "");
	size_t x = put(&net, "x", TENSOR_INPUT, SHAPE(1000000, 1000000, 1000), TENSOR_NORMAL, 1);
	size_t y = unary_after(&net, "relu", x, SHAPE(1000000, 1000000, 1000), UNARY_RELU);
	net.graph.tensors.items[y].output = true;
	assert_int_equal(exec_new(&net.graph, &(struct exec_options){0}, &exec, &err), ERR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "'x'"));
	graph_fini(&net.graph);
}

static void an_operator_without_a_kernel_is_named(void **state)
{
	(void)state;
	struct net net = {0};
	struct err err = {0};
	struct exec *exec = NULL;
	graph_init(&net.graph, "strange");
	net.layer = graph_layer(&net.graph, "");
	size_t x = put(&net, "x", TENSOR_INPUT, SHAPE(4), TENSOR_NORMAL, 1);
	ADD(&net, OP_OTHER, "whirl", SHAPE(4), x);
	assert_int_equal(exec_new(&net.graph, &(struct exec_options){0}, &exec, &err), ERR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "'whirl'"));
	assert_int_equal(exec_new(&net.graph, &(struct exec_options){.isa = "mmx"}, &exec, &err), ERR_UNAVAILABLE);
	graph_fini(&net.graph);
}

static void a_model_without_weights_cannot_learn(void **state)
{
	(void)state;
	struct net net = {0};
	struct err err = {0};
	struct exec *exec = NULL;
	graph_init(&net.graph, "stone");
	net.layer = graph_layer(&net.graph, "");
	size_t x = put(&net, "x", TENSOR_INPUT, SHAPE(4, 3), TENSOR_NORMAL, 1);
	size_t y = unary_after(&net, "relu", x, SHAPE(4, 3), UNARY_RELU);
	net.graph.tensors.items[y].output = true;
	assert_int_equal(exec_new(&net.graph, &(struct exec_options){.training = true}, &exec, &err), ERR_INPUT);
	assert_non_null(strstr(err.text, "no weight"));
	graph_fini(&net.graph);
}

static void lives_that_overlap_never_share_a_place(void **state)
{
	(void)state;
	enum { COUNT = 300 };
	struct plan_span spans[COUNT], *all[COUNT];
	size_t floats[COUNT], seed = 1, most = 0;
	for (size_t i = 0; i < COUNT; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		size_t first = seed >> 40 & 127;
		spans[i] = (struct plan_span){first, first + (seed >> 50 & 15), 0};
		floats[i] = (seed >> 33 & 63) * 16;
		all[i] = &spans[i];
	}
	size_t length = exec_plan_place(all, floats, COUNT);
	for (size_t step = 0; step < 150; step++) {
		size_t alive = 0;
		for (size_t i = 0; i < COUNT; i++)
			alive += spans[i].first <= step && step <= spans[i].last ? floats[i] : 0;
		most = alive > most ? alive : most;
	}
	for (size_t i = 0; i < COUNT; i++)
		for (size_t j = 0; j < i; j++) {
			bool together = spans[i].first <= spans[j].last && spans[j].first <= spans[i].last;
			bool apart = spans[i].place + floats[i] <= spans[j].place ||
				     spans[j].place + floats[j] <= spans[i].place;
			assert_true(!together || apart);
			assert_true(spans[i].place + floats[i] <= length);
		}
	/* Never below what is alive at once, and not far above it. */
	assert_in_range(length, most, most + most / 2);
}

static void steps_are_timed_within_the_passes_that_count(void **state)
{
	(void)state;
	struct net net;
	net_init(&net, 32);
	struct exec *exec = made_exec(&net, (struct exec_options){.training = true});
	struct exec_measured measured;
	struct err err = {0};
	struct pitot_timer_options options = {
		.budget_s = 0.05, .warmup_s = 1e-9, .warmup_runs = 4, .least_runs = 12, .most_runs = 12};
	assert_int_equal(exec_measure(exec, &options, &measured, &err), 0);
	assert_int_equal(measured.total.runs, 12);
	assert_int_equal(measured.total.warmup_runs, 4);
	double sum = 0;
	for (size_t s = 0; s < exec_steps(exec); s++) {
		assert_int_equal(measured.steps[s].runs, 12);
		sum += measured.steps[s].mean_ns;
	}
	assert_true(sum <= 1.01 * measured.total.mean_ns && sum >= 0.5 * measured.total.mean_ns);
	assert_string_equal(exec_phase_name(exec_step_at(exec, exec_steps(exec) - 1)->phase), "update");
	exec_measured_fini(&measured);
	exec_free(exec);
	exec_free(NULL);
	graph_fini(&net.graph);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(fused_and_unfused_passes_agree),
	cmocka_unit_test(every_operator_belongs_to_exactly_one_step),
	cmocka_unit_test(a_packed_weight_can_still_be_read),
	cmocka_unit_test(inputs_may_be_written_before_a_pass),
	cmocka_unit_test(gradients_are_the_slopes_of_the_loss),
	cmocka_unit_test(every_optimizer_lowers_the_loss),
	cmocka_unit_test(threads_do_not_change_the_gradients),
	cmocka_unit_test(activations_share_memory_and_all_of_it_is_accounted),
	cmocka_unit_test(a_model_that_does_not_fit_is_refused_before_it_is_allocated),
	cmocka_unit_test(a_tensor_of_absurd_size_is_refused),
	cmocka_unit_test(an_operator_without_a_kernel_is_named),
	cmocka_unit_test(a_model_without_weights_cannot_learn),
	cmocka_unit_test(lives_that_overlap_never_share_a_place),
	cmocka_unit_test(steps_are_timed_within_the_passes_that_count),
};
UNIT_MAIN(tests)
