/*
 * command.c - a pipeline of one stage out of a command line, and a name for it.
 *
 * `python3 -u train.py` is better called "train" than "python3": interpreters are looked through, to the script or
 * module that they run.
 */
#include "base/file.h"
#include "base/str.h"
#include "config/load.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

enum { MAX_NAME_BYTES = 100 };

struct interpreter {
	const char *name;        /* the program's name begins with it, followed by digits and dots or nothing */
	const char *takes_value; /* letters of options whose value is the next word */
	bool is_shell;
};

static const struct interpreter interpreters[] = {
	{"sh", "o", true},    {"bash", "oO", true},    {"dash", "o", true},  {"zsh", "o", true},
	{"ksh", "o", true},   {"python", "WX", false}, {"perl", "I", false}, {"ruby", "I", false},
	{"node", "r", false}, {"Rscript", "", false},  {"julia", "", false},
};

static const struct interpreter *find_interpreter(const char *program)
{
	const char *name = file_base_name(program);
	for (size_t i = 0; i < sizeof(interpreters) / sizeof(interpreters[0]); i++) {
		size_t length = strlen(interpreters[i].name);
		if (strncmp(name, interpreters[i].name, length) == 0 &&
		    strspn(name + length, "0123456789.") == strlen(name + length))
			return &interpreters[i];
	}
	return NULL;
}

/* The script's or module's name out of the words after the interpreter; NULL where there is none. */
static char *script_name(const struct interpreter *interpreter, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *word = words[i];
		size_t length = strlen(word);
		if (word[0] != '-' || !word[1]) {
			const char *name = file_base_name(word), *dot = strrchr(name, '.');
			return mem_strndup(name, dot && dot > name ? (size_t)(dot - name) : strlen(name));
		}
		if (word[1] == '-')
			continue;
		bool has_next = i + 1 < count;
		if (!interpreter->is_shell && strcmp(word, "-m") == 0 && has_next)
			return mem_strdup(words[i + 1]);
		if (interpreter->is_shell && word[length - 1] == 'c' && has_next) {
			const char *first = words[i + 1] + strspn(words[i + 1], " \t\n");
			char *program = mem_strndup(first, strcspn(first, " \t\n;|&"));
			char *name = mem_strdup(file_base_name(program));
			free(program);
			return name;
		}
		if (word[length - 1] == 'c' || word[length - 1] == 'e')
			return NULL;
		if (length == 2 && strchr(interpreter->takes_value, word[1]))
			i++;
	}
	return NULL;
}

static char *name_command(const char *const *argv, size_t count)
{
	const struct interpreter *interpreter = find_interpreter(argv[0]);
	char *name = interpreter ? script_name(interpreter, argv + 1, count - 1) : NULL;
	if (!name || !name[0] || strspn(name, ".") == strlen(name)) {
		free(name);
		name = mem_strdup(file_base_name(argv[0]));
	}
	if (strlen(name) > MAX_NAME_BYTES)
		name[MAX_NAME_BYTES] = '\0';
	char *clean = str_utf8_clean(name, strlen(name));
	free(name);
	for (char *at = clean; *at; at++)
		if ((unsigned char)*at < 0x20 || *at == 0x7F || *at == '/')
			*at = '_';
	return clean;
}

int pipeline_for_command(const char *const *argv, size_t count, struct pipeline **out, struct err *err)
{
	char here[PATH_MAX];
	if (count == 0 || !argv[0] || !argv[0][0])
		return err_set(err, ERR_USAGE, "no command to run");
	if (!getcwd(here, sizeof(here)))
		return err_set_errno(err, ERR_IO, "cannot find the current folder");
	struct pipeline *pipeline = mem_alloc(sizeof(*pipeline));
	profile_unset(&pipeline->profile);
	pipeline->dir = mem_strdup(here);
	pipeline->name = name_command(argv, count);
	struct stage_spec *stage = vec_add(&pipeline->stages);
	profile_unset(&stage->profile);
	stage->name = mem_strdup(pipeline->name);
	stage->cwd = mem_strdup(here);
	for (size_t i = 0; i < count; i++)
		vec_push(&stage->argv, mem_strdup(argv[i]));
	*out = pipeline;
	return 0;
}
