/*
 * clock.c - what makes a thread stop and look at itself: perf's task clock, or a timer of the kernel's.
 *
 * A perf event lives as long as its file does, and a mapping holds a file as well as a descriptor. So the event is opened,
 * told to send our signal, its first page is mapped, and the descriptor is closed at once: the program cannot close it, nor
 * find it where it expects its own, nor run out of descriptors because of it. The page is not copied by fork and is gone
 * after exec. Unmapping it ends the event. The page of the next event is mapped over it, which does both at once: a quarter
 * cheaper than one after the other, where the new one is not switched on before.
 *
 * The first sample comes after a random part of the period, so that threads which start together are not sampled in step.
 * Programs that do the same thing every millisecond would be, so every now and then the event is replaced by one whose period
 * is a little longer or shorter (pace.c).
 *
 * Opening an event costs as much as making a thread. A program whose threads end before their first sample gets the cheap
 * timer for the first one instead: it comes with the kernel's tick, and the event is opened then.
 *
 * Where perf may not look into the kernel (perf_event_paranoid 2 and no privilege), ticks there are dropped. A second clock,
 * a timer as coarse as the kernel's tick, then looks after time that went by without a sample. Where there is no perf at all
 * the timer is the clock. Signals that fall together are no loss: a sample weighs what the thread used since its last.
 */
#include "agent/core.h"
#include "agent/sys.h"

#include <linux/perf_event.h>
#include <sys/resource.h>

enum {
	CLOCK_LEAST_NS = 20000,
	BRIEF_LEAST = 64 /* threads without a sample, before it is asked whether most are like that */
};

static _Atomic int best = WIRE_CLOCK_PERF;
static _Atomic unsigned started, brief;

/* Whether most threads of this program end before their first sample. */
static bool is_mostly_brief(void)
{
	unsigned without = atomic_load_explicit(&brief, memory_order_relaxed);
	return without >= BRIEF_LEAST && without > atomic_load_explicit(&started, memory_order_relaxed) / 4 * 3;
}

/* A random number below `most`: good enough to be out of step. */
static uint64_t random_below(uint64_t most)
{
	static _Atomic uint64_t drawn;
	uint64_t seed = agent_mono_ns() + (uint64_t)sys_gettid() * 0x9e3779b97f4a7c15u;
	seed += atomic_fetch_add_explicit(&drawn, 0xd1342543de82ef95u, memory_order_relaxed);
	seed = (seed ^ seed >> 30) * 0xbf58476d1ce4e5b9u;
	seed = (seed ^ seed >> 27) * 0x94d049bb133111ebu;
	return (seed ^ seed >> 31) % most;
}

static bool make_signals(int fd)
{
	struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = sys_gettid()};
	return syscall(SYS_fcntl, fd, F_SETSIG, AGENT_SIGNAL) == 0 &&
	       syscall(SYS_fcntl, fd, F_SETOWN_EX, &owner) == 0 &&
	       syscall(SYS_fcntl, fd, F_SETFL, O_ASYNC | O_NONBLOCK) == 0;
}

/* Not above the first thousand: the kernel's table would grow with it. */
static int clock_number(void)
{
	static _Atomic int number;
	int known = atomic_load_explicit(&number, memory_order_relaxed);
	if (known)
		return known;
	struct rlimit limit = {0};
	syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit);
	known = limit.rlim_cur > 0 && limit.rlim_cur < 1024 ? (int)limit.rlim_cur - 1 : 1023;
	atomic_store_explicit(&number, known, memory_order_relaxed);
	return known;
}

/* Maps the event's page, over that of the event before. Where it fails, that one is gone too. */
static bool map_event(struct agent_thread *thread, int fd)
{
	void *over = thread->clock_page ? thread->clock_page : thread->clock_left_page;
	long flags = MAP_SHARED | (over ? MAP_FIXED : 0);
	void *page = (void *)syscall(SYS_mmap, over, WIRE_PAGE, PROT_READ, flags, fd,
				     0L); /* NOLINT(performance-no-int-to-ptr) */
	if (page == MAP_FAILED && over)
		sys_unmap(over, WIRE_PAGE);
	thread->clock_left_page = NULL;
	thread->clock_page = page == MAP_FAILED ? NULL : page;
	return thread->clock_page != NULL;
}

/* It counts from when all is done: by then the thread knows of it. False: the event before goes on, unless clock_page is NULL. */
static bool open_event(struct agent_thread *thread, uint64_t period_ns, bool user_only)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.sample_period = period_ns,
		.disabled = 1,
		.exclude_kernel = user_only,
		.exclude_hv = 1,
		.wakeup_events = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return false;
	/* Signals carry the number by which they were asked for: one that the program's own descriptors do not have. */
	int high = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, clock_number());
	if (high >= 0) {
		sys_close(fd);
		fd = high;
	}
	bool runs = make_signals(fd) && map_event(thread, fd);
	if (runs) {
		thread->clock_fd = fd;
		syscall(SYS_ioctl, fd, PERF_EVENT_IOC_ENABLE, 0);
	}
	sys_close(fd);
	return runs;
}

/* Opens with what is allowed. Where it is the kernel's side that is not, that holds for the whole process. */
static bool start_event(struct agent_thread *thread)
{
	uint64_t period_ns = thread->pace.period_ns;
	thread->clock_left = thread->pace.length;
	if (atomic_load_explicit(&best, memory_order_relaxed) == WIRE_CLOCK_PERF &&
	    open_event(thread, period_ns, false))
		return true;
	if (!open_event(thread, period_ns, true))
		return false;
	atomic_store_explicit(&best, WIRE_CLOCK_PERF_USER, memory_order_relaxed);
	return true;
}

static bool start_timer(struct agent_thread *thread, uint64_t first_ns)
{
	uint64_t period_ns = agent_period_ns();
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = AGENT_SIGNAL};
	event.sigev_value.sival_ptr = thread;
	event._sigev_un._tid = sys_gettid();
	if (syscall(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, &thread->timer) != 0)
		return false;
	struct itimerspec when = {
		.it_interval = {(time_t)(period_ns / 1000000000u), (long)(period_ns % 1000000000u)},
		.it_value = {(time_t)(first_ns / 1000000000u), (long)(first_ns % 1000000000u)},
	};
	thread->timer_runs = syscall(SYS_timer_settime, thread->timer, 0, &when, NULL) == 0;
	if (!thread->timer_runs)
		syscall(SYS_timer_delete, thread->timer);
	return thread->timer_runs;
}

static void stop_timer(struct agent_thread *thread)
{
	if (__atomic_exchange_n(&thread->timer_runs, false, __ATOMIC_RELAXED))
		syscall(SYS_timer_delete, thread->timer);
}

/* The header tells of the coarsest clock that a thread had to take. */
static void tell(int kind)
{
	struct wire_header *header = file_header();
	if (atomic_load_explicit(&header->clock, memory_order_relaxed) < (uint32_t)kind)
		atomic_store_explicit(&header->clock, (uint32_t)kind, memory_order_relaxed);
}

bool clock_start(struct agent_thread *thread)
{
	uint64_t period_ns = agent_period_ns();
	uint64_t first_ns = CLOCK_LEAST_NS + random_below(period_ns);
	void *left = thread->clock_left_page;
	clock_forget(thread);
	thread->clock_left_page = left;
	pace_begin(&thread->pace, first_ns);
	bool can_wait = atomic_fetch_add_explicit(&started, 1, memory_order_relaxed) && is_mostly_brief();
	if (can_wait) {
		thread->clock_waits = start_timer(thread, first_ns);
		if (thread->clock_waits)
			return true;
	}
	bool runs = thread->clock_waits = start_event(thread);
	int kind = runs ? atomic_load_explicit(&best, memory_order_relaxed) : WIRE_CLOCK_TICK;
	if (kind != WIRE_CLOCK_PERF)
		runs |= start_timer(thread, runs ? period_ns : first_ns);
	if (runs)
		tell(kind);
	return runs;
}

void clock_settle(struct agent_thread *thread)
{
	uint64_t asked_ns = agent_period_ns(), before_ns = thread->pace.period_ns;
	pace_next(&thread->pace, asked_ns, random_below(UINT64_MAX));
	bool runs = start_event(thread);
	if (!runs && thread->clock_page && !thread->clock_waits) {
		/* No descriptor is to be had just now: the old clock goes on. */
		thread->pace.period_ns = before_ns;
		return;
	}
	thread->clock_waits = false;
	/* One that was only for the first sample does not go on. */
	if (!runs && thread->clock_page)
		sys_unmap(thread->clock_page, WIRE_PAGE);
	if (!runs)
		thread->clock_page = NULL;
	int kind = runs ? atomic_load_explicit(&best, memory_order_relaxed) : WIRE_CLOCK_TICK;
	if (kind == WIRE_CLOCK_PERF)
		stop_timer(thread);
	else if (!thread->timer_runs && !start_timer(thread, asked_ns) && !runs)
		return;
	tell(kind);
}

static void count_brief(const struct agent_thread *thread)
{
	if (thread->clock_waits)
		atomic_fetch_add_explicit(&brief, 1, memory_order_relaxed);
}

void clock_stop(struct agent_thread *thread)
{
	count_brief(thread);
	/* Its last signal may come meanwhile, and the handler stops the clock too: the page is given back once, by who took it. */
	void *page = __atomic_exchange_n(&thread->clock_page, NULL, __ATOMIC_RELAXED);
	if (page)
		sys_unmap(page, WIRE_PAGE);
	stop_timer(thread);
	clock_forget(thread);
}

/* Unmapping its page would cost as much as mapping another one over it, and its event ends with the thread. */
void clock_leave(struct agent_thread *thread)
{
	count_brief(thread);
	void *page = __atomic_exchange_n(&thread->clock_page, NULL, __ATOMIC_RELAXED);
	void *left = page ? page : thread->clock_left_page;
	stop_timer(thread);
	clock_forget(thread);
	thread->clock_left_page = left;
}

void clock_forget(struct agent_thread *thread)
{
	thread->clock_page = thread->clock_left_page = NULL;
	thread->clock_waits = false;
	thread->timer_runs = false;
}

enum clock_answer clock_ask(const struct agent_thread *thread, const siginfo_t *info)
{
	if (info->si_code == POLL_IN && thread->clock_page && info->si_fd == thread->clock_fd)
		return CLOCK_SAMPLE;
	if (info->si_code == SI_TIMER && thread->timer_runs && info->si_value.sival_ptr == thread)
		return thread->clock_page ? CLOCK_MAYBE : CLOCK_SAMPLE;
	return CLOCK_FOREIGN;
}

bool clock_is_stale(const siginfo_t *info)
{
	return info->si_code == POLL_IN && info->si_fd >= clock_number();
}
