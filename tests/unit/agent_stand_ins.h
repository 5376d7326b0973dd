/*
 * agent_stand_ins.h - the agent's file and Python parts for tests of what calls them: records go into an array, Python is
 * not looked for but counted. And a struct agent_thread for the calling thread.
 */
#ifndef PITOT_TESTS_AGENT_STAND_INS_H
#define PITOT_TESTS_AGENT_STAND_INS_H

#include "agent/agent.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

static _Alignas(16) unsigned char stand_in_records[1 << 20];
static _Atomic size_t stand_in_used;
static _Atomic unsigned stand_in_looked;

void *file_record(struct agent_thread *thread, uint16_t kind, uint32_t bytes)
{
	(void)thread;
	size_t at = atomic_fetch_add(&stand_in_used, bytes);
	if (at + bytes > sizeof stand_in_records)
		return NULL;
	struct wire_record *record = (struct wire_record *)(stand_in_records + at);
	record->kind = kind;
	record->bytes = bytes;
	return record;
}

void file_publish(struct agent_thread *thread)
{
	(void)thread;
}

void python_look(uintptr_t bias, uintptr_t dynamic)
{
	(void)bias, (void)dynamic;
	atomic_fetch_add(&stand_in_looked, 1);
}

/* The last record of an object that holds `at`; NULL: none. */
static inline const struct wire_module *stand_in_module(uintptr_t at)
{
	const struct wire_module *found = NULL;
	for (size_t place = 0; place < stand_in_used;) {
		const struct wire_module *module = (const struct wire_module *)(stand_in_records + place);
		if (module->start <= at && at < module->end)
			found = module;
		place += module->record.bytes;
	}
	return found;
}

static inline struct agent_thread *stand_in_thread(void)
{
	struct agent_thread *thread =
		mmap(NULL, sizeof *thread, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attributes;
	void *low;
	size_t bytes;
	pthread_getattr_np(pthread_self(), &attributes);
	pthread_attr_getstack(&attributes, &low, &bytes);
	pthread_attr_destroy(&attributes);
	thread->stack_low = (uintptr_t)low;
	thread->stack_high = (uintptr_t)low + bytes;
	return thread;
}

#endif
