/* live.c - collecting; see live.h. What becomes of it stands in values.c. */
#include "run/live.h"
#include "base/clock.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

bool shared_stored(struct run_shared *shared, int code, const struct err *err)
{
	if (code && !shared->store_err->code)
		*shared->store_err = *err;
	return code == 0;
}

void shared_event(struct run_shared *shared, int64_t stage_id, const char *kind, const char *format, ...)
{
	char text[1024];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	struct event_row event = {
		.stage_id = stage_id, .at_ns = clock_mono_ns() - shared->start_ns, .kind = (char *)kind, .text = text};
	struct err err;
	shared_stored(shared, store_event(shared->store, &event, &err), &err);
}

static void put_sample(struct live *live, const char *series, enum metric_unit unit, uint64_t now_ns, double value)
{
	struct run_shared *shared = live->shared;
	vec_push(&shared->points,
		 ((struct sample_point){live->row.id, series, unit, now_ns - shared->start_ns, value}));
}

void shared_commit(struct run_shared *shared)
{
	struct err err;
	bool well = true;
	for (size_t i = 0; i < shared->points.len && well; i++) {
		const struct sample_point *point = &shared->points.items[i];
		well = shared_stored(shared,
				     store_sample(shared->store, point->stage_id, point->series, point->unit,
						  point->at_ns, point->value, &err),
				     &err);
	}
	shared->points.len = 0;
	if (well)
		shared_stored(shared, store_commit(shared->store, &err), &err);
}

void live_begin(struct live *live)
{
	if (live->cgroup)
		cgroup_read(live->cgroup, true, &live->group_start);
	live->throttled_known = cgroup_quota_throttled_s(live->shared->quota, &live->throttled_start_s);
	live->last_ns = live->start_ns;
	for (int channel = 0; channel < CHANNEL_COUNT; channel++)
		live->channel_ns[channel] = live->start_ns;
	live->last_cpu_s = live->group_start.cpu_s;
	if (live->shared->exits)
		live->losses_start = exits_losses(live->shared->exits);
}

static double reaped_cpu_s(const struct live *live)
{
	const struct rusage *usage = &live->usage;
	return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
	       (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e6;
}

static void keep_max(double *kept, double value)
{
	if (value > *kept)
		*kept = value;
}

static void keep_max_int(int *kept, int value)
{
	if (value > *kept)
		*kept = value;
}

static void sample_cpu(struct live *live, double cpu_s, uint64_t now_ns)
{
	double elapsed_s = (double)(now_ns - live->last_ns) / 1e9;
	/* Sums over processes can step back when one dies before its parent has reaped it. */
	double used_s = cpu_s > live->last_cpu_s ? cpu_s - live->last_cpu_s : 0;
	if (elapsed_s <= 0)
		return;
	double percent = 100 * used_s / elapsed_s;
	keep_max(&live->cpu_max, percent);
	put_sample(live, "cpu_percent", UNIT_PERCENT, now_ns, percent);
	live->view->cpu_percent = percent;
	if (live->view->trail_count == VIEW_TRAIL)
		memmove(live->view->trail, live->view->trail + 1, sizeof(live->view->trail[0]) * (VIEW_TRAIL - 1));
	else
		live->view->trail_count++;
	live->view->trail[live->view->trail_count - 1] = percent;
	if (cpu_s > live->last_cpu_s)
		live->last_cpu_s = cpu_s;
}

static void sample_io(struct live *live, const struct tree_totals *totals, uint64_t now_ns)
{
	double elapsed_s = (double)(now_ns - live->last_ns) / 1e9;
	/* The counters of processes that died meanwhile leave the sum; a step back is no reading. */
	double read_s = totals->read_chars > live->last_read ? (totals->read_chars - live->last_read) / elapsed_s : 0;
	double write_s =
		totals->write_chars > live->last_write ? (totals->write_chars - live->last_write) / elapsed_s : 0;
	live->last_read = totals->read_chars;
	live->last_write = totals->write_chars;
	put_sample(live, "io_read", UNIT_BYTES, now_ns, read_s);
	put_sample(live, "io_write", UNIT_BYTES, now_ns, write_s);
	live->view->io_bytes_s = read_s + write_s;
}

static void sample_memory(struct live *live, const struct cgroup_reading *group, const struct tree_totals *totals,
			  uint64_t now_ns)
{
	double memory = group->has_memory ? group->memory_bytes : totals->rss_bytes;
	keep_max(&live->memory_max, memory);
	keep_max(&live->rss_sum_max, totals->rss_bytes);
	put_sample(live, "memory", UNIT_BYTES, now_ns, memory);
	if (group->has_anon) {
		keep_max(&live->anon_max, group->anon_bytes);
		put_sample(live, "memory_anon", UNIT_BYTES, now_ns, group->anon_bytes);
	}
	if (totals->pss_bytes >= 0) {
		keep_max(&live->pss_max, totals->pss_bytes);
		put_sample(live, "pss", UNIT_BYTES, now_ns, totals->pss_bytes);
	}
	live->view->memory_bytes = group->has_anon ? group->anon_bytes : memory;
}

static void sample_processes(struct live *live, const struct tree_totals *totals, uint64_t now_ns)
{
	keep_max_int(&live->processes_max, totals->processes);
	keep_max_int(&live->threads_max, totals->threads);
	keep_max_int(&live->files_max, totals->open_files);
	put_sample(live, "processes", UNIT_COUNT, now_ns, totals->processes);
	put_sample(live, "threads", UNIT_COUNT, now_ns, totals->threads);
	live->view->processes = totals->processes;
}

static void sample_channels(struct live *live, const struct probe_frame *frame, uint64_t now_ns)
{
	for (int channel = 0; channel < CHANNEL_COUNT; channel++) {
		if (!frame->known[channel])
			continue;
		double value = frame->value[channel];
		double elapsed_s = (double)(now_ns - live->channel_ns[channel]) / 1e9;
		const struct probe_channel_info *about = &probe_channels[channel];
		if (about->kind == PROBE_GAUGE) {
			struct gauge *gauge = &live->gauges[channel];
			gauge->min = gauge->count == 0 || value < gauge->min ? value : gauge->min;
			gauge->max = gauge->count == 0 || value > gauge->max ? value : gauge->max;
			gauge->sum += value;
			gauge->count++;
			put_sample(live, about->series, about->unit, now_ns, value);
		} else if (live->frame_last.known[channel] && elapsed_s > 0) {
			put_sample(live, about->series, about->unit, now_ns,
				   (value - live->frame_last.value[channel]) / elapsed_s);
		}
		live->frame_last.value[channel] = value;
		live->frame_last.known[channel] = true;
		live->channel_ns[channel] = now_ns;
	}
	if (frame->known[CHANNEL_GPU_UTIL])
		live->view->gpu_percent = frame->value[CHANNEL_GPU_UTIL];
}

void live_pids(struct live *live, struct pid_list *out)
{
	if (live->cgroup && cgroup_pids(live->cgroup, out))
		return;
	if (!live->watch)
		live->watch = descend_watch_new(live->warden);
	descend_watch_pids(live->watch, out);
}

void live_sample(struct live *live, uint64_t now_ns, const struct probe_frame *frame)
{
	struct pid_list pids = {0};
	struct cgroup_reading group = {0};
	struct tree_totals totals;
	if (!live->started || now_ns <= live->last_ns)
		return;
	if (live->cgroup)
		cgroup_read(live->cgroup, false, &group);
	live_pids(live, &pids);
	tree_sample(live->tree, &pids, now_ns, &totals);
	vec_fini(&pids);
	sample_io(live, &totals, now_ns);
	sample_memory(live, &group, &totals, now_ns);
	sample_processes(live, &totals, now_ns);
	sample_channels(live, frame, now_ns);
	sample_cpu(live, group.has_cpu ? group.cpu_s : totals.cpu_s + reaped_cpu_s(live), now_ns);
	live->last_ns = now_ns;
	live->samples++;
}

static void add_time(struct timeval *sum, const struct timeval *more)
{
	sum->tv_sec += more->tv_sec;
	sum->tv_usec += more->tv_usec;
	if (sum->tv_usec >= 1000000) {
		sum->tv_sec++;
		sum->tv_usec -= 1000000;
	}
}

static void put_process(struct live *live, const struct process_row *row)
{
	struct err err;
	shared_stored(live->shared, store_process(live->shared->store, row, &err), &err);
}

static void set_status(struct process_row *row, int status)
{
	row->ended = true;
	row->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	row->term_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

/* Without exit records, what the warden reaps are the processes whose end is known. */
static void put_waited(struct live *live, const struct warden_message *message)
{
	struct tree_process *seen = tree_find(live->tree, message->pid);
	const struct rusage *usage = &message->usage;
	uint64_t origin = live->shared->start_ns;
	struct process_row row = {.stage_id = live->row.id,
				  .pid = message->pid,
				  .ppid = seen ? seen->parent : live->warden,
				  .start_ns = (seen ? seen->first_ns : live->start_ns) - origin,
				  .end_ns = message->at_ns - origin,
				  .command = seen                        ? seen->command
					     : message->pid == live->pid ? live->row.command
									 : "?",
				  .cpu_user_s = (double)usage->ru_utime.tv_sec + (double)usage->ru_utime.tv_usec / 1e6,
				  .cpu_system_s =
					  (double)usage->ru_stime.tv_sec + (double)usage->ru_stime.tv_usec / 1e6,
				  .rss_peak_bytes = (uint64_t)usage->ru_maxrss * 1024,
				  .io_device_read_bytes = (uint64_t)usage->ru_inblock * 512,
				  .io_device_write_bytes = (uint64_t)usage->ru_oublock * 512,
				  .page_faults_minor = (uint64_t)usage->ru_minflt,
				  .page_faults_major = (uint64_t)usage->ru_majflt,
				  .context_switches_voluntary = (uint64_t)usage->ru_nvcsw,
				  .context_switches_forced = (uint64_t)usage->ru_nivcsw,
				  .source = PROCESS_WAITED};
	if (message->pid == live->pid)
		row.start_ns = live->start_ns - origin;
	set_status(&row, message->status);
	put_process(live, &row);
	if (seen)
		seen->reported = true;
}

void live_reaped(struct live *live, const struct warden_message *message)
{
	const struct rusage *more = &message->usage;
	struct rusage *sum = &live->usage;
	add_time(&sum->ru_utime, &more->ru_utime);
	add_time(&sum->ru_stime, &more->ru_stime);
	if (more->ru_maxrss > sum->ru_maxrss)
		sum->ru_maxrss = more->ru_maxrss;
	sum->ru_minflt += more->ru_minflt;
	sum->ru_majflt += more->ru_majflt;
	sum->ru_inblock += more->ru_inblock;
	sum->ru_oublock += more->ru_oublock;
	sum->ru_nvcsw += more->ru_nvcsw;
	sum->ru_nivcsw += more->ru_nivcsw;
	live->waited++;
	if (!live->shared->exits)
		put_waited(live, message);
}

void live_exit_record(struct live *live, const struct exit_record *record)
{
	uint64_t origin = live->shared->start_ns;
	live->records++;
	live->records_without_usage += !record->has_usage;
	live->records_run_wait_s += record->run_wait_s;
	live->records_cpu_s += record->cpu_user_s + record->cpu_system_s;
	/* A child of a parent that went at once has no command line from its birth, but samples may have read it. */
	const struct tree_process *seen = record->command_short ? tree_find(live->tree, record->pid) : NULL;
	const char *command = seen && seen->command ? seen->command : record->command ? record->command : "?";
	struct process_row row = {.stage_id = live->row.id,
				  .pid = record->pid,
				  .ppid = record->parent ? record->parent : live->warden,
				  .start_ns = record->start_ns - origin,
				  .end_ns = record->ended ? record->end_ns - origin : 0,
				  .exit_code = -1,
				  .command = (char *)command,
				  .cpu_user_s = record->cpu_user_s,
				  .cpu_system_s = record->cpu_system_s,
				  .rss_peak_bytes = record->rss_peak_bytes,
				  .io_read_bytes = record->read_chars,
				  .io_write_bytes = record->write_chars,
				  .io_device_read_bytes = record->read_bytes,
				  .io_device_write_bytes = record->write_bytes,
				  .page_faults_minor = record->faults_minor,
				  .page_faults_major = record->faults_major,
				  .context_switches_voluntary = record->switches_voluntary,
				  .context_switches_forced = record->switches_forced,
				  .source = PROCESS_EXIT_RECORD};
	if (record->ended)
		set_status(&row, record->status);
	put_process(live, &row);
}

void live_process_gone(void *context, const struct tree_process *process)
{
	struct live *live = context;
	uint64_t origin = live->shared->start_ns;
	live->sampled_run_wait_s += process->run_wait_s;
	if (live->shared->exits || process->reported)
		return;
	struct process_row row = {.stage_id = live->row.id,
				  .pid = process->pid,
				  .ppid = process->parent,
				  .start_ns = process->first_ns - origin,
				  .exit_code = -1,
				  .command = process->command ? process->command : "?",
				  .cpu_user_s = process->cpu_user_s,
				  .cpu_system_s = process->cpu_system_s,
				  .rss_peak_bytes = (uint64_t)process->rss_peak_bytes,
				  .io_read_bytes = (uint64_t)process->read_chars,
				  .io_write_bytes = (uint64_t)process->write_chars,
				  .io_device_read_bytes = (uint64_t)process->read_bytes,
				  .io_device_write_bytes = (uint64_t)process->write_bytes,
				  .page_faults_minor = (uint64_t)process->faults_minor,
				  .page_faults_major = (uint64_t)process->faults_major,
				  .context_switches_voluntary = (uint64_t)process->switches_voluntary,
				  .context_switches_forced = (uint64_t)process->switches_forced,
				  .source = PROCESS_SAMPLED};
	put_process(live, &row);
}

void live_end(struct live *live, const struct probe_frame *frame)
{
	double throttled;
	if (live->throttled_known && cgroup_quota_throttled_s(live->shared->quota, &throttled))
		live->throttled_end_s = throttled;
	enum { LAST_SLICE_NS = 20000000 };
	/* The time since the last tick, from the exact totals; a sliver would give a wild rate. */
	if (live->end_ns > live->last_ns + LAST_SLICE_NS || live->samples == 0) {
		bool group = live->group_end.has_cpu;
		sample_cpu(live, group ? live->group_end.cpu_s : reaped_cpu_s(live), live->end_ns);
	}
	sample_channels(live, frame, live->end_ns);
}
