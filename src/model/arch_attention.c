/* arch_attention.c - the transformers: one with sizes, and ViT-B/16, BERT-base and GPT-2 as published: see arch.h. */
#include "model/arch_table.h"

/* A layer of an encoder: norms before (`before`) or after each half. */
struct layer_style {
	int64_t heads, kv_heads, ff;
	bool before, causal;
	enum unary_fn activation;
	double epsilon;
};

/* Queries, keys and values from one linear layer, attention, and the linear layer after it. */
static size_t self_attention(struct build *build, size_t x, const struct layer_style *style)
{
	int64_t width = build_shape(build, x)->dims[2], head = width / style->heads;
	size_t mark = build_enter(build, "attention");
	size_t qkv = build_linear(build, "in_proj", x, width + 2 * style->kv_heads * head, true);
	size_t y = build_attention(
		build, "attention", qkv, GRAPH_NONE, GRAPH_NONE,
		&(struct op_attention){.heads = style->heads, .kv_heads = style->kv_heads, .causal = style->causal});
	y = build_linear(build, "out_proj", y, width, true);
	build_leave(build, mark);
	return y;
}

static size_t feed_forward(struct build *build, size_t x, const struct layer_style *style)
{
	int64_t width = build_shape(build, x)->dims[2];
	size_t mark = build_enter(build, "mlp");
	size_t y = build_linear(build, "fc1", x, style->ff, true);
	y = build_unary(build, "activation", y, style->activation);
	y = build_linear(build, "fc2", y, width, true);
	build_leave(build, mark);
	return y;
}

static size_t norm(struct build *build, const char *leaf, size_t x, const struct layer_style *style)
{
	return build_norm(build, leaf, OP_LAYER_NORM, x, style->epsilon, 0);
}

static size_t encoder_layer(struct build *build, size_t x, const struct layer_style *style)
{
	size_t y = self_attention(build, style->before ? norm(build, "norm1", x, style) : x, style);
	x = build_binary(build, "add1", BINARY_ADD, x, y);
	if (!style->before)
		x = norm(build, "norm1", x, style);
	y = feed_forward(build, style->before ? norm(build, "norm2", x, style) : x, style);
	x = build_binary(build, "add2", BINARY_ADD, x, y);
	return style->before ? x : norm(build, "norm2", x, style);
}

static size_t encoder(struct build *build, size_t x, int64_t depth, const struct layer_style *style)
{
	for (int64_t i = 0; i < depth && !build->code; i++) {
		size_t mark = build_enter(build, "encoder.%lld", (long long)i);
		x = encoder_layer(build, x, style);
		build_leave(build, mark);
	}
	return x;
}

/* An image as a sequence of patches: N × patches × width. */
static size_t patches(struct build *build, size_t x, int64_t width, int64_t patch)
{
	x = build_conv(build, "patches", x, &(struct build_conv){.out = width, .kernel = patch, .stride = patch});
	x = build_flatten(build, "flatten", x, 2);
	return build_transpose(build, "turn", x, 1, 2);
}

static void build_transformer(struct build *build, const struct sizes *sizes)
{
	int64_t batch = sizes->value[DIM_BATCH], width = sizes->value[DIM_WIDTH], image = sizes->value[DIM_IMAGE];
	int64_t heads = sizes->value[DIM_HEADS], kv_heads = sizes->value[DIM_KV_HEADS];
	struct layer_style style = {.heads = heads,
				    .kv_heads = kv_heads > 0 ? kv_heads : heads,
				    .ff = sizes->value[DIM_FF] > 0 ? sizes->value[DIM_FF] : 4 * width,
				    .activation = UNARY_RELU,
				    .epsilon = 1e-5};
	size_t x;
	if (width < heads || width % heads)
		build_fail(build, "--width %lld cannot be divided among --heads %lld", (long long)width,
			   (long long)heads);
	if (image <= 0) {
		x = build_input(build, "input", &SHAPE(batch, sizes->value[DIM_SEQ], width), 0);
		arch_result(build, encoder(build, x, sizes->value[DIM_DEPTH], &style));
		return;
	}
	x = build_input(build, "input", &SHAPE(batch, sizes->value[DIM_CHANNELS], image, image), 0);
	x = patches(build, x, width, sizes->value[DIM_PATCH]);
	int64_t tokens = build_shape(build, x)->dims[1];
	build->graph->sequence = tokens;
	x = build_binary(build, "add_positions", BINARY_ADD, x,
			 build_weight(build, "positions", &SHAPE(1, tokens, width), 0.02));
	x = encoder(build, x, sizes->value[DIM_DEPTH], &style);
	arch_result(build, build_linear(build, "classifier", build_mean(build, "mean", x, 1), sizes->value[DIM_CLASSES],
					true));
}

/* -1: it has the size, but what it is follows from the others. */
const struct arch arch_transformer = {
	.name = "transformer",
	.summary = "encoder layers with attention on a sequence, or with --image on patches of an image",
	.defaults = {.value = {[DIM_BATCH] = 1,
			       [DIM_SEQ] = 128,
			       [DIM_WIDTH] = 256,
			       [DIM_DEPTH] = 1,
			       [DIM_HEADS] = 8,
			       [DIM_KV_HEADS] = -1,
			       [DIM_FF] = -1,
			       [DIM_IMAGE] = -1,
			       [DIM_CHANNELS] = 3,
			       [DIM_PATCH] = 4,
			       [DIM_CLASSES] = 10}},
	.build = build_transformer,
};

static void build_vit_b16(struct build *build, const struct sizes *sizes)
{
	const struct layer_style style = {
		.heads = 12, .kv_heads = 12, .ff = 3072, .before = true, .activation = UNARY_GELU, .epsilon = 1e-6};
	int64_t batch = sizes->value[DIM_BATCH], image = sizes->value[DIM_IMAGE];
	size_t x = build_input(build, "input", &SHAPE(batch, 3, image, image), 0);
	x = patches(build, x, 768, 16);
	size_t class = build_filled(build, "class_token", TENSOR_WEIGHT, &SHAPE(1, 1, 768), 0);
	x = build_concat(build, "concat", build_expand(build, "expand", class, &SHAPE(batch, 1, 768)), x, 1);
	int64_t tokens = build_shape(build, x)->dims[1];
	build->graph->sequence = tokens;
	x = build_binary(build, "add_positions", BINARY_ADD, x,
			 build_weight(build, "positions", &SHAPE(1, tokens, 768), 0.02));
	x = norm(build, "norm", encoder(build, x, 12, &style), &style);
	x = build_flatten(build, "flatten_class", build_slice(build, "class", x, 1, 0, 1), 1);
	arch_result(build, build_linear(build, "head", x, 1000, true));
}

const struct arch arch_vit_b16 = {
	.name = "vit-b16",
	.summary = "Vision Transformer, base, patches of 16x16, on 3x224x224",
	.defaults = {.value = {[DIM_BATCH] = 1, [DIM_IMAGE] = 224}},
	.fixed = ARCH_FIXED(IMAGE),
	.preset = true,
	.build = build_vit_b16,
};

/* Row numbers 0 to count − 1, for a table of positions. */
static size_t positions(struct build *build, int64_t count)
{
	if (build->code)
		return GRAPH_NONE;
	int64_t *rows = mem_alloc((size_t)count * sizeof(*rows));
	for (int64_t i = 0; i < count; i++)
		rows[i] = i;
	vec_push(&build->graph->blobs, (void *)rows);
	size_t added = graph_add_tensor(build->graph, "position_ids", TENSOR_CONSTANT, ELEMENT_I64, &SHAPE(count));
	build->graph->tensors.items[added].source = TENSOR_BYTES;
	build->graph->tensors.items[added].bytes = (const unsigned char *)rows;
	return added;
}

static size_t bert_embeddings(struct build *build, const struct sizes *sizes, const struct layer_style *style)
{
	int64_t batch = sizes->value[DIM_BATCH], tokens = sizes->value[DIM_SEQ];
	size_t ids = build_input(build, "input_ids", &SHAPE(batch, tokens), 30522);
	size_t types = build_input(build, "token_type_ids", &SHAPE(batch, tokens), 2);
	size_t mark = build_enter(build, "embeddings");
	size_t words = build_weight(build, "word_embeddings.weight", &SHAPE(30522, 768), 0.02);
	size_t rows = build_weight(build, "position_embeddings.weight", &SHAPE(512, 768), 0.02);
	size_t kinds = build_weight(build, "token_type_embeddings.weight", &SHAPE(2, 768), 0.02);
	size_t x = build_embedding(build, "word_embeddings", words, ids);
	x = build_binary(build, "add_types", BINARY_ADD, x,
			 build_embedding(build, "token_type_embeddings", kinds, types));
	x = build_binary(build, "add_positions", BINARY_ADD, x,
			 build_embedding(build, "position_embeddings", rows, positions(build, tokens)));
	x = norm(build, "norm", x, style);
	build_leave(build, mark);
	return x;
}

/* Three linear layers of their own, as published. */
static size_t bert_attention(struct build *build, size_t x, const struct layer_style *style)
{
	size_t mark = build_enter(build, "attention");
	size_t q = build_linear(build, "query", x, 768, true);
	size_t k = build_linear(build, "key", x, 768, true);
	size_t v = build_linear(build, "value", x, 768, true);
	size_t y = build_attention(build, "attention", q, k, v,
				   &(struct op_attention){.heads = style->heads, .kv_heads = style->kv_heads});
	y = build_linear(build, "output", y, 768, true);
	build_leave(build, mark);
	return y;
}

static void build_bert_base(struct build *build, const struct sizes *sizes)
{
	const struct layer_style style = {
		.heads = 12, .kv_heads = 12, .ff = 3072, .activation = UNARY_GELU, .epsilon = 1e-12};
	if (sizes->value[DIM_SEQ] > 512)
		build_fail(build, "--seq %lld: it has positions for 512 tokens", (long long)sizes->value[DIM_SEQ]);
	size_t x = bert_embeddings(build, sizes, &style);
	for (int i = 0; i < 12 && !build->code; i++) {
		size_t mark = build_enter(build, "encoder.%d", i);
		x = build_binary(build, "add1", BINARY_ADD, x, bert_attention(build, x, &style));
		x = norm(build, "norm1", x, &style);
		x = build_binary(build, "add2", BINARY_ADD, x, feed_forward(build, x, &style));
		x = norm(build, "norm2", x, &style);
		build_leave(build, mark);
	}
	if (!build->code)
		build->graph->tensors.items[x].output = true;
	x = build_flatten(build, "pooler.flatten", build_slice(build, "pooler.first", x, 1, 0, 1), 1);
	size_t mark = build_enter(build, "pooler");
	x = build_unary(build, "tanh", build_linear(build, "dense", x, 768, true), UNARY_TANH);
	build_leave(build, mark);
	arch_result(build, x);
}

const struct arch arch_bert_base = {
	.name = "bert-base",
	.summary = "BERT, base, uncased, with its pooler",
	.defaults = {.value = {[DIM_BATCH] = 1, [DIM_SEQ] = 128}},
	.preset = true,
	.build = build_bert_base,
};

/* Weights in×out, as published. */
static size_t gpt_linear(struct build *build, const char *leaf, size_t x, int64_t out)
{
	int64_t in = build_shape(build, x)->dims[2];
	size_t mark = build_enter(build, "%s", leaf);
	size_t weight = build_weight(build, "weight", &SHAPE(in, out), 0.02);
	size_t bias = build_filled(build, "bias", TENSOR_WEIGHT, &SHAPE(out), 0);
	build_leave(build, mark);
	return build_linear_with(build, leaf, x, weight, bias, true);
}

static size_t gpt_layer(struct build *build, size_t x)
{
	size_t y = build_norm(build, "ln_1", OP_LAYER_NORM, x, 1e-5, 0), mark = build_enter(build, "attn");
	y = gpt_linear(build, "c_attn", y, 3 * 768);
	y = build_attention(build, "attention", y, GRAPH_NONE, GRAPH_NONE,
			    &(struct op_attention){.heads = 12, .kv_heads = 12, .causal = true});
	y = gpt_linear(build, "c_proj", y, 768);
	build_leave(build, mark);
	x = build_binary(build, "add1", BINARY_ADD, x, y);
	y = build_norm(build, "ln_2", OP_LAYER_NORM, x, 1e-5, 0);
	mark = build_enter(build, "mlp");
	y = build_unary(build, "gelu", gpt_linear(build, "c_fc", y, 3072), UNARY_GELU_TANH);
	y = gpt_linear(build, "c_proj", y, 768);
	build_leave(build, mark);
	return build_binary(build, "add2", BINARY_ADD, x, y);
}

static void build_gpt2(struct build *build, const struct sizes *sizes)
{
	int64_t tokens = sizes->value[DIM_SEQ];
	if (tokens > 1024)
		build_fail(build, "--seq %lld: it has positions for 1024 tokens", (long long)tokens);
	size_t ids = build_input(build, "input_ids", &SHAPE(sizes->value[DIM_BATCH], tokens), 50257);
	size_t words = build_weight(build, "wte.weight", &SHAPE(50257, 768), 0.02);
	size_t rows = build_weight(build, "wpe.weight", &SHAPE(1024, 768), 0.01);
	size_t x = build_embedding(build, "wte", words, ids);
	x = build_binary(build, "add_positions", BINARY_ADD, x,
			 build_embedding(build, "wpe", rows, positions(build, tokens)));
	for (int i = 0; i < 12 && !build->code; i++) {
		size_t mark = build_enter(build, "h.%d", i);
		x = gpt_layer(build, x);
		build_leave(build, mark);
	}
	x = build_norm(build, "ln_f", OP_LAYER_NORM, x, 1e-5, 0);
	/* The table of words serves as the last layer's weight: a parameter once. */
	arch_result(build, build_linear_with(build, "lm_head", x, words, GRAPH_NONE, false));
}

const struct arch arch_gpt2 = {
	.name = "gpt2",
	.summary = "GPT-2, small, with its language model head tied to the table of words",
	.defaults = {.value = {[DIM_BATCH] = 1, [DIM_SEQ] = 1024}},
	.preset = true,
	.build = build_gpt2,
};
