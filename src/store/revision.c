/*
 * revision.c - see revision.h.
 *
 * git is started with its words as they are, never through a shell, and only for words that are no beginning of a recorded
 * commit. Where there is no git, or the folder is no repository, the word simply names no commit.
 */
#include "store/revision.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { LEAST_DIGITS = 4, MOST_DIGITS = 64, SHOWN_DIGITS = 12 };

static size_t hex_digits(const char *text)
{
	return strspn(text, "0123456789abcdef");
}

static bool is_beginning(const char *word)
{
	size_t digits = hex_digits(word);
	return digits >= LEAST_DIGITS && digits <= MOST_DIGITS && word[digits] == '\0';
}

/* Whether the entry's commit begins with `digits`; what follows a recorded commit ("+dirty") is no part of it. */
static bool made_at(const struct history_entry *entry, const char *digits)
{
	return entry->git_commit && !entry->damaged && str_starts(entry->git_commit, digits);
}

static bool same_commit(const char *a, const char *b)
{
	size_t digits = hex_digits(a);
	return digits == hex_digits(b) && strncmp(a, b, digits) == 0;
}

/* Entries are newest first. */
static int find_commit(const struct history *history, const char *digits, const struct history_entry **out,
		       struct err *err)
{
	const struct history_entry *found = NULL;
	for (size_t i = 0; i < history->entries.len; i++) {
		const struct history_entry *entry = &history->entries.items[i];
		if (!made_at(entry, digits))
			continue;
		if (found && !same_commit(found->git_commit, entry->git_commit))
			return err_set(err, ERR_INPUT,
				       "several commits with runs begin with '%s' (%.*s, %.*s); type more of it",
				       digits, SHOWN_DIGITS, found->git_commit, SHOWN_DIGITS, entry->git_commit);
		if (!found)
			found = entry;
	}
	*out = found;
	return found != NULL;
}

static int spawn_git(const char *revision, int out_fd, pid_t *pid)
{
	char *argv[] = {"git", "rev-parse", "--verify", "--quiet", (char *)revision, NULL};
	posix_spawn_file_actions_t actions;
	if (posix_spawn_file_actions_init(&actions) != 0)
		return -1;
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, out_fd, STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	int failed = posix_spawnp(pid, "git", &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return failed ? -1 : 0;
}

static size_t read_all(int fd, char *out, size_t size)
{
	size_t used = 0;
	while (used < size - 1) {
		ssize_t got = read(fd, out + used, size - 1 - used);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		used += (size_t)got;
	}
	out[used] = '\0';
	return used;
}

/* What git answers, without the line end; false where it does not know the revision. */
static bool ask_git(const char *word, char *out, size_t size)
{
	int ends[2], status = -1;
	pid_t pid;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return false;
	char *revision = mem_printf("%s^{commit}", word);
	int failed = spawn_git(revision, ends[1], &pid);
	free(revision);
	close(ends[1]);
	if (!failed) {
		read_all(ends[0], out, size);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			continue;
		out[strcspn(out, "\n")] = '\0';
	}
	close(ends[0]);
	return !failed && status == 0 && is_beginning(out) && hex_digits(out) >= 40;
}

int revision_find(const struct history *history, const char *word, const struct history_entry **out, struct err *err)
{
	char commit[MOST_DIGITS + 2];
	if (is_beginning(word)) {
		int found = find_commit(history, word, out, err);
		if (found)
			return found;
	}
	if (word[0] == '\0' || word[0] == '-' || !ask_git(word, commit, sizeof(commit)))
		return 0;
	int found = find_commit(history, commit, out, err);
	if (found)
		return found;
	return err_set(err, ERR_INPUT, "no run in '%s' was made at commit %.*s (%s); pitot history lists the runs",
		       history->dir, SHOWN_DIGITS, commit, word);
}
