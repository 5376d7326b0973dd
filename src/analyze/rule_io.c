/*
 * rule_io.c - files: waiting for storage, many small calls, the same file read by several stages, floods of output.
 */
#include "analyze/rule.h"

#include <math.h>
#include <string.h>

static const double io_wait_share = 0.2;    /* of the time it could run; as the verdict has it of the elapsed time */
static const double io_wait_least_s = 0.02; /* a cold start reads that much */
static const double small_call_bytes = 1024;
static const double small_calls_per_s = 20000, small_calls_least = 10000; /* below, calls cost no time worth naming */
static const double small_call_waits = 0.1;                               /* share of the calls */
/* A call of few bytes costs entering the kernel, and in an interpreter a good deal more around it. */
static const double small_call_s = 1e-6;
static const double same_input_bytes = 16 * 1048576.0, same_input_read = 0.8;
static const double same_input_gain = 0.05;   /* of the run */
static const double cached_bytes_per_s = 1e9; /* a copy out of the page cache; parsing comes on top */
static const double flood_bytes = 8e6, flood_bytes_per_s = 4e6;
static const double most_of_it = 0.9;
static const double pipe_bytes_per_s = 100e6; /* formatting, a pipe, and a reader at its end */

static void examine_io_wait(const struct evidence *evidence, struct finding_list *out)
{
	double full = evidence_number(evidence, METRIC_PRESSURE_IO_FULL);
	bool own = evidence_is_own(evidence, METRIC_PRESSURE_IO_FULL);
	if (!(full / evidence->alone >= io_wait_share && full >= io_wait_least_s))
		return;
	struct finding *finding = finding_add(out, &rule_io_wait, evidence, own ? FINDING_FIX : FINDING_LOOK);
	finding_say(finding, "%s waited for storage %.0f %% of the time.",
		    own ? "All of it" : "Everything on the machine", 100 * fmin(full / evidence->alone, 1));
	finding_advise(finding, "Let reading and computing overlap (read ahead in a thread, larger requests), keep hot "
				"files in memory, and do not force data to disk (fsync) after each small write.");
	finding_cite(finding, evidence, METRIC_PRESSURE_IO_FULL);
	finding_cite(finding, evidence, METRIC_IO_DEVICE_READ);
	finding_cite(finding, evidence, METRIC_IO_DEVICE_WRITE);
	finding_cite(finding, evidence, METRIC_CPU_PERCENT_AVG);
	finding_predict(finding, evidence, fmin(full, evidence->wall - evidence->cpu / fmax(evidence->cores, 1)),
			"all waiting for storage is hidden behind other work");
}

const struct finding_rule rule_io_wait = {
	.id = "io-wait",
	.title = "Waiting for storage",
	.fires = "everything in the stage waited for storage at least 20 % of the time it had a core for (I/O "
		 "pressure, `full`); `look` "
		 "where "
		 "only the whole machine's pressure is known",
	.why = "nothing is computed meanwhile",
	.todo = "overlap reading with computing, make requests larger, cache, avoid fsync after each small write",
	.depth = 2,
	.examine = examine_io_wait,
};

static void small_calls(const struct evidence *evidence, const char *what, int calls_metric, int bytes_metric,
			struct finding_list *out)
{
	double calls = evidence_number(evidence, calls_metric), bytes = evidence_number(evidence, bytes_metric);
	double switches = evidence_number(evidence, METRIC_CONTEXT_SWITCHES_VOLUNTARY);
	/* A call that waits for another thread hands work over: another rule's. */
	if (!(calls >= small_calls_least && calls / evidence->wall >= small_calls_per_s) ||
	    !(bytes / calls <= small_call_bytes) || switches >= small_call_waits * calls)
		return;
	struct finding *finding = finding_add(out, &rule_small_io, evidence, FINDING_FIX);
	finding_say(finding, "%.0f %s calls a second, %.0f bytes each.", calls / evidence->wall, what, bytes / calls);
	finding_advise(finding,
		       "Use a buffer of 64 KiB or more: buffered files instead of raw descriptors, records joined "
		       "before they are written, a larger block size (bs=).");
	finding_cite(finding, evidence, calls_metric);
	finding_cite(finding, evidence, bytes_metric);
	finding_cite(finding, evidence, METRIC_CPU_SYSTEM);
	finding_predict(finding, evidence, fmax(fmin(evidence->system, calls * small_call_s), 0),
			"each call costs %.0f µs, and hardly any are left", 1e6 * small_call_s);
}

static void examine_small_io(const struct evidence *evidence, struct finding_list *out)
{
	double reads = evidence_number(evidence, METRIC_IO_READ_CALLS);
	double writes = evidence_number(evidence, METRIC_IO_WRITE_CALLS);
	if (reads >= writes || isnan(writes))
		small_calls(evidence, "read", METRIC_IO_READ_CALLS, METRIC_IO_READ, out);
	else
		small_calls(evidence, "write", METRIC_IO_WRITE_CALLS, METRIC_IO_WRITE, out);
}

const struct finding_rule rule_small_io = {
	.id = "small-io",
	.title = "Many small reads or writes",
	.fires = "at least 20 000 read or write calls a second (10 000 in all) of 1024 bytes or less on average",
	.why = "each call enters the kernel, for as little as one byte",
	.todo = "put a buffer of 64 KiB or more between the program and the file",
	.depth = 3,
	.examine = examine_small_io,
};

/* The input of that path, read whole by the stage; NULL where it has none or did not. */
static const struct artifact *read_input(const struct report_stage *stage, const char *path)
{
	const struct metric_value *read = &stage->values[METRIC_IO_READ];
	for (size_t i = 0; stage->ran && i < stage->last->artifacts.len; i++) {
		const struct artifact *artifact = &stage->last->artifacts.items[i];
		if (artifact->is_output || !artifact->exists || (double)artifact->bytes < same_input_bytes)
			continue;
		if (read->state == METRIC_KNOWN && read->value >= same_input_read * (double)artifact->bytes &&
		    (!path || strcmp(artifact->path, path) == 0))
			return artifact;
	}
	return NULL;
}

/* The stages before this one that read the same file. */
static size_t earlier_readers(const struct evidence *evidence, const char *path)
{
	size_t readers = 0;
	for (size_t i = 0; i < evidence->index; i++)
		readers += read_input(&evidence->report->stages.items[i], path) != NULL;
	return readers;
}

static void examine_same_input(const struct evidence *evidence, struct finding_list *out)
{
	const struct artifact *input = read_input(evidence->stage, NULL);
	size_t earlier = input ? earlier_readers(evidence, input->path) : 0;
	if (!earlier)
		return;
	double bytes = (double)input->bytes;
	struct finding *finding = finding_add(out, &rule_same_input, evidence, FINDING_LOOK);
	const char *name = strrchr(input->path, '/') ? strrchr(input->path, '/') + 1 : input->path;
	finding_say(finding, "It reads '%.60s' (%.0f MiB) again, which %zu earlier stage%s read already.", name,
		    bytes / 1048576, earlier, earlier == 1 ? "" : "s");
	finding_advise(finding, "Read it once: let the first stage write what the others need (fewer columns, a binary "
				"format), or join the stages.");
	finding_cite_other(finding, "input_bytes", UNIT_BYTES, bytes, METHOD_EXACT, "size of the declared input");
	finding_cite(finding, evidence, METRIC_IO_READ);
	/* Where the copy is too small to name, it is the parsing that counts, and that cannot be seen from outside. */
	if (bytes / cached_bytes_per_s >= same_input_gain * evidence->plan->measured_s)
		finding_predict(finding, evidence, bytes / cached_bytes_per_s,
				"reading goes at 1 GB/s, from memory; parsing it again comes on top");
}

const struct finding_rule rule_same_input = {
	.id = "same-input",
	.title = "The same file read by several stages",
	.fires = "a declared input of at least 16 MiB is an input of an earlier stage too, and both read at least 80 % "
		 "of its size",
	.why = "it is read, and mostly parsed, once more each time",
	.todo = "read and parse once; hand on what later stages need in a smaller or binary form",
	.depth = 2,
	.examine = examine_same_input,
};

static void examine_flood(const struct evidence *evidence, struct finding_list *out)
{
	double bytes = evidence_number(evidence, METRIC_OUTPUT);
	if (!(bytes >= flood_bytes && bytes / evidence->wall >= flood_bytes_per_s))
		return;
	struct finding *finding = finding_add(out, &rule_output_flood, evidence, FINDING_LOOK);
	finding_say(finding, "It printed %.0f MB, %.1f MB a second.", bytes / 1e6, bytes / 1e6 / evidence->wall);
	finding_advise(finding,
		       "Print less (a progress line a second is enough), or write the data to a file of its own "
		       "instead of the standard output.");
	finding_cite(finding, evidence, METRIC_OUTPUT);
	finding_cite(finding, evidence, METRIC_IO_WRITE_CALLS);
	double cost = bytes / pipe_bytes_per_s;
	if (cost > most_of_it * evidence->wall)
		finding_predict(finding, evidence, most_of_it * evidence->wall, "printing is nearly all that it does");
	else
		finding_predict(finding, evidence, cost,
				"formatting and passing on output goes at %.0f MB/s, and hardly any is left",
				pipe_bytes_per_s / 1e6);
}

const struct finding_rule rule_output_flood = {
	.id = "output-flood",
	.title = "A flood of output",
	.fires = "a stage printed at least 8 MB, 4 MB a second or more",
	.why = "formatting it, passing it through pipes and reading it at the other end takes time, and nobody reads "
	       "it",
	.todo = "print less often, or write data to files",
	.depth = 3,
	.examine = examine_flood,
};
