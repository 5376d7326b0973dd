/* arch_image.c - the published convolutional networks: see arch.h. Layer names are torchvision's where it has them. */
#include "model/arch_table.h"

#include <stdio.h>

static size_t image_input(struct build *build, const struct sizes *sizes)
{
	int64_t image = sizes->value[DIM_IMAGE];
	return build_input(build, "input", &SHAPE(sizes->value[DIM_BATCH], sizes->value[DIM_CHANNELS], image, image),
			   0);
}

static size_t relu(struct build *build, const char *leaf, size_t x)
{
	return build_unary(build, leaf, x, UNARY_RELU);
}

static void build_lenet5(struct build *build, const struct sizes *sizes)
{
	size_t x = image_input(build, sizes);
	size_t mark = build_enter(build, "features");
	x = relu(build, "relu1", build_conv(build, "conv1", x, &(struct build_conv){.out = 6, .kernel = 5}));
	x = build_pool(build, "pool1", OP_MAX_POOL, x, &(struct build_pool){.kernel = 2});
	x = relu(build, "relu2", build_conv(build, "conv2", x, &(struct build_conv){.out = 16, .kernel = 5}));
	x = build_pool(build, "pool2", OP_MAX_POOL, x, &(struct build_pool){.kernel = 2});
	build_leave(build, mark);
	x = build_flatten(build, "flatten", x, 1);
	mark = build_enter(build, "classifier");
	x = relu(build, "relu3", build_linear(build, "fc1", x, 120, true));
	x = relu(build, "relu4", build_linear(build, "fc2", x, 84, true));
	x = build_linear(build, "fc3", x, sizes->value[DIM_CLASSES], true);
	build_leave(build, mark);
	arch_result(build, x);
}

#define IMAGE_DEFAULTS(channels, image, classes)                                                                       \
	{                                                                                                              \
		.value = {                                                                                             \
			[DIM_BATCH] = 1,                                                                               \
			[DIM_CHANNELS] = (channels),                                                                   \
			[DIM_IMAGE] = (image),                                                                         \
			[DIM_CLASSES] = (classes),                                                                     \
		}                                                                                                      \
	}
#define IMAGE_FIXED (ARCH_FIXED(CHANNELS) | ARCH_FIXED(CLASSES))

const struct arch arch_lenet5 = {
	.name = "lenet5",
	.summary = "LeNet-5 on 1x32x32, with full connections, ReLU and max pools",
	.defaults = IMAGE_DEFAULTS(1, 32, 10),
	.fixed = IMAGE_FIXED | ARCH_FIXED(IMAGE),
	.preset = true,
	.build = build_lenet5,
};

static void build_alexnet(struct build *build, const struct sizes *sizes)
{
	static const struct build_conv convs[] = {{.out = 64, .kernel = 11, .stride = 4, .pad = 2},
						  {.out = 192, .kernel = 5, .pad = 2},
						  {.out = 384, .kernel = 3, .pad = 1},
						  {.out = 256, .kernel = 3, .pad = 1},
						  {.out = 256, .kernel = 3, .pad = 1}};
	static const struct build_pool pool = {.kernel = 3, .stride = 2};
	static const char *const names[] = {"conv1", "conv2", "conv3", "conv4", "conv5"};
	static const char *const relus[] = {"relu1", "relu2", "relu3", "relu4", "relu5"};
	size_t x = image_input(build, sizes);
	size_t mark = build_enter(build, "features");
	for (size_t i = 0; i < 5; i++) {
		x = relu(build, relus[i], build_conv(build, names[i], x, &convs[i]));
		if (i == 0 || i == 1 || i == 4)
			x = build_pool(build, i == 0 ? "pool1" : i == 1 ? "pool2" : "pool5", OP_MAX_POOL, x, &pool);
	}
	build_leave(build, mark);
	x = build_flatten(build, "flatten", build_adaptive_pool(build, "avgpool", x, 6), 1);
	mark = build_enter(build, "classifier");
	x = build_identity(build, "dropout1", x);
	x = relu(build, "relu1", build_linear(build, "fc1", x, 4096, true));
	x = build_identity(build, "dropout2", x);
	x = relu(build, "relu2", build_linear(build, "fc2", x, 4096, true));
	x = build_linear(build, "fc3", x, 1000, true);
	build_leave(build, mark);
	arch_result(build, x);
}

const struct arch arch_alexnet = {
	.name = "alexnet",
	.summary = "AlexNet in one column, as in torchvision, on 3x224x224",
	.defaults = IMAGE_DEFAULTS(3, 224, 1000),
	.fixed = IMAGE_FIXED,
	.preset = true,
	.build = build_alexnet,
};

static size_t bvlc_norm(struct build *build, const char *leaf, size_t x)
{
	return build_lrn(build, leaf, x, 5, 1e-4, 0.75, 1);
}

static void build_alexnet_bvlc(struct build *build, const struct sizes *sizes)
{
	static const struct build_pool pool = {.kernel = 3, .stride = 2};
	static const struct build_pool last_pool = {.kernel = 3, .stride = 2, .pad_end = 1};
	size_t x = image_input(build, sizes);
	x = build_conv(build, "conv1", x, &(struct build_conv){.out = 96, .kernel = 11, .stride = 4});
	x = build_pool(build, "pool1", OP_MAX_POOL, bvlc_norm(build, "norm1", relu(build, "relu1", x)), &pool);
	x = build_conv(build, "conv2", x, &(struct build_conv){.out = 256, .kernel = 5, .pad = 2, .groups = 2});
	x = build_pool(build, "pool2", OP_MAX_POOL, bvlc_norm(build, "norm2", relu(build, "relu2", x)), &pool);
	x = relu(build, "relu3",
		 build_conv(build, "conv3", x, &(struct build_conv){.out = 384, .kernel = 3, .pad = 1}));
	x = build_conv(build, "conv4", x, &(struct build_conv){.out = 384, .kernel = 3, .pad = 1, .groups = 2});
	x = relu(build, "relu4", x);
	x = build_conv(build, "conv5", x, &(struct build_conv){.out = 256, .kernel = 3, .pad = 1, .groups = 2});
	x = build_pool(build, "pool5", OP_MAX_POOL, relu(build, "relu5", x), &last_pool);
	x = build_flatten(build, "flatten", x, 1);
	x = build_identity(build, "drop6", relu(build, "relu6", build_linear(build, "fc6", x, 4096, true)));
	x = build_identity(build, "drop7", relu(build, "relu7", build_linear(build, "fc7", x, 4096, true)));
	x = build_linear(build, "fc8", x, 1000, true);
	arch_result(build, build_axis(build, "prob", OP_SOFTMAX, x, -1));
}

const struct arch arch_alexnet_bvlc = {
	.name = "alexnet-bvlc",
	.summary = "AlexNet in two groups with local response normalisation, as published by BVLC, on 3x224x224",
	.defaults = IMAGE_DEFAULTS(3, 224, 1000),
	.fixed = IMAGE_FIXED | ARCH_FIXED(IMAGE),
	.preset = true,
	.build = build_alexnet_bvlc,
};

static void build_vgg16(struct build *build, const struct sizes *sizes)
{
	static const int64_t widths[] = {64, 128, 256, 512, 512};
	size_t x = image_input(build, sizes), mark;
	for (size_t i = 0; i < 5; i++) {
		mark = build_enter(build, "features.%zu", i);
		for (int k = 0; k < (i < 2 ? 2 : 3); k++) {
			char leaf[16];
			snprintf(leaf, sizeof(leaf), "conv%d", k);
			x = build_conv(build, leaf, x, &(struct build_conv){.out = widths[i], .kernel = 3, .pad = 1});
			snprintf(leaf, sizeof(leaf), "relu%d", k);
			x = relu(build, leaf, x);
		}
		x = build_pool(build, "pool", OP_MAX_POOL, x, &(struct build_pool){.kernel = 2});
		build_leave(build, mark);
	}
	x = build_flatten(build, "flatten", build_adaptive_pool(build, "avgpool", x, 7), 1);
	mark = build_enter(build, "classifier");
	x = build_identity(build, "dropout1", relu(build, "relu1", build_linear(build, "fc1", x, 4096, true)));
	x = build_identity(build, "dropout2", relu(build, "relu2", build_linear(build, "fc2", x, 4096, true)));
	x = build_linear(build, "fc3", x, 1000, true);
	build_leave(build, mark);
	arch_result(build, x);
}

const struct arch arch_vgg16 = {
	.name = "vgg16",
	.summary = "VGG with 16 layers with weights, on 3x224x224",
	.defaults = IMAGE_DEFAULTS(3, 224, 1000),
	.fixed = IMAGE_FIXED,
	.preset = true,
	.build = build_vgg16,
};

/* A convolution without bias and the norm after it. */
static size_t conv_norm(struct build *build, const char *conv, const char *norm, size_t x, const struct build_conv *how)
{
	struct build_conv plain = *how;
	plain.no_bias = true;
	return build_norm(build, norm, OP_BATCH_NORM, build_conv(build, conv, x, &plain), 1e-5, 0);
}

static size_t basic_block(struct build *build, size_t x, int64_t width, int64_t stride)
{
	size_t y = conv_norm(build, "conv1", "bn1", x,
			     &(struct build_conv){.out = width, .kernel = 3, .stride = stride, .pad = 1});
	return conv_norm(build, "conv2", "bn2", relu(build, "relu1", y),
			 &(struct build_conv){.out = width, .kernel = 3, .pad = 1});
}

static size_t bottleneck(struct build *build, size_t x, int64_t width, int64_t stride)
{
	size_t y = conv_norm(build, "conv1", "bn1", x, &(struct build_conv){.out = width, .kernel = 1});
	y = conv_norm(build, "conv2", "bn2", relu(build, "relu1", y),
		      &(struct build_conv){.out = width, .kernel = 3, .stride = stride, .pad = 1});
	return conv_norm(build, "conv3", "bn3", relu(build, "relu2", y),
			 &(struct build_conv){.out = 4 * width, .kernel = 1});
}

/* Blocks per stage; the stride of a bottleneck is in its 3x3 convolution, as in torchvision. */
static void build_resnet(struct build *build, const struct sizes *sizes, const int64_t blocks[4], bool deep)
{
	size_t x = conv_norm(build, "conv1", "bn1", image_input(build, sizes),
			     &(struct build_conv){.out = 64, .kernel = 7, .stride = 2, .pad = 3});
	x = build_pool(build, "maxpool", OP_MAX_POOL, relu(build, "relu", x),
		       &(struct build_pool){.kernel = 3, .stride = 2, .pad = 1});
	for (int stage = 0; stage < 4; stage++)
		for (int64_t i = 0; i < blocks[stage] && !build->code; i++) {
			int64_t width = 64 << stage, out = deep ? 4 * width : width;
			int64_t stride = stage > 0 && i == 0 ? 2 : 1;
			size_t mark = build_enter(build, "layer%d.%lld", stage + 1, (long long)i);
			size_t y = deep ? bottleneck(build, x, width, stride) : basic_block(build, x, width, stride);
			if (stride != 1 || build_shape(build, x)->dims[1] != out)
				x = conv_norm(build, "downsample", "downsample_bn", x,
					      &(struct build_conv){.out = out, .kernel = 1, .stride = stride});
			x = relu(build, "relu", build_binary(build, "add", BINARY_ADD, y, x));
			build_leave(build, mark);
		}
	x = build_flatten(build, "flatten", build_adaptive_pool(build, "avgpool", x, 1), 1);
	arch_result(build, build_linear(build, "fc", x, 1000, true));
}

static void build_resnet18(struct build *build, const struct sizes *sizes)
{
	build_resnet(build, sizes, (const int64_t[]){2, 2, 2, 2}, false);
}

static void build_resnet50(struct build *build, const struct sizes *sizes)
{
	build_resnet(build, sizes, (const int64_t[]){3, 4, 6, 3}, true);
}

const struct arch arch_resnet18 = {
	.name = "resnet18",
	.summary = "ResNet with 18 layers in basic blocks, on 3x224x224",
	.defaults = IMAGE_DEFAULTS(3, 224, 1000),
	.fixed = IMAGE_FIXED,
	.preset = true,
	.build = build_resnet18,
};

const struct arch arch_resnet50 = {
	.name = "resnet50",
	.summary = "ResNet with 50 layers in bottlenecks, on 3x224x224",
	.defaults = IMAGE_DEFAULTS(3, 224, 1000),
	.fixed = IMAGE_FIXED,
	.preset = true,
	.build = build_resnet50,
};

static size_t relu6(struct build *build, const char *leaf, size_t x)
{
	return build_clip(build, leaf, x, 0, 6);
}

static size_t inverted_residual(struct build *build, size_t x, int64_t expand, int64_t out, int64_t stride)
{
	int64_t in = build_shape(build, x)->dims[1], hidden = in * expand;
	size_t y = x;
	if (expand != 1)
		y = relu6(build, "relu_expand",
			  conv_norm(build, "expand", "bn_expand", y, &(struct build_conv){.out = hidden, .kernel = 1}));
	y = conv_norm(build, "depthwise", "bn_depthwise", y,
		      &(struct build_conv){.out = hidden, .kernel = 3, .stride = stride, .pad = 1, .groups = hidden});
	y = conv_norm(build, "project", "bn_project", relu6(build, "relu_depthwise", y),
		      &(struct build_conv){.out = out, .kernel = 1});
	return stride == 1 && in == out ? build_binary(build, "add", BINARY_ADD, x, y) : y;
}

static void build_mobilenetv2(struct build *build, const struct sizes *sizes)
{
	static const struct {
		int64_t expand, out, count, stride;
	} rows[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
		    {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
	size_t block = 1, mark = build_enter(build, "features.0");
	size_t x = relu6(build, "relu",
			 conv_norm(build, "conv", "bn", image_input(build, sizes),
				   &(struct build_conv){.out = 32, .kernel = 3, .stride = 2, .pad = 1}));
	build_leave(build, mark);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (int64_t k = 0; k < rows[i].count && !build->code; k++, block++) {
			mark = build_enter(build, "features.%zu", block);
			x = inverted_residual(build, x, rows[i].expand, rows[i].out, k ? 1 : rows[i].stride);
			build_leave(build, mark);
		}
	mark = build_enter(build, "features.%zu", block);
	x = relu6(build, "relu", conv_norm(build, "conv", "bn", x, &(struct build_conv){.out = 1280, .kernel = 1}));
	build_leave(build, mark);
	x = build_flatten(build, "flatten", build_adaptive_pool(build, "avgpool", x, 1), 1);
	arch_result(build, build_linear(build, "classifier", build_identity(build, "dropout", x), 1000, true));
}

const struct arch arch_mobilenetv2 = {
	.name = "mobilenetv2",
	.summary = "MobileNetV2 of width 1.0, on 3x224x224",
	.defaults = IMAGE_DEFAULTS(3, 224, 1000),
	.fixed = IMAGE_FIXED,
	.preset = true,
	.build = build_mobilenetv2,
};
