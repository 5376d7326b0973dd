/*
 * fallback.c - stands in for the unwinder and the Python reader until they are there.
 */
#include "agent/agent.h"

#define WEAK __attribute__((weak))

WEAK uint16_t module_generation(void)
{
	return 0;
}

WEAK void module_unloaded(void)
{
}

WEAK void module_forked(void)
{
}

WEAK bool module_note(struct agent_thread *thread, uintptr_t ip)
{
	(void)thread;
	return ip != 0;
}

WEAK bool guard_readable(uintptr_t at, size_t bytes)
{
	return at && bytes;
}

WEAK unsigned unwind_walk(struct agent_thread *thread, const ucontext_t *context, enum unwind_end *end)
{
	*end = UNWIND_ROOT;
	if (!context)
		return 0;
	thread->native[0] = (struct native_frame){.ip = (uintptr_t)context->uc_mcontext.gregs[REG_RIP], .exact = true};
	return 1;
}

WEAK void python_forked(void)
{
}

WEAK unsigned python_walk(struct agent_thread *thread, uint32_t *flags, wire_id *task)
{
	(void)thread, (void)flags, (void)task;
	return 0;
}

WEAK unsigned python_merge(const struct native_frame *native, unsigned native_count, const struct python_frame *python,
			   unsigned python_count, struct merged_frame *out, unsigned most, bool *unmatched)
{
	(void)python, (void)python_count, (void)most, (void)unmatched;
	for (unsigned i = 0; i < native_count; i++)
		out[i] = (struct merged_frame){native[native_count - 1 - i].ip, WIRE_NODE_NATIVE,
					       native[native_count - 1 - i].exact ? WIRE_NODE_EXACT : 0};
	return native_count;
}
