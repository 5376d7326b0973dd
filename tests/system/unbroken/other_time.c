/*
 * other_time - pretends to everybody in the process that its clocks stand still, and counts who asks: the program does not.
 */
#include "unbroken.h"

#include <stdatomic.h>
#include <sys/syscall.h>

static _Atomic int asked;

int clock_gettime(clockid_t clock, struct timespec *out)
{
	if (clock == CLOCK_THREAD_CPUTIME_ID)
		return (int)syscall(SYS_clock_gettime, clock, out);
	*out = (struct timespec){1000000, 0};
	asked++;
	return 0;
}

int main(void)
{
	work_ms(200);
	printf("asked %d times\n", asked);
	return 0;
}
