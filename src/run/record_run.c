/* record_run.c - the run's own rows: who, where, with what; at the end quality, cost and status. */
#include "base/clock.h"
#include "base/file.h"
#include "config/quality.h"
#include "probe/host.h"
#include "run/git.h"
#include "run/loop.h"
#include "wire/channel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

/* Our own start time in clock ticks since boot: with the pid it names this process for good. */
static uint64_t own_start_ticks(void)
{
	char text[1024];
	unsigned long long ticks = 0;
	if (file_read_small("/proc/self/stat", text, sizeof(text)) <= 0)
		return 0;
	const char *after = strrchr(text, ')');
	if (after)
		sscanf(after + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
		       &ticks);
	return ticks;
}

static char *new_uuid(void)
{
	unsigned char bytes[16];
	char *text = mem_alloc(33);
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		memset(bytes, 0, sizeof(bytes));
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	return text;
}

static const char *fact(const struct host_facts *facts, const char *key)
{
	for (size_t i = 0; i < facts->facts.len; i++)
		if (strcmp(facts->facts.items[i].key, key) == 0)
			return facts->facts.items[i].value;
	return NULL;
}

static void store_context(struct loop *loop, const struct host_facts *facts)
{
	struct run_shared *shared = &loop->shared;
	const struct pipeline *pipeline = loop->pipeline;
	struct err err;
	for (size_t i = 0; i < pipeline->params.len; i++) {
		const struct param *param = &pipeline->params.items[i];
		shared_stored(shared, store_param(shared->store, param->name, param->value, param->source, &err), &err);
	}
	for (size_t i = 0; i < facts->facts.len; i++)
		shared_stored(
			shared,
			store_host_fact(shared->store, facts->facts.items[i].key, facts->facts.items[i].value, &err),
			&err);
	for (size_t i = 0; i < pipeline->gates.len; i++)
		shared_stored(
			shared,
			store_gate(shared->store, pipeline->gates.items[i].name, pipeline->gates.items[i].limit, &err),
			&err);
	shared_stored(shared, store_commit(shared->store, &err), &err);
}

static char *channel_path(const struct loop *loop)
{
	return file_join(loop->options->channel_dir, "channel");
}

/* The library never creates it: a program that finds no file reports nothing. */
static int make_channel(const struct loop *loop, struct err *err)
{
	char *path = channel_path(loop);
	int code = file_write_atomic(path, "", 0, err);
	free(path);
	return code;
}

int record_open(struct loop *loop, struct err *err)
{
	struct host_facts facts = {0};
	int code = make_channel(loop, err);
	if (code)
		return code;
	host_facts_read(&facts);
	char *cwd = getcwd(NULL, 0), *uuid = new_uuid();
	char *commit = git_commit_of(loop->pipeline->dir ? loop->pipeline->dir : cwd);
	struct run_row row = {.name = loop->pipeline->name,
			      .uuid = uuid,
			      .started_utc_ns = clock_utc_ns(),
			      .status = STATUS_INTERRUPTED,
			      .argv_json = (char *)loop->options->argv_json,
			      .cwd = cwd ? cwd : "?",
			      .config_path = loop->pipeline->path,
			      .config_text = loop->pipeline->text,
			      .git_commit = commit,
			      .pitot_version = PITOT_VERSION,
			      .fingerprint = facts.fingerprint,
			      .interval_ns = loop->interval_ns,
			      .repeat = loop->options->repeat,
			      .warmup = loop->options->warmup,
			      .jobs = loop->jobs,
			      .owner_pid = getpid(),
			      .owner_start = own_start_ticks(),
			      .boot_id = (char *)fact(&facts, "boot_id")};
	code = store_create(loop->options->file, &row, &loop->shared.store, err);
	if (!code)
		store_context(loop, &facts);
	free(cwd);
	free(uuid);
	free(commit);
	host_facts_fini(&facts);
	return code;
}

/* A file below the pipeline's folder is named from there: reports travel. */
static char *short_path(const struct loop *loop, const char *path)
{
	const char *dir = loop->pipeline->dir;
	size_t length = dir ? strlen(dir) : 0;
	bool below = path && length && strncmp(path, dir, length) == 0 && path[length] == '/';
	return mem_strdup(below ? path + length + 1 : path);
}

static void put_quality(struct loop *loop, const struct quality_row *row)
{
	struct err err;
	shared_stored(&loop->shared, store_quality(loop->shared.store, row, &err), &err);
}

static bool said_again(const struct loop *loop, size_t at)
{
	for (size_t i = at + 1; i < loop->quality.len; i++)
		if (strcmp(loop->quality.items[i].name, loop->quality.items[at].name) == 0)
			return true;
	return false;
}

static void store_quality_metrics(struct loop *loop)
{
	uint64_t began_utc = clock_utc_ns() - (clock_mono_ns() - loop->shared.start_ns);
	for (size_t i = 0; i < loop->pipeline->quality.len; i++) {
		const struct quality_spec *spec = &loop->pipeline->quality.items[i];
		struct quality_result result;
		quality_extract(spec, began_utc, &result);
		char *source = short_path(loop, result.file);
		struct quality_row row = {.name = spec->name,
					  .known = result.known,
					  .value = result.value,
					  .source = source,
					  .reason = result.reason};
		put_quality(loop, &row);
		free(source);
		quality_result_fini(&result);
	}
	for (size_t i = 0; i < loop->quality.len; i++) {
		const struct quality_line *line = &loop->quality.items[i];
		if (said_again(loop, i))
			continue; /* the last word counts */
		char *source = line->stage ? mem_printf("output of stage %s", line->stage) : mem_strdup("pitot_metric");
		struct quality_row row = {.name = line->name, .known = true, .value = line->value, .source = source};
		put_quality(loop, &row);
		free(source);
	}
}

/* One line of the channel: a metric that a program reported through libpitot, or a mark on the time axis. */
static void take_channel_line(struct loop *loop, const char *line, size_t length)
{
	struct channel_record record;
	struct err err;
	if (!channel_parse(line, length, &record)) {
		loop->channel_damaged++;
		return;
	}
	if (record.kind == CHANNEL_METRIC) {
		vec_push(&loop->quality, ((struct quality_line){mem_strdup(record.text), record.value, NULL}));
		return;
	}
	uint64_t at_ns = record.mono_ns > loop->shared.start_ns ? record.mono_ns - loop->shared.start_ns : 0;
	struct event_row mark = {.at_ns = at_ns, .kind = "mark", .text = record.text};
	shared_stored(&loop->shared, store_event(loop->shared.store, &mark, &err), &err);
}

static void read_channel(struct loop *loop)
{
	enum { CHANNEL_LIMIT = 64 << 20 };
	struct err err;
	char *path = channel_path(loop), *text = NULL;
	size_t size = 0;
	if (file_read(path, CHANNEL_LIMIT, &text, &size, &err) != 0)
		shared_event(&loop->shared, 0, "warning", "what programs reported through libpitot is lost: %s",
			     err.text);
	for (size_t at = 0; at < size;) {
		const char *newline = memchr(text + at, '\n', size - at);
		if (!newline)
			break; /* cut off by a kill or a full disk */
		take_channel_line(loop, text + at, (size_t)(newline - text) - at);
		at = (size_t)(newline - text) + 1;
	}
	if (loop->channel_damaged)
		shared_event(&loop->shared, 0, "warning",
			     "%zu damaged lines in what programs reported through libpitot", loop->channel_damaged);
	free(text);
	free(path);
}

/* Not ru_maxrss: that starts at the size of whoever started pitot, a notebook or a workflow engine perhaps. */
static void set_own_memory(struct metric_value *value)
{
	char text[4096];
	ssize_t got = file_read_small("/proc/self/status", text, sizeof(text));
	const char *peak = got > 0 ? strstr(text, "VmHWM:") : NULL;
	if (peak)
		metric_set(value, strtod(peak + strlen("VmHWM:"), NULL) * 1024, METHOD_EXACT,
			   "/proc/self/status VmHWM");
	else
		metric_set_absent(value, "/proc/self/status cannot be read");
}

static void store_own_cost(struct loop *loop, uint64_t wall_ns)
{
	struct metric_value values[METRIC_COUNT] = {0};
	struct rusage usage;
	struct err err;
	getrusage(RUSAGE_SELF, &usage);
	double cpu = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
		     (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6 +
		     (double)loop->wardens_cpu_ns / 1e9;
	metric_set(&values[METRIC_WALL], (double)wall_ns / 1e9, METHOD_EXACT, "monotonic clock");
	metric_set(&values[METRIC_SELF_CPU], cpu, METHOD_EXACT, "getrusage of pitot and its wardens");
	metric_set(&values[METRIC_SELF_WALL], (double)loop->idle_ns / 1e9, METHOD_EXACT, "monotonic clock");
	set_own_memory(&values[METRIC_SELF_MEMORY_PEAK]);
	metric_set(&values[METRIC_SELF_INTERVAL], (double)loop->interval_ns / 1e9, METHOD_EXACT, "pitot");
	shared_stored(&loop->shared, store_metrics(loop->shared.store, 0, values, &err), &err);
	if (!loop->shared.cgroups && loop->options->cgroup)
		shared_event(&loop->shared, 0, "note", "measured without control groups: %s",
			     loop->shared.cgroup_reason);
	if (!loop->shared.exits && loop->options->exit_records)
		shared_event(&loop->shared, 0, "note", "no exit records: %s", loop->shared.exits_reason);
	if (loop->shared.exits && exits_losses(loop->shared.exits))
		shared_event(&loop->shared, 0, "warning",
			     "the kernel dropped exit records %llu times; process counts are lower bounds",
			     (unsigned long long)exits_losses(loop->shared.exits));
}

/* What the agents left. The person waits meanwhile: a note says so where it takes longer. */
static void collect(struct loop *loop)
{
	struct run_shared *shared = &loop->shared;
	struct err err;
	if (!loop->inject || !shared->profiled.len)
		return;
	struct collect_options options = {.dir = inject_dir(loop->inject),
					  .run_start_mono_ns = shared->start_ns,
					  .store = shared->store,
					  .stages = shared->profiled.items,
					  .stage_count = shared->profiled.len,
					  .context = loop->observer->context,
					  .note = loop->observer->note};
	shared_stored(shared, collect_profiles(&options, &err), &err);
}

/* What programs recorded themselves. */
static void collect_spans(struct loop *loop)
{
	struct run_shared *shared = &loop->shared;
	struct err err;
	if (!loop->spans)
		return;
	struct span_collect_options options = {.dir = span_env_dir(loop->spans),
					       .run_start_mono_ns = shared->start_ns,
					       .begun = span_env_begun(loop->spans),
					       .store = shared->store,
					       .stages = shared->ended.items,
					       .stage_count = shared->ended.len};
	shared_stored(shared, span_collect(&options, &err), &err);
}

void record_close(struct loop *loop)
{
	struct err err;
	collect(loop);
	collect_spans(loop);
	read_channel(loop);
	store_quality_metrics(loop);
	uint64_t now = clock_mono_ns(), wall_ns = now - loop->shared.start_ns;
	loop->idle_ns += now - loop->idle_since_ns;
	store_own_cost(loop, wall_ns);
	int code = store_finish(loop->shared.store, loop->outcome->status, wall_ns, &err);
	shared_stored(&loop->shared, code, &err);
	loop->outcome->store_code = loop->outcome->store_err.code;
}
