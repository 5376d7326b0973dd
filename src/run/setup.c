/* setup.c - what a run opens before its first stage and closes after its last. */
#include "base/clock.h"
#include "run/loop.h"
#include "store/history.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { DEFAULT_INTERVAL_NS = 100000000 };

static void on_exit_record(void *context, const struct exit_record *record)
{
	(void)context;
	live_exit_record(record->owner, record);
}

void loop_open_sources(struct loop *loop)
{
	struct run_shared *shared = &loop->shared;
	const struct run_options *options = loop->options;
	struct err err;
	shared->probes = probe_set_open(options->gpu && loop->pipeline->profile.gpu != 0);
	shared->quota = cgroup_quota_open();
	if (!options->cgroup)
		snprintf(shared->cgroup_reason, sizeof(shared->cgroup_reason), "control groups are switched off");
	else if (cgroup_host_open(nursery_pid(loop->nursery), &shared->cgroups, &err) != 0)
		snprintf(shared->cgroup_reason, sizeof(shared->cgroup_reason), "%.190s", err.text);
	if (!options->exit_records)
		snprintf(shared->exits_reason, sizeof(shared->exits_reason), "exit records are switched off");
	else if (exits_open(&shared->exits, on_exit_record, loop, &err) != 0)
		snprintf(shared->exits_reason, sizeof(shared->exits_reason), "%.190s", err.text);
	bool wanted = options->pmu && loop->pipeline->profile.pmu != 0;
	shared->pmu = wanted && pmu_check(&err) == 0;
	if (!shared->pmu)
		snprintf(shared->pmu_reason, sizeof(shared->pmu_reason), "%.190s",
			 wanted ? err.text : "hardware counters are switched off");
}

/* Thousands of processes mean thousands of open files. The stages keep the limit that pitot was started with: they come
 * from the nursery. */
static void raise_file_limit(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static void block_signals(sigset_t *asked)
{
	sigemptyset(asked);
	sigaddset(asked, SIGINT);
	sigaddset(asked, SIGTERM);
	sigaddset(asked, SIGHUP);
	sigprocmask(SIG_BLOCK, asked, NULL);
	signal(SIGPIPE, SIG_IGN);
}

int loop_open(struct loop *loop, struct err *err)
{
	sigset_t asked;
	block_signals(&asked);
	raise_file_limit();
	loop->epoll = epoll_create1(EPOLL_CLOEXEC);
	loop->signals = signalfd(-1, &asked, SFD_CLOEXEC | SFD_NONBLOCK);
	loop->ticks = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	loop->exits_rest = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (loop->epoll < 0 || loop->signals < 0 || loop->ticks < 0 || loop->exits_rest < 0)
		return err_set_errno(err, ERR_INTERNAL, "cannot make the descriptors of the event loop");
	loop_set_timer(loop->ticks, loop->interval_ns, loop->interval_ns);
	loop_watch(loop, loop->signals, EPOLLIN, EVENT_SIGNAL, 0);
	loop_watch(loop, loop->ticks, EPOLLIN, EVENT_TICK, 0);
	loop_watch(loop, loop->exits_rest, EPOLLIN, EVENT_EXITS_REST, 0);
	if (loop->shared.exits)
		loop_watch(loop, exits_fd(loop->shared.exits), EPOLLIN | EPOLLONESHOT, EVENT_EXITS, 0);
	return 0;
}

void loop_expect_durations(struct loop *loop)
{
	for (size_t i = 0; i < loop->view.count; i++)
		if (loop->options->history)
			history_expected_ns(loop->options->history, loop->pipeline->name, loop->view.stages[i].name,
					    &loop->view.stages[i].expected_ns);
}

void loop_close(struct loop *loop)
{
	int fds[] = {loop->epoll, loop->signals, loop->ticks, loop->exits_rest};
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	exits_close(loop->shared.exits);
	cgroup_host_close(loop->shared.cgroups);
	cgroup_quota_close(loop->shared.quota);
	probe_set_close(loop->shared.probes);
	for (size_t i = 0; i < loop->quality.len; i++) {
		free(loop->quality.items[i].name);
		free(loop->quality.items[i].stage);
	}
	vec_fini(&loop->quality);
	vec_fini(&loop->shared.points);
	vec_fini(&loop->shared.profiled);
	vec_fini(&loop->shared.ended);
	inject_free(loop->inject);
	span_env_free(loop->spans);
	free(loop->view.stages);
	free(loop->nodes);
	free(loop->running);
}

void loop_prepare(struct loop *loop)
{
	size_t count = loop->pipeline->stages.len;
	const struct run_options *options = loop->options;
	loop->epoll = loop->signals = loop->ticks = loop->exits_rest = -1;
	loop->view = (struct run_view){.name = loop->pipeline->name,
				       .stages = mem_alloc(count * sizeof(struct stage_view)),
				       .count = count,
				       .repetitions = options->warmup + options->repeat};
	loop->nodes = mem_alloc(count * sizeof(*loop->nodes));
	loop->running = mem_alloc(count * sizeof(*loop->running));
	for (size_t i = 0; i < count; i++)
		loop->view.stages[i].name = loop->pipeline->stages.items[i].name;
	loop->jobs = options->jobs > 0 ? options->jobs : loop->pipeline->jobs > 0 ? loop->pipeline->jobs : 1;
	uint64_t declared = loop->pipeline->profile.interval_ns;
	loop->interval_ns = options->interval_ns ? options->interval_ns : declared ? declared : DEFAULT_INTERVAL_NS;
	loop->default_interval_ns = loop->asked_interval_ns = loop->interval_ns;
	double watts = loop->pipeline->profile.watts;
	loop->shared.options = options;
	loop->shared.overlapped = loop->jobs > 1;
	loop->shared.watts = options->watts >= 0 ? options->watts : watts >= 0 ? watts : 45;
	loop->shared.store_err = &loop->outcome->store_err;
	loop->shared.start_ns = loop->idle_since_ns = loop->committed_ns = clock_mono_ns();
}
