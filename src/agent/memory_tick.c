/*
 * memory_tick.c - what time it is, for events that come every hundred nanoseconds: the processor's counter where it runs
 * evenly, set right by the clock every second; else the clock.
 *
 * Until the counter's rate is known, for the first milliseconds, the clock is asked. The three numbers of a setting are read
 * without a lock: a writer makes `turn` odd meanwhile, and who finds it odd, or changed, asks the clock.
 */
#include "agent/memory.h"

#if defined(__x86_64__)
#include <cpuid.h>

enum { SETTLE_NS = 5000000, RESET_TICKS_SHIFT = 32 };

static struct {
	_Atomic uint32_t turn;
	bool is_even;
	uint64_t first_tick, first_ns;
	_Atomic uint64_t tick, ns, rate; /* rate: ns per tick, 32 bits behind the point; 0: not known */
} counter;

static uint64_t read_counter(void)
{
	return __builtin_ia32_rdtsc();
}

static bool is_even(void)
{
	unsigned a, b, c, d;
	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
}

void tick_init(void)
{
	counter.is_even = is_even();
	counter.first_tick = read_counter();
	counter.first_ns = agent_mono_ns();
	atomic_store(&counter.rate, 0);
}

static uint64_t ask_clock(uint64_t tick)
{
	uint64_t ns = agent_mono_ns();
	if (!counter.is_even || ns - counter.first_ns < SETTLE_NS || tick <= counter.first_tick)
		return ns;
	uint32_t turn = atomic_load(&counter.turn);
	if (turn & 1 || !atomic_compare_exchange_strong(&counter.turn, &turn, turn + 1))
		return ns;
	__extension__ typedef unsigned __int128 wide;
	uint64_t rate = (uint64_t)(((wide)(ns - counter.first_ns) << 32) / (tick - counter.first_tick));
	atomic_store_explicit(&counter.tick, tick, memory_order_relaxed);
	atomic_store_explicit(&counter.ns, ns, memory_order_relaxed);
	atomic_store_explicit(&counter.rate, rate, memory_order_relaxed);
	atomic_store(&counter.turn, turn + 2);
	return ns;
}

uint64_t tick_ns(void)
{
	uint64_t now = read_counter();
	uint32_t turn = atomic_load_explicit(&counter.turn, memory_order_acquire);
	uint64_t tick = atomic_load_explicit(&counter.tick, memory_order_relaxed);
	uint64_t ns = atomic_load_explicit(&counter.ns, memory_order_relaxed);
	uint64_t rate = atomic_load_explicit(&counter.rate, memory_order_relaxed);
	atomic_thread_fence(memory_order_acquire);
	uint64_t since = now - tick;
	/* A second or two; a counter that went back, on another processor, is far beyond. */
	if (__builtin_expect(rate == 0 || turn & 1 || since >> RESET_TICKS_SHIFT ||
				     turn != atomic_load_explicit(&counter.turn, memory_order_relaxed),
			     0))
		return ask_clock(now);
	return ns + ((since * (rate >> 8)) >> 24);
}
#else
void tick_init(void)
{
}

uint64_t tick_ns(void)
{
	return agent_mono_ns();
}
#endif
