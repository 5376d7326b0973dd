/*
 * agent.c - when the agent begins and ends: the constructor, what a fork's child does, and the end of the process.
 *
 * Without PITOT_AGENT, or where anything fails, the library is inert: the wrappers only pass on. Nothing here ever ends or
 * stops the program.
 *
 * A file belongs to one process. Children of vfork and of a raw clone run in our memory or in a copy of it, without our
 * knowing; so hooks ask agent_here(), which compares process ids, before they touch the file.
 *
 * The end is recorded as late as libc allows: a function that a constructor registers without an owner runs after all
 * libraries' destructors. Samples go on until the very end and move it with them.
 */
#include "agent/core.h"
#include "agent/sys.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { AGENT_HZ_MOST = 20000, AGENT_TEXT_MAX = 1024, AGENT_PERIOD_MOST = 1 << 30 };

static struct {
	atomic_bool ending;
	atomic_bool yielded;
	int pid;
	struct agent_plan plan;
	char preload[PATH_MAX];
	char variable[sizeof(WIRE_VARIABLE) + AGENT_TEXT_MAX];
} agent;

atomic_bool agent_on;

/* By agent_fork_prepare: whether it entered, and whether our signal was blocked before it. */
static __thread bool forks __attribute__((tls_model("initial-exec")));
static __thread bool was_held __attribute__((tls_model("initial-exec")));

/* Registers without an owner, so that it is not run with this library's destructors. */
extern int __cxa_atexit(void (*function)(void *), void *argument, void *owner);

bool agent_enter(void)
{
	if (!agent_is_on())
		return false;
	if (gate_enter())
		return true;
	gate_leave();
	return false;
}

bool agent_enter_here(void)
{
	if (!agent_enter())
		return false;
	if (sys_getpid() == agent.pid)
		return true;
	gate_leave();
	return false;
}

bool agent_here(void)
{
	bool here = agent_enter_here();
	if (here)
		gate_leave();
	return here;
}

bool agent_close(void)
{
	atomic_store(&agent_on, false);
	return gate_close();
}

bool agent_yielded(void)
{
	return atomic_load_explicit(&agent.yielded, memory_order_relaxed);
}

void agent_yield(const char *reason)
{
	struct agent_thread *thread = thread_self();
	if (atomic_exchange(&agent.yielded, true))
		return;
	file_stop(reason);
	if (thread)
		clock_stop(thread);
}

bool agent_ending(void)
{
	return atomic_load_explicit(&agent.ending, memory_order_relaxed);
}

uint64_t agent_period_ns(void)
{
	return agent.plan.period_ns;
}

const struct agent_plan *agent_asked(void)
{
	return &agent.plan;
}

const char *agent_preload(void)
{
	return agent.preload;
}

const char *agent_variable(void)
{
	return agent.variable;
}

uint64_t agent_mono_ns(void)
{
	return now_ns(CLOCK_MONOTONIC);
}

static bool parse_number(const char *text, size_t length, uint64_t most, uint64_t *out)
{
	uint64_t number = 0;
	for (size_t i = 0; i < length; i++) {
		if (text[i] < '0' || text[i] > '9' || number > most)
			return false;
		number = number * 10 + (uint64_t)(text[i] - '0');
	}
	*out = number;
	return length > 0 && number <= most;
}

static bool parse_field(const char *field, size_t length, struct agent_plan *out)
{
	uint64_t number;
	if (length > 4 && memcmp(field, "dir=", 4) == 0) {
		if (length - 4 >= sizeof(out->dir))
			return false;
		memcpy(out->dir, field + 4, length - 4);
		out->dir[length - 4] = '\0';
		return out->dir[0] == '/';
	}
	if (length > 6 && memcmp(field, "stage=", 6) == 0) {
		bool valid = parse_number(field + 6, length - 6, INT64_MAX / 16, &number);
		out->stage_id = valid ? (int64_t)number : 0;
		return valid;
	}
	if (length > 4 && memcmp(field, "cpu=", 4) == 0) {
		bool valid = parse_number(field + 4, length - 4, AGENT_HZ_MOST, &number);
		out->period_ns = valid && number ? (1000000000u + number / 2) / number : 0;
		return valid;
	}
	if (length > 7 && memcmp(field, "memory=", 7) == 0) {
		bool exact = length == 12 && memcmp(field + 7, "exact", 5) == 0;
		out->memory = exact || parse_number(field + 7, length - 7, AGENT_PERIOD_MOST, &out->memory_period);
		return out->memory && (exact || out->memory_period > 0);
	}
	if (length == 5 && memcmp(field, "types", 5) == 0)
		return out->memory_types = true;
	if (length > 5 && memcmp(field, "seed=", 5) == 0)
		return parse_number(field + 5, length - 5, INT64_MAX / 16, &out->memory_seed);
	return true; /* a later pitot's */
}

bool agent_parse(const char *text, struct agent_plan *out)
{
	*out = (struct agent_plan){0};
	while (*text) {
		size_t length = strcspn(text, ";");
		if (!parse_field(text, length, out))
			return false;
		text += length + (text[length] == ';');
	}
	return out->dir[0] != '\0';
}

/* Kernel threads of this process that have no record: made before us, or by clone itself. */
static void count_missed(struct wire_header *header)
{
	struct stat status;
	if (stat("/proc/self/task", &status) != 0 || status.st_nlink < 2)
		return;
	unsigned threads = (unsigned)status.st_nlink - 2, known = thread_count();
	if (threads > known)
		atomic_store(&header->threads_missed, threads - known);
}

void agent_end(enum wire_end end)
{
	struct wire_header *header = file_header();
	uint64_t now_ns = agent_mono_ns();
	if (end == WIRE_ENDED_EXIT)
		atomic_store(&agent.ending, true);
	if (memory_end)
		memory_end();
	count_missed(header);
	thread_end_all(now_ns);
	atomic_store(&header->end_mono_ns, now_ns);
	atomic_store(&header->cpu_end_ns, sys_process_cpu_ns());
	atomic_store(&header->end, end);
}

void agent_end_failed(void)
{
	struct wire_header *header = file_header();
	atomic_store(&header->end, WIRE_OPEN);
	atomic_store(&header->end_mono_ns, 0);
	atomic_store(&header->cpu_end_ns, 0);
	thread_end_undo();
}

static void at_exit(void *unused)
{
	(void)unused;
	if (!agent_enter_here())
		return;
	agent_end(WIRE_ENDED_EXIT);
	gate_leave();
}

static void at_quick_exit_too(void)
{
	at_exit(NULL);
}

void agent_fork_prepare(void)
{
	forks = agent_enter();
	if (forks)
		was_held = sample_hold(true);
}

void agent_fork_parent(void)
{
	if (!forks)
		return;
	forks = false;
	sample_hold(was_held);
	gate_leave();
}

static void begin_child(void)
{
	uint64_t before_ns = sys_process_cpu_ns();
	struct file_origin origin = {.plan = &agent.plan, .birth = WIRE_BORN_FORK};
	atomic_store(&agent.ending, false);
	agent.pid = sys_getpid();
	file_forget();
	node_reset();
	module_restart();
	bool opened = file_open(&origin);
	python_forked(); /* the new header has to tell of the interpreter */
	if (!opened)
		atomic_store(&agent_on, false);
	thread_forked();
	if (opened)
		atomic_store(&file_header()->start_cost_ns, sys_process_cpu_ns() - before_ns);
}

void agent_fork_child(void)
{
	if (!forks)
		return;
	forks = false;
	gate_forked();
	if (agent_is_on())
		begin_child();
	sample_hold(was_held);
}

/* What the environment of everything that this process starts has to hold. */
static bool keep_environment(const char *variable)
{
	Dl_info info;
	if (strlen(variable) > AGENT_TEXT_MAX || !dladdr(&agent, &info) || !info.dli_fname ||
	    strlen(info.dli_fname) >= sizeof(agent.preload))
		return false;
	strncpy(agent.preload, info.dli_fname, sizeof(agent.preload) - 1);
	memcpy(agent.variable, WIRE_VARIABLE "=", sizeof(WIRE_VARIABLE));
	memcpy(agent.variable + sizeof(WIRE_VARIABLE), variable, strlen(variable) + 1);
	return true;
}

/* Inside valgrind a program's time is valgrind's, and its system calls are commented upon. */
static bool is_simulated(void)
{
	const char *preload = getenv("LD_PRELOAD");
	return preload && strstr(preload, "/vgpreload_");
}

static void begin(void)
{
	const char *variable = secure_getenv(WIRE_VARIABLE);
	struct file_origin origin = {.plan = &agent.plan, .birth = WIRE_BORN_EXEC};
	if (!variable || !keep_environment(variable) || !agent_parse(variable, &agent.plan))
		return;
	uint64_t before_ns = sys_process_cpu_ns();
	now_init();
	if (!file_open(&origin))
		return;
	if (is_simulated()) {
		file_stop("it runs inside valgrind, whose time is not the program's");
		return;
	}
	if (!thread_init() || !sample_install() ||
	    pthread_atfork(agent_fork_prepare, agent_fork_parent, agent_fork_child) != 0) {
		file_stop("the agent could not install its hooks");
		return;
	}
	agent.pid = sys_getpid();
	atomic_store_explicit(&agent_on, true, memory_order_release);
	if (!thread_begin_main()) {
		atomic_store(&agent_on, false);
		file_stop("no memory for the main thread's record");
		return;
	}
	__cxa_atexit(at_exit, NULL, NULL);
	(void)at_quick_exit(at_quick_exit_too);
	atomic_store(&file_header()->start_cost_ns, sys_process_cpu_ns() - before_ns);
	sample_hold(false);
}

__attribute__((constructor(101))) static void construct(void)
{
	int saved = errno;
	interpose_init();
	begin();
	errno = saved;
}
