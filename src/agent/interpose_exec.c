/*
 * interpose_exec.c - new programs get the agent too: LD_PRELOAD and PITOT_AGENT stand in every environment that is handed on.
 *
 * Programs clean environments, replace LD_PRELOAD, or hand on one of their own making; where something is missing a new
 * array is made with it in front. What the program preloads stays, behind ours. An environment that has its own PITOT_AGENT
 * keeps it: a pitot inside of a pitot profiles for itself, and an empty one means that the program is to be left alone.
 *
 * In a sandbox the agent's system calls may be a program's death: what is started there gets an empty one.
 *
 * All this may happen in a child of vfork, which lives in its parent's memory: no malloc; small environments on the stack,
 * large ones in a mapping that is given back where the call fails (after a vfork that succeeds it stays). The file is marked as
 * ended by exec only by the process that it belongs to.
 */
#include "agent/interpose.h"
#include "agent/sys.h"

#include <errno.h>
#include <stdarg.h>

enum { SMALL_COUNT = 384, SMALL_TEXT = 2048 };

static const char preload_name[] = "LD_PRELOAD=";

struct environment {
	char **use; /* what to hand on */
	void *mapping;
	size_t mapping_bytes;
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

/* The same, but for a program that is to be left alone. */
static void fill_without(struct environment *out, char *const *envp, size_t count)
{
	static char emptied[] = WIRE_VARIABLE "=";
	for (size_t i = 0; i < count; i++)
		out->use[i] = starts(envp[i], emptied) ? emptied : envp[i];
	out->use[count] = NULL;
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

/* `out->use` is what to hand on: `envp` itself where it is complete, or where there is no memory. */
static void complete(struct environment *out, char *const *envp)
{
	struct survey survey = look_at(envp);
	char *text;
	out->use = (char **)envp;
	out->mapping = NULL;
	if (survey.variable && !survey.variable[0])
		return;
	if (agent_has_left() && survey.variable && make_room(out, survey.count + 1, 0, &text)) {
		fill_without(out, envp, survey.count);
		return;
	}
	if (!agent_is_on() || (survey.variable && survey.preload && has_preload(survey.preload)))
		return;
	size_t preload_bytes = survey.preload ? strlen(survey.preload) : 0;
	if (make_room(out, survey.count + 3, sizeof(preload_name) + strlen(agent_preload()) + preload_bytes + 2, &text))
		fill(out, envp, &survey, text);
	else
		out->use = (char **)envp;
}

static void discard(struct environment *environment)
{
	int saved = errno;
	if (environment->mapping)
		sys_unmap(environment->mapping, environment->mapping_bytes);
	errno = saved;
}

/* Around a call that ends this image if it succeeds. */
static bool before_exec(void)
{
	int saved = errno;
	bool here = agent_here();
	if (here)
		agent_end(WIRE_ENDED_EXEC);
	errno = saved;
	return here;
}

static void exec_failed(bool here, struct environment *environment)
{
	int saved = errno;
	if (here)
		agent_end_failed();
	discard(environment);
	errno = saved;
}

extern char **environ;

INTERPOSE int execve(const char *path, char *const argv[], char *const envp[])
{
	struct environment environment;
	complete(&environment, envp);
	bool here = before_exec();
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
	complete(&environment, envp);
	bool here = before_exec();
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
	complete(&environment, envp);
	bool here = before_exec();
	int status = NEXT(fexecve)(fd, argv, environment.use);
	exec_failed(here, &environment);
	return status;
}

INTERPOSE int execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags)
{
	struct environment environment;
	complete(&environment, envp);
	bool here = before_exec();
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
	char *small[SMALL_COUNT], **argv = small;
	size_t count = 0, bytes = 0;
	va_list counting;
	va_copy(counting, *rest);
	for (const char *argument = first; argument; argument = va_arg(counting, const char *))
		count++;
	va_end(counting);
	if (count >= SMALL_COUNT) {
		bytes = (count + 1) * sizeof(char *);
		argv = sys_map_private(bytes);
		if (!argv) {
			errno = ENOMEM;
			return -1;
		}
	}
	argv[0] = (char *)first;
	for (size_t i = 1; i <= count; i++)
		argv[i] = va_arg(*rest, char *);
	char *const *envp = kind == LIST_ENVIRONMENT ? va_arg(*rest, char *const *) : environ;
	int status = exec_array(kind, name, argv, envp);
	int saved = errno;
	if (bytes)
		sys_unmap(argv, bytes);
	errno = saved;
	return status;
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
	complete(&environment, envp);
	int status = NEXT(posix_spawn)(pid, path, actions, attributes, argv, environment.use);
	discard(&environment);
	return status;
}

INTERPOSE int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
			   const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
	struct environment environment;
	complete(&environment, envp);
	int status = NEXT(posix_spawnp)(pid, file, actions, attributes, argv, environment.use);
	discard(&environment);
	return status;
}
