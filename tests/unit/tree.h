/*
 * tree.h - a temporary folder that stands in for /proc, /sys or a folder of programs, written by the test itself.
 *
 * tree_write changes a file in place, so that a descriptor which a probe keeps open sees the new text, as it does with
 * the kernel's files.
 */
#ifndef PITOT_TESTS_TREE_H
#define PITOT_TESTS_TREE_H

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sys/stat.h>

struct tree {
	char root[64];
};

static inline void tree_init(struct tree *tree)
{
	snprintf(tree->root, sizeof(tree->root), "/tmp/pitot-tree-XXXXXX");
	assert_non_null(mkdtemp(tree->root));
	/* Tests that drop root's rights must still be able to look inside. */
	assert_int_equal(chmod(tree->root, 0755), 0);
}

static inline const char *tree_path(const struct tree *tree, const char *relative)
{
	static char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/%s", tree->root, relative);
	return path;
}

static inline void tree_folders(const struct tree *tree, const char *relative)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/%s", tree->root, relative);
	for (char *at = path + strlen(tree->root) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
		*at = '/';
	}
}

static inline void tree_write(const struct tree *tree, const char *relative, const char *text)
{
	tree_folders(tree, relative);
	int fd = open(tree_path(tree, relative), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static inline int tree_remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
	(void)status, (void)kind, (void)where;
	return remove(path);
}

static inline void tree_fini(struct tree *tree)
{
	nftw(tree->root, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
