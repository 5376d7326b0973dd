/* model.c - pitot model: parameters, FLOPs, memory and latency of models, and how far from the machine's limit they are. */
#include "cmd/model.h"
#include "base/clock.h"
#include "cmd/limits.h"
#include "model/run_model.h"
#include "render/open_run.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define AT(member)                 offsetof(struct model_args, member)
#define DIM_OPTION(id, name, help) {name, 0, OPT_TEXT, AT(dims[DIM_##id]), "LIST", help},

static const struct opt model_options[] = {
	DIM_LIST(DIM_OPTION){"dim", 0, OPT_LIST, AT(named_dims), "NAME=N", "a dimension that an ONNX file leaves open"},
	{"threads", 't', OPT_TEXT, AT(threads), "LIST", "to run with (1)"},
	{"count-only", 'c', OPT_FLAG, AT(count_only), NULL, "do not run it"},
	{"no-backward", 0, OPT_NEGATED, AT(backward), NULL, "time the forward pass only"},
	{"budget", 'b', OPT_DURATION, AT(budget_ns), "TIME", "for each pass that is timed (2s)"},
	{"data", 'd', OPT_TEXT, AT(data), "FILE", "examples: MNIST (IDX), CIFAR-10 (binary), or a text"},
	{"seed", 0, OPT_INTEGER, AT(seed), "N", "of synthetic weights and inputs (1)"},
	{"near-zero", 0, OPT_NUMBER, AT(near_zero), "X", "weights: what is smaller is nearly nothing (0.001)"},
	{"what-if", 0, OPT_LIST, AT(whatifs), "PART=2x", "the pass with that part faster, and the ceiling"},
	{"format", 'f', OPT_CHOICE, AT(format), "term|md|json|csv|svg", "how to show it"},
	{"output", 'o', OPT_TEXT, AT(output), "FILE", "write there instead of to stdout"},
	{"history", 0, OPT_TEXT, AT(history), "DIR", "the folder with the earlier runs"},
	{"no-history", 0, OPT_NEGATED, AT(keep), NULL, "leave no run file"},
	{"list", 'l', OPT_FLAG, AT(list), NULL, "the architectures and their sizes"},
	{"verbose", 'v', OPT_FLAG, AT(verbose), NULL, "every operator"},
	{"quiet", 'q', OPT_FLAG, AT(quiet), NULL, "no progress"},
	{"columns", 0, OPT_INTEGER, AT(columns), "N", "columns of the terminal format"},
	{0}};

static int print_list(void)
{
	for (size_t i = 0; arch_table[i]; i++) {
		char *sizes = sizes_text(&arch_table[i]->defaults);
		printf("%-14s %s\n               %s\n", arch_table[i]->name, arch_table[i]->summary, sizes);
		free(sizes);
	}
	return fflush(stdout) == 0 ? 0 : 69;
}

int model_show(const struct model_args *args, const struct model_profile *profile, bool compare)
{
	static const struct {
		const char *name;
		void (*render)(const struct model_view *view, const struct render_options *options, struct str *out);
	} formats[] = {
		{"term", model_term}, {"md", model_md}, {"json", model_json}, {"csv", model_csv}, {"svg", model_svg}};
	struct model_whatif *whatifs = mem_alloc((args->whatifs.len + 1) * sizeof(*whatifs));
	struct model_view view = {.profile = profile, .compare = compare, .whatifs = whatifs};
	struct render_options options;
	struct str text = {0};
	struct err err;
	int status = 0;
	for (; !status && view.whatif_count < args->whatifs.len; view.whatif_count++)
		if (model_whatif(&profile->models.items[0], args->whatifs.items[view.whatif_count],
				 &whatifs[view.whatif_count], &err) != 0)
			status = cmd_fail(&cmd_model, &err);
	render_options_for(args->output ? -1 : STDOUT_FILENO, (int)args->columns, args->verbose, &options);
	for (size_t i = 0; !status && i < sizeof(formats) / sizeof(formats[0]); i++)
		if (strcmp(formats[i].name, args->format) == 0)
			formats[i].render(&view, &options, &text);
	if (!status)
		status = cmd_output(&cmd_model, args->output, str_text(&text), text.len);
	str_fini(&text);
	free(whatifs);
	return status;
}

/* What running needs besides the model: the machine's limits, and examples. */
struct bench {
	const struct model_args *args;
	struct machine machine;
	bool has_machine, has_data, live;
	struct dataset data;
};

static int bench_open(const struct model_args *args, struct bench *out, struct err *err)
{
	struct err limits;
	*out = (struct bench){.args = args, .live = !args->quiet && isatty(STDERR_FILENO) == 1};
	if (args->count_only)
		return 0;
	if (args->data) {
		int code = dataset_load(args->data, &out->data, err);
		if (code)
			return code;
		out->has_data = true;
	}
	out->has_machine = limits_get_quickly(&cmd_model, args->quiet, &out->machine, &limits) == 0;
	if (!out->has_machine)
		fprintf(stderr, "pitot model: no roof: %s\n", limits.text);
	return 0;
}

static void bench_close(struct bench *bench)
{
	if (bench->has_machine)
		machine_fini(&bench->machine);
	if (bench->has_data)
		dataset_fini(&bench->data);
}

static int time_it(const struct bench *bench, const struct model_case *what, const struct graph *graph,
		   struct model_row *row, struct err *err)
{
	const struct model_args *args = bench->args;
	struct run_request request = {.threads = what->threads ? (int)what->threads : 1,
				      .seed = (uint64_t)args->seed,
				      .budget_s = (double)args->budget_ns / 1e9,
				      .backward = args->backward,
				      .machine = bench->has_machine ? &bench->machine : NULL,
				      .data = bench->has_data ? &bench->data : NULL};
	if (bench->live)
		fprintf(stderr, "\r\033[Ktiming %s %s", graph->name, graph->sizes ? graph->sizes : "");
	int code = run_model(graph, &request, row, err);
	if (bench->live)
		fprintf(stderr, "\r\033[K");
	return code;
}

static int look_at(const struct bench *bench, const struct model_case *what, struct model_profile *profile,
		   struct err *err)
{
	struct graph graph;
	struct model_row row;
	const char *kind;
	int code = profile_make(&what->source, &graph, &kind, err);
	if (code)
		return code;
	code = profile_count(&what->source, &graph, kind, &row, err);
	if (!code && !bench->args->count_only) {
		code = time_it(bench, what, &graph, &row, err);
		if (code == ERR_UNAVAILABLE)
			err_prefix(err, "cannot run it (--count-only counts it)");
		if (code)
			model_row_fini(&row);
	}
	graph_fini(&graph);
	if (!code)
		vec_push(&profile->models, row);
	return code;
}

/* In the history, because times of today are what those of tomorrow are compared with. */
static void keep(const struct model_args *args, const struct model_profile *profile, uint64_t utc_ns, uint64_t wall_ns)
{
	char *path = NULL;
	struct err err;
	if (args->count_only || !args->keep)
		return;
	if (model_store(args, profile, utc_ns, wall_ns, &path, &err) != 0)
		fprintf(stderr, "pitot model: no run file: %s\n", err.text);
	else if (!args->quiet)
		fprintf(stderr, "run file: %s\n", path);
	free(path);
}

static int look(const struct model_args *args, bool compare)
{
	struct model_cases cases = {0};
	struct model_profile profile = {0};
	struct bench bench;
	struct err err;
	uint64_t utc_ns = clock_utc_ns(), began_ns = clock_mono_ns();
	int status = 0, code = model_cases_make(args, &cases, &err);
	if (!code)
		code = bench_open(args, &bench, &err);
	if (!code) {
		for (size_t i = 0; !code && i < cases.items.len; i++)
			code = look_at(&bench, &cases.items.items[i], &profile, &err);
		bench_close(&bench);
	}
	if (code)
		status = cmd_fail(&cmd_model, &err);
	else {
		model_cases_fit(&cases, &profile);
		status = model_show(args, &profile, compare);
		keep(args, &profile, utc_ns, clock_mono_ns() - began_ns);
	}
	model_profile_fini(&profile);
	model_cases_fini(&cases);
	return status;
}

/* The first word may say what to do; it is then taken away. */
static bool take_word(struct model_args *args, const char *word)
{
	if (!args->names.len || strcmp(args->names.items[0], word) != 0)
		return false;
	memmove(args->names.items, args->names.items + 1, --args->names.len * sizeof(args->names.items[0]));
	return true;
}

/* The task that architectures are compared at, where no size says otherwise: images of 3×32×32, ten classes. */
static void same_task(struct model_args *args)
{
	if (!args->dims[DIM_IMAGE])
		args->dims[DIM_IMAGE] = "32";
	if (!args->dims[DIM_CHANNELS])
		args->dims[DIM_CHANNELS] = "3";
}

static bool all_take_images(const struct model_args *args)
{
	for (size_t i = 0; i < args->names.len; i++) {
		const struct arch *arch = arch_find(args->names.items[i]);
		if (!arch || arch->preset || !arch->defaults.value[DIM_IMAGE])
			return false;
	}
	return true;
}

static int command_model(int argc, char **argv)
{
	struct model_args args = {.format = "term",
				  .keep = true,
				  .backward = true,
				  .budget_ns = 2000000000,
				  .seed = 1,
				  .near_zero = 1e-3,
				  .argc = argc,
				  .argv = argv};
	int status = 0;
	if (!cmd_parse(&cmd_model, argc, argv, &args, &args.names, &status))
		goto out;
	bool compare = take_word(&args, "compare"), weights = !compare && take_word(&args, "weights");
	if (args.columns < 0 || args.columns > 10000)
		status = cmd_usage_error(&cmd_model, "--columns: expected 1 to 10000");
	else if (args.list)
		status = print_list();
	else if (!args.names.len || (compare && args.names.len < 2))
		status = cmd_usage_error(&cmd_model, compare ? "compare needs two models at least"
							     : "which model? (pitot model --list shows what there is)");
	else if (!compare && args.names.len > 1)
		status = cmd_usage_error(&cmd_model, "one model at a time, or 'pitot model compare %s %s'",
					 args.names.items[0], args.names.items[1]);
	else if (weights)
		status = model_weights_command(&args);
	else {
		if (compare && all_take_images(&args))
			same_task(&args);
		status = look(&args, compare);
	}
out:
	vec_fini(&args.names);
	vec_fini(&args.named_dims);
	vec_fini(&args.whatifs);
	return status;
}

const struct cmd cmd_model = {.name = "model",
			      .summary = "count and time a model: parameters, FLOPs, memory, latency, roofline",
			      .arguments = "NAME|FILE | compare NAME|FILE ... | weights FILE.onnx",
			      .options = model_options,
			      .run = command_model};
