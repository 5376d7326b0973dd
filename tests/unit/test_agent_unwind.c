/*
 * test_agent_unwind.c - native stacks: right at every single instruction of code whose true stack is known, and never harmful
 * where there is no stack to be found.
 */
#include "agent_stand_ins.h"
#include "stepper.h"
#include "unit.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <math.h>
#include <sys/wait.h>
#include <time.h>

/* The optimizer must neither fold these functions into each other nor drop what they compute. */
#ifdef __clang__
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noinline, noclone))
#endif
static volatile int sink;

static struct agent_thread *self;

static int make_thread(void **state)
{
	(void)state;
	self = stand_in_thread();
	return 0;
}

static void *load_thrower(void)
{
	char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof path - 64);
	assert_true(length > 0);
	path[length] = '\0';
	strcpy(strrchr(path, '/') + 1, "libthrower.so");
	void *handle = dlopen(path, RTLD_NOW);
	if (handle == NULL)
		print_message("%s\n", dlerror());
	return handle;
}

static void assert_every_step_right(const char *what, uint64_t at_least)
{
	stepper_print(what);
	assert_true(stepper.steps >= at_least);
	assert_int_equal(stepper.wrong, 0);
	assert_int_equal(stepper.lengths_wrong, 0);
}

/* ---- code to step through */

static int compare_ints(const void *left, const void *right)
{
	int a = *(const int *)left, b = *(const int *)right;
	return (a > b) - (a < b);
}

APART static void sort_numbers(void)
{
	int numbers[300];
	for (int i = 0; i < 300; i++)
		numbers[i] = (i * 7919) % 1009;
	qsort(numbers, 300, sizeof numbers[0], compare_ints);
	sink += numbers[7];
}

APART static int descend(int depth)
{
	volatile int here = depth;
	return depth == 0 ? 0 : descend(depth - 1) + here;
}

/* A frame whose size is only known when it runs: the rules go over the frame pointer. */
APART static int print_into(size_t bytes)
{
	char *text = __builtin_alloca(bytes);
	snprintf(text, bytes, "%zu %.17g %s", bytes, sqrt((double)bytes), "text");
	return text[0];
}

/* A frame that is aligned to more than the ABI's 16 bytes: CFA by an expression. */
APART static double align_wide(int count)
{
	_Alignas(64) volatile double lanes[16];
	double sum = 0;
	for (int i = 0; i < 16; i++)
		lanes[i] = i * count;
	char *text = __builtin_alloca((size_t)count);
	snprintf(text, (size_t)count, "%d", count);
	for (int i = 0; i < 16; i++)
		sum += lanes[i];
	return sum + text[0];
}

/* Ends in a jump to another function. */
APART static int tail_call(int value)
{
	return value > 1000 ? value : descend(value % 7);
}

APART static void call_libraries(void)
{
	struct timespec time_now;
	char *copy = strdup("copied");
	time_t zero = 0;
	struct tm broken;
	char text[64];
	clock_gettime(CLOCK_MONOTONIC, &time_now); /* the vdso */
	sink += (int)strlen(copy) + (int)strtol("1234", NULL, 10) + (int)strtod("12.5e3", NULL);
	free(copy);
	gmtime_r(&zero, &broken);
	sink += (int)strftime(text, sizeof text, "%A %d %B", &broken);
	sink += (int)(sin(time_now.tv_nsec) + pow(1.5, 2.5));
	for (size_t size = 16; size < 1 << 13; size *= 4) {
		char *block = malloc(size);
		memset(block, 1, size);
		block = realloc(block, size * 2);
		free(block);
	}
}

static void nothing(void)
{
}

static void call_descend(void)
{
	sink += descend(10) + print_into(50);
}

/* ---- claims */

static void the_stack_is_right_at_every_instruction_of_a_sort(void **state)
{
	(void)state;
	stepper_begin(self, 0);
	sort_numbers();
	stepper_end();
	assert_every_step_right("sort", 10000);
}

static void the_stack_is_right_at_every_instruction_of_odd_frames(void **state)
{
	(void)state;
	stepper_begin(self, 0);
	sink += descend(30);
	sink += print_into(100) + print_into(3000);
	sink += (int)align_wide(40);
	sink += tail_call(5) + tail_call(2000);
	stepper_end();
	assert_every_step_right("odd frames", 3000);
}

static void the_stack_is_right_at_every_instruction_of_libc_and_the_vdso(void **state)
{
	(void)state;
	stepper_begin(self, 0);
	call_libraries();
	stepper_end();
	assert_every_step_right("libc", 3000);
	assert_non_null(stand_in_module((uintptr_t)&malloc));
}

/*
 * Before it jumps to a handler, libgcc's unwinder writes the handler's address and registers into its own frame: for about a
 * hundred instructions there is no true stack.
 */
static void forgive_libgcc(void)
{
	void *handle = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_NOLOAD);
	assert_non_null(handle);
	uintptr_t inside_it = (uintptr_t)dlsym(handle, "_Unwind_Resume");
	assert_true(module_note(self, inside_it));
	const struct wire_module *libgcc = stand_in_module(inside_it);
	assert_non_null(libgcc);
	stepper.forgive_low = libgcc->start;
	stepper.forgive_high = libgcc->end;
	dlclose(handle);
}

static void the_stack_is_right_while_exceptions_are_in_flight(void **state)
{
	(void)state;
	void *handle = load_thrower();
	assert_non_null(handle);
	int (*run)(int, void (*)(void)) = (int (*)(int, void (*)(void)))dlsym(handle, "thrower_run");
	assert_non_null(run);
	assert_int_equal(run(3, nothing), 6);
	forgive_libgcc();
	stepper_begin(self, 0);
	sink += run(3, nothing);
	stepper_end();
	assert_every_step_right("exception", 5000);
	assert_true(stepper.forgiven < 1000);
	dlclose(handle);
}

static unsigned lazy_steps(void *handle)
{
	int (*run)(int, void (*)(void)) = (int (*)(int, void (*)(void)))dlsym(handle, "thrower_run");
	stepper_begin(self, 0);
	sink += run(1, NULL);
	stepper_end();
	return (unsigned)stepper.steps;
}

/* The loader binds at the first call: PLT stubs, the trampoline behind them and the loader's own code are on the stack. */
static void the_stack_is_right_while_the_loader_binds(void **state)
{
	(void)state;
	char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof path - 64);
	path[length] = '\0';
	strcpy(strrchr(path, '/') + 1, "libthrower.so");
	void *handle = dlopen(path, RTLD_LAZY);
	assert_non_null(handle);
	forgive_libgcc();
	unsigned first = lazy_steps(handle);
	uint64_t wrong = stepper.wrong;
	stepper_print("first call");
	unsigned second = lazy_steps(handle);
	assert_int_equal(wrong + stepper.wrong, 0);
	assert_true(first > second);
	dlclose(handle);
}

static unsigned deep_frames;
static enum unwind_end deep_end;

APART static int descend_and_look(int depth)
{
	volatile int here = depth;
	if (depth == 0) {
		deep_frames = unwind_walk(self, NULL, &deep_end);
		return 0;
	}
	return descend_and_look(depth - 1) + here;
}

static void recursion_of_200_has_200_frames(void **state)
{
	(void)state;
	descend_and_look(0);
	unsigned shallow = deep_frames;
	descend_and_look(200);
	assert_int_equal(deep_end, UNWIND_ROOT);
	assert_int_equal(deep_frames, shallow + 200);
	for (unsigned i = 2; i <= 200; i++) {
		assert_int_equal(self->native[i].ip, self->native[1].ip);
		assert_false(self->native[i].exact);
		assert_int_equal(self->native[i].sp, self->native[i - 1].cfa);
	}
}

static void a_stack_deeper_than_the_room_is_kept_and_marked(void **state)
{
	(void)state;
	descend_and_look(WIRE_STACK_MAX + 10);
	assert_int_equal(deep_frames, WIRE_STACK_MAX);
	assert_int_equal(deep_end, UNWIND_TRUNCATED);
}

static unsigned glibc_frames;
static void *glibc_stack[WIRE_STACK_MAX];

APART static int look_twice(int depth)
{
	volatile int here = depth;
	if (depth > 0)
		return look_twice(depth - 1) + here;
	deep_frames = unwind_walk(self, NULL, &deep_end);
	glibc_frames = (unsigned)backtrace(glibc_stack, WIRE_STACK_MAX);
	return 0;
}

static int compare_and_look(const void *left, const void *right)
{
	look_twice(3);
	return compare_ints(left, right);
}

/* Compared from the root on: the first address is in this test itself, at two places, and a sanitizer has a frame of its own. */
static void the_stack_is_that_of_glibcs_backtrace(void **state)
{
	(void)state;
	int numbers[] = {3, 1, 2};
	qsort(numbers, 3, sizeof numbers[0], compare_and_look);
	assert_in_range(glibc_frames, deep_frames, deep_frames + 1);
	for (unsigned i = 1; i < deep_frames; i++)
		assert_int_equal(self->native[deep_frames - i].ip, (uintptr_t)glibc_stack[glibc_frames - i]);
}

/* ---- code without unwind tables */

/* As the kernels of a BLAS: keeps registers under its frame, aligns its stack, has its loop's exit at the top, says nothing. */
__asm__(".text\n.type bare_kernel, @function\nbare_kernel:\n"
	"	subq $64, %rsp\n	movq %rbx, (%rsp)\n	movq %rbp, 8(%rsp)\n	movq %r15, 16(%rsp)\n"
	"	movq %rdi, %rbp\n	xorl %eax, %eax\n	movq %rsp, %rbx\n	subq $256, %rsp\n	andq "
	"$-128, %rsp\n"
	"1:	testq %rbp, %rbp\n	jle 4f\n	movl $3, %ecx\n	movq %rax, 8(%rsp)\n	movq 8(%rsp), %r15\n"
	"2:	leaq (%rax,%rcx,2), %rax\n	vxorps %xmm0, %xmm0, %xmm0\n	decl %ecx\n	jg 2b\n"
	"	testb $1, %al\n	je 3f\n	incq %rax\n3:	decq %rbp\n	jmp 1b\n"
	"4:	movq %rbx, %rsp\n	movq (%rsp), %rbx\n	movq 8(%rsp), %rbp\n	movq 16(%rsp), %r15\n"
	"	addq $64, %rsp\n	ret\n.size bare_kernel, . - bare_kernel\n");
long bare_kernel(long count);

static void the_stack_is_right_in_a_kernel_without_unwind_tables(void **state)
{
	(void)state;
	stepper_begin(self, 0);
	sink += (int)bare_kernel(5);
	stepper_end();
	assert_every_step_right("kernel", 100);
}

typedef void generated_function(void (*)(void));

static void call_generated(const char *code, size_t bytes)
{
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(page, code, bytes);
	generated_function *function = (generated_function *)page;
	stepper_begin(self, 0);
	function(call_descend);
	stepper_end();
	assert_every_step_right("generated", 100);
	/* The page stays: other code at the same place would be taken for this one for up to a second. */
}

static void the_stack_is_right_through_generated_code(void **state)
{
	(void)state;
	static const char with_pointer[] = "\x55\x48\x89\xe5\x90\xff\xd7\x5d\xc3";
	static const char checks_first[] = "\x48\x85\xff\x74\x02\x55\x48\x89\xe5\x90\xff\xd7\xc9\xc3";
	static const char trampoline[] = "\xf3\x0f\x1e\xfa\x48\x83\xec\x08\xff\xd7\x48\x83\xc4\x08\xc3";
	call_generated(with_pointer, sizeof with_pointer);
	call_generated(checks_first, sizeof checks_first);
	call_generated(trampoline, sizeof trampoline);
}

/* ---- signals */

static volatile uintptr_t raised_from;
static unsigned signal_frames, exact_frames;
static bool crossed;

static void look_from_handler(int number, siginfo_t *info, void *context)
{
	(void)number, (void)info, (void)context;
	enum unwind_end end;
	signal_frames = unwind_walk(self, NULL, &end);
	exact_frames = 0;
	crossed = false;
	for (unsigned i = 0; i < signal_frames; i++) {
		exact_frames += self->native[i].exact;
		crossed |= self->native[i].exact && self->native[i].ip == raised_from;
	}
	signal_frames = end == UNWIND_ROOT ? signal_frames : 0;
}

/* The address of the instruction that faults is known: the frame below the handler has to be exactly there. */
APART static void fault_here(void)
{
	__asm__ volatile("leaq 0f(%%rip), %%rax\n\tmovq %%rax, %0\n0:\tint3" : "=m"(raised_from)::"rax", "memory");
}

static void check_handler(int flags)
{
	struct sigaction action = {.sa_sigaction = look_from_handler, .sa_flags = SA_SIGINFO | flags};
	assert_int_equal(sigaction(SIGTRAP, &action, NULL), 0);
	fault_here();
	assert_true(signal_frames > 4);
	assert_int_equal(exact_frames, 1);
	signal(SIGTRAP, SIG_DFL);
}

static void a_handler_stands_on_the_exact_instruction_that_it_interrupted(void **state)
{
	(void)state;
	check_handler(0);
	/* int3 is one byte long, and the context says the next instruction. */
	raised_from = raised_from + 1;
	struct sigaction action = {.sa_sigaction = look_from_handler, .sa_flags = SA_SIGINFO};
	sigaction(SIGTRAP, &action, NULL);
	fault_here();
	bool found = false;
	for (unsigned i = 0; i < signal_frames; i++)
		found |= self->native[i].exact && self->native[i].ip == raised_from + 1;
	assert_true(found);
	signal(SIGTRAP, SIG_DFL);
}

static void a_handler_on_its_own_stack_leads_back_to_the_threads_stack(void **state)
{
	(void)state;
	size_t bytes = 1 << 16;
	stack_t stack = {.ss_sp = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
			 .ss_size = bytes};
	assert_int_equal(sigaltstack(&stack, NULL), 0);
	check_handler(SA_ONSTACK);
	stack.ss_flags = SS_DISABLE;
	sigaltstack(&stack, NULL);
	munmap(stack.ss_sp, bytes);
}

/* ---- stacks that are not a thread's */

static ucontext_t outside, inside;
static unsigned coroutine_frames;
static enum unwind_end coroutine_end;

static void coroutine(void)
{
	coroutine_frames = unwind_walk(self, NULL, &coroutine_end);
	stepper_begin(self, 0);
	sink += descend(5);
	stepper_end();
	swapcontext(&inside, &outside);
}

static void a_coroutine_on_its_own_stack_is_walked_to_its_root(void **state)
{
	(void)state;
	size_t bytes = 1 << 16;
	getcontext(&inside);
	inside.uc_stack.ss_sp = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	inside.uc_stack.ss_size = bytes;
	inside.uc_link = &outside;
	makecontext(&inside, coroutine, 0);
	swapcontext(&outside, &inside);
	assert_true(coroutine_frames >= 2);
	assert_int_equal(coroutine_end, UNWIND_ROOT);
	assert_every_step_right("coroutine", 50);
}

/* ---- threads */

enum { WALKERS = 4, WALKS = 20000 };

static void *walk_often(void *opaque)
{
	struct agent_thread *thread = stand_in_thread();
	enum unwind_end end;
	uintptr_t bad = 0;
	unsigned first = unwind_walk(thread, NULL, &end);
	(void)opaque;
	for (unsigned i = 0; i < WALKS; i++)
		bad += unwind_walk(thread, NULL, &end) != first || end != UNWIND_ROOT;
	munmap(thread, sizeof *thread);
	return (void *)bad;
}

static void threads_that_walk_at_once_all_reach_their_roots(void **state)
{
	(void)state;
	pthread_t threads[WALKERS];
	for (unsigned i = 0; i < WALKERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, walk_often, NULL), 0);
	for (unsigned i = 0; i < WALKERS; i++) {
		void *bad;
		pthread_join(threads[i], &bad);
		assert_int_equal((uintptr_t)bad, 0);
	}
}

/* ---- cost */

static double walk_ns(unsigned walks, unsigned *frames)
{
	struct timespec from, to;
	enum unwind_end end;
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (unsigned i = 0; i < walks; i++)
		*frames = unwind_walk(self, NULL, &end);
	clock_gettime(CLOCK_MONOTONIC, &to);
	return ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) / walks;
}

static double cold_ns, warm_ns;
static unsigned cost_frames;

APART static int descend_and_measure(int depth)
{
	volatile int here = depth;
	if (depth > 0)
		return descend_and_measure(depth - 1) + here;
	cold_ns = walk_ns(1, &cost_frames);
	warm_ns = 1e9;
	for (unsigned i = 0; i < 50; i++) {
		double now = walk_ns(200, &cost_frames);
		warm_ns = now < warm_ns ? now : warm_ns;
	}
	return 0;
}

/* The best of many rounds: other work on the machine only ever adds. Sanitizers make everything slower. */
static void a_warm_frame_costs_tens_of_nanoseconds(void **state)
{
	(void)state;
	descend_and_measure(30);
	print_message("%u frames: cold %.0f ns, warm %.0f ns, %.1f ns per frame\n", cost_frames, cold_ns, warm_ns,
		      warm_ns / cost_frames);
#ifndef SANITIZED
	assert_true(warm_ns / cost_frames < 100);
#endif
}

/* ---- where there is no stack */

static uint64_t random_state = 88172645463325252ULL;

static uint64_t draw(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	return random_state ^= random_state << 17;
}

static uintptr_t draw_address(uintptr_t here)
{
	switch (draw() % 6) {
	case 0:
		return draw();
	case 1:
		return draw() % 65536;
	case 2:
		return here + draw() % 65536 - 32768;
	case 3:
		return (uintptr_t)&malloc + draw() % (1 << 20);
	case 4:
		return self->stack_high - draw() % 512;
	default:
		return (uintptr_t)&draw_address + draw() % 8192 - 4096;
	}
}

static void any_registers_at_all_do_no_harm(void **state)
{
	(void)state;
	ucontext_t context;
	enum unwind_end end;
	unsigned roots = 0;
	memset(&context, 0, sizeof context);
	for (unsigned i = 0; i < 50000; i++) {
		for (unsigned k = 0; k < NGREG; k++)
			context.uc_mcontext.gregs[k] = (greg_t)draw_address((uintptr_t)&context);
		unsigned frames = unwind_walk(self, &context, &end);
		assert_true(frames >= 1 && frames <= WIRE_STACK_MAX);
		roots += end == UNWIND_ROOT;
	}
	assert_true(roots < 25000);
}

static void errno_is_not_touched(void **state)
{
	(void)state;
	ucontext_t context;
	enum unwind_end end;
	memset(&context, 0, sizeof context);
	context.uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)&malloc;
	context.uc_mcontext.gregs[REG_RSP] = 65536;
	errno = 77;
	module_restart();
	assert_int_equal(unwind_walk(self, &context, &end), 1);
	assert_int_equal(end, UNWIND_TRUNCATED);
	assert_int_equal(errno, 77);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(the_stack_is_right_at_every_instruction_of_a_sort),
	cmocka_unit_test(the_stack_is_right_at_every_instruction_of_odd_frames),
	cmocka_unit_test(the_stack_is_right_at_every_instruction_of_libc_and_the_vdso),
	cmocka_unit_test(the_stack_is_right_while_exceptions_are_in_flight),
	cmocka_unit_test(the_stack_is_right_while_the_loader_binds),
	cmocka_unit_test(recursion_of_200_has_200_frames),
	cmocka_unit_test(a_stack_deeper_than_the_room_is_kept_and_marked),
	cmocka_unit_test(the_stack_is_that_of_glibcs_backtrace),
	cmocka_unit_test(the_stack_is_right_in_a_kernel_without_unwind_tables),
	cmocka_unit_test(the_stack_is_right_through_generated_code),
	cmocka_unit_test(a_handler_stands_on_the_exact_instruction_that_it_interrupted),
	cmocka_unit_test(a_handler_on_its_own_stack_leads_back_to_the_threads_stack),
	cmocka_unit_test(a_coroutine_on_its_own_stack_is_walked_to_its_root),
	cmocka_unit_test(threads_that_walk_at_once_all_reach_their_roots),
	cmocka_unit_test(a_warm_frame_costs_tens_of_nanoseconds),
	cmocka_unit_test(any_registers_at_all_do_no_harm),
	cmocka_unit_test(errno_is_not_touched),
};

UNIT_MAIN_GROUP(tests, make_thread, NULL)
