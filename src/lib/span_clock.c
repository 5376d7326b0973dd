/*
 * span_clock.c - ticks: the processor's counter where it runs at one pace on all CPUs, else the kernel's monotonic clock.
 *
 * Both must agree that the counter is fit: the processor says that its pace never changes, and the kernel lists it among its clock
 * sources, from which it takes it off when the CPUs' counters drift apart. What a tick is worth is not measured here but left
 * to the reader, who has two moments that lie further apart; only what counts as a long span is estimated, from a short
 * look at both clocks.
 */
#include "lib/span_inside.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

uint64_t span_clock_long = SPAN_WIRE_LONG_NS;
int span_clock_has_counter;

uint64_t span_clock_system(void)
{
	struct timespec now = {0};
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#if defined(__x86_64__)
static bool pace_is_constant(void)
{
	unsigned a, b, c, d;
	return __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & 1u << 8);
}

static bool kernel_trusts_counter(void)
{
	char text[128];
	int fd = open("/sys/devices/system/clocksource/clocksource0/available_clocksource",
		      O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return false;
	ssize_t got = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[got > 0 ? got : 0] = '\0';
	for (const char *at = text; (at = strstr(at, "tsc")); at += 3)
		if ((at == text || at[-1] == ' ') && (at[3] == ' ' || at[3] == '\n' || !at[3]))
			return true;
	return false;
}
#endif

static int counter_is_fit(void)
{
#if defined(__x86_64__)
	return pace_is_constant() && kernel_trusts_counter();
#elif defined(__aarch64__)
	return 1;
#else
	return 0;
#endif
}

void span_clock_pair(uint64_t *mono_ns, uint64_t *ticks)
{
	uint64_t best = UINT64_MAX;
	for (int i = 0; i < 4; i++) {
		uint64_t before = span_ticks(), now = span_clock_system(), after = span_ticks();
		if (after - before < best) {
			best = after - before;
			*mono_ns = now;
			*ticks = before + best / 2;
		}
	}
}

void span_clock_init(void)
{
	enum { LOOK_NS = 20000 };
	uint64_t mono[2] = {0}, ticks[2] = {0};
	span_clock_has_counter = counter_is_fit();
	if (!span_clock_has_counter)
		return;
	span_clock_pair(&mono[0], &ticks[0]);
	do {
		span_clock_pair(&mono[1], &ticks[1]);
	} while (mono[1] - mono[0] < LOOK_NS);
	double pace = (double)(ticks[1] - ticks[0]) / (double)(mono[1] - mono[0]);
	span_clock_long = (uint64_t)(pace * SPAN_WIRE_LONG_NS);
}

enum span_wire_clock span_clock_kind(void)
{
	return span_clock_has_counter ? SPAN_CLOCK_TSC : SPAN_CLOCK_MONOTONIC;
}
