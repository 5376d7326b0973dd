/* export_timeline.c - see export_timeline.h. */
#include "render/export_timeline.h"

size_t export_thread_end(const struct code_tree *tree, size_t from)
{
	size_t to = from;
	while (to < tree->samples.len && tree->samples.items[to].thread == tree->samples.items[from].thread)
		to++;
	return to;
}

void export_timeline(const struct code_tree *tree, size_t from, size_t to, struct export_timeline *out)
{
	uint64_t jitter_ns = 0, covered_ns = 0;
	*out = (struct export_timeline){0};
	if (from < to)
		jitter_ns = export_process_of(tree, tree->samples.items[from].thread)->period_ns / 2;
	for (size_t i = from; i < to; i++) {
		const struct code_sample *sample = &tree->samples.items[i];
		uint64_t start_ns = sample->at_ns > sample->weight_ns ? sample->at_ns - sample->weight_ns : 0;
		bool follows = i > from && start_ns <= covered_ns + jitter_ns;
		start_ns = follows ? covered_ns : start_ns;
		uint64_t end_ns = sample->at_ns > start_ns ? sample->at_ns : start_ns;
		struct export_span span = {sample, start_ns, end_ns, follows};
		vec_push(&out->spans, span);
		covered_ns = end_ns;
	}
}
