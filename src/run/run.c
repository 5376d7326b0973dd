/*
 * run.c - the loop of a run: starts stages when what they need is done, listens, samples, ends them.
 *
 * One thread, one epoll. It waits for: signals, the sampling timer, exit records, the wardens' control sockets and the
 * stages' output. The order of business after each wake-up: messages first, then deadlines, then new stages.
 */
#include "run/run.h"
#include "base/clock.h"
#include "run/loop.h"
#include "store/history.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	LONGEST_INTERVAL_NS = 2000000000,
	COMMIT_EVERY_NS = 1000000000,
	EXITS_REST_NS = 5000000,          /* exit records are looked at no more than 200 times a second, */
	EXITS_FOREIGN_REST_NS = 50000000, /* and 20 times while there are only those of other people's processes */
	DRAIN_BYTES = 2 << 20,            /* more than a pipe holds */
	SAMPLING_BUDGET = 50,             /* sampling may take one part in this many of a core: 2 % */
};
static const uint64_t PATIENCE_NS = 3 * NS_PER_S; /* between asking a stage to end and ending it */
static const uint64_t LINGER_NS = 2 * NS_PER_S;   /* until a person is told what the stage still waits for */

/* ---- small things ---- */

void loop_watch(struct loop *loop, int fd, uint32_t events, enum loop_event event, size_t stage)
{
	struct epoll_event want = {.events = events, .data.u64 = (uint64_t)stage << 8 | (uint64_t)event};
	if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &want) != 0 && errno == EEXIST)
		epoll_ctl(loop->epoll, EPOLL_CTL_MOD, fd, &want);
}

void loop_note(struct loop *loop, const char *format, ...)
{
	char text[1024];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	loop->observer->note(loop->observer->context, text);
}

static void refresh_view(struct loop *loop)
{
	uint64_t now = clock_mono_ns();
	loop->view.elapsed_ns = now - loop->shared.start_ns;
	loop->view.stopping = loop->signal != 0;
	for (size_t i = 0; i < loop->view.count; i++)
		if (loop->running[i] && loop->running[i]->start_ns)
			loop->view.stages[i].elapsed_ns = now - loop->running[i]->start_ns;
}

void loop_changed(struct loop *loop, size_t stage)
{
	refresh_view(loop);
	loop->observer->changed(loop->observer->context, &loop->view, stage);
}

void loop_set_timer(int timer, uint64_t first_ns, uint64_t every_ns)
{
	struct itimerspec when = {.it_value = {(time_t)(first_ns / NS_PER_S), (long)(first_ns % NS_PER_S)},
				  .it_interval = {(time_t)(every_ns / NS_PER_S), (long)(every_ns % NS_PER_S)}};
	timerfd_settime(timer, 0, &when, NULL);
}

void loop_retune(struct loop *loop)
{
	uint64_t wanted = UINT64_MAX;
	for (size_t i = 0; i < loop->view.count; i++) {
		if (!loop->running[i])
			continue;
		uint64_t own = loop->options->interval_ns ? 0 : loop->running[i]->spec->profile.interval_ns;
		uint64_t asked = own ? own : loop->default_interval_ns;
		wanted = asked < wanted ? asked : wanted;
	}
	if (wanted == UINT64_MAX || wanted == loop->asked_interval_ns)
		return;
	loop->asked_interval_ns = loop->interval_ns = wanted;
	loop->sampling_cpu_ns = 0;
	loop_set_timer(loop->ticks, wanted, wanted);
}

/* ---- ending ---- */

static void end_stage(struct live *live, enum ending why, int signal_number)
{
	if (live->ending == ENDING_NOT)
		live->ending = why;
	live->deadline_ns = 0;
	live->kill_ns = clock_mono_ns() + PATIENCE_NS;
	warden_send(live->control, WARDEN_KILL, signal_number);
}

static void check_deadlines(struct loop *loop)
{
	uint64_t now = clock_mono_ns();
	for (size_t i = 0; i < loop->view.count; i++) {
		struct live *live = loop->running[i];
		if (!live)
			continue;
		if (live->deadline_ns && now >= live->deadline_ns)
			end_stage(live, ENDING_TIMEOUT, SIGTERM);
		if (live->linger_ns && now >= live->linger_ns) {
			live->linger_ns = 0;
			loop_note(loop,
				  "%s: its main process has ended, but %d of its descendants go on; waiting for them "
				  "('survivors: kill' or 'leave' in a pipeline file changes that)",
				  live->spec->name, live->view->processes);
		}
		if (live->kill_ns && now >= live->kill_ns) {
			warden_send(live->control, WARDEN_KILL, SIGKILL);
			/* Processes that were being born escape one pass; ask again until the warden says done. */
			live->kill_ns = now + NS_PER_S / 50;
		}
	}
}

static int wait_ms(const struct loop *loop)
{
	uint64_t next = 0, now = clock_mono_ns();
	for (size_t i = 0; i < loop->view.count; i++) {
		const struct live *live = loop->running[i];
		uint64_t times[] = {live ? live->deadline_ns : 0, live ? live->kill_ns : 0, live ? live->linger_ns : 0};
		for (int k = 0; k < 3; k++)
			if (times[k] && (!next || times[k] < next))
				next = times[k];
	}
	if (!next)
		return -1;
	return next <= now ? 0 : (int)((next - now) / 1000000) + 1;
}

/* Until whoever reads behind us takes more. False where there is no use in waiting: the stage was ended by us, or a
 * signal has come, which the loop will look at. */
static bool wait_for_reader(const struct loop *loop, const struct live *live, const struct stream *stream)
{
	struct pollfd either[2] = {{.fd = stream->pass_to, .events = POLLOUT}, {.fd = loop->signals, .events = POLLIN}};
	if (live->ending != ENDING_NOT || loop->signal)
		return false;
	poll(either, 2, -1);
	return either[1].revents == 0;
}

/* What the pipes still hold, and no more: a survivor may keep them open, and print, for ever. */
static void drain(const struct loop *loop, struct live *live)
{
	for (int i = 0; i < 2; i++) {
		struct stream *stream = &live->streams[i];
		const uint64_t most = live->log.bytes + DRAIN_BYTES;
		while (stream->fd >= 0) {
			uint64_t before = live->log.bytes;
			enum stream_state state = stream_pump(stream, &live->log);
			bool moves = live->log.bytes > before && live->log.bytes < most;
			if (state == STREAM_BLOCKED ? wait_for_reader(loop, live, stream)
						    : moves || stream->backlog.len)
				continue;
			stream_end(stream);
		}
	}
}

static bool wants_retry(const struct loop *loop, const struct live *live)
{
	bool failed = live->exec_error || !live->main_ended || live->main_status != 0;
	return failed && live->ending == ENDING_NOT && !loop->signal && live->row.attempts <= live->spec->retries;
}

static void attempt_ended(struct loop *loop, struct live *live)
{
	struct err err;
	drain(loop, live);
	close(live->control);
	live->control = -1;
	if (wants_retry(loop, live)) {
		loop_note(loop, "%s failed (attempt %d of %d), trying again", live->spec->name, live->row.attempts,
			  live->spec->retries + 1);
		shared_event(&loop->shared, live->row.id, "note", "attempt %d failed", live->row.attempts);
		if (launch_attempt(loop, live, &err) == 0)
			return;
		live->row.status = STATUS_ERROR;
		live->row.reason = mem_strdup(err.text);
	}
	stage_close(loop, live);
}

/* ---- listening ---- */

/* Nothing more will be known of what is left running; who it is, is said. */
static void name_survivors(struct live *live)
{
	enum { MOST_NAMED = 8 };
	struct pid_list pids = {0};
	struct str text = {0};
	live_pids(live, &pids);
	for (size_t i = 0; i < pids.len && i < MOST_NAMED; i++) {
		char *command = tree_command_of(pids.items[i]);
		str_appendf(&text, "%s%d (%.80s)", i ? ", " : "", (int)pids.items[i], command ? command : "?");
		free(command);
	}
	if (pids.len > MOST_NAMED)
		str_appendf(&text, " and %zu more", pids.len - MOST_NAMED);
	live->survivors_left = pids.len > 0;
	if (pids.len)
		shared_event(live->shared, live->row.id, "note", "left running: %s", str_text(&text));
	str_fini(&text);
	vec_fini(&pids);
}

static void on_main_exit(struct live *live, const struct warden_message *message)
{
	live->main_ended = true;
	live->main_status = message->status;
	live->view->lingering = true;
	if (live->spec->survivors == SURVIVORS_KILL && live->ending == ENDING_NOT) {
		live->kill_ns = clock_mono_ns() + PATIENCE_NS;
		warden_send(live->control, WARDEN_KILL, SIGTERM);
	} else if (live->spec->survivors == SURVIVORS_LEAVE && live->ending == ENDING_NOT) {
		name_survivors(live);
		warden_send(live->control, WARDEN_LEAVE, 0);
	} else if (live->ending == ENDING_NOT) {
		live->linger_ns = clock_mono_ns() + LINGER_NS;
	}
}

static void add_io(struct warden_io *sum, const struct warden_io *more)
{
	sum->known = more->known;
	sum->read_chars += more->read_chars;
	sum->write_chars += more->write_chars;
	sum->read_calls += more->read_calls;
	sum->write_calls += more->write_calls;
	sum->read_bytes += more->read_bytes;
	sum->write_bytes += more->write_bytes;
}

static void on_done(struct live *live, const struct warden_message *message)
{
	live->end_ns = message->at_ns;
	add_io(&live->io, &message->io);
	live->warden_cpu_ns += message->self_cpu_ns;
	live->done = true;
}

static void on_message(struct loop *loop, struct live *live, const struct warden_message *message)
{
	switch (message->kind) {
	case WARDEN_BORN:
		launch_release(loop, live, message);
		break;
	case WARDEN_STARTED:
		live->started = true;
		if (live->row.attempts == 1)
			live->start_ns = live->last_ns = message->at_ns;
		live->timeout_ns = live->spec->timeout_ns ? live->spec->timeout_ns : loop->options->timeout_ns;
		live->deadline_ns = live->timeout_ns && !loop->signal ? message->at_ns + live->timeout_ns : 0;
		if (live->ending != ENDING_NOT)
			end_stage(live, live->ending, SIGTERM); /* asked to end before it began */
		break;
	case WARDEN_EXEC_FAILED:
		live->exec_error = message->error;
		break;
	case WARDEN_EXITED:
		live_reaped(live, message);
		live->end_ns = message->at_ns;
		if (message->pid == live->pid)
			on_main_exit(live, message);
		break;
	case WARDEN_DONE:
		on_done(live, message);
		break;
	case WARDEN_FAILED:
		live->row.status = STATUS_ERROR;
		free(live->row.reason);
		live->row.reason = mem_printf("cannot start a process: %s", strerror(message->error));
		break;
	}
}

/* A warden was killed: what it looked after comes to us, its nearest living subreaper - a moment after its socket has
 * closed. */
static void end_orphans(const struct loop *loop, pid_t warden)
{
	for (int tries = 0; warden && !descend_has_ended(warden) && tries < 1000; tries++)
		usleep(1000);
	while (descend_kill(getpid(), nursery_pid(loop->nursery), SIGKILL) > 0) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			continue;
		usleep(1000);
	}
}

static void on_control(struct loop *loop, size_t index)
{
	struct live *live = loop->running[index];
	struct warden_message message;
	int got = 0;
	if (!live || live->control < 0)
		return;
	while ((got = warden_receive(live->control, &message)) > 0)
		on_message(loop, live, &message);
	if (got == 0)
		return;
	if (!live->done)
		end_orphans(loop, live->warden);
	attempt_ended(loop, live);
}

static void on_stream(struct loop *loop, size_t which)
{
	struct live *live = loop->running[which / 2];
	struct stream *stream = live ? &live->streams[which % 2] : NULL;
	if (!stream || stream->fd < 0)
		return;
	/* epoll forgets a closed descriptor by itself. */
	if (stream_pump(stream, &live->log) == STREAM_BLOCKED) {
		epoll_ctl(loop->epoll, EPOLL_CTL_DEL, stream->fd, NULL);
		loop_watch(loop, stream->pass_to, EPOLLOUT | EPOLLONESHOT, EVENT_STREAM, which);
	} else if (stream->fd >= 0) {
		loop_watch(loop, stream->fd, EPOLLIN, EVENT_STREAM, which);
	}
}

static void on_signal(struct loop *loop)
{
	struct signalfd_siginfo info;
	while (read(loop->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		loop->signal = (int)info.ssi_signo;
		loop->signals_seen++;
		/* A key pressed in the terminal reaches a foreground command by itself, and it may want to handle it.
		 */
		bool from_terminal = info.ssi_code > 0 && loop->options->foreground;
		int patience = from_terminal ? 2 : 1;
		for (size_t i = 0; i < loop->view.count; i++) {
			struct live *live = loop->running[i];
			if (!live)
				continue;
			if (loop->signals_seen > patience)
				end_stage(live, ENDING_INTERRUPT, SIGKILL);
			else if (loop->signals_seen == patience)
				end_stage(live, ENDING_INTERRUPT, from_terminal ? SIGTERM : (int)info.ssi_signo);
		}
	}
}

static void on_exits(struct loop *loop)
{
	bool ours = exits_read(loop->shared.exits);
	loop_set_timer(loop->exits_rest, ours ? EXITS_REST_NS : EXITS_FOREIGN_REST_NS, 0);
}

static void on_exits_rest(struct loop *loop)
{
	uint64_t times;
	if (read(loop->exits_rest, &times, sizeof(times)) > 0)
		loop_watch(loop, exits_fd(loop->shared.exits), EPOLLIN | EPOLLONESHOT, EVENT_EXITS, 0);
}

static void change_interval(struct loop *loop, uint64_t interval_ns)
{
	bool slower = interval_ns > loop->interval_ns;
	loop->interval_ns = interval_ns;
	loop_set_timer(loop->ticks, interval_ns, interval_ns);
	shared_event(&loop->shared, 0, "note", "a sample costs %.1f ms of CPU time; sampling %s to every %g s",
		     (double)loop->sampling_cpu_ns / 1e6, slower ? "slowed down" : "went back",
		     (double)interval_ns / 1e9);
}

/* Sampling that costs more than its budget makes the interval longer, and says so. The mean starts at nothing, so that
 * the first sample, which opens every file, does not decide alone; and the interval comes back when processes go. */
static void keep_budget(struct loop *loop, uint64_t spent_ns)
{
	enum { MEAN_OF = 4 };
	loop->sampling_cpu_ns = (loop->sampling_cpu_ns * (MEAN_OF - 1) + spent_ns) / MEAN_OF;
	uint64_t now_ns = loop->interval_ns, needed_ns = loop->sampling_cpu_ns * SAMPLING_BUDGET;
	if (needed_ns > now_ns && now_ns < LONGEST_INTERVAL_NS)
		change_interval(loop, now_ns * 2 < LONGEST_INTERVAL_NS ? now_ns * 2 : LONGEST_INTERVAL_NS);
	else if (needed_ns * 4 < now_ns && now_ns > loop->asked_interval_ns)
		change_interval(loop, now_ns / 2 > loop->asked_interval_ns ? now_ns / 2 : loop->asked_interval_ns);
}

static void on_tick(struct loop *loop)
{
	uint64_t times, cpu_start = clock_thread_cpu_ns();
	if (read(loop->ticks, &times, sizeof(times)) <= 0)
		return;
	uint64_t now = clock_mono_ns();
	struct probe_frame frame = {0};
	/* Before the tree forgets who has gone: their exit records borrow from it. */
	if (loop->shared.exits)
		exits_read(loop->shared.exits);
	if (loop->running_count)
		probe_set_read(loop->shared.probes, now, false, &frame);
	for (size_t i = 0; i < loop->view.count; i++)
		if (loop->running[i])
			live_sample(loop->running[i], now, &frame);
	if (loop->running_count)
		keep_budget(loop, clock_thread_cpu_ns() - cpu_start);
	if (now - loop->committed_ns >= COMMIT_EVERY_NS) {
		shared_commit(&loop->shared);
		loop->committed_ns = now;
	}
	refresh_view(loop);
	loop->observer->tick(loop->observer->context, &loop->view);
}

static void dispatch(struct loop *loop, uint64_t tag)
{
	size_t stage = (size_t)(tag >> 8);
	switch ((enum loop_event)(tag & 0xFF)) {
	case EVENT_SIGNAL:
		on_signal(loop);
		break;
	case EVENT_TICK:
		on_tick(loop);
		break;
	case EVENT_EXITS:
		on_exits(loop);
		break;
	case EVENT_EXITS_REST:
		on_exits_rest(loop);
		break;
	case EVENT_CONTROL:
		on_control(loop, stage);
		break;
	case EVENT_STREAM:
		on_stream(loop, stage);
		break;
	}
}

static void run_repetition(struct loop *loop)
{
	memset(loop->nodes, 0, loop->view.count * sizeof(*loop->nodes));
	for (size_t i = 0; i < loop->view.count; i++) {
		struct stage_view *view = &loop->view.stages[i];
		*view = (struct stage_view){.name = view->name, .expected_ns = view->expected_ns, .gpu_percent = -1};
	}
	while (schedule_start(loop)) {
		struct epoll_event events[32];
		int count = epoll_wait(loop->epoll, events, 32, wait_ms(loop));
		for (int i = 0; i < count; i++)
			dispatch(loop, events[i].data.u64);
		check_deadlines(loop);
	}
}

/* The order of statuses by how bad they are for the run as a whole. */
static int badness(enum stage_status status)
{
	static const int rank[STATUS_COUNT] = {[STATUS_OK] = 0,      [STATUS_MANUAL] = 0, [STATUS_SKIPPED] = 0,
					       [STATUS_TIMEOUT] = 1, [STATUS_ERROR] = 2,  [STATUS_INTERRUPTED] = 3};
	return rank[status];
}

static void judge_repetition(struct loop *loop)
{
	for (size_t i = 0; i < loop->view.count; i++)
		if (badness(loop->view.stages[i].status) > badness(loop->outcome->status))
			loop->outcome->status = loop->view.stages[i].status;
	if (loop->signal) {
		bool command_handled_it = loop->options->foreground && loop->outcome->exit_code == 0;
		loop->outcome->caught_signal = loop->signal;
		if (!command_handled_it)
			loop->outcome->status = STATUS_INTERRUPTED;
	}
}

int run_execute(const struct pipeline *pipeline, const struct run_options *options, struct nursery *nursery,
		const struct run_observer *observer, struct run_outcome *outcome, struct err *err)
{
	struct loop loop = {
		.pipeline = pipeline, .options = options, .nursery = nursery, .observer = observer, .outcome = outcome};
	*outcome = (struct run_outcome){.status = STATUS_OK, .exit_code = -1};
	loop_prepare(&loop);
	loop.spans = span_env_new(options->channel_dir);
	int code = inject_open(options, pipeline, &loop.inject, err);
	if (!code)
		code = record_open(&loop, err);
	if (code)
		goto out;
	loop_open_sources(&loop);
	code = loop_open(&loop, err);
	if (code) {
		store_abandon(loop.shared.store);
		goto out;
	}
	loop_expect_durations(&loop);
	for (int i = 0; i < loop.view.repetitions && !loop.signal; i++) {
		loop.view.repetition = i;
		loop.view.warmup = i < options->warmup;
		run_repetition(&loop);
		judge_repetition(&loop);
	}
	record_close(&loop);
out:
	loop_close(&loop);
	return code;
}
