/*
 * crew.c - see crew.h.
 *
 *	state   turn (32 bits) | next piece (32 bits)
 *
 * A piece is taken by adding 1 to the state with a compare-and-swap: a member that slept through a turn and wakes up with an old
 * state cannot take anything, so what it read of the work is never used. The caller returns when as many pieces are done as there
 * are, and none can be in somebody's hands then.
 */
#include "model/crew.h"
#include "base/mem.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* About a tenth of a millisecond: longer than what lies between two operators. */
enum { SPINS = 5000 };

struct member {
	struct crew *crew;
	size_t index;
	pthread_t thread;
};

struct crew {
	size_t count, started;
	struct member *members; /* without the caller */
	_Atomic uint64_t state;
	_Atomic(crew_fn *) fn;
	_Atomic(void *) context;
	_Atomic size_t pieces, done;
	_Atomic bool over;
	_Atomic size_t sleepers;
	pthread_mutex_t lock;
	pthread_cond_t wake;
};

static void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#endif
}

/* Takes and does pieces until there are none left of this turn. */
static void take_pieces(struct crew *crew, size_t member)
{
	for (;;) {
		uint64_t state = atomic_load(&crew->state);
		size_t piece = (size_t)(state & UINT32_MAX);
		crew_fn *fn = atomic_load(&crew->fn);
		void *context = atomic_load(&crew->context);
		if (piece >= atomic_load(&crew->pieces))
			return;
		if (!atomic_compare_exchange_weak(&crew->state, &state, state + 1))
			continue;
		fn(context, piece, member);
		atomic_fetch_add(&crew->done, 1);
	}
}

static bool has_work(struct crew *crew)
{
	return atomic_load(&crew->over) || (atomic_load(&crew->state) & UINT32_MAX) < atomic_load(&crew->pieces);
}

static void wait_for_work(struct crew *crew)
{
	for (unsigned spins = 0; spins < SPINS; spins++) {
		if (has_work(crew))
			return;
		relax();
	}
	pthread_mutex_lock(&crew->lock);
	atomic_fetch_add(&crew->sleepers, 1);
	while (!has_work(crew))
		pthread_cond_wait(&crew->wake, &crew->lock);
	atomic_fetch_sub(&crew->sleepers, 1);
	pthread_mutex_unlock(&crew->lock);
}

static void *member_main(void *opaque)
{
	struct member *self = opaque;
	while (!atomic_load(&self->crew->over)) {
		wait_for_work(self->crew);
		take_pieces(self->crew, self->index);
	}
	return NULL;
}

static void wake_sleepers(struct crew *crew)
{
	if (!atomic_load(&crew->sleepers))
		return;
	pthread_mutex_lock(&crew->lock);
	pthread_cond_broadcast(&crew->wake);
	pthread_mutex_unlock(&crew->lock);
}

int crew_new(size_t members, struct crew **out, struct err *err)
{
	struct crew *crew = mem_alloc(sizeof(*crew));
	sigset_t all, before;
	int error = 0;
	crew->count = members ? members : 1;
	crew->members = mem_alloc(crew->count * sizeof(*crew->members));
	pthread_mutex_init(&crew->lock, NULL);
	pthread_cond_init(&crew->wake, NULL);
	/* Signals belong to the thread that asked. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (size_t i = 0; i + 1 < crew->count && !error; i++) {
		crew->members[i] = (struct member){.crew = crew, .index = i + 1};
		error = pthread_create(&crew->members[i].thread, NULL, member_main, &crew->members[i]);
		crew->started += !error;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error) {
		crew_free(crew);
		return err_set(err, ERR_UNAVAILABLE, "cannot start %zu threads: %s", members, strerror(error));
	}
	*out = crew;
	return 0;
}

void crew_free(struct crew *crew)
{
	if (!crew)
		return;
	atomic_store(&crew->over, true);
	wake_sleepers(crew);
	for (size_t i = 0; i < crew->started; i++)
		pthread_join(crew->members[i].thread, NULL);
	pthread_mutex_destroy(&crew->lock);
	pthread_cond_destroy(&crew->wake);
	free(crew->members);
	free(crew);
}

size_t crew_members(const struct crew *crew)
{
	return crew->count;
}

void crew_each(struct crew *crew, size_t pieces, crew_fn *fn, void *context)
{
	if (crew->count == 1 || pieces <= 1) {
		for (size_t i = 0; i < pieces; i++)
			fn(context, i, 0);
		return;
	}
	uint64_t turn = (atomic_load(&crew->state) >> 32) + 1;
	/* Nobody takes anything while these change: the old turn's pieces are all taken. */
	atomic_store(&crew->fn, fn);
	atomic_store(&crew->context, context);
	atomic_store(&crew->done, 0);
	atomic_store(&crew->state, turn << 32 | UINT32_MAX);
	atomic_store(&crew->pieces, pieces);
	atomic_store(&crew->state, turn << 32);
	wake_sleepers(crew);
	take_pieces(crew, 0);
	/* A member that has the last piece may be waiting for this CPU. */
	for (unsigned spins = 1; atomic_load(&crew->done) < pieces; spins++) {
		relax();
		if (spins % SPINS == 0)
			sched_yield();
	}
}
