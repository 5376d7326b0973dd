/*
 * sandboxed errno|kill|strict - a program that forbids itself system calls: with an error for those that a profiler uses, or
 * with death for all that it does not need itself.
 */
#include "unbroken.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define REFUSE(number)                                                                                                 \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
#define NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))

static struct sock_filter refusing[] = {
	NUMBER,
	REFUSE(SYS_perf_event_open),
	REFUSE(SYS_process_vm_readv),
	REFUSE(SYS_timer_create),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

/* Only what is left for it to do: to write and to end. */
static struct sock_filter killing[] = {
	NUMBER,
	ALLOW(SYS_write),
	ALLOW(SYS_newfstatat),
	ALLOW(SYS_exit_group),
	ALLOW(SYS_rt_sigreturn),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};

static void restrict_to(struct sock_filter *filter, size_t length)
{
	struct sock_fprog program = {(unsigned short)length, filter};
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static void *work(void *context)
{
	work_ms(60);
	return context;
}

/* Without a clock, which would be a system call. */
static void count_to(uint64_t most)
{
	for (volatile uint64_t i = 0; i < most; i++)
		continue;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	work_ms(60);
	if (argc == 2 && strcmp(argv[1], "errno") == 0) {
		restrict_to(refusing, sizeof(refusing) / sizeof(refusing[0]));
		pthread_t thread;
		CHECK(pthread_create(&thread, NULL, work, NULL) == 0 && pthread_join(thread, NULL) == 0);
	} else if (argc == 2 && strcmp(argv[1], "kill") == 0) {
		restrict_to(killing, sizeof(killing) / sizeof(killing[0]));
		count_to(200000000);
	} else {
		CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
		count_to(200000000);
		(void)!write(1, "survived\n", 9);
		syscall(SYS_exit, 0);
	}
	(void)!write(1, "survived\n", 9);
	_exit(0);
}
