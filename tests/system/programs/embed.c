/*
 * embed.c - a program with a Python inside. Compiled three ways by test_agent_python_embedded.py:
 *
 *	embed LIBPYTHON TEXT        -DLATE: opens the library while it runs, runs TEXT, closes it, twice
 *	embed TEXT                  linked with the library, or with its static one
 *
 * Declares what it uses itself: no headers of an interpreter are needed.
 */
#include <dlfcn.h>
#include <stdio.h>

/* Work of the program's own, before there is a Python and between two. */
static volatile unsigned long native_total;

__attribute__((noinline)) void work_before(void)
{
	for (unsigned i = 0; i < 30000000; i++)
		native_total += i * i;
}

#ifdef LATE
static int run(const char *library, const char *text)
{
	void *python = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
	if (!python) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	void (*initialize)(int) = (void (*)(int))dlsym(python, "Py_InitializeEx");
	int (*run_text)(const char *, void *) = (int (*)(const char *, void *))dlsym(python, "PyRun_SimpleStringFlags");
	int (*finalize)(void) = (int (*)(void))dlsym(python, "Py_FinalizeEx");
	initialize(0);
	int failed = run_text(text, NULL);
	finalize();
	dlclose(python);
	return failed;
}

int main(int count, char **arguments)
{
	(void)count;
	work_before();
	int failed = run(arguments[1], arguments[2]);
	work_before();
	return failed != 0 || run(arguments[1], arguments[2]) != 0;
}
#else
extern void Py_InitializeEx(int signals);
extern int PyRun_SimpleStringFlags(const char *text, void *flags);
extern int Py_FinalizeEx(void);
extern char PyUnicode_Type[], PyCode_Type[]; /* without -fPIC they move into the program */

int main(int count, char **arguments)
{
	(void)count;
	work_before();
	Py_InitializeEx(0);
	int failed = PyRun_SimpleStringFlags(arguments[1], NULL);
	native_total += *(volatile unsigned char *)PyUnicode_Type + *(volatile unsigned char *)PyCode_Type;
	return Py_FinalizeEx() != 0 || failed != 0;
}
#endif
