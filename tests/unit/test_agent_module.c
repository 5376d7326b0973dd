/*
 * test_agent_module.c - loaded objects are recorded once and rightly, dropped when they go, and memory that is not there is
 * refused without harm.
 */
#include "agent/module.h"
#include "agent_stand_ins.h"
#include "unit.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { PAGE = 4096 };

static struct agent_thread *self;

static int make_thread(void **state)
{
	(void)state;
	self = stand_in_thread();
	return 0;
}

static bool path_is(const struct wire_module *module, const char *path)
{
	return module != NULL && module->path_bytes == strlen(path) &&
	       memcmp(module->path, path, module->path_bytes) == 0;
}

static void load_path(char *path, size_t size)
{
	ssize_t length = readlink("/proc/self/exe", path, size - 64);
	assert_true(length > 0);
	path[length] = '\0';
	strcpy(strrchr(path, '/') + 1, "libthrower.so");
}

static void objects_are_recorded_once_with_path_range_and_bias(void **state)
{
	(void)state;
	char exe[4096] = {0};
	Dl_info info;
	assert_true(readlink("/proc/self/exe", exe, sizeof exe - 1) > 0);
	uintptr_t own = (uintptr_t)&load_path, libc = (uintptr_t)&getppid; /* which no sanitizer wraps */
	assert_true(module_note(self, own));
	assert_true(module_note(self, libc));
	size_t used = stand_in_used;
	assert_true(module_note(self, own + 1));
	assert_true(module_note(self, libc + 100000));
	assert_int_equal(stand_in_used, used);
	assert_int_equal(stand_in_looked, 2);
	assert_true(path_is(stand_in_module(own), exe));
	assert_int_not_equal(dladdr((void *)libc, &info), 0);
	const struct wire_module *module = stand_in_module(libc);
	assert_true(path_is(module, info.dli_fname));
	assert_int_equal(module->bias, (uintptr_t)info.dli_fbase);
	assert_int_equal(module->record.bytes % WIRE_UNIT, 0);
	assert_false(module_note(self, 4097));
	assert_false(module_note(self, (uintptr_t)&info));
}

static void a_relative_path_is_recorded_as_the_file_that_it_meant(void **state)
{
	(void)state;
	char path[4096], folder[4096];
	load_path(path, sizeof path);
	strcpy(folder, path);
	*strrchr(folder, '/') = '\0';
	assert_int_equal(chdir(folder), 0);
	void *handle = dlopen("./libthrower.so", RTLD_NOW);
	assert_non_null(handle);
	assert_int_equal(chdir("/"), 0);
	uintptr_t inside = (uintptr_t)dlsym(handle, "thrower_run");
	assert_true(module_note(self, inside));
	assert_true(path_is(stand_in_module(inside), path));
	dlclose(handle);
	module_unloaded();
}

static void the_build_id_is_that_of_the_file(void **state)
{
	(void)state;
	char command[4200], text[256] = "", hex[80] = "";
	const struct wire_module *module;
	assert_true(module_note(self, (uintptr_t)&malloc));
	module = stand_in_module((uintptr_t)&malloc);
	snprintf(command, sizeof command, "readelf -n '%.*s' | sed -n 's/.*Build ID: //p'", module->path_bytes,
		 module->path);
	FILE *pipe = popen(command, "r");
	assert_non_null(pipe);
	assert_non_null(fgets(text, sizeof text, pipe));
	pclose(pipe);
	text[strcspn(text, "\n")] = '\0';
	for (unsigned i = 0; i < module->build_id_bytes; i++)
		snprintf(hex + 2 * i, 3, "%02x", module->build_id[i]);
	assert_string_equal(hex, text);
}

static void the_vdso_is_an_object_too(void **state)
{
	(void)state;
	uintptr_t vdso = getauxval(AT_SYSINFO_EHDR);
	if (vdso == 0) {
		print_message("skip: this kernel gives no vdso\n");
		skip();
	}
	assert_true(module_note(self, vdso + 64));
	assert_true(path_is(stand_in_module(vdso + 64), "[vdso]"));
	assert_true(stand_in_module(vdso + 64)->build_id_bytes > 0);
}

static void a_child_records_everything_anew(void **state)
{
	(void)state;
	assert_true(module_note(self, (uintptr_t)&malloc));
	size_t used = stand_in_used;
	module_restart();
	assert_true(module_note(self, (uintptr_t)&malloc));
	assert_true(stand_in_used > used);
}

static void the_generation_rises_only_when_a_noted_object_goes(void **state)
{
	(void)state;
	char path[4096];
	load_path(path, sizeof path);
	uint16_t before = module_generation();
	assert_true(module_note(self, (uintptr_t)&malloc));
	for (unsigned i = 0; i < 3; i++) {
		void *handle = dlopen(path, RTLD_NOW);
		assert_non_null(handle);
		dlclose(handle);
		module_unloaded();
	}
	assert_int_equal(module_generation(), before);
	for (unsigned i = 1; i <= 100; i++) {
		void *handle = dlopen(path, RTLD_NOW);
		uintptr_t inside = (uintptr_t)dlsym(handle, "thrower_run");
		assert_true(module_note(self, inside));
		assert_true(path_is(stand_in_module(inside), path));
		assert_int_equal(stand_in_module(inside)->first_generation, module_generation());
		dlclose(handle);
		assert_false(dlopen(path, RTLD_NOW | RTLD_NOLOAD));
		module_unloaded();
		assert_int_equal(module_generation(), before + i);
		assert_false(module_note(self, inside));
	}
	assert_true(module_note(self, (uintptr_t)&malloc));
}

/* ---- guard */

static void unmapped_and_forbidden_memory_is_refused(void **state)
{
	(void)state;
	char to[64], from[64] = "abc";
	char *pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(pages, 7, 3 * PAGE);
	munmap(pages + PAGE, PAGE);
	mprotect(pages + 2 * PAGE, PAGE, PROT_NONE);
	uintptr_t at = (uintptr_t)pages;
	errno = 55;
	assert_true(guard_copy(to, (uintptr_t)from, sizeof to));
	assert_string_equal(to, "abc");
	assert_true(guard_copy(to, at + PAGE - 8, 8));
	assert_int_equal(to[7], 7);
	assert_false(guard_copy(to, at + PAGE - 8, 9));
	assert_false(guard_copy(to, at + PAGE, 1));
	assert_false(guard_copy(to, at + 2 * PAGE, 1));
	assert_false(guard_copy(to, 0, 8));
	assert_false(guard_copy(to, UINTPTR_MAX - 3, 8));
	assert_false(guard_copy(to, 1ULL << 63, 8));
	assert_true(guard_readable(at, PAGE));
	assert_false(guard_readable(at, PAGE + 1));
	assert_false(guard_readable(at + PAGE, 1));
	assert_false(guard_readable(at + 2 * PAGE, 1));
	assert_false(guard_readable(0, 1));
	assert_false(guard_readable(UINTPTR_MAX, 2));
	assert_int_equal(errno, 55);
	munmap(pages, PAGE);
	munmap(pages + 2 * PAGE, PAGE);
}

/* What old container runtimes do. */
static void forbid_reading(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		_exit(77);
}

static void memory_is_still_told_apart_where_the_call_is_forbidden(void **state)
{
	pid_t child = fork();
	int status;
	if (child == 0) {
		forbid_reading();
		unmapped_and_forbidden_memory_is_refused(state);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		print_message("skip: seccomp filters are not allowed here\n");
		skip();
	}
	assert_int_equal(status, 0);
}

/* A number that was kept from before the fork would show the parent's memory. */
static void a_child_reads_its_own_memory(void **state)
{
	(void)state;
	volatile int value = 1;
	int copy = 0, status;
	assert_true(guard_copy(&copy, (uintptr_t)&value, sizeof copy));
	pid_t child = fork();
	if (child == 0) {
		value = 2;
		_exit(guard_copy(&copy, (uintptr_t)&value, sizeof copy) && copy == 2 ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(objects_are_recorded_once_with_path_range_and_bias),
	cmocka_unit_test(a_relative_path_is_recorded_as_the_file_that_it_meant),
	cmocka_unit_test(the_build_id_is_that_of_the_file),
	cmocka_unit_test(the_vdso_is_an_object_too),
	cmocka_unit_test(a_child_records_everything_anew),
	cmocka_unit_test(the_generation_rises_only_when_a_noted_object_goes),
	cmocka_unit_test(unmapped_and_forbidden_memory_is_refused),
	cmocka_unit_test(memory_is_still_told_apart_where_the_call_is_forbidden),
	cmocka_unit_test(a_child_reads_its_own_memory),
};

UNIT_MAIN_GROUP(tests, make_thread, NULL)
