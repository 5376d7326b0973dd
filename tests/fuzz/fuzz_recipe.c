/*
 * fuzz_recipe.c - libFuzzer target: any bytes as a recipe, brought together with a small table and run.
 *
 * Nothing may crash or leak, a refusal must say why, and what was accepted must read as the same when it is written.
 */
#include "base/str.h"
#include "table/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const char table[] =
	"a,b,t,u,d\n1,2,x,6-9 / 2.06,2020-01-02\n,3.5,y,$7,2021-12-31\n-4,,x,,\n9,1e3,,q20,2019-02-03\n";

static void run(struct recipe *recipe)
{
	char path[64];
	struct engine_settings settings = {.chunk_rows = 2, .threads = 1, .max_memory_bytes = 64 << 20};
	struct engine *engine = NULL;
	struct engine_result result = {0};
	struct err err = {0};
	int fd = memfd_create("table", MFD_CLOEXEC);
	if (fd < 0 || write(fd, table, sizeof(table) - 1) != (ssize_t)(sizeof(table) - 1))
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	int code = engine_open(path, recipe, &settings, &engine, &err);
	if (!code)
		code = engine_run(engine, ENGINE_STREAMING, NULL, &result, &err);
	if (code && !err.text[0])
		abort();
	engine_result_fini(&result);
	engine_close(engine);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct recipe *recipe = NULL, *again = NULL;
	struct err err = {0};
	if (recipe_parse((const char *)bytes, size, "recipe.yaml", &recipe, &err)) {
		if (!err.text[0] || recipe)
			abort();
		return 0;
	}
	struct str first = {0}, second = {0};
	recipe_write(recipe, &first);
	if (recipe_parse(first.text, first.len, "recipe.yaml", &again, &err))
		abort();
	recipe_write(again, &second);
	if (strcmp(first.text, second.text) != 0)
		abort();
	run(recipe);
	recipe_free(recipe);
	recipe_free(again);
	str_fini(&first);
	str_fini(&second);
	return 0;
}
