/*
 * energy.h - energy from what hardware gives: a counter that wraps around, or a power reading now and then.
 *
 * Both only ever grow. Neither is told about a reading that failed: the next good one covers the gap.
 */
#ifndef PITOT_PROBE_ENERGY_H
#define PITOT_PROBE_ENERGY_H

#include <stdbool.h>
#include <stdint.h>

struct energy_counter {
	uint64_t range; /* largest value before it starts again from 0; 0: not known */
	uint64_t last;
	uint64_t total; /* since the first reading, in the counter's own unit */
	bool started;
};

/* A value below the last one is a wrap-around when that explains it with less than half the range; else the counter was
 * set back (resume, driver reload), and what it counted in between is not known and not made up. */
void energy_counter_advance(struct energy_counter *counter, uint64_t value);

struct power_integral {
	double joules;
	double last_watts;
	uint64_t last_ns;
	bool started;
};

/* Trapezoids between readings. */
void power_integral_advance(struct power_integral *integral, double watts, uint64_t now_ns);

#endif
