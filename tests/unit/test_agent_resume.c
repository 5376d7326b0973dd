/*
 * test_agent_resume.c - interrupted calls: which are made again, from code as compilers write it, and which are left alone.
 */
#include "agent/core.h"
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>

#if defined(__x86_64__)

uint16_t module_generation(void)
{
	return 0;
}

enum { ROOM = 64 };
static uint8_t code[2 * ROOM];

/* A context behind the given code, with -EINTR as the result of the call that ends it. */
static ucontext_t behind(const char *bytes, size_t count)
{
	ucontext_t context;
	memset(&context, 0, sizeof(context));
	memset(code, 0x90, sizeof(code));
	memcpy(code + ROOM - count, bytes, count);
	context.uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)(code + ROOM);
	context.uc_mcontext.gregs[REG_RSP] = 0x7000;
	context.uc_mcontext.gregs[REG_RAX] = -EINTR;
	return context;
}
#define BEHIND(text) behind(text, sizeof(text) - 1)

static void assert_made_again(ucontext_t *context, int number)
{
	resume_interrupted(context);
	assert_int_equal(context->uc_mcontext.gregs[REG_RIP], (greg_t)(uintptr_t)(code + ROOM - 2));
	assert_int_equal(context->uc_mcontext.gregs[REG_RAX], number);
}

static void assert_left_alone(ucontext_t *context)
{
	ucontext_t before = *context;
	resume_interrupted(context);
	assert_memory_equal(&before.uc_mcontext, &context->uc_mcontext, sizeof(before.uc_mcontext));
}

static void a_number_loaded_right_before_the_call_is_known(void **state)
{
	(void)state;
	ucontext_t context = BEHIND("\xb8\x07\x00\x00\x00\x0f\x05"); /* poll */
	assert_made_again(&context, SYS_poll);
}

static void moves_between_number_and_call_are_passed(void **state)
{
	(void)state;
	/* mov $0x119,%eax; mov $8,%r9d; mov 0x8(%rsp),%r10; xor %edx,%edx; syscall */
	ucontext_t context = BEHIND("\xb8\x19\x01\x00\x00\x41\xb9\x08\x00\x00\x00\x4c\x8b\x54\x24\x08\x31\xd2\x0f\x05");
	assert_made_again(&context, SYS_epoll_pwait);
}

static void a_number_in_a_register_is_known(void **state)
{
	(void)state;
	ucontext_t context = BEHIND("\x44\x89\xc0\x0f\x05"); /* mov %r8d,%eax */
	context.uc_mcontext.gregs[REG_R8] = SYS_futex;
	assert_made_again(&context, SYS_futex);
	context = BEHIND("\x89\xe8\x0f\x05"); /* mov %ebp,%eax */
	context.uc_mcontext.gregs[REG_RBP] = SYS_futex;
	assert_made_again(&context, SYS_futex);
	context = BEHIND("\x31\xc0\x0f\x05");
	assert_made_again(&context, SYS_read);
}

static void what_cannot_be_told_is_left_alone(void **state)
{
	(void)state;
	ucontext_t context = BEHIND("\x0f\x05");
	assert_left_alone(&context);
	context = BEHIND("\x48\x89\xf8\x0f\x05"); /* mov %rdi,%rax with no call's number in it */
	context.uc_mcontext.gregs[REG_RDI] = 0x123456;
	assert_left_alone(&context);
	/* Between the number and the call eax is written again: mov $7,%eax; mov %edx,%eax */
	context = BEHIND("\xb8\x07\x00\x00\x00\x89\xd0\x0f\x05");
	context.uc_mcontext.gregs[REG_RDX] = SYS_close;
	assert_left_alone(&context);
	/* A branch in between may come from elsewhere. */
	context = BEHIND("\xb8\x07\x00\x00\x00\x74\x02\x0f\x05");
	assert_left_alone(&context);
	/* No call at all. */
	context = BEHIND("\xb8\x07\x00\x00\x00\x90\x90");
	assert_left_alone(&context);
}

static void calls_that_must_not_be_made_twice_are_left_alone(void **state)
{
	(void)state;
	ucontext_t context = BEHIND("\xb8\x03\x00\x00\x00\x0f\x05"); /* close */
	assert_left_alone(&context);
}

static void other_results_are_left_alone(void **state)
{
	(void)state;
	ucontext_t context = BEHIND("\xb8\x07\x00\x00\x00\x0f\x05");
	context.uc_mcontext.gregs[REG_RAX] = 0;
	assert_left_alone(&context);
	context.uc_mcontext.gregs[REG_RAX] = -EBADF;
	assert_left_alone(&context);
	context.uc_mcontext.gregs[REG_RAX] = 3;
	assert_left_alone(&context);
}

static void nothing(int number)
{
	(void)number;
}

static void another_signal_that_waits_keeps_its_interruption(void **state)
{
	(void)state;
	sigset_t one, before;
	sigemptyset(&one);
	sigaddset(&one, SIGUSR1);
	sigaddset(&one, SIGWINCH);
	signal(SIGUSR1, nothing);
	sigprocmask(SIG_BLOCK, &one, &before);
	raise(SIGWINCH); /* ignored when it comes: no reason */
	ucontext_t context = BEHIND("\xb8\x07\x00\x00\x00\x0f\x05");
	assert_made_again(&context, SYS_poll);
	raise(SIGUSR1);
	context = BEHIND("\xb8\x07\x00\x00\x00\x0f\x05");
	assert_left_alone(&context);
	/* The program has it blocked: it will not come. */
	context.uc_sigmask = one;
	assert_made_again(&context, SYS_poll);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

static void an_interruption_by_the_programs_own_handler_stays(void **state)
{
	(void)state;
	ucontext_t context = BEHIND("\xb8\x07\x00\x00\x00\x0f\x05");
	resume_note(&context);
	assert_left_alone(&context);
	/* The note was about that one. */
	assert_made_again(&context, SYS_poll);
}

static void a_short_write_is_finished_and_a_short_read_is_not(void **state)
{
	(void)state;
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	ucontext_t context = BEHIND("\xb8\x01\x00\x00\x00\x0f\x05");
	greg_t *registers = context.uc_mcontext.gregs;
	registers[REG_RDI] = ends[1];
	registers[REG_RSI] = (greg_t)(uintptr_t) "abcdef";
	registers[REG_RDX] = 6;
	registers[REG_RAX] = 2;
	resume_interrupted(&context);
	assert_int_equal(registers[REG_RAX], 6);
	char got[16] = "";
	assert_int_equal(read(ends[0], got, sizeof(got)), 4);
	assert_string_equal(got, "cdef");
	/* A whole one has nothing left; a descriptor that does not block is short by itself. */
	assert_left_alone(&context);
	context = BEHIND("\x31\xc0\x0f\x05");
	registers[REG_RDI] = ends[0];
	registers[REG_RSI] = (greg_t)(uintptr_t)got;
	registers[REG_RDX] = sizeof(got);
	registers[REG_RAX] = 2;
	assert_left_alone(&context);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_number_loaded_right_before_the_call_is_known),
	cmocka_unit_test(moves_between_number_and_call_are_passed),
	cmocka_unit_test(a_number_in_a_register_is_known),
	cmocka_unit_test(what_cannot_be_told_is_left_alone),
	cmocka_unit_test(calls_that_must_not_be_made_twice_are_left_alone),
	cmocka_unit_test(other_results_are_left_alone),
	cmocka_unit_test(another_signal_that_waits_keeps_its_interruption),
	cmocka_unit_test(an_interruption_by_the_programs_own_handler_stays),
	cmocka_unit_test(a_short_write_is_finished_and_a_short_read_is_not),
};
UNIT_MAIN(tests)

#else

int main(void)
{
	puts("skip: only for x86-64");
	return 0;
}

#endif
