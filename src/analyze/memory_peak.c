/*
 * memory_peak.c - see memory_peak.h.
 *
 * One sweep over the moments at which a process's value changes: a step begins (its highest), a step is over and the next is
 * not there (its last), the process is gone (nothing).
 */
#include "analyze/memory_peak.h"

#include <string.h>

/* From `at_ns` on the process has so much. */
struct moment {
	uint64_t at_ns;
	size_t process; /* index into the memory profile's */
	double bytes;
	bool at_peak; /* the step has the process's own peak */
	size_t order; /* in which it was made */
};

struct moments {
	VEC(struct moment) items;
};

static void put(struct moments *moments, uint64_t at_ns, size_t process, double bytes, bool at_peak)
{
	vec_push(&moments->items, ((struct moment){at_ns, process, bytes, at_peak, moments->items.len}));
}

/* Points of a process lie together, by time: `from` is the first, the return value the one after the last. */
static size_t add_process(struct moments *moments, const struct memory_data *memory, size_t index, size_t from,
			  uint64_t end_ns)
{
	const struct memory_process *process = &memory->processes.items[index];
	size_t at = from;
	for (; at < memory->points.len && memory->points.items[at].process_id == process->process_id; at++) {
		const struct memory_point *point = &memory->points.items[at];
		const struct memory_point *next =
			at + 1 < memory->points.len && point[1].process_id == process->process_id ? point + 1 : NULL;
		uint64_t over_ns = point->at_ns + process->step_ns;
		bool at_peak = process->peak_at_ns >= point->at_ns && process->peak_at_ns < over_ns;
		/* The course may be off by what threads had not told of yet; the peak itself is known. */
		put(moments, point->at_ns, index, at_peak ? (double)process->peak_bytes : (double)point->high_bytes,
		    at_peak);
		if ((!next || next->at_ns > over_ns) && over_ns < end_ns)
			put(moments, over_ns, index, (double)point->live_bytes, false);
	}
	if (at == from)
		put(moments, process->peak_at_ns, index, (double)process->peak_bytes, true);
	put(moments, end_ns > process->peak_at_ns ? end_ns : process->peak_at_ns + 1, index, 0, false);
	return at;
}

static int by_time(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;
	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

static void collect(const struct profile_data *profile, const struct memory_data *memory, const bool *wanted,
		    struct moments *out)
{
	size_t point = 0;
	for (size_t i = 0; i < memory->processes.len; i++) {
		int64_t id = memory->processes.items[i].process_id;
		while (point < memory->points.len && memory->points.items[point].process_id < id)
			point++;
		if (wanted[id - 1])
			point = add_process(out, memory, i, point, profile->processes.items[id - 1].end_ns);
	}
	if (out->items.len > 1)
		qsort(out->items.items, out->items.len, sizeof(struct moment), by_time);
}

/* What each process has after the first `count` moments. */
static void replay(const struct moments *moments, size_t count, const struct memory_data *memory, double *parts,
		   struct memory_peak *out)
{
	double *bytes = mem_alloc((memory->processes.len + 1) * sizeof(*bytes));
	bool *at_peak = mem_alloc(memory->processes.len + 1);
	for (size_t i = 0; i < count; i++) {
		bytes[moments->items.items[i].process] = moments->items.items[i].bytes;
		at_peak[moments->items.items[i].process] = moments->items.items[i].at_peak;
	}
	out->whole = true;
	for (size_t i = 0; i < memory->processes.len; i++) {
		const struct memory_process *process = &memory->processes.items[i];
		double part = process->peak_bytes ? bytes[i] / (double)process->peak_bytes : 0;
		parts[process->process_id - 1] = at_peak[i] ? 1 : part < 1 ? part : 1;
		out->processes += bytes[i] > 0;
		out->whole = out->whole && (bytes[i] <= 0 || at_peak[i]);
	}
	free(bytes);
	free(at_peak);
}

void memory_peak_find(const struct profile_data *profile, const struct memory_data *memory, const bool *wanted,
		      double *parts, struct memory_peak *out)
{
	struct moments moments = {0};
	double *now = mem_alloc((memory->processes.len + 1) * sizeof(*now)), sum = 0;
	size_t best = 0;
	*out = (struct memory_peak){0};
	memset(parts, 0, profile->processes.len * sizeof(*parts));
	collect(profile, memory, wanted, &moments);
	for (size_t i = 0; i < moments.items.len; i++) {
		const struct moment *moment = &moments.items.items[i];
		sum += moment->bytes - now[moment->process];
		now[moment->process] = moment->bytes;
		/* What happens at one moment happens at once: a process that ends as another begins had nothing beside it. */
		if (i + 1 < moments.items.len && moment[1].at_ns == moment->at_ns)
			continue;
		if (sum > out->bytes) {
			out->bytes = sum;
			out->at_ns =
				moment->at_peak ? memory->processes.items[moment->process].peak_at_ns : moment->at_ns;
			best = i + 1;
		}
	}
	replay(&moments, best, memory, parts, out);
	vec_fini(&moments.items);
	free(now);
}

double *memory_peak_parts(const struct profile_data *profile, const struct memory_data *memory,
			  const struct code_select *select)
{
	size_t count = profile->processes.len;
	double *all = mem_alloc((count + 1) * sizeof(*all)), *parts = mem_alloc((count + 1) * sizeof(*parts));
	bool *wanted = mem_alloc(count + 1), *done = mem_alloc(count + 1);
	for (size_t i = 0; i < count; i++) {
		const struct profile_process *first = &profile->processes.items[i];
		struct memory_peak peak;
		if (done[i] || !code_select_has_stage(select, first->stage_id))
			continue;
		for (size_t k = i; k < count; k++) {
			const struct profile_process *process = &profile->processes.items[k];
			bool same = process->stage_id == first->stage_id;
			wanted[k] = same && (!select->pid || select->pid == process->pid);
			done[k] = done[k] || same;
		}
		memory_peak_find(profile, memory, wanted, parts, &peak);
		for (size_t k = i; k < count; k++)
			all[k] = wanted[k] ? parts[k] : all[k];
		memset(wanted, 0, count);
	}
	free(parts);
	free(wanted);
	free(done);
	return all;
}

void memory_peak_timeline(const struct profile_data *profile, const struct memory_data *memory, const bool *wanted,
			  uint64_t from_ns, uint64_t to_ns, double *out, size_t count)
{
	struct moments moments = {0};
	double *now = mem_alloc((memory->processes.len + 1) * sizeof(*now)), sum = 0;
	double width = to_ns > from_ns ? (double)(to_ns - from_ns) / (double)count : 1;
	size_t at = 0;
	memset(out, 0, count * sizeof(*out));
	collect(profile, memory, wanted, &moments);
	for (size_t i = 0; i < count; i++) {
		double end = (double)from_ns + width * (double)(i + 1);
		out[i] = sum;
		for (; at < moments.items.len && (double)moments.items.items[at].at_ns < end; at++) {
			const struct moment *moment = &moments.items.items[at];
			sum += moment->bytes - now[moment->process];
			now[moment->process] = moment->bytes;
			out[i] = sum > out[i] ? sum : out[i];
		}
	}
	vec_fini(&moments.items);
	free(now);
}
