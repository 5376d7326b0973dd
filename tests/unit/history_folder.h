/*
 * history_folder.h - a folder of run files that lives as long as one test, and what tests of the history ask of it.
 */
#ifndef PITOT_TESTS_HISTORY_FOLDER_H
#define PITOT_TESTS_HISTORY_FOLDER_H

#include "base/file.h"
#include "store/history.h"
#include "test_store_run.h"
#include "unit.h"

#include <sys/stat.h>

struct fixture {
	char *dir;
	struct err err;
};

static inline int setup(void **state)
{
	struct fixture *f = mem_alloc(sizeof(*f));
	f->dir = run_folder_new();
	*state = f;
	return 0;
}

static inline int teardown(void **state)
{
	struct fixture *f = *state;
	chmod(f->dir, 0700); /* a test may have locked it */
	run_folder_free(f->dir);
	free(f);
	return 0;
}

static inline void assert_resolves(struct fixture *f, const char *word, const char *file)
{
	char *path = NULL, *wanted = file_join(f->dir, file);
	if (history_resolve(f->dir, word, &path, &f->err) != 0)
		fail_msg("'%s': %s", word ? word : "the last run", f->err.text);
	assert_string_equal(path, wanted);
	free(path);
	free(wanted);
}

static inline void assert_not_resolved(struct fixture *f, const char *word, const char *words)
{
	char *path = NULL;
	assert_int_equal(history_resolve(f->dir, word, &path, &f->err), ERR_INPUT);
	assert_null(path);
	if (!strstr(f->err.text, words))
		fail_msg("'%s' does not say '%s'", f->err.text, words);
}

#endif
