/*
 * interpose_exec.c - new programs get the agent too: LD_PRELOAD and PITOT_AGENT stand in every environment that is handed on.
 *
 * Programs clean environments, replace LD_PRELOAD, or hand on one of their own making; where something is missing a new
 * array is made with it in front. What the program preloads stays, behind ours. An environment that has its own PITOT_AGENT
 * keeps it: a pitot inside of a pitot profiles for itself, and an empty one means that the program is to be left alone.
 *
 * All this may happen in a child of vfork, which lives in its parent's memory: no malloc; small environments on the stack,
 * large ones in a mapping that is given back where the call fails (after a vfork that succeeds it stays). The file is marked as
 * ended by exec only by the process that it belongs to.
 *
 * A process that has restricted its system calls hands on an environment without the agent, because the new program starts with
 * the same restrictions. Nothing can be mapped for it then: all of it is on the stack. A program that cannot bear the agent
 * (target.h) is handed such a one, too.
 */
#include "agent/interpose.h"
#include "agent/sys.h"
#include "agent/target.h"

#include <errno.h>
#include <stdarg.h>

enum { SMALL_COUNT = 384, SMALL_TEXT = 2048, STRIP_MOST = 128 << 10 };

static const char preload_name[] = "LD_PRELOAD=";

struct environment {
	char **use; /* what to hand on */
	void *mapping;
	size_t mapping_bytes;
	bool muted;
	char *small[SMALL_COUNT];
	char text[SMALL_TEXT];
};

static bool starts(const char *variable, const char *name)
{
	return strncmp(variable, name, strlen(name)) == 0;
}

/* Whether `list` (separated by spaces or colons) has our library. */
static bool has_preload(const char *list)
{
	const char *ours = agent_preload();
	size_t length = strlen(ours);
	for (const char *at = strstr(list, ours); at; at = strstr(at + 1, ours)) {
		bool begins = at == list || at[-1] == ':' || at[-1] == ' ';
		if (begins && (at[length] == '\0' || at[length] == ':' || at[length] == ' '))
			return true;
	}
	return false;
}

struct survey {
	size_t count;
	const char *variable, *preload; /* their values; NULL: not there */
};

static struct survey look_at(char *const *envp)
{
	struct survey survey = {0};
	for (; envp && envp[survey.count]; survey.count++) {
		if (starts(envp[survey.count], WIRE_VARIABLE "="))
			survey.variable = envp[survey.count] + sizeof(WIRE_VARIABLE);
		else if (!survey.preload && starts(envp[survey.count], preload_name))
			survey.preload = envp[survey.count] + sizeof(preload_name) - 1;
	}
	return survey;
}

/* Room for the array and the text of LD_PRELOAD. */
static bool make_room(struct environment *out, size_t count, size_t text_bytes, char **text)
{
	out->use = out->small;
	*text = out->text;
	if (count <= SMALL_COUNT && text_bytes <= SMALL_TEXT)
		return true;
	out->mapping_bytes = count * sizeof(char *) + text_bytes;
	out->mapping = sys_map_private(out->mapping_bytes);
	out->use = out->mapping;
	*text = (char *)(out->use + count);
	return out->mapping != NULL;
}

static char *put_text(char *to, const char *text)
{
	size_t length = strlen(text);
	memcpy(to, text, length + 1);
	return to + length;
}

static void fill(struct environment *out, char *const *envp, const struct survey *survey, char *text)
{
	char **to = out->use;
	*to++ = text;
	text = put_text(put_text(text, preload_name), agent_preload());
	if (survey->preload && survey->preload[0])
		put_text(put_text(text, ":"), survey->preload);
	if (!survey->variable)
		*to++ = (char *)agent_variable();
	for (size_t i = 0; i < survey->count; i++)
		if (!starts(envp[i], preload_name))
			*to++ = envp[i];
	*to = NULL;
}

void exec_strip_preload(char *to, const char *list)
{
	const char *ours = agent_preload();
	char *start = to;
	*to = '\0';
	for (size_t length; *list; list += length + (list[length] != '\0')) {
		length = strcspn(list, ": ");
		if (!length || (length == strlen(ours) && memcmp(list, ours, length) == 0))
			continue;
		if (to != start)
			*to++ = ':';
		memcpy(to, list, length);
		to += length;
		*to = '\0';
	}
}

extern char **environ;

static bool is_foreign(const char *path)
{
	if (!agent_is_on() || gate_is_closed())
		return false;
	int saved = errno;
	bool foreign = target_is_foreign(path);
	errno = saved;
	return foreign;
}

static bool is_foreign_file(const char *file)
{
	char path[TARGET_PATH];
	const char *folders = "/bin:/usr/bin"; /* libc's own, where there is no PATH */
	if (!agent_is_on() || gate_is_closed())
		return false;
	int saved = errno;
	for (char **variable = environ; variable && *variable; variable++)
		if (starts(*variable, "PATH="))
			folders = *variable + sizeof("PATH=") - 1;
	bool foreign = target_search(file, folders, path) && target_is_foreign(path);
	errno = saved;
	return foreign;
}

static bool is_foreign_descriptor(int fd)
{
	char path[64] = "/proc/self/fd/";
	if (fd < 0)
		return false;
	sys_put_number(path + strlen(path), (uint64_t)fd);
	return is_foreign(path);
}

/* Room for a copy without the agent; 0: it needs none, or it is too large for a stack. */
static size_t strip_bytes(char *const *envp, bool foreign)
{
	if (!foreign && !gate_is_closed())
		return 0;
	struct survey survey = look_at(envp);
	if (!survey.variable && !(survey.preload && has_preload(survey.preload)))
		return 0;
	size_t bytes = (survey.count + 1) * sizeof(char *) + sizeof(preload_name);
	bytes += survey.preload ? strlen(survey.preload) : 0;
	return bytes <= STRIP_MOST ? bytes : 0;
}

static void strip(struct environment *out, char *const *envp, void *room)
{
	struct survey survey = look_at(envp);
	char **to = room, *text = (char *)(to + survey.count + 1);
	out->use = to;
	put_text(text, preload_name);
	if (survey.preload)
		exec_strip_preload(text + sizeof(preload_name) - 1, survey.preload);
	bool preloads = text[sizeof(preload_name) - 1] != '\0';
	for (size_t i = 0; i < survey.count; i++)
		if (!starts(envp[i], preload_name) && !starts(envp[i], WIRE_VARIABLE "="))
			*to++ = envp[i];
		else if (preloads && starts(envp[i], preload_name))
			preloads = false, *to++ = text;
	*to = NULL;
}

/* `out->use` is what to hand on: `envp` itself where it is as it should be, or where there is no memory. */
static void complete(struct environment *out, char *const *envp, void *room, bool foreign)
{
	struct survey survey = look_at(envp);
	out->use = (char **)envp;
	out->mapping = NULL;
	if (room)
		strip(out, envp, room);
	if (foreign || !agent_is_on() || (survey.variable && !survey.variable[0]))
		return;
	if (survey.variable && survey.preload && has_preload(survey.preload))
		return;
	char *text;
	size_t preload_bytes = survey.preload ? strlen(survey.preload) : 0;
	if (make_room(out, survey.count + 3, sizeof(preload_name) + strlen(agent_preload()) + preload_bytes + 2, &text))
		fill(out, envp, &survey, text);
	else
		out->use = (char **)envp;
}

#define COMPLETE(environment, envp, is_foreign)                                                                        \
	do {                                                                                                           \
		bool foreign = is_foreign;                                                                             \
		size_t room_bytes = strip_bytes(envp, foreign);                                                        \
		complete(environment, envp, room_bytes ? __builtin_alloca(room_bytes) : NULL, foreign);                \
	} while (0)

static void discard(struct environment *environment)
{
	int saved = errno;
	if (environment->mapping)
		sys_unmap(environment->mapping, environment->mapping_bytes);
	errno = saved;
}

/* Around a call that ends this image if it succeeds. A child of vfork leaves its parent's memory as it was. */
static bool before_exec(struct environment *environment)
{
	int saved = errno;
	bool here = agent_enter_here();
	if (here) {
		agent_end(WIRE_ENDED_EXEC);
		gate_leave();
	}
	environment->muted = gate_mute(false);
	errno = saved;
	return here;
}

static void exec_failed(bool here, struct environment *environment)
{
	int saved = errno;
	gate_mute(environment->muted);
	if (here && agent_enter()) {
		agent_end_failed();
		gate_leave();
	}
	discard(environment);
	errno = saved;
}

INTERPOSE int execve(const char *path, char *const argv[], char *const envp[])
{
	struct environment environment;
	COMPLETE(&environment, envp, is_foreign(path));
	bool here = before_exec(&environment);
	int status = NEXT(execve)(path, argv, environment.use);
	exec_failed(here, &environment);
	return status;
}

INTERPOSE int execv(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

INTERPOSE int execvpe(const char *file, char *const argv[], char *const envp[])
{
	struct environment environment;
	COMPLETE(&environment, envp, is_foreign_file(file));
	bool here = before_exec(&environment);
	int status = NEXT(execvpe)(file, argv, environment.use);
	exec_failed(here, &environment);
	return status;
}

INTERPOSE int execvp(const char *file, char *const argv[])
{
	return execvpe(file, argv, environ);
}

INTERPOSE int fexecve(int fd, char *const argv[], char *const envp[])
{
	struct environment environment;
	COMPLETE(&environment, envp, is_foreign_descriptor(fd));
	bool here = before_exec(&environment);
	int status = NEXT(fexecve)(fd, argv, environment.use);
	exec_failed(here, &environment);
	return status;
}

INTERPOSE int execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags)
{
	struct environment environment;
	COMPLETE(&environment, envp,
		 path[0] ? (path[0] == '/' || fd == AT_FDCWD) && is_foreign(path) : is_foreign_descriptor(fd));
	bool here = before_exec(&environment);
	int status = (int)syscall(SYS_execveat, fd, path, argv, environment.use, flags);
	exec_failed(here, &environment);
	return status;
}

enum list_kind { LIST_PATH, LIST_FILE, LIST_ENVIRONMENT };

static int exec_array(enum list_kind kind, const char *name, char **argv, char *const *envp)
{
	return kind == LIST_FILE ? execvpe(name, argv, envp) : execve(name, argv, envp);
}

/* Arguments up to a NULL, then for execle the environment. */
static int exec_list(enum list_kind kind, const char *name, const char *first, va_list *rest)
{
	size_t count = 0;
	va_list counting;
	va_copy(counting, *rest);
	for (const char *argument = first; argument; argument = va_arg(counting, const char *))
		count++;
	va_end(counting);
	char **argv = __builtin_alloca((count + 1) * sizeof(char *));
	argv[0] = (char *)first;
	for (size_t i = 1; i <= count; i++)
		argv[i] = va_arg(*rest, char *);
	char *const *envp = kind == LIST_ENVIRONMENT ? va_arg(*rest, char *const *) : environ;
	return exec_array(kind, name, argv, envp);
}

#define EXEC_LIST(function, kind)                                                                                      \
	INTERPOSE int function(const char *name, const char *first, ...)                                               \
	{                                                                                                              \
		va_list rest;                                                                                          \
		va_start(rest, first);                                                                                 \
		int status = exec_list(kind, name, first, &rest);                                                      \
		va_end(rest);                                                                                          \
		return status;                                                                                         \
	}

EXEC_LIST(execl, LIST_PATH)
EXEC_LIST(execlp, LIST_FILE)
EXEC_LIST(execle, LIST_ENVIRONMENT)

INTERPOSE int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
			  const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
	struct environment environment;
	COMPLETE(&environment, envp, is_foreign(path));
	int status = NEXT(posix_spawn)(pid, path, actions, attributes, argv, environment.use);
	discard(&environment);
	return status;
}

INTERPOSE int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
			   const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
	struct environment environment;
	COMPLETE(&environment, envp, is_foreign_file(file));
	int status = NEXT(posix_spawnp)(pid, file, actions, attributes, argv, environment.use);
	discard(&environment);
	return status;
}
