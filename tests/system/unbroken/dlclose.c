/*
 * dlclose PLUGIN... - two threads load, call and unload shared libraries while they are sampled, and a third works.
 */
#include "unbroken.h"

#include <dlfcn.h>
#include <pthread.h>

struct task {
	const char *path;
	int number;
};

static void *load_and_unload(void *context)
{
	const struct task *task = context;
	double end = cpu_ms() + 300;
	while (cpu_ms() < end) {
		void *handle = dlopen(task->path, RTLD_NOW | RTLD_LOCAL);
		CHECK(handle != NULL);
		int (*run)(int) = (int (*)(int))(intptr_t)dlsym(handle, "plugin_run");
		CHECK(run != NULL && run(20000) == task->number);
		CHECK(dlclose(handle) == 0);
	}
	return NULL;
}

static void *other(void *context)
{
	work_ms(150);
	return context;
}

int main(int argc, char **argv)
{
	CHECK(argc == 3);
	struct task tasks[] = {{argv[1], 1}, {argv[2], 2}};
	pthread_t threads[3];
	for (int i = 0; i < 2; i++)
		CHECK(pthread_create(&threads[i], NULL, load_and_unload, &tasks[i]) == 0);
	CHECK(pthread_create(&threads[2], NULL, other, NULL) == 0);
	for (int i = 0; i < 3; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	puts("loaded and unloaded");
	return 0;
}
