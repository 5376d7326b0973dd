/*
 * compare_plan.c - from the arguments of `pitot compare` to subjects and programs; see compare.h.
 *
 * Nothing is run here. The plan must be whole before the trial runner is forked, because the runner gets it by the fork.
 */
#include "base/file.h"
#include "cmd/compare.h"
#include "cmd/compare_params.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

/* What git tells programs about another work tree than the one they are to run in. */
static const char *const git_variables[] = {"GIT_DIR=", "GIT_WORK_TREE=", "GIT_INDEX_FILE=", "GIT_PREFIX="};

char *compare_own(struct compare_plan *plan, char *text)
{
	vec_push(&plan->owned, text);
	return text;
}

int compare_add_program(struct compare_plan *plan, struct word_list *words, const char *cwd, bool keep_all, char *title)
{
	/* Descriptors, environment and the arrays that may still move are filled in by settle_programs. */
	vec_push(&plan->programs, ((struct trial_program){.cwd = cwd, .out = keep_all ? plan->tail : -1}));
	vec_push(&plan->words, *words);
	vec_push(&plan->titles, compare_own(plan, title));
	return (int)plan->programs.len - 1;
}

static void settle_programs(struct compare_plan *plan)
{
	for (size_t i = 0; i < plan->programs.len; i++) {
		struct trial_program *program = &plan->programs.items[i];
		bool aside = program->out == plan->tail;
		program->argv = plan->words.items[i].items.items;
		program->env = plan->env.items;
		program->must_succeed = aside;
		program->in = aside ? plan->null : plan->in;
		program->out = aside ? plan->tail : plan->out;
		program->err = aside || plan->out == plan->null ? plan->tail : plan->out;
	}
}

/* SHELL -c SCRIPT, where the shell is words itself: "bash -e". */
static int shell_words(const struct compare_args *args, const char *script, struct word_list *out, struct err *err)
{
	struct template_values none = {0};
	int code = template_words(args->shell ? args->shell : "sh", &none, out, err);
	if (code)
		return code;
	out->items.len--; /* the NULL */
	vec_push(&out->items, mem_strdup("-c"));
	vec_push(&out->items, mem_strdup(script));
	vec_push(&out->items, NULL);
	return 0;
}

int compare_add_script(const struct compare_args *args, struct compare_plan *plan, const char *option, const char *text,
		       const struct template_values *values, const char *cwd)
{
	struct word_list words = {0};
	struct err err;
	char *script = NULL;
	int code = template_script(text, values, &script, &err);
	code = code ? code : shell_words(args, script, &words, &err);
	int program = code ? -cmd_fail(&cmd_compare, &err)
			   : compare_add_program(plan, &words, cwd, true, mem_printf("%s '%s'", option, script));
	free(script);
	return program;
}

/* ---- descriptors and environment ---- */

static int open_stdin(const char *path, int *out)
{
	struct err err;
	struct stat status;
	*out = open(path, O_RDONLY | O_CLOEXEC);
	if (*out < 0) {
		err_set_errno(&err, ERR_INPUT, "--stdin: cannot read '%s'", path);
		return cmd_fail(&cmd_compare, &err);
	}
	if (fstat(*out, &status) == 0 && (S_ISREG(status.st_mode) || strcmp(path, "/dev/null") == 0))
		return 0;
	err_set(&err, ERR_INPUT, "--stdin: '%s' is no regular file, so it cannot be read again for every run", path);
	return cmd_fail(&cmd_compare, &err);
}

static int open_descriptors(const struct compare_args *args, struct compare_plan *plan)
{
	struct err err;
	plan->null = open("/dev/null", O_RDWR | O_CLOEXEC);
	plan->tail = memfd_create("pitot-tail", MFD_CLOEXEC);
	if (plan->null < 0 || plan->tail < 0 || fcntl(plan->tail, F_SETFL, O_APPEND) != 0) {
		err_set_errno(&err, ERR_IO, "cannot prepare the commands' descriptors");
		return cmd_fail(&cmd_compare, &err);
	}
	plan->in = plan->null;
	plan->out = args->show_output ? fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3) : plan->null;
	if (plan->out < 0)
		plan->out = plan->null;
	return args->stdin_file ? open_stdin(args->stdin_file, &plan->in) : 0;
}

static void copy_environment(const struct compare_args *args, struct compare_plan *plan)
{
	for (char **variable = environ; *variable; variable++) {
		bool misleading = false;
		for (size_t i = 0; args->revisions.len && i < sizeof(git_variables) / sizeof(git_variables[0]); i++)
			misleading |= str_starts(*variable, git_variables[i]);
		if (!misleading)
			vec_push(&plan->env, *variable);
	}
	vec_push(&plan->env, NULL);
}

/* ---- subjects ---- */

/* One text for all commands, or one for each. */
static const char *pick(const struct opt_texts *texts, size_t command)
{
	if (!texts->len)
		return NULL;
	return texts->items[texts->len == 1 ? 0 : command];
}

static int add_aside(const struct compare_args *args, struct compare_plan *plan, const char *option,
		     const struct opt_texts *texts, size_t command, const struct template_values *values,
		     const char *cwd)
{
	const char *text = pick(texts, command);
	return text ? compare_add_script(args, plan, option, text, values, cwd) : NO_PROGRAM;
}

/* Set-up that is word for word the same in the same folder is done once. */
static int add_setup(const struct compare_args *args, struct compare_plan *plan, const struct template_values *values,
		     const char *cwd)
{
	if (!args->setup)
		return 0;
	int program = compare_add_script(args, plan, "--setup", args->setup, values, cwd);
	if (program < 0)
		return -program;
	for (size_t i = 0; i < plan->setups.len; i++) {
		int other = plan->setups.items[i];
		if (plan->programs.items[other].cwd == cwd &&
		    strcmp(plan->titles.items[other], plan->titles.items[program]) == 0)
			return 0;
	}
	vec_push(&plan->setups, program);
	return 0;
}

/* What a person sees of the subject; a second one that reads the same gets a number. */
static size_t add_to_comparison(struct comparison *comparison, const char *label, const char *command,
				const struct template_values *values)
{
	const struct comparison_group *group = vec_last(&comparison->groups);
	size_t same = 1, length = strlen(label);
	for (size_t i = group->first; i < group->first + group->count; i++)
		same += strncmp(comparison->subjects.items[i].label, label, length) == 0 &&
			(comparison->subjects.items[i].label[length] == '\0' ||
			 strncmp(comparison->subjects.items[i].label + length, " (", 2) == 0);
	char *unique = same > 1 ? mem_printf("%s (%zu)", label, same) : mem_strdup(label);
	size_t subject = comparison_add_subject(comparison, unique, command);
	for (size_t i = 0; i < values->items.len; i++)
		vec_push(&comparison->subjects.items[subject].params,
			 ((struct name_value){.name = mem_strdup(values->items.items[i].name),
					      .value = mem_strdup(values->items.items[i].value)}));
	free(unique);
	return subject;
}

struct subject_request {
	const char *text;             /* a command line, or a pipeline's file */
	const struct opt_texts *argv; /* after "--"; `text` is NULL then */
	size_t command;               /* which of the commands */
	const char *name;             /* a label, or NULL */
	const char *cwd;
	const struct template_values *values;
};

static int command_words(const struct compare_args *args, const struct subject_request *request,
			 struct word_list *words, struct err *err)
{
	char *script = NULL;
	if (request->argv) {
		for (size_t i = 0; i < request->argv->len; i++)
			vec_push(&words->items, template_plain(request->argv->items[i], request->values));
		vec_push(&words->items, NULL);
		return 0;
	}
	if (!args->use_shell)
		return template_words(request->text, request->values, words, err);
	int code = template_script(request->text, request->values, &script, err);
	code = code ? code : shell_words(args, script, words, err);
	free(script);
	return code;
}

static char *command_text(const struct subject_request *request)
{
	struct str text = {0};
	if (request->text)
		return template_plain(request->text, request->values);
	for (size_t i = 0; i < request->argv->len; i++)
		str_appendf(&text, "%s%s", i ? " " : "", request->argv->items[i]);
	char *plain = template_plain(str_text(&text), request->values);
	str_fini(&text);
	return plain;
}

/* A pipeline's file reads the same whatever its parameters are. */
static char *label_text(const struct compare_plan *plan, const struct subject_request *request, const char *text)
{
	struct str label = {0};
	str_append(&label, text);
	for (size_t i = 0; plan->pipelines && i < request->values->items.len; i++)
		str_appendf(&label, " %s=%s", request->values->items.items[i].name,
			    request->values->items.items[i].value);
	return str_take(&label);
}

static int add_subject(const struct compare_args *args, struct compare_plan *plan, struct comparison *comparison,
		       const struct subject_request *request)
{
	struct compare_subject subject = {.program = NO_PROGRAM};
	struct word_list words = {0};
	struct err err;
	char *text = command_text(request);
	char *label = request->name ? mem_strdup(request->name) : label_text(plan, request, text);
	int status = 0;
	if (plan->pipelines) {
		subject.pipeline_path = compare_own(plan, mem_strdup(request->text));
	} else if (command_words(args, request, &words, &err) == 0) {
		subject.program = compare_add_program(plan, &words, request->cwd, false, mem_strdup(text));
		plan->shell_used |= args->use_shell && !request->argv;
	} else {
		status = cmd_fail(&cmd_compare, &err);
	}
	if (!status) {
		add_to_comparison(comparison, label, text, request->values);
		subject.prepare = add_aside(args, plan, "--prepare", &args->prepare, request->command, request->values,
					    request->cwd);
		subject.cleanup = add_aside(args, plan, "--cleanup", &args->cleanup, request->command, request->values,
					    request->cwd);
		status = subject.prepare < NO_PROGRAM   ? -subject.prepare
			 : subject.cleanup < NO_PROGRAM ? -subject.cleanup
							: add_setup(args, plan, request->values, request->cwd);
	}
	vec_push(&plan->subjects, subject);
	free(text);
	free(label);
	return status;
}

/* ---- what is compared with what ---- */

static bool is_pipeline_file(const char *text)
{
	struct stat status;
	return (str_ends(text, ".yaml") || str_ends(text, ".yml") || str_ends(text, ".json")) &&
	       stat(text, &status) == 0 && S_ISREG(status.st_mode);
}

static int check_kinds(const struct compare_args *args, struct compare_plan *plan, const struct opt_texts *commands)
{
	size_t files = 0;
	for (size_t i = 0; i < commands->len; i++)
		files += is_pipeline_file(commands->items[i]);
	plan->pipelines = files > 0;
	if (files && files < commands->len)
		return cmd_usage_error(&cmd_compare, "pipelines and commands are measured differently and cannot be "
						     "compared with each other");
	if (files && args->revisions.len)
		return cmd_usage_error(&cmd_compare, "--rev compares a command, not a pipeline file; "
						     "try -- pitot run PIPELINE");
	return 0;
}

static int check_counts(const struct compare_args *args, const struct compare_plan *plan, size_t commands)
{
	const struct {
		const char *option;
		const struct opt_texts *texts;
	} rows[] = {{"--prepare", &args->prepare}, {"--cleanup", &args->cleanup}};
	for (size_t i = 0; i < 2; i++)
		if (rows[i].texts->len > 1 && rows[i].texts->len != commands)
			return cmd_usage_error(&cmd_compare, "%s: give it once, or once for each of the %zu commands",
					       rows[i].option, commands);
	if (args->names.len > (args->revisions.len ? args->revisions.len : commands))
		return cmd_usage_error(&cmd_compare, "--name: more names than commands");
	if (commands == 0)
		return cmd_usage_error(&cmd_compare, "expected commands or pipeline files to compare");
	if (args->revisions.len == 1)
		return cmd_usage_error(&cmd_compare, "--rev: expected at least two revisions");
	if (args->revisions.len && commands > 1)
		return cmd_usage_error(&cmd_compare, "--rev: expected one command, to be run in each revision");
	if (!args->revisions.len && commands == 1 && !plan->parameters.len)
		return cmd_usage_error(&cmd_compare, "nothing to compare it with; to measure one command: "
						     "pitot run --repeat N -- COMMAND");
	return 0;
}

/* The commands of one combination of parameters, or the revisions. */
static int add_members(const struct compare_args *args, struct compare_plan *plan, struct comparison *comparison,
		       const struct opt_texts *commands, const struct opt_texts *argv,
		       const struct template_values *values)
{
	int status = 0;
	size_t count = argv ? 1 : commands->len;
	for (size_t i = 0; i < count && !status; i++) {
		struct subject_request request = {
			.text = argv ? NULL : commands->items[i], .argv = argv, .command = i, .values = values};
		request.name = !args->revisions.len && i < args->names.len ? args->names.items[i] : NULL;
		if (!args->revisions.len)
			status = add_subject(args, plan, comparison, &request);
		for (size_t r = 0; r < args->revisions.len && !status; r++) {
			request.name = r < args->names.len ? args->names.items[r] : args->revisions.items[r];
			request.cwd = plan->revisions.items[r].cwd;
			status = add_subject(args, plan, comparison, &request);
		}
	}
	return status;
}

static int add_groups(const struct compare_args *args, struct compare_plan *plan, struct comparison *comparison,
		      const struct opt_texts *commands, const struct opt_texts *argv)
{
	/* One command with parameters: its values are compared with each other. */
	bool one_table = !args->revisions.len && (argv ? 1 : commands->len) == 1;
	size_t combinations = compare_combinations(plan);
	int status = 0;
	for (size_t i = 0; i < combinations && !status; i++) {
		struct template_values values = {0};
		compare_combination(plan, i, &values);
		if (i == 0 || !one_table)
			comparison_add_group(comparison);
		status = add_members(args, plan, comparison, commands, argv, &values);
		vec_fini(&values.items);
	}
	return status;
}

static int check_mentions(const struct compare_args *args, const struct compare_plan *plan,
			  const struct opt_texts *rest)
{
	for (size_t p = 0; p < plan->parameters.len && !plan->pipelines; p++) {
		const char *name = plan->parameters.items[p].name;
		bool found = args->setup && template_mentions(args->setup, name);
		for (size_t i = 0; i < rest->len; i++)
			found |= template_mentions(rest->items[i], name);
		for (size_t i = 0; i < args->prepare.len; i++)
			found |= template_mentions(args->prepare.items[i], name);
		if (!found)
			return cmd_usage_error(&cmd_compare, "no command has {%s} in it", name);
	}
	return 0;
}

static int set_reference(const struct compare_args *args, struct comparison *comparison)
{
	for (size_t i = 0; i < comparison->groups.len; i++) {
		struct comparison_group *group = &comparison->groups.items[i];
		if (args->reference < 1 || (uint64_t)args->reference > group->count)
			return cmd_usage_error(&cmd_compare, "--reference: expected 1 to %zu", group->count);
		group->reference = group->first + (size_t)args->reference - 1;
		if (group->count < 2)
			return cmd_usage_error(&cmd_compare, "nothing to compare it with: the parameter has one value");
	}
	return 0;
}

/* The commands before "--", and the words of the one after it. */
static bool split_rest(const struct opt_texts *rest, size_t dashes, struct opt_texts *commands, struct opt_texts *argv)
{
	*commands = *rest;
	*argv = (struct opt_texts){0};
	if (dashes == SIZE_MAX)
		return false;
	*argv = (struct opt_texts){.items = rest->items + dashes, .len = rest->len - dashes};
	commands->len = dashes;
	return true;
}

int compare_plan_kind(const struct compare_args *args, const struct opt_texts *rest, size_t dashes,
		      struct compare_plan *plan)
{
	struct opt_texts commands, argv;
	bool words_given = split_rest(rest, dashes, &commands, &argv);
	if (words_given && (commands.len || !argv.len))
		return cmd_usage_error(&cmd_compare,
				       argv.len ? "commands before '--' and words after it exclude each other"
						: "nothing after '--': expected a command");
	int status = compare_parameters(args, plan);
	status = status ? status : check_kinds(args, plan, &commands);
	status = status ? status : check_counts(args, plan, words_given ? 1 : commands.len);
	return status ? status : check_mentions(args, plan, rest);
}

int compare_plan_make(const struct compare_args *args, const struct opt_texts *rest, size_t dashes,
		      struct compare_plan *plan, struct comparison *comparison)
{
	struct opt_texts commands, argv;
	bool words_given = split_rest(rest, dashes, &commands, &argv);
	int status = open_descriptors(args, plan);
	if (status)
		return status;
	copy_environment(args, plan);
	status = args->revisions.len ? compare_plan_revisions(args, plan) : 0;
	status = status ? status : add_groups(args, plan, comparison, &commands, words_given ? &argv : NULL);
	status = status ? status : set_reference(args, comparison);
	settle_programs(plan);
	return status;
}

void compare_plan_fini(struct compare_plan *plan)
{
	const int fds[] = {plan->tail, plan->null, plan->in != plan->null ? plan->in : -1,
			   plan->out != plan->null ? plan->out : -1};
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	for (size_t i = 0; i < plan->words.len; i++)
		word_list_fini(&plan->words.items[i]);
	for (size_t i = 0; i < plan->owned.len; i++)
		free(plan->owned.items[i]);
	for (size_t i = 0; i < plan->subjects.len; i++)
		pipeline_free(plan->subjects.items[i].pipeline);
	for (size_t i = 0; i < plan->parameters.len; i++)
		vec_fini(&plan->parameters.items[i].values);
	vec_fini(&plan->words);
	vec_fini(&plan->owned);
	vec_fini(&plan->programs);
	vec_fini(&plan->titles);
	vec_fini(&plan->subjects);
	vec_fini(&plan->revisions);
	vec_fini(&plan->setups);
	vec_fini(&plan->parameters);
	vec_fini(&plan->env);
	free(plan->scratch);
}
