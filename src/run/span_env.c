/* span_env.c - see span_env.h. */
#include "run/span_env.h"
#include "base/file.h"
#include "wire/span_wire.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PYTHONPATH "PYTHONPATH="

struct span_env {
	char *dir;
	char *library; /* NULL: none was found */
	char *python;  /* folder of pitot.py; NULL: none was found */
	struct span_moment begun;
};

/* The first of the places that is there, as a whole path. */
static char *find(const char *folder, const char *const *places, const char *file)
{
	for (; *places; places++) {
		char *place = mem_printf("%s/%s", folder, *places), *path = mem_printf("%s/%s", place, file);
		char *found = access(path, R_OK) == 0 ? realpath(place, NULL) : NULL;
		free(place);
		free(path);
		if (found)
			return found;
	}
	return NULL;
}

static void find_parts(struct span_env *env)
{
	static const char *const libraries[] = {".", "../lib", NULL};
	static const char *const modules[] = {"../lib/pitot/python", "../python", NULL};
	char folder[PATH_MAX];
	inject_own_folder(folder, sizeof(folder));
	char *place = find(folder, libraries, "libpitot.so");
	env->library = place ? file_join(place, "libpitot.so") : NULL;
	free(place);
	env->python = find(folder, modules, "pitot.py");
	if (env->python && strchr(env->python, ':')) { /* the list has no way to write it */
		free(env->python);
		env->python = NULL;
	}
}

struct span_env *span_env_new(const char *channel_dir)
{
	struct span_env *env = mem_alloc(sizeof(*env));
	env->dir = file_join(channel_dir, "spans");
	env->begun = span_moment_now();
	if (strchr(env->dir, ';') || (mkdir(env->dir, 0700) != 0 && errno != EEXIST)) {
		span_env_free(env);
		return NULL;
	}
	find_parts(env);
	return env;
}

void span_env_free(struct span_env *env)
{
	if (!env)
		return;
	free(env->dir);
	free(env->library);
	free(env->python);
	free(env);
}

const char *span_env_dir(const struct span_env *env)
{
	return env->dir;
}

struct span_moment span_env_begun(const struct span_env *env)
{
	return env->begun;
}

bool span_env_is_ours(const char *variable)
{
	return strncmp(variable, SPAN_WIRE_VARIABLE "=", sizeof(SPAN_WIRE_VARIABLE)) == 0 ||
	       strncmp(variable, SPAN_WIRE_COUNTERS_VARIABLE "=", sizeof(SPAN_WIRE_COUNTERS_VARIABLE)) == 0 ||
	       strncmp(variable, SPAN_WIRE_LIBRARY_VARIABLE "=", sizeof(SPAN_WIRE_LIBRARY_VARIABLE)) == 0;
}

/* Whether the list of folders has this one. */
static bool lists(const char *list, const char *folder)
{
	size_t length = strlen(folder);
	for (; *list; list += strcspn(list, ":"), list += *list == ':')
		if (strcspn(list, ":") == length && strncmp(list, folder, length) == 0)
			return true;
	return false;
}

/* The last one in the environment counts: the stage's own comes after the inherited. */
static char *add_to_path(const char *folder, struct env_items *items)
{
	const char *before = "";
	size_t kept = 0;
	for (size_t i = 0; i < items->len; i++)
		if (strncmp(items->items[i], PYTHONPATH, sizeof(PYTHONPATH) - 1) == 0)
			before = items->items[i] + sizeof(PYTHONPATH) - 1;
		else
			items->items[kept++] = items->items[i];
	items->len = kept;
	if (lists(before, folder))
		return mem_printf(PYTHONPATH "%s", before);
	return mem_printf(PYTHONPATH "%s%s%s", before, before[0] ? ":" : "", folder);
}

void span_env_add(const struct span_env *env, int64_t stage_id, bool counters, struct env_items *items,
		  struct span_env_texts *texts)
{
	texts->spans = mem_printf(SPAN_WIRE_VARIABLE "=dir=%s;stage=%lld", env->dir, (long long)stage_id);
	vec_push(items, texts->spans);
	if (counters) {
		const char *said = getenv("PITOT_PMU"); /* as probe/pmu_thread.h has it */
		bool software = said && strcmp(said, "software") == 0;
		texts->counters = mem_printf(SPAN_WIRE_COUNTERS_VARIABLE "=%s", software ? "software" : "hardware");
		vec_push(items, texts->counters);
	}
	if (env->library) {
		texts->library = mem_printf(SPAN_WIRE_LIBRARY_VARIABLE "=%s", env->library);
		vec_push(items, texts->library);
	}
	if (env->python) {
		texts->python = add_to_path(env->python, items);
		vec_push(items, texts->python);
	}
}

void span_env_texts_fini(struct span_env_texts *texts)
{
	free(texts->spans);
	free(texts->counters);
	free(texts->library);
	free(texts->python);
}
