/* team.c - see team.h. */
#include "model/team.h"
#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct team;

struct member {
	struct team *team;
	size_t index;
	pthread_t thread;
	uint64_t start_ns, end_ns; /* of the last repetition */
	int error;                 /* of putting it on its CPU */
};

struct team {
	const struct team_work *work;
	const struct team_order *order;
	struct member *members;
	_Atomic size_t arrived;
	_Atomic unsigned turn;
	_Atomic bool over; /* written by the first member before it arrives */
	_Atomic bool failed;
	double *seconds;
	size_t done;
};

static void relax(unsigned spins)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#endif
	/* With fewer cores than members somebody has to let the others run. */
	if (spins % 4096 == 4095)
		sched_yield();
}

/* Says that `count` members are there; true where these were the last, and all may go. */
static bool arrive(struct team *team, size_t count, unsigned turn)
{
	if (atomic_fetch_add(&team->arrived, count) + count != team->order->members)
		return false;
	atomic_store(&team->arrived, 0);
	atomic_store(&team->turn, turn + 1);
	return true;
}

/* All members come, then all go. */
static void meet(struct team *team)
{
	unsigned turn = atomic_load(&team->turn);
	if (arrive(team, 1, turn))
		return;
	for (unsigned spins = 0; atomic_load(&team->turn) == turn; spins++)
		relax(spins);
}

static int sit(int cpu)
{
	cpu_set_t *mask = CPU_ALLOC((size_t)cpu + 1);
	size_t size = CPU_ALLOC_SIZE((size_t)cpu + 1);
	if (!mask)
		return ENOMEM;
	CPU_ZERO_S(size, mask);
	CPU_SET_S((size_t)cpu, size, mask);
	int error = sched_setaffinity(0, size, mask) == 0 ? 0 : errno;
	CPU_FREE(mask);
	return error;
}

static void finish_repetition(struct team *team)
{
	uint64_t start = team->members[0].start_ns, end = team->members[0].end_ns;
	for (size_t i = 1; i < team->order->members; i++) {
		start = team->members[i].start_ns < start ? team->members[i].start_ns : start;
		end = team->members[i].end_ns > end ? team->members[i].end_ns : end;
	}
	team->seconds[team->done++] = (double)(end - start) / 1e9;
	const struct team_order *order = team->order;
	bool late = order->deadline_ns && clock_mono_ns() >= order->deadline_ns;
	atomic_store(&team->over, team->done >= order->repeats || (late && team->done >= order->repeats_least));
}

static void repeat(struct member *self)
{
	struct team *team = self->team;
	while (!atomic_load(&team->over)) {
		meet(team);
		self->start_ns = clock_mono_ns();
		team->work->run(team->work->context, self->index, team->order->passes);
		self->end_ns = clock_mono_ns();
		meet(team);
		if (self->index == 0)
			finish_repetition(team);
		meet(team);
	}
}

static void *member_main(void *opaque)
{
	struct member *self = opaque;
	struct team *team = self->team;
	self->error = team->order->cpus ? sit(team->order->cpus[self->index]) : 0;
	if (self->error)
		atomic_store(&team->failed, true);
	if (team->work->prepare)
		team->work->prepare(team->work->context, self->index);
	meet(team);
	if (!atomic_load(&team->failed))
		repeat(self);
	if (team->work->cleanup)
		team->work->cleanup(team->work->context, self->index);
	return NULL;
}

/* Those who run wait at their first meeting for all: members that could not be started are reported there, as arrived. */
static int start_members(struct team *team, size_t *started)
{
	sigset_t all, before;
	int error = 0;
	/* Signals belong to the thread that asked. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (*started = 0; *started < team->order->members; ++*started) {
		struct member *member = &team->members[*started];
		*member = (struct member){.team = team, .index = *started};
		error = pthread_create(&member->thread, NULL, member_main, member);
		if (error)
			break;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error) {
		atomic_store(&team->failed, true);
		arrive(team, team->order->members - *started, 0);
	}
	return error;
}

int team_run(const struct team_work *work, const struct team_order *order, double *seconds, size_t *done,
	     struct err *err)
{
	struct team team = {.work = work, .order = order, .seconds = seconds};
	size_t started;
	team.members = mem_alloc(order->members * sizeof(*team.members));
	int error = start_members(&team, &started);
	int code =
		error ? err_set(err, ERR_UNAVAILABLE, "cannot start %zu threads: %s", order->members, strerror(error))
		      : 0;
	for (size_t i = 0; i < started; i++) {
		pthread_join(team.members[i].thread, NULL);
		if (team.members[i].error && !code)
			code = err_set(err, ERR_UNAVAILABLE, "cannot put a thread on CPU %d: %s", order->cpus[i],
				       strerror(team.members[i].error));
	}
	free(team.members);
	*done = team.done;
	return code;
}
