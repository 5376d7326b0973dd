/*
 * fuzz_model.c - libFuzzer target: any bytes as an ONNX file, or as a text description where they begin with '#'.
 *
 * Nothing may crash, leak or take memory out of proportion; a refusal must say why; what was accepted must hold the invariants
 * of a graph, be countable, and have its values where it says.
 */
#include "model/count.h"
#include "model/describe.h"
#include "model/memory.h"
#include "model/onnx.h"
#include "model/values.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void read_values(const struct graph *graph)
{
	static volatile double sink;
	for (size_t i = 0; i < graph->tensors.len; i++) {
		const struct graph_tensor *tensor = &graph->tensors.items[i];
		if (tensor->source != TENSOR_BYTES || !tensor->shaped || tensor->role == TENSOR_ACTIVATION)
			continue;
		int64_t count = shape_elements(&tensor->shape);
		for (int64_t k = 0; k < count; k++)
			sink = values_element(tensor, k);
	}
	(void)sink;
}

static void use(struct graph *graph)
{
	struct count count;
	struct memory memory;
	struct err err = {0};
	if (graph_finish(graph, &err) != 0)
		abort();
	if (count_graph(graph, &count, &err) == 0) {
		if (count.total.macs < 0 || count.total.causal_macs > count.total.macs ||
		    count.total.needed_backward_macs > count.total.backward_macs ||
		    count.layers.items[0].macs != count.total.macs)
			abort();
		count_fini(&count);
	} else if (!err.text[0])
		abort();
	if (memory_graph(graph, &memory, &err) == 0 && memory.training_bytes < memory.inference_bytes)
		abort();
	read_values(graph);
	graph_fini(graph);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const struct onnx_dim dims[] = {{"h", 7}};
	const struct onnx_options options = {.batch = size % 3, .seq = 5, .dims = dims, .dim_count = 1};
	struct graph graph;
	struct err err = {0};
	int code;
	if (size && bytes[0] == '#') {
		char *text = mem_strndup((const char *)bytes, size);
		code = describe_parse(text, "seed", &(struct sizes){0}, &graph, &err);
		free(text);
	} else
		code = onnx_parse(bytes, size, NULL, &options, &graph, &err);
	if (code == 0)
		use(&graph);
	else if (!err.text[0])
		abort();
	return 0;
}
