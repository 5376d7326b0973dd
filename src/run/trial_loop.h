/*
 * trial_loop.h - what the two sides of the trial runner share: the messages. Only for src/run.
 *
 *	pitot → runner   struct trial_request   one list of runs, or a signal for what runs
 *	runner → pitot   struct trial_answer    as many results as there are
 */
#ifndef PITOT_RUN_TRIAL_LOOP_H
#define PITOT_RUN_TRIAL_LOOP_H

#include "run/trial.h"

enum trial_request_kind { TRIAL_RUN, TRIAL_END };

struct trial_request {
	enum trial_request_kind kind;
	int signal; /* of TRIAL_END */
	bool stop_on_failure;
	uint32_t count;
	uint32_t programs[TRIAL_BATCH];
};

struct trial_answer {
	uint32_t count;
	uint64_t floor_kib;
	struct trial_result results[TRIAL_BATCH];
};

/* Serves requests until the socket closes. Never returns. */
void trial_loop(const struct trial_program *programs, size_t count, int tail, int socket) __attribute__((noreturn));

#endif
