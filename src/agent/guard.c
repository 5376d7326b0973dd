/*
 * guard.c - reading memory of this process that may not be there, without a handler for SIGSEGV: the program's own, a crash
 * reporter's or a GPU driver's must stay undisturbed.
 *
 * guard_copy lets the kernel copy (process_vm_readv on oneself, which needs no privilege): whatever another thread unmaps
 * meanwhile, the answer is "no" and nothing worse. Where that call is forbidden (seccomp, old container runtimes), the
 * kernel is asked whether it can read the pages, and the copy is made right after: between the two another thread would have to
 * unmap what this thread is looking at.
 *
 * guard_readable answers for a read that the caller then makes itself. A page that was found readable is taken as such by the
 * same thread for TRUST_NS. The risk is that of the caller's: an address that was readable a moment ago, is unmapped since,
 * and is still pointed to by the live structure that the caller came from. Foreign stacks are therefore never read that way:
 * unwind.c copies them.
 *
 * System calls are made by number: the wrappers of libc may be wrapped by us or by others, and would touch errno.
 */
#include "agent/agent.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define TRUST_NS 20000000ULL

enum { PAGE = 4096, TRUSTED = 32, SIGSET_BYTES = 8 };

/* Page numbers with the time (in units of TRUST_NS, cut to TIME_BITS) in the lower bits. */
enum { TIME_BITS = 12 };
static _Thread_local uint64_t trusted[TRUSTED];

static atomic_bool copy_is_forbidden;

/* A negative error where libc would set errno. */
static long call_kernel(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
#else
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;
	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
	return x0;
#endif
}

/* With a `how` that does not exist, the kernel reads the set, and then refuses: EINVAL where it could be read, else EFAULT. */
static bool word_is_readable(uintptr_t at)
{
	return call_kernel(SYS_rt_sigprocmask, -1, (long)at, 0, SIGSET_BYTES, 0, 0) == -EINVAL;
}

static bool pages_are_readable(uintptr_t at, size_t bytes)
{
	uintptr_t last = (at + bytes - 1) / PAGE;
	for (uintptr_t page = at / PAGE; page <= last; page++)
		if (!word_is_readable(page * PAGE))
			return false;
	return true;
}

bool guard_ask(uintptr_t at)
{
	return at >= PAGE && word_is_readable(at);
}

bool guard_copy(void *to, uintptr_t from, size_t bytes)
{
	if (bytes == 0)
		return true;
	if (from < PAGE || from + bytes < from)
		return false;
	if (!atomic_load_explicit(&copy_is_forbidden, memory_order_relaxed)) {
		struct iovec local = {to, bytes}, remote = {(void *)from, bytes};
		/* Asked for each time: a number that was kept would be the parent's after a fork. */
		long pid = call_kernel(SYS_getpid, 0, 0, 0, 0, 0, 0);
		long got = call_kernel(SYS_process_vm_readv, pid, (long)&local, 1, (long)&remote, 1, 0);
		if (got != -EPERM && got != -ENOSYS)
			return got == (long)bytes;
		atomic_store_explicit(&copy_is_forbidden, true, memory_order_relaxed);
	}
	if (!pages_are_readable(from, bytes))
		return false;
	memcpy(to, (const void *)from, bytes);
	return true;
}

void guard_copy_many(const struct iovec *to, const struct iovec *from, unsigned count)
{
	long wanted = 0, got = -1;
	for (unsigned i = 0; i < count; i++)
		wanted += (long)to[i].iov_len;
	if (!atomic_load_explicit(&copy_is_forbidden, memory_order_relaxed)) {
		long pid = call_kernel(SYS_getpid, 0, 0, 0, 0, 0, 0);
		got = call_kernel(SYS_process_vm_readv, pid, (long)to, (long)count, (long)from, (long)count, 0);
	}
	for (unsigned i = 0; i < count && got != wanted; i++)
		guard_copy(to[i].iov_base, (uintptr_t)from[i].iov_base, to[i].iov_len);
}

static bool page_is_trusted(uintptr_t page, uint64_t now)
{
	uint64_t *entry = &trusted[page % TRUSTED];
	uint64_t stamp = page << TIME_BITS | (now & ((1U << TIME_BITS) - 1));
	if (*entry == stamp)
		return true;
	if (!word_is_readable(page * PAGE))
		return false;
	*entry = stamp;
	return true;
}

bool guard_readable(uintptr_t at, size_t bytes)
{
	if (bytes == 0)
		return true;
	if (at < PAGE || at + bytes < at)
		return false;
	uint64_t now = now_ns(CLOCK_MONOTONIC_COARSE) / TRUST_NS;
	uintptr_t last = (at + bytes - 1) / PAGE;
	for (uintptr_t page = at / PAGE; page <= last; page++)
		if (!page_is_trusted(page, now))
			return false;
	return true;
}
