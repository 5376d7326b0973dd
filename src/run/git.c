/* git.c - see git.h. Knows work trees (".git" as a file), packed refs and detached heads. */
#include "run/git.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_commit(const char *text)
{
	size_t length = strspn(text, "0123456789abcdef");
	return (length == 40 || length == 64) && text[length] == '\0';
}

static char *read_line(const char *folder, const char *name)
{
	char text[4096];
	char *path = file_join(folder, name);
	ssize_t got = file_read_small(path, text, sizeof(text));
	free(path);
	return got > 0 ? mem_strndup(text, strcspn(text, "\n")) : NULL;
}

/* The repository's folder for a work tree, going up from `folder`. */
static char *find_git(const char *folder)
{
	char *at = realpath(folder, NULL);
	char *found = NULL;
	while (at && at[0] && !found) {
		char *git = mem_printf("%s/.git", at);
		struct stat status;
		if (stat(git, &status) == 0 && S_ISDIR(status.st_mode)) {
			found = mem_strdup(git);
		} else if (stat(git, &status) == 0) {
			char *line = read_line(at, ".git");
			if (line && str_starts(line, "gitdir: "))
				found = file_join(at, line + 8);
			free(line);
		}
		free(git);
		char *slash = strrchr(at, '/');
		if (!slash)
			break;
		*slash = '\0';
	}
	free(at);
	return found;
}

static char *find_packed(const char *git, const char *ref)
{
	char *path = file_join(git, "packed-refs"), *found = NULL;
	FILE *file = fopen(path, "re");
	char line[4096];
	while (file && !found && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		char *space = strchr(line, ' ');
		if (!space || strcmp(space + 1, ref) != 0)
			continue;
		*space = '\0';
		if (is_commit(line))
			found = mem_strdup(line);
	}
	if (file)
		fclose(file);
	free(path);
	return found;
}

static char *resolve(const char *git, const char *common, const char *ref)
{
	const char *places[] = {git, common};
	for (int i = 0; i < 2; i++) {
		char *line = read_line(places[i], ref);
		if (line && is_commit(line))
			return line;
		free(line);
	}
	return find_packed(common, ref);
}

char *git_commit_of(const char *folder)
{
	char *git = folder ? find_git(folder) : NULL;
	if (!git)
		return NULL;
	char *commit = NULL, *head = read_line(git, "HEAD"), *shared = read_line(git, "commondir");
	char *common = shared ? file_join(git, shared) : mem_strdup(git);
	if (head && is_commit(head))
		commit = mem_strdup(head);
	else if (head && str_starts(head, "ref: "))
		commit = resolve(git, common, head + 5);
	free(git);
	free(head);
	free(shared);
	free(common);
	return commit;
}
