/* trial_deep.c - see trial_deep.h. */
#include "run/trial_deep.h"
#include "base/clock.h"
#include "base/mem.h"
#include "probe/pmu.h"
#include "run/cgroup.h"

#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATIENCE_MS = 3000, AGAIN_MS = 20 };

struct trial_deep {
	struct nursery *nursery;
	struct cgroup_host *cgroups; /* NULL: none wanted */
	bool counters;
	unsigned number;
};

/* One run. */
struct deep_run {
	struct trial_deep *deep;
	struct trial_result *result;
	struct cgroup *group;
	struct cgroup_reading start;
	struct pmu *pmu;
	pid_t pid;
	int control;
	int ending; /* how often it was asked to end */
	bool done;
};

int trial_deep_open(struct nursery *nursery, bool cgroup, bool counters, struct trial_deep **out, struct err *err)
{
	struct cgroup_host *cgroups = NULL;
	int code = counters ? pmu_check(err) : 0;
	if (!code && cgroup)
		code = cgroup_host_open(nursery_pid(nursery), &cgroups, err);
	if (code)
		return code;
	*out = mem_alloc(sizeof(**out));
	**out = (struct trial_deep){.nursery = nursery, .cgroups = cgroups, .counters = counters};
	return 0;
}

void trial_deep_close(struct trial_deep *deep)
{
	if (!deep)
		return;
	cgroup_host_close(deep->cgroups);
	free(deep);
}

static int start(struct deep_run *run, const struct trial_program *program, struct err *err)
{
	struct trial_deep *deep = run->deep;
	char name[64], *cwd = program->cwd ? NULL : getcwd(NULL, 0);
	snprintf(name, sizeof(name), "pitot-%d-%u", (int)getpid(), deep->number++);
	int code = deep->cgroups ? cgroup_create(deep->cgroups, name, &run->group, err) : 0;
	struct spawn_request request = {.argv = (const char *const *)program->argv,
					.env = (const char *const *)program->env,
					.cwd = program->cwd ? program->cwd
					       : cwd        ? cwd
							    : "/",
					.in = program->in,
					.out = program->out,
					.err = program->err,
					.cgroup = run->group ? cgroup_birth_fd(run->group) : -1};
	if (!code)
		code = nursery_spawn(deep->nursery, &request, &run->control, err);
	free(cwd);
	return code;
}

static int on_born(struct deep_run *run, const struct warden_message *message, struct err *err)
{
	run->pid = message->pid;
	int code = run->group ? cgroup_adopt(run->group, message->pid, err) : 0;
	if (!code && run->deep->counters)
		code = pmu_open(message->pid, &run->pmu, err);
	if (run->group)
		cgroup_read(run->group, true, &run->start);
	warden_send(run->control, code ? WARDEN_KILL : WARDEN_GO, SIGKILL);
	return code;
}

static void on_exited(struct deep_run *run, const struct warden_message *message)
{
	struct trial_result *result = run->result;
	result->wall_ns = message->at_ns - result->start_ns;
	trial_add_usage(result, &message->usage);
	if (message->pid == run->pid) {
		result->main_ns = result->wall_ns;
		result->status = message->status;
	}
}

static int on_message(struct deep_run *run, const struct warden_message *message, struct err *err)
{
	switch (message->kind) {
	case WARDEN_BORN:
		return on_born(run, message, err);
	case WARDEN_STARTED:
		run->result->start_ns = message->at_ns;
		break;
	case WARDEN_EXEC_FAILED:
	case WARDEN_FAILED:
		run->result->start_error = message->error;
		break;
	case WARDEN_EXITED:
		on_exited(run, message);
		break;
	case WARDEN_DONE:
		run->done = true;
		break;
	}
	return 0;
}

static int wait_for_end(struct deep_run *run, int interrupt, struct err *err)
{
	struct warden_message message;
	int code = 0, got = 0;
	while (got >= 0) {
		struct pollfd fds[] = {{.fd = run->control, .events = POLLIN},
				       {.fd = run->ending ? -1 : interrupt, .events = POLLIN}};
		int patience = run->ending == 0 ? -1 : run->ending == 1 ? PATIENCE_MS : AGAIN_MS;
		int ready = poll(fds, 2, patience);
		if (ready == 0 || fds[1].revents)
			warden_send(run->control, WARDEN_KILL, run->ending++ ? SIGKILL : SIGTERM);
		while ((got = warden_receive(run->control, &message)) > 0) {
			int failed = on_message(run, &message, err);
			code = code ? code : failed;
		}
	}
	run->result->ended_by_us = run->ending > 0;
	if (!code && !run->done && !run->result->start_error)
		code = err_set(err, ERR_INTERNAL, "the process that watched the command was killed");
	return code;
}

static void read_values(struct deep_run *run, double *values)
{
	struct metric_value counted[METRIC_COUNT] = {0};
	struct cgroup_reading end = {0};
	if (run->pmu)
		pmu_read(run->pmu, counted);
	for (int i = 0; i < METRIC_COUNT; i++)
		if (counted[i].state == METRIC_KNOWN)
			values[i] = counted[i].value;
	if (!run->group)
		return;
	cgroup_read(run->group, true, &end);
	if (end.has_peak)
		values[METRIC_MEMORY_PEAK] = end.peak_bytes;
}

int trial_deep_run(struct trial_deep *deep, const struct trial_program *program, int tail, int interrupt,
		   struct trial_result *result, double *values, struct err *err)
{
	struct deep_run run = {.deep = deep, .result = result, .control = -1};
	*result = (struct trial_result){.start_ns = clock_mono_ns()};
	for (int i = 0; i < METRIC_COUNT; i++)
		values[i] = NAN;
	(void)lseek(program->in, 0, SEEK_SET);
	if (tail >= 0)
		(void)!ftruncate(tail, 0);
	int code = start(&run, program, err);
	code = code ? code : wait_for_end(&run, interrupt, err);
	if (!code)
		read_values(&run, values);
	if (run.control >= 0)
		close(run.control);
	pmu_close(run.pmu);
	cgroup_destroy(run.group);
	return code;
}
