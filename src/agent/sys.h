/*
 * sys.h - the kernel without libc's own functions around it: the host may have replaced those (other preloaded libraries,
 * sanitizers, we ourselves), and some of them are cancellation points. All of it may be called in a handler; errno is
 * changed, so handlers and hooks keep it.
 */
#ifndef PITOT_AGENT_SYS_H
#define PITOT_AGENT_SYS_H

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The kernel's sigset_t is 64 bits; libc's is longer. */
typedef uint64_t sys_sigset;

static inline sys_sigset sys_sigbit(int signal_number)
{
	return (sys_sigset)1 << (signal_number - 1);
}

static inline int sys_open(const char *path, int flags, int mode)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, mode);
}

static inline void sys_close(int fd)
{
	syscall(SYS_close, fd);
}

static inline long sys_read(int fd, void *to, size_t bytes)
{
	return syscall(SYS_read, fd, to, bytes);
}

/* NULL where it fails. The seventh argument of syscall lies on the stack, where an int has only its lower half. */
static inline void *sys_map(size_t bytes, int protection, int flags, int fd)
{
	void *at = (void *)syscall(SYS_mmap, NULL, bytes, protection, flags, fd,
				   0L); /* NOLINT(performance-no-int-to-ptr) */
	return at == MAP_FAILED ? NULL : at;
}

/* Zeroed memory that costs nothing until it is touched. */
static inline void *sys_map_private(size_t bytes)
{
	return sys_map(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
}

static inline void sys_unmap(void *at, size_t bytes)
{
	syscall(SYS_munmap, at, bytes);
}

static inline int sys_getpid(void)
{
	return (int)syscall(SYS_getpid);
}

static inline int sys_gettid(void)
{
	return (int)syscall(SYS_gettid);
}

static inline int sys_sigmask(int how, const sys_sigset *set, sys_sigset *before)
{
	return (int)syscall(SYS_rt_sigprocmask, how, set, before, sizeof(sys_sigset));
}

/* Through the system call, 0 where it fails: for the CPU clocks, which no vdso answers. */
static inline uint64_t sys_clock_ns(clockid_t clock)
{
	struct timespec now;
	if (syscall(SYS_clock_gettime, clock, &now) != 0)
		return 0;
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t sys_thread_cpu_ns(void)
{
	return sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static inline uint64_t sys_process_cpu_ns(void)
{
	return sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/* Another thread's CPU clock, as the kernel encodes it. */
static inline clockid_t sys_clock_of(int tid)
{
	return (clockid_t)(~(unsigned)tid << 3 | 6u);
}

/* Decimal, with its end; returns where the end is. At most 21 bytes. */
static inline char *sys_put_number(char *to, uint64_t number)
{
	char digits[24];
	unsigned count = 0;
	do
		digits[count++] = (char)('0' + number % 10);
	while (number /= 10);
	while (count)
		*to++ = digits[--count];
	*to = '\0';
	return to;
}

#endif
