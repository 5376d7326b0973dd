/*
 * clock.h - the two clocks: monotonic for every duration, UTC for what people read.
 */
#ifndef PITOT_BASE_CLOCK_H
#define PITOT_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#define NS_PER_S 1000000000ull

uint64_t clock_mono_ns(void);
uint64_t clock_utc_ns(void);
uint64_t clock_thread_cpu_ns(void);
/* Ticks of the kernel per second: timers without high resolution are no finer. */
long clock_tick_hz(void);
/* "2026-01-31T12:34:56Z"; `size` at least 21. */
void clock_format_utc(uint64_t utc_ns, char *out, size_t size);

#endif
