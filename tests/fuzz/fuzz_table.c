/*
 * fuzz_table.c - libFuzzer target: any bytes as a table.
 *
 * The first byte chooses the settings, the rest is the file: once through the reader with small blocks and with one large block,
 * which must agree, and once through a whole run with inference. Nothing may crash or leak, a refusal must say why.
 */
#include "base/str.h"
#include "table/engine.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* A sum over all cells, by row and column; *failed where the reader refused the text. */
static uint64_t read_cells(const char *path, const struct csv_settings *settings, bool *failed)
{
	struct memory memory = {.budget = 64 << 20};
	struct err err = {0};
	struct csv *csv = NULL;
	uint64_t sum = 0, row_number = 0;
	int code = csv_open(path, settings, &memory, &csv, &err);
	struct csv_block *block = code ? NULL : csv_block_new(csv, &err);
	while (!code && (code = csv_block_cut(csv, block, &err)) > 0) {
		code = csv_block_split(csv, block, NULL, &err);
		for (size_t row = 0; !code && row < csv_block_rows(block); row++, row_number++)
			for (size_t i = 0; i < csv_column_count(csv); i++) {
				struct span cell = csv_block_cells(block, i)[row];
				uint64_t hash = row_number * 31 + i;
				for (uint32_t at = 0; at < cell.length; at++)
					hash = (hash ^ (unsigned char)cell.text[at]) * 0x100000001b3ull;
				sum += hash;
			}
	}
	*failed = code < 0;
	if (*failed && !err.text[0])
		abort();
	csv_block_free(block);
	csv_close(csv);
	if (memory.used)
		abort();
	return sum;
}

static void run_whole(const char *path, unsigned choice)
{
	struct recipe *recipe = recipe_new();
	struct engine_settings settings = {.chunk_rows = 16, .threads = 1 + choice % 2, .max_memory_bytes = 64 << 20};
	struct engine *engine = NULL;
	struct engine_result result = {0};
	struct err err = {0};
	recipe->input.ragged = choice % 3;
	recipe->input.encoding = choice / 3 % 2;
	settings.per_chunk = choice / 6 % 2;
	int code = engine_open(path, recipe, &settings, &engine, &err);
	if (!code)
		code = engine_run(engine, choice / 12 % 2, NULL, &result, &err);
	if (code && !err.text[0])
		abort();
	engine_result_fini(&result);
	engine_close(engine);
	recipe_free(recipe);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char path[64];
	if (size < 1)
		return 0;
	int fd = memfd_create("table", MFD_CLOEXEC);
	if (fd < 0 || write(fd, bytes + 1, size - 1) != (ssize_t)(size - 1))
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	struct csv_settings settings = {.ragged = bytes[0] % 3, .encoding = bytes[0] / 3 % 2, .block_bytes = 64};
	bool failed[2];
	uint64_t small = read_cells(path, &settings, &failed[0]);
	settings.block_bytes = 1 << 20;
	uint64_t large = read_cells(path, &settings, &failed[1]);
	if (failed[0] != failed[1] || (!failed[0] && small != large))
		abort();
	run_whole(path, bytes[0]);
	close(fd);
	return 0;
}
