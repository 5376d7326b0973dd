/*
 * make_runfile_seed.c - writes the seed of fuzz_runfile: a small run file with something in every table, in small pages
 * so that a mutation hits something that matters.
 *
 *	make build/libcore.a
 *	cc -std=c17 -D_GNU_SOURCE -Isrc -Itests/unit tests/fuzz/make_runfile_seed.c build/libcore.a -lsqlite3 -lm -o
 * seed
 *	./seed tests/fuzz/corpus/runfile/profile.pitot
 */
#include "test_store_run.h"

#include <sqlite3.h>

int main(int argc, char **argv)
{
	struct err err = {0};
	sqlite3 *db = NULL;
	if (argc != 2 || run_write(argv[1], &err) != 0) {
		fprintf(stderr, "usage: seed NEW-FILE: %s\n", err.text);
		return 1;
	}
	int code = sqlite3_open(argv[1], &db);
	if (!code)
		code = sqlite3_exec(db, "PRAGMA page_size = 512; VACUUM", NULL, NULL, NULL);
	sqlite3_close(db);
	return code ? 1 : 0;
}
