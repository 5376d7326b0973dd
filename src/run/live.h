/*
 * live.h - one stage while it runs: everything that is collected about it, and how that becomes metric values.
 *
 * The loop in run.c feeds it (messages of the warden, ticks, exit records); live_values turns what was collected into
 * the registry's metrics, each with method and source. Nothing here waits or decides what happens next.
 */
#ifndef PITOT_RUN_LIVE_H
#define PITOT_RUN_LIVE_H

#include "config/pipeline.h"
#include "probe/pmu.h"
#include "probe/probe.h"
#include "run/cgroup.h"
#include "run/collect.h"
#include "run/descend.h"
#include "run/exits.h"
#include "run/output.h"
#include "run/run.h"
#include "run/span_collect.h"
#include "run/tree.h"
#include "run/warden.h"
#include "store/store.h"

/* A point of a time series on its way to the run file. */
struct sample_point {
	int64_t stage_id;
	const char *series; /* borrowed for good: a literal or a table's */
	enum metric_unit unit;
	uint64_t at_ns;
	double value;
};

/* What the stages of a run share. */
struct run_shared {
	const struct run_options *options;
	struct store *store;
	struct err *store_err; /* the first failure of the store; .code 0 while there is none */
	struct probe_set *probes;
	struct cgroup_host *cgroups; /* NULL: none */
	char cgroup_reason[METRIC_REASON_SIZE];
	struct exits *exits; /* NULL: none */
	char exits_reason[METRIC_REASON_SIZE];
	struct cgroup_quota *quota;
	bool pmu;
	char pmu_reason[METRIC_REASON_SIZE];
	uint64_t start_ns; /* of the run, monotonic */
	double watts;
	bool overlapped;                    /* more than one stage may run at a time */
	VEC(struct collect_stage) profiled; /* stages with an agent that have ended */
	VEC(struct span_stage) ended;       /* all that ran */
	VEC(struct sample_point) points;    /* since the last commit: written in one go, they cost a third */
};

/* Why a stage is being ended by us. */
enum ending { ENDING_NOT, ENDING_TIMEOUT, ENDING_INTERRUPT, ENDING_SURVIVORS };

struct gauge {
	double sum, min, max;
	size_t count;
};

struct live {
	struct run_shared *shared;
	const struct stage_spec *spec;
	size_t index;          /* in the pipeline */
	int cpu_hz;            /* of the code profile; 0: none */
	int64_t memory_period; /* of the memory profile, as in struct profile_settings; 0: none */
	struct stage_row row;
	uint64_t start_ns, end_ns; /* monotonic */

	/* starting and ending */
	int control;
	pid_t pid, warden;
	bool started, main_ended, done;
	int main_status, exec_error;
	enum ending ending;
	uint64_t timeout_ns;           /* the stage's own, or that of the command line; 0: none */
	uint64_t deadline_ns, kill_ns; /* when the timeout strikes; when patience ends. 0: never */
	uint64_t linger_ns;            /* when to say that descendants keep the stage going. 0: never */

	/* what it prints */
	struct stream streams[2];
	struct output_log log;

	/* sources */
	struct cgroup *cgroup;
	struct cgroup_reading group_start, group_end;
	struct descend_watch *watch; /* where there is no cgroup */
	struct tree *tree;
	struct pmu *pmu;
	struct probe_frame frame_start, frame_last;
	uint64_t channel_ns[CHANNEL_COUNT]; /* when frame_last was read, per channel */
	struct gauge gauges[CHANNEL_COUNT];
	double throttled_start_s, throttled_end_s;
	bool throttled_known;

	/* totals, over all attempts */
	struct rusage usage; /* sums; ru_maxrss is the largest */
	size_t waited;       /* processes that the warden reaped */
	struct warden_io io;
	double records_run_wait_s, records_cpu_s;
	size_t records, records_without_usage;
	uint64_t losses_start;
	uint64_t warden_cpu_ns;
	bool survivors_left;

	/* series */
	uint64_t last_ns;
	double last_cpu_s, last_read, last_write;
	double cpu_max, memory_max, anon_max, rss_sum_max, pss_max, sampled_run_wait_s;
	int processes_max, threads_max, files_max;
	size_t samples;
	struct stage_view *view;
};

void live_pids(struct live *live, struct pid_list *out); /* the stage's living processes */
void live_begin(struct live *live);                      /* sources are open: take the starting points */
void live_sample(struct live *live, uint64_t now_ns, const struct probe_frame *frame);
void live_reaped(struct live *live, const struct warden_message *message);
void live_exit_record(struct live *live, const struct exit_record *record);
void live_process_gone(void *live, const struct tree_process *process); /* a tree_retired_fn */
/* After the last process has gone, and after group_end was read: end points and metric values (METRIC_COUNT of them). */
void live_end(struct live *live, const struct probe_frame *frame);
void live_values(struct live *live, struct metric_value *values);
/* A disagreement between two exact sources worth a warning, or NULL. Owned. */
char *live_disagreement(const struct live *live);

/* Keeps the first error of the store; returns whether all is well. */
bool shared_stored(struct run_shared *shared, int code, const struct err *err);
/* Writes what has been collected and makes it safe. */
void shared_commit(struct run_shared *shared);
void shared_event(struct run_shared *shared, int64_t stage_id, const char *kind, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#endif
