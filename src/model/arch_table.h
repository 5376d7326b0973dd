/* arch_table.h - the built-in architectures, one const struct each; only arch*.c include it. */
#ifndef PITOT_MODEL_ARCH_TABLE_H
#define PITOT_MODEL_ARCH_TABLE_H

#include "model/arch.h"
#include "model/build.h"

extern const struct arch arch_mlp, arch_cnn, arch_transformer;
extern const struct arch arch_lenet5, arch_alexnet, arch_alexnet_bvlc, arch_vgg16, arch_resnet18, arch_resnet50,
	arch_mobilenetv2;
extern const struct arch arch_vit_b16, arch_bert_base, arch_gpt2, arch_lstm;

#define ARCH_FIXED(id) (1U << DIM_##id)

/* Marks the tensor as a result; an architecture ends with it. */
void arch_result(struct build *build, size_t tensor);

#endif
