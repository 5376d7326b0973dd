/*
 * trial.h - runs prepared commands again and again, each as cheaply as it can be measured exactly.
 *
 *	pitot                    decides, computes, draws; asleep while a command runs
 *	  └─ trial runner        forked while pitot is still small; subreaper; one loop
 *	       └─ the command and all that it starts
 *
 * A stage of a pipeline gets a warden of its own, a gate and samples (warden.h). A comparison needs hundreds of runs of
 * commands that may last a millisecond, so here one small process does all of them: vfork, exec, wait. What is kept from
 * the warden is what makes the numbers right: descendants that outlive their parent come to the runner and are waited
 * for, so CPU time is that of the whole tree; ru_maxrss starts at the runner's size, which is below that of any
 * dynamically linked program and is told (trial_runner_floor_kib); and when pitot dies the runner ends the tree.
 *
 * The programs are handed over by the fork itself. After that a request is a list of numbers, and several runs can go
 * in one request, so that pitot does not wake up between runs of a millisecond.
 */
#ifndef PITOT_RUN_TRIAL_H
#define PITOT_RUN_TRIAL_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

struct trial_program {
	char *const *argv; /* ends with NULL; argv[0] is looked up in PATH */
	char *const *env;  /* ends with NULL */
	const char *cwd;   /* NULL: where pitot is */
	int in, out, err;  /* `in` is put back to its beginning before each run, where that is possible */
	bool must_succeed; /* what comes after it in a request makes no sense where it failed */
};

struct trial_result {
	uint64_t start_ns;           /* monotonic: the moment before the process is made */
	uint64_t main_ns;            /* until the main process had ended */
	uint64_t wall_ns;            /* until its last descendant had ended */
	int status;                  /* of the main process, as wait(2) gives it */
	int start_error;             /* errno where it could not be started; else 0 */
	bool ended_by_us;            /* trial_runner_end was called */
	uint32_t processes;          /* reaped by the runner: the main process, and orphans */
	uint64_t user_us, system_us; /* of the whole tree */
	uint64_t rss_peak_kib;       /* of its largest process */
	uint64_t faults_minor, faults_major, switches_voluntary, switches_forced;
};

/* Adds what one process used that was waited for. */
void trial_add_usage(struct trial_result *result, const struct rusage *usage);

enum { TRIAL_BATCH = 256 }; /* runs in one request, at most */

struct trial_runner;

/* Call while the process is small and has no threads; `programs` must not change later, the runner has its own copy.
 * `tail` (or -1) is a memory file that programs have as stderr: it is emptied before each run, and whenever it grows
 * above some MiB. `sibling` (or 0) is a process of pitot's that is spared when a killed runner's orphans are ended. */
int trial_runner_start(const struct trial_program *programs, size_t count, int tail, pid_t sibling,
		       struct trial_runner **out, struct err *err);
/* Ends what still runs. */
void trial_runner_stop(struct trial_runner *runner);
pid_t trial_runner_pid(const struct trial_runner *runner);

/* Runs programs one after the other and stops at the first that could not be started, or that failed where
 * `stop_on_failure` or where it must succeed. The answer comes in one piece: poll trial_runner_fd, then trial_runner_take. */
int trial_runner_ask(struct trial_runner *runner, const uint32_t *programs, size_t count, bool stop_on_failure,
		     struct err *err);
int trial_runner_fd(const struct trial_runner *runner);
/* How many results there are (at least 1), or an error where the runner is gone. `results` has room for TRIAL_BATCH. */
int trial_runner_take(struct trial_runner *runner, struct trial_result *results, size_t *count, struct err *err);
/* Ends the current run and drops the rest of the request, which is answered as far as it went. */
void trial_runner_end(struct trial_runner *runner, int signal_number);

/* What rss_peak_kib can at least be: the runner's own size. */
uint64_t trial_runner_floor_kib(const struct trial_runner *runner);

#endif
