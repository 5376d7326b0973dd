/*
 * module.h - what unwinding asks of the loaded objects, beyond agent.h.
 */
#ifndef PITOT_AGENT_MODULE_H
#define PITOT_AGENT_MODULE_H

#include "agent/agent.h"
#include "agent/cfi.h"

/* What of an object can be read: its unwind tables, and its code. */
struct module_view {
	struct cfi_view tables;
	uintptr_t code, code_end;
};

/* The object that holds `pc` and what can be read of it; it has its record afterwards. False: no loaded object holds it.
 * thread->window may be another afterwards. */
bool module_find(struct agent_thread *thread, uintptr_t pc, struct module_view *view);

/* Whether an address is in a loaded object, its data included. */
bool module_holds(uintptr_t at);

/* module_generation that does not end at 65535: what caches of addresses compare. */
extern _Atomic uint32_t module_epochs;
static inline uint32_t module_epoch(void)
{
	return atomic_load_explicit(&module_epochs, memory_order_acquire);
}

#endif
