/* energy.c - see energy.h. */
#include "probe/energy.h"
#include "base/clock.h"

void energy_counter_advance(struct energy_counter *counter, uint64_t value)
{
	if (counter->started && value >= counter->last) {
		counter->total += value - counter->last;
	} else if (counter->started && counter->range >= counter->last) {
		uint64_t wrapped = counter->range - counter->last + value;
		if (wrapped < counter->range / 2)
			counter->total += wrapped;
	}
	counter->last = value;
	counter->started = true;
}

void power_integral_advance(struct power_integral *integral, double watts, uint64_t now_ns)
{
	if (integral->started && now_ns > integral->last_ns) {
		double seconds = (double)(now_ns - integral->last_ns) / (double)NS_PER_S;
		integral->joules += (integral->last_watts + watts) / 2 * seconds;
	}
	integral->last_watts = watts;
	integral->last_ns = now_ns;
	integral->started = true;
}
