/*
 * table_file.h - tables as files for the tests of src/table, and what their engine says about them.
 */
#ifndef PITOT_TESTS_TABLE_FILE_H
#define PITOT_TESTS_TABLE_FILE_H

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "table/csv.h"
#include "unit.h"

/* A file of its own with these bytes; the path is owned by the caller, and the file is removed by table_file_remove. */
static inline char *table_file(const char *name, const char *bytes, size_t size)
{
	struct err err = {0};
	char *folder = file_make_temp_dir(&err);
	assert_non_null(folder);
	char *path = file_join(folder, name);
	assert_int_equal(file_write_atomic(path, bytes, size, &err), 0);
	free(folder);
	return path;
}

static inline void table_file_remove(char *path)
{
	unlink(path);
	char *slash = strrchr(path, '/');
	*slash = 0;
	rmdir(path);
	free(path);
}

/* A number that looks random and is the same everywhere. */
static inline uint64_t table_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

#endif
