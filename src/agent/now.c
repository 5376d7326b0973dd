/*
 * now.c - what time it is, past a library that pretends another: such a one may also take locks, or stand still, and what is
 * believed for a moment would be believed for ever.
 */
#include "agent/agent.h"
#include "agent/sys.h"

#include <dlfcn.h>
#include <string.h>

static int (*ask)(clockid_t, struct timespec *); /* libc's own; NULL: not looked for, or not found */

void now_init(void)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	if (!libc)
		return;
	void *found = dlsym(libc, "clock_gettime");
	memcpy(&ask, &found, sizeof(found));
	dlclose(libc);
}

uint64_t now_ns(clockid_t clock)
{
	struct timespec now;
	if (!ask || ask(clock, &now) != 0)
		return sys_clock_ns(clock);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
