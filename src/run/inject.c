/* inject.c - see inject.h. */
#include "run/inject.h"
#include "base/file.h"
#include "base/str.h"
#include "probe/perf_event.h"
#include "wire/wire.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define LIBRARY          "libpitot-agent.so"
#define LIBRARY_MEMORY   "libpitot-agent-memory.so"
#define LIBRARY_VARIABLE "PITOT_AGENT_LIB"
#define PRELOAD          "LD_PRELOAD="

enum { LEAST_ROOM = 16 << 20 };

struct inject {
	char *library, *memory_library; /* NULL: no stage wants it */
	char *dir;
	int perf; /* an event that counts nothing, or negative */
};

int inject_hz(const struct run_options *options, const struct pipeline *pipeline, const struct stage_spec *stage)
{
	if (options->cpu_hz >= 0)
		return options->cpu_hz;
	int hz = stage->profile.cpu_hz >= 0 ? stage->profile.cpu_hz : pipeline->profile.cpu_hz;
	return hz > 0 ? hz : 0;
}

int64_t inject_memory(const struct run_options *options, const struct pipeline *pipeline,
		      const struct stage_spec *stage)
{
	if (options->memory_period >= 0)
		return options->memory_period;
	int64_t stages = stage->profile.memory_period;
	int64_t period = stages >= 0 ? stages : pipeline->profile.memory_period;
	return period > 0 ? period : 0;
}

bool inject_types(const struct run_options *options, const struct pipeline *pipeline, const struct stage_spec *stage)
{
	if (options->memory_types >= 0)
		return options->memory_types > 0;
	int stages = stage->profile.memory_types;
	return (stages >= 0 ? stages : pipeline->profile.memory_types) > 0;
}

bool inject_span_counters(const struct run_options *options, const struct pipeline *pipeline,
			  const struct stage_spec *stage)
{
	if (options->span_counters >= 0)
		return options->span_counters > 0;
	int stages = stage->profile.span_counters;
	return (stages >= 0 ? stages : pipeline->profile.span_counters) > 0;
}

/* Whether any stage is to have the one library or the other. */
static bool is_wanted(const struct run_options *options, const struct pipeline *pipeline, bool memory)
{
	for (size_t i = 0; i < pipeline->stages.len; i++) {
		const struct stage_spec *stage = &pipeline->stages.items[i];
		bool has_memory = inject_memory(options, pipeline, stage) > 0;
		if (has_memory == memory && (memory || inject_hz(options, pipeline, stage) > 0))
			return true;
	}
	return false;
}

/* The loader splits its list at spaces and colons, and replaces what begins with a dollar. */
static int check_path(const char *path, const char *bad, struct err *err)
{
	if (!path[strcspn(path, bad)])
		return 0;
	return err_set(err, ERR_UNAVAILABLE,
		       "the agent cannot be used from '%s': LD_PRELOAD has no way to write a path with one of the "
		       "characters '%s'; put a copy elsewhere and name it in " LIBRARY_VARIABLE,
		       path, bad);
}

static bool is_there(const char *path)
{
	struct stat status;
	return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, R_OK) == 0;
}

void inject_own_folder(char *out, size_t size)
{
	ssize_t length = readlink("/proc/self/exe", out, size - 1);
	out[length > 0 ? length : 0] = '\0';
	char *slash = strrchr(out, '/');
	if (slash)
		*slash = '\0';
}

/* The one that the variable names, or the one that lies beside it. */
static char *said_library(const char *said, bool memory)
{
	char *path = realpath(said, NULL), *slash = path ? strrchr(path, '/') : NULL;
	if (!memory || !slash || strcmp(slash + 1, LIBRARY) != 0)
		return path;
	*slash = '\0';
	char *beside = mem_printf("%s/" LIBRARY_MEMORY, path);
	free(path);
	return beside;
}

int inject_find_library(bool memory, char **out, struct err *err)
{
	char folder[PATH_MAX];
	const char *said = getenv(LIBRARY_VARIABLE), *name = memory ? LIBRARY_MEMORY : LIBRARY;
	inject_own_folder(folder, sizeof(folder));
	char *places[] = {said && said[0] ? said_library(said, memory) : mem_printf("%s/%s", folder, name),
			  said && said[0] ? NULL : mem_printf("%s/../lib/pitot/%s", folder, name)};
	char *found = NULL;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && !found; i++)
		if (places[i] && is_there(places[i]))
			found = realpath(places[i], NULL);
	int code = 0;
	if (!found && said && said[0])
		code = err_set(err, ERR_UNAVAILABLE,
			       "the agent's library '%s', named by " LIBRARY_VARIABLE ", is not there", said);
	else if (!found)
		code = err_set(
			err, ERR_UNAVAILABLE,
			"the agent's library is not there: looked for '%s' and '%s' (make builds it, make install "
			"installs it; " LIBRARY_VARIABLE " names another)",
			places[0], places[1]);
	else
		code = check_path(found, " :$", err);
	free(places[0]);
	free(places[1]);
	if (code)
		free(found);
	else
		*out = found;
	return code;
}

/* Where a full disk would only be noticed as lost samples. */
static int make_folder(const char *dir, struct err *err)
{
	struct statvfs room;
	if (mkdir(dir, 0700) != 0 && errno != EEXIST)
		return err_set_errno(err, ERR_IO, "cannot make the folder '%s' for the samples", dir);
	if (strchr(dir, ';'))
		return err_set(err, ERR_UNAVAILABLE,
			       "samples cannot be kept in '%s': the path has a semicolon; set TMPDIR to another folder",
			       dir);
	if (statvfs(dir, &room) == 0 && (uint64_t)room.f_bavail * room.f_frsize < LEAST_ROOM)
		return err_set(err, ERR_UNAVAILABLE,
			       "only %llu MiB are free in '%s', too little for the samples of --cpu; make room, or set "
			       "TMPDIR to another folder",
			       (unsigned long long)((uint64_t)room.f_bavail * room.f_frsize >> 20), dir);
	return 0;
}

/* The kernel switches its hooks for perf on with the first event of a task, which takes it 10 ms and more, and off with the
 * last: as long as pitot has one, no process of a stage waits for that. */
static int hold_perf(void)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(attr),
				       .config = PERF_COUNT_SW_DUMMY,
				       .disabled = 1,
				       .exclude_kernel = 1,
				       .exclude_hv = 1};
	return perf_event_open_fd(&attr, 0, -1);
}

int inject_open(const struct run_options *options, const struct pipeline *pipeline, struct inject **out,
		struct err *err)
{
	bool plain = is_wanted(options, pipeline, false), memory = is_wanted(options, pipeline, true);
	if (!plain && !memory)
		return 0;
	struct inject *inject = mem_alloc(sizeof(*inject));
	inject->dir = file_join(options->channel_dir, "wire");
	inject->perf = hold_perf();
	int code = plain ? inject_find_library(false, &inject->library, err) : 0;
	if (!code && memory)
		code = inject_find_library(true, &inject->memory_library, err);
	if (!code)
		code = make_folder(inject->dir, err);
	if (code)
		inject_free(inject);
	else
		*out = inject;
	return code;
}

void inject_free(struct inject *inject)
{
	if (!inject)
		return;
	if (inject->perf >= 0)
		close(inject->perf);
	free(inject->library);
	free(inject->memory_library);
	free(inject->dir);
	free(inject);
}

const char *inject_dir(const struct inject *inject)
{
	return inject->dir;
}

/* Whether the list names the library already: a pitot inside a profiled stage. */
static bool lists(const char *list, const char *library)
{
	size_t length = strlen(library);
	for (const char *at = list; *at; at += strcspn(at, " :"), at += strspn(at, " :"))
		if (strcspn(at, " :") == length && strncmp(at, library, length) == 0)
			return true;
	return false;
}

static bool is_ours(const char *variable)
{
	return strncmp(variable, WIRE_VARIABLE "=", sizeof(WIRE_VARIABLE)) == 0;
}

/* ";memory=exact", whether types are wanted, and the seed of the draws where the environment says one. Empty: no memory profile. */
static char *memory_wish(int64_t period, bool types)
{
	const char *seed = getenv("PITOT_MEMORY_SEED");
	char *mode = period == PROFILE_MEMORY_EXACT ? mem_strdup("exact") : mem_printf("%lld", (long long)period);
	int64_t number = 0;
	bool has_seed = seed && str_to_int64(seed, &number) && number > 0;
	char *text = period > 0 ? mem_printf(";memory=%s%s%s%s", mode, types ? ";types" : "", has_seed ? ";seed=" : "",
					     has_seed ? seed : "")
				: mem_strdup("");
	free(mode);
	return text;
}

void inject_env(const struct inject *inject, const struct inject_wish *wish, struct env_items *env, char **agent,
		char **preload)
{
	const char *before = "", *library = wish->memory_period > 0 ? inject->memory_library : inject->library;
	char *memory = memory_wish(wish->memory_period, wish->types);
	size_t kept = 0;
	for (size_t i = 0; i < env->len; i++) {
		if (strncmp(env->items[i], PRELOAD, sizeof(PRELOAD) - 1) == 0)
			before = env->items[i] + sizeof(PRELOAD) - 1; /* the stage's own comes after the inherited */
		else if (!is_ours(env->items[i]))
			env->items[kept++] = env->items[i];
	}
	env->len = kept;
	*agent = mem_printf(WIRE_VARIABLE "=dir=%s;stage=%lld;cpu=%d%s", inject->dir, (long long)wish->stage_id,
			    wish->hz, memory);
	free(memory);
	if (lists(before, library))
		*preload = mem_printf(PRELOAD "%s", before);
	else
		*preload = mem_printf(PRELOAD "%s%s%s", library, before[0] ? ":" : "", before);
	vec_push(env, *agent);
	vec_push(env, *preload);
}
