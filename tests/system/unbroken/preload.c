/*
 * preload - a library that the user has preloaded already: it changes what a call answers.
 */
#define _GNU_SOURCE
#include <sys/types.h>

pid_t getpgid(pid_t pid);

pid_t getpgid(pid_t pid)
{
	return 4242 + pid;
}
