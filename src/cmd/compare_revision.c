/*
 * compare_revision.c - revisions of one project, each checked out and built in a work tree of its own.
 *
 * The trees lie below our temporary folder; the user's own work tree and index are never touched. The repository learns
 * of the trees (git worktree add) and forgets them again (git worktree remove), whatever happens in between; where pitot is
 * killed outright, the folder is removed all the same and `git worktree prune` drops the entry.
 */
#include "base/file.h"
#include "cmd/compare.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The folder with .git, from `folder` upwards; owned, or NULL. */
static char *find_top(const char *folder)
{
	char *at = mem_strdup(folder);
	for (;;) {
		struct stat status;
		char *git = file_join(at, ".git");
		bool found = stat(git, &status) == 0;
		free(git);
		if (found)
			return at;
		char *slash = strrchr(at, '/');
		if (!slash || slash == at)
			break;
		*slash = '\0';
	}
	free(at);
	return NULL;
}

static int add_git(struct compare_plan *plan, const char *top, const char *const *more, char *title)
{
	/* No hooks: a checkout of ours is none of theirs. */
	const char *const head[] = {"git", "-C", top, "-c", "core.hooksPath=/dev/null", "worktree"};
	struct word_list words = {0};
	for (size_t i = 0; i < sizeof(head) / sizeof(head[0]); i++)
		vec_push(&words.items, mem_strdup(head[i]));
	for (size_t i = 0; more[i]; i++)
		vec_push(&words.items, mem_strdup(more[i]));
	vec_push(&words.items, NULL);
	return compare_add_program(plan, &words, NULL, true, title);
}

/* `below`: where the current folder is in the repository, "" or "/sub/folder"; the command runs in the same. */
static int add_revision(const struct compare_args *args, struct compare_plan *plan, const char *top, const char *below,
			const char *name)
{
	struct template_values none = {0};
	struct compare_revision revision = {.name = compare_own(plan, mem_strdup(name)), .build = NO_PROGRAM};
	revision.tree = compare_own(plan, mem_printf("%s/rev-%zu", plan->scratch, plan->revisions.len + 1));
	revision.cwd = compare_own(plan, mem_printf("%s%s", revision.tree, below));
	if (name[0] == '-')
		return cmd_usage_error(&cmd_compare, "--rev: '%s' is no revision", name);
	revision.add =
		add_git(plan, top, (const char *const[]){"add", "--quiet", "--detach", revision.tree, name, NULL},
			mem_printf("checking out '%s'", name));
	revision.remove = add_git(plan, top, (const char *const[]){"remove", "--force", revision.tree, NULL},
				  mem_printf("removing the work tree of '%s'", name));
	if (args->build)
		revision.build = compare_add_script(args, plan, "--build", args->build, &none, revision.cwd);
	vec_push(&plan->revisions, revision);
	return revision.build < NO_PROGRAM ? -revision.build : 0;
}

int compare_plan_revisions(const struct compare_args *args, struct compare_plan *plan)
{
	struct err err;
	char *cwd = getcwd(NULL, 0), *top = cwd ? find_top(cwd) : NULL;
	int status = 0;
	if (!top) {
		err_set(&err, ERR_INPUT, "--rev: '%s' is in no git repository", cwd ? cwd : "?");
		status = cmd_fail(&cmd_compare, &err);
	}
	for (size_t i = 0; i < args->revisions.len && !status; i++)
		status = add_revision(args, plan, top, cwd + strlen(top), args->revisions.items[i]);
	free(cwd);
	free(top);
	return status;
}
