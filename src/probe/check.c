/* check.c - see check.h. */
#include "probe/check.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "probe/kernel_file.h"
#include "probe/perf_event.h"
#include "probe/pmu.h"
#include "probe/pmu_events.h"
#include "probe/probe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void probe_check_add(struct probe_check_list *list, const char *name, const char *what, bool available,
		     const char *detail, const char *fix)
{
	struct check_row row = {.name = name,
				.what = what,
				.available = available,
				.detail = mem_strdup(detail),
				.fix = mem_strdup(fix)};
	vec_push(&list->rows, row);
}

void probe_check_list_fini(struct probe_check_list *list)
{
	for (size_t i = 0; i < list->rows.len; i++) {
		free(list->rows.items[i].detail);
		free(list->rows.items[i].fix);
	}
	vec_fini(&list->rows);
}

/* The source, and after it what the probe cannot give although it is there. */
static void add_opened(struct probe_check_list *out, const struct probe *probe, void *state, const char *source)
{
	struct str detail = {0};
	str_append(&detail, source);
	for (const int *channel = probe->channels; *channel >= 0; channel++) {
		const char *lack = probe->lacks ? probe->lacks(state, *channel) : NULL;
		if (lack)
			str_appendf(&detail, "; %s", lack);
	}
	probe_check_add(out, probe->name, probe->what, true, str_text(&detail), NULL);
	str_fini(&detail);
}

static void check_probe(struct probe_check_list *out, const struct probe *probe)
{
	void *state = NULL;
	char source[METRIC_SOURCE_SIZE] = "";
	struct err err = {0};
	int code = probe->open(&state, source, &err);
	if (code) {
		/* What is not there at all has no fix. */
		probe_check_add(out, probe->name, probe->what, false, err.text,
				code == ERR_UNAVAILABLE ? NULL : probe->fix);
		return;
	}
	add_opened(out, probe, state, source);
	probe->close(state);
}

static void check_pmu(struct probe_check_list *out)
{
	static const char what[] = "instructions, cycles, cache and branch misses";
	struct err err = {0};
	if (pmu_check(&err))
		probe_check_add(out, "pmu", what, false, err.text, perf_event_fix(pmu_errno()));
	else
		probe_check_add(out, "pmu", what, true, "perf hardware counters", NULL);
}

static void check_pss(struct probe_check_list *out)
{
	static const char what[] = "proportional memory of a process (opt-in)";
	char text[4096], detail[256];
	uint64_t pss_kib;
	int fd = kernel_open("%s/self/smaps_rollup", file_procfs());
	ssize_t got = fd < 0 ? fd : kernel_pread(fd, text, sizeof(text));
	kernel_close(fd);
	if (got > 0 && kernel_find_u64(text, "Pss:", NULL, &pss_kib)) {
		probe_check_add(out, "pss", what, true, "/proc/PID/smaps_rollup", NULL);
		return;
	}
	snprintf(detail, sizeof(detail), "cannot read %.100s/self/smaps_rollup: %s", file_procfs(),
		 got < 0 ? strerror((int)-got) : "it has no Pss line");
	probe_check_add(out, "pss", what, false, detail, got == -ENOENT ? "use Linux 4.14 or later" : NULL);
}

/* Asks for exactly what the profiler will open: a task clock that samples its own thread. 0, or the error. */
static int try_task_clock(bool user_only)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.sample_period = 1000000,
		.sample_type = PERF_SAMPLE_IP,
		.disabled = 1,
		.exclude_kernel = user_only,
		.exclude_hv = 1,
	};
	int fd = perf_event_open_fd(&attr, 0, -1);
	if (fd >= 0)
		kernel_close(fd);
	return fd < 0 ? -fd : 0;
}

static void check_sampling_clock(struct probe_check_list *out)
{
	static const char what[] = "clock of the CPU profiler";
	char words[METRIC_REASON_SIZE], detail[METRIC_REASON_SIZE + 128];
	int error = try_task_clock(false);
	if (!error) {
		probe_check_add(out, "sampling_clock", what, true, "perf software task-clock", NULL);
		return;
	}
	if (try_task_clock(true) == 0) {
		snprintf(detail, sizeof(detail),
			 "perf software task-clock in user mode (kernel.perf_event_paranoid is %d); time in the kernel "
			 "is "
			 "sampled at its tick, %ld Hz at most",
			 perf_event_paranoid(), clock_tick_hz());
		probe_check_add(out, "sampling_clock", what, true, detail, NULL);
		return;
	}
	perf_event_words(error, perf_event_paranoid(), words, sizeof(words));
	snprintf(detail, sizeof(detail), "%s; timers at the kernel's tick, %ld Hz, are used instead", words,
		 clock_tick_hz());
	probe_check_add(out, "sampling_clock", what, false, detail, perf_event_fix(error));
}

void probe_check_all(struct probe_check_list *out)
{
	for (const struct probe *const *probe = probe_table; *probe; probe++)
		check_probe(out, *probe);
	check_pmu(out);
	check_pss(out);
	check_sampling_clock(out);
}
