/* arch.c - the table of architectures and the sizes that they are made with: see arch.h. */
#include "model/arch.h"
#include "base/str.h"
#include "model/arch_table.h"

#include <string.h>

/* Each layer takes memory here, too. */
enum { DEPTH_MOST = 10000 };

const struct arch *const arch_table[] = {
	&arch_mlp,          &arch_cnn,       &arch_transformer, &arch_lenet5,   &arch_alexnet,
	&arch_alexnet_bvlc, &arch_vgg16,     &arch_resnet18,    &arch_resnet50, &arch_mobilenetv2,
	&arch_vit_b16,      &arch_bert_base, &arch_gpt2,        &arch_lstm,     NULL};

static const struct {
	const char *name, *help;
} dim_rows[] = {
#define DIM_ROW(id, name, help) [DIM_##id] = {name, help},
	DIM_LIST(DIM_ROW)
#undef DIM_ROW
};

const char *dim_name(enum dim_id id)
{
	return dim_rows[id].name;
}

const char *dim_help(enum dim_id id)
{
	return dim_rows[id].help;
}

bool dim_find(const char *name, enum dim_id *out)
{
	for (int i = 0; i < DIM_COUNT; i++)
		if (strcmp(dim_rows[i].name, name) == 0) {
			*out = (enum dim_id)i;
			return true;
		}
	return false;
}

const struct arch *arch_find(const char *name)
{
	for (size_t i = 0; arch_table[i]; i++)
		if (strcmp(arch_table[i]->name, name) == 0)
			return arch_table[i];
	return NULL;
}

const char *arch_suggest(const char *name)
{
	const char *names[sizeof(arch_table) / sizeof(arch_table[0])];
	size_t count = 0;
	for (; arch_table[count]; count++)
		names[count] = arch_table[count]->name;
	return str_suggest(name, names, count);
}

void arch_result(struct build *build, size_t tensor)
{
	build_finish(build, tensor);
}

static int choose(const struct arch *arch, const struct sizes *asked, struct sizes *out, struct err *err)
{
	*out = arch->defaults;
	for (int i = 0; i < DIM_COUNT; i++) {
		int64_t value = asked->value[i];
		if (!value || value == arch->defaults.value[i])
			continue;
		if (!arch->defaults.value[i])
			return err_set(err, ERR_USAGE, "%s has no --%s", arch->name, dim_rows[i].name);
		if (arch->fixed & 1U << i)
			return err_set(err, ERR_USAGE, "%s has --%s %lld, which cannot be changed%s", arch->name,
				       dim_rows[i].name, (long long)arch->defaults.value[i],
				       arch->preset ? " (mlp, cnn and transformer take sizes)" : "");
		if (i == DIM_DEPTH && value > DEPTH_MOST)
			return err_set(err, ERR_USAGE, "--depth %lld: at most %d", (long long)value, DEPTH_MOST);
		out->value[i] = value;
	}
	return 0;
}

/* An image that can be but is not (-1) leaves what belongs to images without a meaning; one that is says how long the sequence is. */
static void forget_idle(struct sizes *sizes)
{
	static const enum dim_id images[] = {DIM_CHANNELS, DIM_PATCH, DIM_CLASSES};
	if (sizes->value[DIM_IMAGE] < 0)
		for (size_t i = 0; i < sizeof(images) / sizeof(images[0]); i++)
			sizes->value[images[i]] = 0;
	else if (sizes->value[DIM_IMAGE] > 0 && sizes->value[DIM_PATCH] > 0)
		sizes->value[DIM_SEQ] = 0;
}

char *sizes_text(const struct sizes *sizes)
{
	struct str text = {0};
	for (int i = 0; i < DIM_COUNT; i++)
		if (sizes->value[i] > 0)
			str_appendf(&text, "%s%s=%lld", text.len ? " " : "", dim_rows[i].name,
				    (long long)sizes->value[i]);
	return str_take(&text);
}

int arch_make(const struct arch *arch, const struct sizes *sizes, struct graph *graph, struct err *err)
{
	struct sizes chosen;
	struct graph made;
	int code = choose(arch, sizes, &chosen, err);
	if (code)
		return code;
	graph_init(&made, arch->name);
	made.batch = chosen.value[DIM_BATCH];
	made.sequence = chosen.value[DIM_SEQ];
	struct build build = {.graph = &made, .err = err};
	arch->build(&build, &chosen);
	code = build.code;
	build_fini(&build);
	if (code) {
		graph_fini(&made);
		return err_prefix(err, "%s with these sizes", arch->name);
	}
	forget_idle(&chosen);
	made.sizes = sizes_text(&chosen);
	*graph = made;
	return 0;
}
