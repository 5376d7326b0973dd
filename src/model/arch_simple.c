/* arch_simple.c - the three architectures with sizes, and the recurrent layer: see arch.h. */
#include "model/arch_table.h"

static void build_mlp(struct build *build, const struct sizes *sizes)
{
	int64_t features = sizes->value[DIM_CHANNELS] * sizes->value[DIM_IMAGE] * sizes->value[DIM_IMAGE];
	size_t x = build_input(build, "input", &SHAPE(sizes->value[DIM_BATCH], features), 0);
	for (int64_t i = 0; i < sizes->value[DIM_DEPTH] && !build->code; i++) {
		size_t mark = build_enter(build, "hidden%lld", (long long)i);
		x = build_linear(build, "linear", x, sizes->value[DIM_WIDTH], true);
		x = build_unary(build, "relu", x, UNARY_RELU);
		build_leave(build, mark);
	}
	arch_result(build, build_linear(build, "classifier", x, sizes->value[DIM_CLASSES], true));
}

const struct arch arch_mlp = {
	.name = "mlp",
	.summary = "fully connected layers with ReLU on a flat image; 784-512-512-10 unless told otherwise",
	.defaults = {.value = {[DIM_BATCH] = 1,
			       [DIM_WIDTH] = 512,
			       [DIM_DEPTH] = 2,
			       [DIM_IMAGE] = 28,
			       [DIM_CHANNELS] = 1,
			       [DIM_CLASSES] = 10}},
	.build = build_mlp,
};

static void build_cnn(struct build *build, const struct sizes *sizes)
{
	int64_t image = sizes->value[DIM_IMAGE], width = sizes->value[DIM_WIDTH];
	size_t x = build_input(build, "input",
			       &SHAPE(sizes->value[DIM_BATCH], sizes->value[DIM_CHANNELS], image, image), 0);
	for (int64_t i = 0; i < sizes->value[DIM_DEPTH] && !build->code; i++) {
		size_t mark = build_enter(build, "block%lld", (long long)i);
		/* The width doubles from block to block; beyond 2^20 it stays, so that no depth overflows it. */
		x = build_conv(build, "conv", x, &(struct build_conv){.out = width, .kernel = 3, .pad = 1});
		x = build_unary(build, "relu", x, UNARY_RELU);
		width = width < 1 << 20 ? 2 * width : width;
		/* Pairs of blocks share a pool. */
		if (i % 2 == 1 || i == sizes->value[DIM_DEPTH] - 1)
			x = build_pool(build, "pool", OP_MAX_POOL, x, &(struct build_pool){.kernel = 2});
		build_leave(build, mark);
	}
	x = build_flatten(build, "flatten", x, 1);
	arch_result(build, build_linear(build, "classifier", x, sizes->value[DIM_CLASSES], true));
}

const struct arch arch_cnn = {
	.name = "cnn",
	.summary = "3x3 convolutions of doubling width with ReLU, a pool after each pair, a classifier; on 3x32x32",
	.defaults = {.value = {[DIM_BATCH] = 1,
			       [DIM_WIDTH] = 32,
			       [DIM_DEPTH] = 2,
			       [DIM_IMAGE] = 32,
			       [DIM_CHANNELS] = 3,
			       [DIM_CLASSES] = 10}},
	.build = build_cnn,
};

static void build_lstm_arch(struct build *build, const struct sizes *sizes)
{
	int64_t width = sizes->value[DIM_WIDTH];
	size_t x = build_input(build, "input", &SHAPE(sizes->value[DIM_SEQ], sizes->value[DIM_BATCH], width), 0);
	for (int64_t i = 0; i < sizes->value[DIM_DEPTH] && !build->code; i++) {
		size_t mark = build_enter(build, "layer%lld", (long long)i);
		x = build_recurrent(build, "lstm", OP_LSTM, x, width, 1);
		x = build_reshape(build, "squeeze", x, &SHAPE(sizes->value[DIM_SEQ], sizes->value[DIM_BATCH], width));
		build_leave(build, mark);
	}
	arch_result(build, x);
}

const struct arch arch_lstm = {
	.name = "lstm",
	.summary = "long short-term memory layers over a sequence, as many hidden features as input features",
	.defaults = {.value = {[DIM_BATCH] = 1, [DIM_SEQ] = 100, [DIM_WIDTH] = 64, [DIM_DEPTH] = 1}},
	.build = build_lstm_arch,
};
