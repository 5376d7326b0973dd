/*
 * loop.h - inside of a run: the state that starting, watching and ending stages share. Only for src/run.
 */
#ifndef PITOT_RUN_LOOP_H
#define PITOT_RUN_LOOP_H

#include "run/inject.h"
#include "run/live.h"
#include "run/span_env.h"

/* A stage in the current repetition. */
struct node {
	enum view_state state;
	bool blocks; /* what needs it cannot run */
};

/* What an event of the loop is about: kind in the low byte, the stage's number above it. */
enum loop_event { EVENT_SIGNAL, EVENT_TICK, EVENT_EXITS, EVENT_EXITS_REST, EVENT_CONTROL, EVENT_STREAM };

struct quality_line {
	char *name;
	double value;
	char *stage; /* NULL: reported through libpitot */
};

struct loop {
	const struct pipeline *pipeline;
	const struct run_options *options;
	struct nursery *nursery;
	const struct run_observer *observer;
	struct run_outcome *outcome;
	struct run_shared shared;
	struct run_view view;
	struct node *nodes;
	struct live **running; /* by stage number; NULL where it does not run */
	size_t running_count;
	int jobs;
	int epoll, signals, ticks, exits_rest;
	uint64_t interval_ns;         /* now, after any slow-down */
	uint64_t asked_interval_ns;   /* by the stages that run now */
	uint64_t default_interval_ns; /* of a stage that does not say */
	uint64_t sampling_cpu_ns;     /* of the thread, moving mean per tick */
	uint64_t committed_ns;
	uint64_t idle_since_ns, idle_ns; /* time in which no stage ran */
	uint64_t wardens_cpu_ns;
	int signal; /* that asked the run to end, or 0 */
	int signals_seen;
	struct inject *inject;  /* NULL: no stage is profiled */
	struct span_env *spans; /* NULL: programs cannot record spans */
	VEC(struct quality_line) quality;
	size_t channel_damaged;
};

/* launch.c: makes the stage's process; on failure the stage ends with status error. */
int launch_attempt(struct loop *loop, struct live *live, struct err *err);
/* The process waits at its gate: enter groups, attach counters, let it go. */
void launch_release(struct loop *loop, struct live *live, const struct warden_message *born);

/* finish.c */
struct live *stage_open(struct loop *loop, size_t index);
void stage_close(struct loop *loop, struct live *live); /* stores everything and frees it */
/* A stage that never runs. */
void stage_pass_over(struct loop *loop, size_t index, enum stage_status status, const char *reason, bool blocks);

/* record_run.c: the run's own rows, at its beginning and its end. */
int record_open(struct loop *loop, struct err *err);
void record_close(struct loop *loop);

/* schedule.c: starts what can start and settles what never will. False when the repetition is over. */
bool schedule_start(struct loop *loop);

/* setup.c */
void loop_prepare(struct loop *loop);
void loop_open_sources(struct loop *loop);
int loop_open(struct loop *loop, struct err *err);
void loop_expect_durations(struct loop *loop);
void loop_close(struct loop *loop);

/* After a stage began or ended: the interval is the shortest that a running stage asks for. */
void loop_retune(struct loop *loop);
void loop_set_timer(int timer, uint64_t first_ns, uint64_t every_ns);
void loop_watch(struct loop *loop, int fd, uint32_t events, enum loop_event event, size_t stage);
void loop_note(struct loop *loop, const char *format, ...) __attribute__((format(printf, 2, 3)));
void loop_changed(struct loop *loop, size_t stage);

#endif
