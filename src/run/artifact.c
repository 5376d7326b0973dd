/* artifact.c - see artifact.h. */
#include "run/artifact.h"

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FOLDER_DEPTH = 32 };

/* Links are not followed, so the walk ends. */
static uint64_t size_at(int folder, const char *name, int depth)
{
	struct stat status;
	if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
		return 0;
	if (!S_ISDIR(status.st_mode) || depth == 0)
		return (uint64_t)status.st_size;
	uint64_t total = 0;
	int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;
	for (struct dirent *entry; entries && (entry = readdir(entries));)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			total += size_at(fd, entry->d_name, depth - 1);
	if (entries)
		closedir(entries);
	else if (fd >= 0)
		close(fd);
	return total;
}

static void add(struct artifact_list *out, const char *path, bool is_output, bool exists)
{
	struct artifact *artifact = vec_add(&out->items);
	struct stat status;
	*artifact = (struct artifact){.is_output = is_output, .path = mem_strdup(path), .exists = exists};
	if (exists && stat(path, &status) == 0)
		artifact->bytes =
			S_ISDIR(status.st_mode) ? size_at(AT_FDCWD, path, FOLDER_DEPTH) : (uint64_t)status.st_size;
}

void artifacts_look(char *const *patterns, size_t count, bool is_output, struct artifact_list *out)
{
	for (size_t i = 0; i < count; i++) {
		glob_t found;
		/* A name with a bracket in it is first of all a name. */
		if (access(patterns[i], F_OK) == 0) {
			add(out, patterns[i], is_output, true);
			continue;
		}
		int failed = glob(patterns[i], 0, NULL, &found);
		for (size_t match = 0; !failed && match < found.gl_pathc; match++)
			add(out, found.gl_pathv[match], is_output, true);
		if (failed)
			add(out, patterns[i], is_output, false);
		globfree(&found);
	}
}

void artifact_list_fini(struct artifact_list *list)
{
	for (size_t i = 0; i < list->items.len; i++)
		free(list->items.items[i].path);
	vec_fini(&list->items);
}

const char *artifacts_missing(const struct artifact_list *list)
{
	for (size_t i = 0; i < list->items.len; i++)
		if (!list->items.items[i].exists)
			return list->items.items[i].path;
	return NULL;
}
