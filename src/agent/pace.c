/*
 * pace.c - periods that keep step with no program and yet keep the rate.
 *
 * A program that does the same thing every millisecond, or every third of one, would be seen at the same place each time by a
 * clock of that period, and its shares could be wrong by any amount. So the period changes from stretch to stretch, and within
 * each the samples wander over the program's round, once at least. A period of one's own choice costs rate, however: samples
 * fall behind, or run ahead. So it is not the period that is drawn but where the stretch is to end, in turns behind and ahead:
 *
 *	drift   late ┤      ╱╲              ╱╲
 *	           0 ┼─╲──╱────╲──╱╲──────╱────╲──   each slope is a stretch; it sweeps as many rounds as it is high, in periods
 *	       early ┤  ╲╱      ╲╱  ╲────╱      ╲
 *
 * Invariant: after n samples the drift is at most DRIFT_PART of n periods, or DRIFT_LEAST. So the rate is right after a second
 * as after an hour, and the more samples there are, the more rounds each stretch may sweep.
 *
 * Another period means another event, which costs as much as ten samples. Stretches therefore grow, up to STRETCH_NS.
 */
#include "agent/pace.h"

enum {
	STRETCH_NS = 512000000,
	STRETCH_LEAST = 24, /* samples; */
	STRETCH_SLOW = 64,  /* at low rates, where it takes longer than STRETCH_NS */
	STRETCH_PART = 3,   /* of the samples so far */
	DRIFT_PART = 64,    /* likewise; */
	DRIFT_LEAST = 2,    /* periods */
	DRIFT_STEEP = 8,    /* of the stretch's samples: periods change by a quarter at most */
	DRIFT_RANGE = 8,    /* the least turning point against the furthest */
	CHANGE_PART = 3     /* of a period, where a stretch lasted longer than it was to */
};

static int64_t within(int64_t value, int64_t least, int64_t most)
{
	return value < least ? least : value > most ? most : value;
}

void pace_begin(struct pace *pace, uint64_t first_ns)
{
	*pace = (struct pace){.period_ns = first_ns};
}

static unsigned length_after(uint64_t seen, int64_t asked_ns)
{
	int64_t most = within(STRETCH_NS / asked_ns, STRETCH_SLOW, STRETCH_NS);
	return (unsigned)within((int64_t)(seen / STRETCH_PART), STRETCH_LEAST, most);
}

/* How far from where it should be the stretch may end, in time. Half a period is the least that sweeps a round with the next. */
static int64_t draw_turn(const struct pace *pace, int64_t asked_ns, uint64_t random)
{
	int64_t allowed_ns = asked_ns * (int64_t)(pace->seen + pace->length) / DRIFT_PART;
	int64_t most_ns = within(allowed_ns, DRIFT_LEAST * asked_ns, asked_ns * pace->length / DRIFT_STEEP);
	int64_t least_ns = within(most_ns / DRIFT_RANGE, asked_ns / 2, most_ns);
	return least_ns + (int64_t)(random % (uint64_t)(most_ns - least_ns + 1));
}

void pace_next(struct pace *pace, uint64_t asked, uint64_t random)
{
	int64_t asked_ns = (int64_t)asked;
	if (!pace->length)
		pace->late = random >> 63;
	else
		pace->drift_ns += (int64_t)pace->length * ((int64_t)pace->period_ns - asked_ns);
	pace->seen += pace->length ? pace->length : 1;
	pace->length = length_after(pace->seen, asked_ns);
	pace->late = !pace->late;
	int64_t turn_ns = draw_turn(pace, asked_ns, random);
	int64_t change_ns = ((pace->late ? turn_ns : -turn_ns) - pace->drift_ns) / (int64_t)pace->length;
	pace->period_ns = (uint64_t)(asked_ns + within(change_ns, -asked_ns / CHANGE_PART, asked_ns / CHANGE_PART));
}
