/* clock.c - see clock.h. */
#include "base/clock.h"

#include <time.h>

static uint64_t read_clock(clockid_t id)
{
	struct timespec now;
	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t clock_mono_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t clock_utc_ns(void)
{
	return read_clock(CLOCK_REALTIME);
}

uint64_t clock_thread_cpu_ns(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

long clock_tick_hz(void)
{
	struct timespec tick;
	if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) != 0 || tick.tv_sec || tick.tv_nsec <= 0)
		return 100;
	return (long)(NS_PER_S / (uint64_t)tick.tv_nsec);
}

void clock_format_utc(uint64_t utc_ns, char *out, size_t size)
{
	time_t seconds = (time_t)(utc_ns / NS_PER_S);
	struct tm parts;
	gmtime_r(&seconds, &parts);
	if (strftime(out, size, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0 && size)
		out[0] = '\0';
}
