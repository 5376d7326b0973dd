/* launch.c - starts one attempt of a stage: control group, pipes, environment, process. */
#include "base/clock.h"
#include "run/loop.h"
#include "symbol/elf_kind.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

extern char **environ;

static bool is_overridden(const char *variable, const struct stage_spec *spec)
{
	size_t length = strcspn(variable, "=");
	for (size_t i = 0; i < spec->env.len; i++)
		if (strncmp(spec->env.items[i], variable, length) == 0 && spec->env.items[i][length] == '=')
			return true;
	return strncmp(variable, "PITOT_CHANNEL=", 14) == 0 || strncmp(variable, "PITOT_STAGE=", 12) == 0 ||
	       span_env_is_ours(variable);
}

struct env_list {
	struct env_items items;
	char *channel, *stage, *agent, *preload;
	struct span_env_texts spans;
};

/* Another C library's loader does not start a program with our library, and one of another machine type complains. */
static bool bears_agent(const struct stage_spec *spec)
{
	enum elf_kind kind = elf_kind_of_program(spec->argv.items[0], spec->cwd);
	return kind != ELF_OTHER_LIBC && kind != ELF_OTHER_MACHINE;
}

static void env_build(const struct loop *loop, const struct live *live, struct env_list *out)
{
	out->channel = mem_printf("PITOT_CHANNEL=%s/channel", loop->options->channel_dir);
	out->stage = mem_printf("PITOT_STAGE=%s", live->spec->name);
	for (char **variable = environ; *variable; variable++)
		if (!is_overridden(*variable, live->spec))
			vec_push(&out->items, *variable);
	for (size_t i = 0; i < live->spec->env.len; i++)
		vec_push(&out->items, live->spec->env.items[i]);
	if ((live->cpu_hz || live->memory_period) && bears_agent(live->spec)) {
		struct inject_wish wish = {live->row.id, live->cpu_hz, live->memory_period,
					   inject_types(loop->options, loop->pipeline, live->spec)};
		inject_env(loop->inject, &wish, &out->items, &out->agent, &out->preload);
	}
	if (loop->spans)
		span_env_add(loop->spans, live->row.id, inject_span_counters(loop->options, loop->pipeline, live->spec),
			     &out->items, &out->spans);
	vec_push(&out->items, out->channel);
	vec_push(&out->items, out->stage);
	vec_push(&out->items, NULL);
}

static void env_fini(struct env_list *env)
{
	free(env->channel);
	free(env->stage);
	free(env->agent);
	free(env->preload);
	span_env_texts_fini(&env->spans);
	vec_fini(&env->items);
}

/* A pipe whose reading end is ours and does not block. Its size keeps a noisy stage from waiting for us. */
static int open_pipe(struct stream *stream, int pass_to, struct err *err)
{
	enum { PIPE_BYTES = 1 << 20 };
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) != 0)
		return err_set_errno(err, ERR_IO, "cannot make a pipe for the stage's output");
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	fcntl(ends[0], F_SETPIPE_SZ, PIPE_BYTES);
	stream->fd = ends[0];
	/* A descriptor of its own, so that two streams to one place can be waited for apart. */
	stream->pass_to = pass_to >= 0 ? fcntl(pass_to, F_DUPFD_CLOEXEC, 3) : -1;
	return ends[1];
}

static void pick_descriptors(struct loop *loop, struct live *live, struct spawn_request *request, struct err *err)
{
	const struct run_options *options = loop->options;
	request->in = request->out = request->err = -1;
	if (options->inherit || options->foreground)
		request->in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	if (request->in < 0)
		request->in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (options->inherit) {
		request->out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
		request->err = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
		return;
	}
	if (options->foreground) {
		request->out = open_pipe(&live->streams[0], STDOUT_FILENO, err);
		request->err = open_pipe(&live->streams[1], STDERR_FILENO, err);
		return;
	}
	/* One pipe for both: only so is the order of stdout and stderr certain. */
	request->out = open_pipe(&live->streams[0], options->pass_output ? STDERR_FILENO : -1, err);
	request->err = request->out >= 0 ? fcntl(request->out, F_DUPFD_CLOEXEC, 3) : -1;
}

static void make_group(struct loop *loop, struct live *live)
{
	char name[96];
	struct err err;
	if (!loop->shared.cgroups || live->cgroup)
		return;
	snprintf(name, sizeof(name), "pitot-%d-%lld", (int)getpid(), (long long)live->row.id);
	if (cgroup_create(loop->shared.cgroups, name, &live->cgroup, &err) != 0)
		shared_event(&loop->shared, live->row.id, "warning", "%s; measured without it", err.text);
}

int launch_attempt(struct loop *loop, struct live *live, struct err *err)
{
	struct spawn_request request = {.cwd = live->spec->cwd};
	struct env_list env = {0};
	VEC(const char *) argv = {0};
	int code = ERR_IO;
	for (size_t i = 0; i < live->spec->argv.len; i++)
		vec_push(&argv, live->spec->argv.items[i]);
	vec_push(&argv, NULL);
	request.argv = argv.items;
	make_group(loop, live);
	env_build(loop, live, &env);
	request.env = (const char *const *)env.items.items;
	request.cgroup = live->cgroup ? cgroup_birth_fd(live->cgroup) : -1;
	request.group = loop->options->foreground || loop->options->inherit ? getpgrp() : 0;
	pick_descriptors(loop, live, &request, err);
	if (request.in >= 0 && request.out >= 0 && request.err >= 0)
		code = nursery_spawn(loop->nursery, &request, &live->control, err);
	else
		err_set_errno(err, ERR_IO, "cannot prepare the stage's descriptors");
	int ours[] = {request.in, request.out, request.err};
	for (int i = 0; i < 3; i++)
		if (ours[i] >= 0)
			close(ours[i]);
	env_fini(&env);
	vec_fini(&argv);
	if (code)
		return code;
	live->row.attempts++;
	live->started = live->main_ended = live->done = false;
	live->exec_error = 0;
	loop_watch(loop, live->control, EPOLLIN, EVENT_CONTROL, live->index);
	for (size_t i = 0; i < 2; i++)
		if (live->streams[i].fd >= 0)
			loop_watch(loop, live->streams[i].fd, EPOLLIN, EVENT_STREAM, live->index * 2 + i);
	return 0;
}

static void attach_counters(struct loop *loop, struct live *live)
{
	struct err err;
	const struct profile_settings *profile = &live->spec->profile;
	if (!loop->shared.pmu || live->pmu || profile->pmu == 0)
		return;
	if (pmu_open(live->pid, &live->pmu, &err) != 0)
		snprintf(loop->shared.pmu_reason, sizeof(loop->shared.pmu_reason), "%.190s", err.text);
}

void launch_release(struct loop *loop, struct live *live, const struct warden_message *born)
{
	struct err err;
	live->pid = born->pid;
	live->warden = born->warden;
	if (live->cgroup && cgroup_adopt(live->cgroup, born->pid, &err) != 0) {
		shared_event(&loop->shared, live->row.id, "warning", "%s; measured without it", err.text);
		cgroup_destroy(live->cgroup);
		live->cgroup = NULL;
	}
	uint64_t now = clock_mono_ns();
	if (loop->shared.exits)
		exits_follow(loop->shared.exits, born->pid, live, now);
	attach_counters(loop, live);
	if (live->row.attempts == 1) {
		live->start_ns = now;
		probe_set_read(loop->shared.probes, now, true, &live->frame_start);
		live->frame_last = live->frame_start;
		live_begin(live);
	}
	warden_send(live->control, WARDEN_GO, 0);
}
