/*
 * graph_runner.c - runs a small graph that is described on stdin, and writes the numbers that were asked for to stdout, as raw
 * floats. For tests/system/test_kernels.py, which knows what they have to be.
 *
 *	X key value                                    an option: training, threads, unfused, keep, blas, optimizer, passes, isa
 *	T role output rank dims...                     a tensor; role w, b, c, i, a (its first letter in graph.h)
 *	O kind inputs outputs tensors... attributes    an operator; attributes as `name=value,value...`; functions by their names
 *	L count labels...
 *	V tensor / G tensor                            write its value, or its gradient
 *	X serve 1                                      then: answer every further line, a number of passes, with their wall,CPU seconds
 *	E                                              the end; then the floats of all tensors but activations, in order
 */
#include "base/clock.h"
#include "model/exec.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

struct request {
	bool gradient;
	size_t tensor;
};

struct runner {
	struct graph graph;
	struct exec_options options;
	char isa[16];
	long passes;
	bool serve;
	VEC(struct request) requests;
	VEC(int64_t) labels;
};

static void die(const char *words)
{
	fprintf(stderr, "graph_runner: %s\n", words);
	exit(1);
}

static long next_long(void)
{
	char *word = strtok(NULL, " \n");
	if (!word)
		die("a number is missing");
	return strtol(word, NULL, 10);
}

static void read_option(struct runner *runner)
{
	const char *key = strtok(NULL, " \n"), *value = strtok(NULL, " \n");
	long number = strtol(value, NULL, 10);
	if (strcmp(key, "training") == 0)
		runner->options.training = number;
	else if (strcmp(key, "threads") == 0)
		runner->options.threads = (int)number;
	else if (strcmp(key, "unfused") == 0)
		runner->options.unfused = number;
	else if (strcmp(key, "keep") == 0)
		runner->options.keep = number;
	else if (strcmp(key, "blas") == 0)
		runner->options.blas = number;
	else if (strcmp(key, "optimizer") == 0)
		runner->options.optimizer = (enum exec_optimizer)number;
	else if (strcmp(key, "most") == 0)
		runner->options.most_bytes = (uint64_t)number;
	else if (strcmp(key, "serve") == 0)
		runner->serve = number;
	else if (strcmp(key, "passes") == 0)
		runner->passes = number;
	else if (strcmp(key, "isa") == 0)
		snprintf(runner->isa, sizeof(runner->isa), "%s", value), runner->options.isa = runner->isa;
	else
		die(key);
}

static void read_tensor(struct runner *runner)
{
	static const char roles[] = "wbcia";
	char name[32], role = strtok(NULL, " \n")[0];
	long output = next_long();
	struct shape shape = {.rank = (size_t)next_long()};
	for (size_t i = 0; i < shape.rank; i++)
		shape.dims[i] = next_long();
	snprintf(name, sizeof(name), "t%zu", runner->graph.tensors.len);
	size_t tensor = graph_add_tensor(&runner->graph, name, (enum tensor_role)(strchr(roles, role) - roles),
					 ELEMENT_F32, &shape);
	runner->graph.tensors.items[tensor].output = output;
}

/* The place of a name among `count` that `name_of` knows. */
static int named(const char *name, int count, const char *(*name_of)(int index))
{
	for (int i = 0; i < count; i++)
		if (strcmp(name_of(i), name) == 0)
			return i;
	die(name);
	return -1;
}

static const char *kind_at(int index)
{
	return op_kind_name((enum op_kind)index);
}

static const char *unary_at(int index)
{
	return unary_name((enum unary_fn)index);
}

static const char *binary_at(int index)
{
	return binary_name((enum binary_fn)index);
}

static const char *reduce_at(int index)
{
	return (const char *[]){"sum", "mean", "max", "min", "prod", "l2"}[index];
}

/* True where the attribute is a function's name. */
static bool read_function(struct graph_op *op, const char *key, const char *name)
{
	if (strcmp(key, "unary") == 0)
		op->attributes.unary.fn = (enum unary_fn)named(name, UNARY_COUNT, unary_at);
	else if (strcmp(key, "binary") == 0)
		op->attributes.binary.fn = (enum binary_fn)named(name, BINARY_COUNT, binary_at);
	else if (strcmp(key, "reduce") == 0)
		op->attributes.reduce.fn = (enum reduce_fn)named(name, REDUCE_FN_COUNT, reduce_at);
	else
		return false;
	return true;
}

static void read_attribute(struct graph_op *op, char *text)
{
	char *equals = strchr(text, '='), *save = NULL;
	double values[8] = {0};
	size_t count = 0;
	*equals = 0;
	if (read_function(op, text, equals + 1))
		return;
	for (char *word = strtok_r(equals + 1, ",", &save); word && count < 8; word = strtok_r(NULL, ",", &save))
		values[count++] = strtod(word, NULL);
	union op_attributes *a = &op->attributes;
#define WINDOW(name)                                                                                                   \
	if (strcmp(text, #name) == 0)                                                                                  \
		for (size_t i = 0; i < count; i++)                                                                     \
	a->window.name[i] = (int64_t)values[i]
#define ONE(key, place)                                                                                                \
	if (strcmp(text, key) == 0)                                                                                    \
	a->place = values[0]
	WINDOW(kernel);
	WINDOW(stride);
	WINDOW(dilation);
	WINDOW(pad_begin);
	WINDOW(pad_end);
	WINDOW(output_pad);
	ONE("spatial", window.spatial);
	ONE("groups", window.groups);
	ONE("ceil_mode", window.ceil_mode);
	ONE("count_pad", window.count_pad);
	ONE("in_major", linear.in_major);
	ONE("alpha", gemm.alpha);
	ONE("beta", gemm.beta);
	ONE("transpose_a", gemm.transpose_a);
	ONE("transpose_b", gemm.transpose_b);
	ONE("heads", attention.heads);
	ONE("kv_heads", attention.kv_heads);
	ONE("causal", attention.causal);
	ONE("scale", attention.scale);
	ONE("hidden", recurrent.hidden);
	ONE("directions", recurrent.directions);
	ONE("reverse", recurrent.reverse);
	ONE("linear_before_reset", recurrent.linear_before_reset);
	ONE("epsilon", norm.epsilon);
	ONE("norm_axis", norm.axis);
	ONE("norm_groups", norm.groups);
	ONE("lrn_size", lrn.size);
	ONE("lrn_alpha", lrn.alpha);
	ONE("lrn_beta", lrn.beta);
	ONE("lrn_bias", lrn.bias);
	ONE("axis", axis);
	if (strcmp(text, "slopes") == 0)
		a->unary.alpha = values[0], a->unary.beta = values[1];
	if (strcmp(text, "clip") == 0)
		a->clip.low = values[0], a->clip.high = values[1];
	ONE("linear", resize.linear);
	if (strcmp(text, "pad_value") == 0)
		a->pad.value = values[0];
	for (size_t i = 0; i < count; i++) {
		if (strcmp(text, "axes") == 0)
			a->reduce.axes[i] = values[i] != 0;
		else if (strcmp(text, "perm") == 0)
			a->perm[i] = (size_t)values[i];
		else if (strcmp(text, "start") == 0)
			a->slice.start[i] = (int64_t)values[i];
		else if (strcmp(text, "step") == 0)
			a->slice.step[i] = (int64_t)values[i];
		else if (strcmp(text, "before") == 0)
			a->pad.begin[i] = (int64_t)values[i];
		else if (strcmp(text, "after") == 0)
			a->pad.end[i] = (int64_t)values[i];
		else if (strcmp(text, "size") == 0)
			a->adaptive.size[i] = (int64_t)values[i];
	}
}

static void read_op(struct runner *runner)
{
	char name[32];
	enum op_kind kind = (enum op_kind)named(strtok(NULL, " \n"), OP_KIND_COUNT, kind_at);
	long inputs = next_long(), outputs = next_long();
	snprintf(name, sizeof(name), "op%zu", runner->graph.ops.len);
	size_t op = graph_add_op(&runner->graph, kind, name, graph_layer(&runner->graph, ""));
	for (long i = 0; i < inputs + outputs; i++) {
		long tensor = next_long();
		size_t index = tensor < 0 ? GRAPH_NONE : (size_t)tensor;
		if (i < inputs) {
			vec_push(&runner->graph.ops.items[op].inputs, index);
			continue;
		}
		vec_push(&runner->graph.ops.items[op].outputs, index);
		if (index != GRAPH_NONE)
			runner->graph.tensors.items[index].producer = op;
	}
	for (char *word = strtok(NULL, " \n"); word; word = strtok(NULL, " \n"))
		read_attribute(&runner->graph.ops.items[op], word);
}

static bool read_line(struct runner *runner, char *line)
{
	const char *what = strtok(line, " \n");
	if (strcmp(what, "X") == 0)
		read_option(runner);
	else if (strcmp(what, "T") == 0)
		read_tensor(runner);
	else if (strcmp(what, "O") == 0)
		read_op(runner);
	else if (strcmp(what, "L") == 0)
		for (long i = next_long(); i > 0; i--)
			vec_push(&runner->labels, (int64_t)next_long());
	else if (strcmp(what, "V") == 0 || strcmp(what, "G") == 0)
		vec_push(&runner->requests, ((struct request){what[0] == 'G', (size_t)next_long()}));
	return strcmp(what, "E") != 0;
}

static void read_values(struct runner *runner)
{
	for (size_t i = 0; i < runner->graph.tensors.len; i++) {
		struct graph_tensor *tensor = &runner->graph.tensors.items[i];
		size_t floats = (size_t)shape_elements(&tensor->shape);
		if (tensor->role == TENSOR_ACTIVATION)
			continue;
		float *values = mem_alloc(floats * sizeof(float));
		if (fread(values, sizeof(float), floats, stdin) != floats)
			die("values are missing");
		vec_push(&runner->graph.blobs, (void *)values);
		tensor->source = TENSOR_BYTES;
		tensor->bytes = (const unsigned char *)values;
	}
}

/* For bench/models.py. */
static void serve(struct exec *exec)
{
	char line[32];
	for (int i = 0; i < 3; i++)
		exec_run(exec, NULL);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		for (long i = strtol(line, NULL, 10); i > 0; i--) {
			uint64_t start = clock_mono_ns();
			struct timespec cpu[2];
			clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu[0]);
			exec_run(exec, NULL);
			clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu[1]);
			printf("%.9f,%.9f ", (double)(clock_mono_ns() - start) / 1e9,
			       (double)(cpu[1].tv_sec - cpu[0].tv_sec) +
				       (double)(cpu[1].tv_nsec - cpu[0].tv_nsec) / 1e9);
		}
		puts("");
		fflush(stdout);
	}
}

static int run(struct runner *runner)
{
	struct err err = {0};
	struct exec *exec;
	if (exec_new(&runner->graph, &runner->options, &exec, &err)) {
		fprintf(stderr, "graph_runner: %s\n", err.text);
		return 2;
	}
	if (runner->labels.len)
		exec_set_labels(exec, runner->labels.items, runner->labels.len);
	if (runner->serve)
		serve(exec);
	for (long i = 0; i < runner->passes && !runner->serve; i++)
		exec_run(exec, NULL);
	for (size_t i = 0; i < runner->requests.len; i++) {
		const struct request *request = &runner->requests.items[i];
		const float *values =
			request->gradient ? exec_gradient(exec, request->tensor) : exec_tensor(exec, request->tensor);
		if (!values)
			die("a tensor has no value");
		fwrite(values, sizeof(float),
		       (size_t)shape_elements(&runner->graph.tensors.items[request->tensor].shape), stdout);
	}
	double loss = exec_loss(exec);
	fwrite(&loss, sizeof(loss), 1, stdout);
	exec_free(exec);
	return 0;
}

int main(void)
{
	struct runner runner = {.passes = 1};
	char *line = NULL;
	size_t room = 0;
	graph_init(&runner.graph, "test");
	while (getline(&line, &room, stdin) > 0 && read_line(&runner, line))
		;
	free(line);
	read_values(&runner);
	int status = run(&runner);
	graph_fini(&runner.graph);
	vec_fini(&runner.requests);
	vec_fini(&runner.labels);
	return status;
}
