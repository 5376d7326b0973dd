/*
 * fuzz_jit.c - libFuzzer target: any bytes as a perf map and as a jitdump file.
 *
 * What is found has a name; a refusal says why.
 */
#include "base/str.h"
#include "symbol/jit.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void ask(const struct jit_map *map)
{
	static const uint64_t places[] = {0, 0x10, 0x1004, 0x2000, 0x3000, 0x7f0000000000, UINT64_MAX};
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct jit_symbol symbol;
		if (!jit_map_find(map, places[i], &symbol))
			continue;
		if (!symbol.name || symbol.line < 0)
			abort();
		size_t length = strlen(symbol.name);
		for (size_t at = 0, step; at < length; at += step)
			if (!(step = str_utf8_length(symbol.name + at, length - at)))
				abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct jit_map *map = NULL;
	struct err err = {0};
	if (jit_map_parse((const char *)bytes, size, &map, &err))
		abort();
	ask(map);
	jit_map_free(map);
	map = NULL;
	if (jit_dump_parse(bytes, size, &map, &err)) {
		if (map || !err.text[0])
			abort();
		return 0;
	}
	ask(map);
	jit_map_free(map);
	return 0;
}
