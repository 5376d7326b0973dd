/*
 * fuzz_demangle.c - libFuzzer target: any bytes as a linker's name.
 *
 * A name always comes out, bounded and valid UTF-8. C++ names belong to another library and are not its subject: "_Z" that is no
 * Rust name is left out.
 */
#include "symbol/demangle.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char *symbol = malloc(size + 1);
	if (!symbol)
		return 0;
	memcpy(symbol, bytes, size);
	symbol[size] = '\0';
	struct str rust = {0};
	rust_v0_name(symbol, size, &rust);
	bool legacy = rust_legacy_name(symbol, size, &rust);
	str_fini(&rust);
	if (legacy || strncmp(symbol, "_Z", 2) != 0) {
		char *name = demangle_name(symbol);
		size_t length = strlen(name);
		if (length > DEMANGLE_NAME_MAX)
			abort();
		for (size_t at = 0, step; at < length; at += step)
			if (!(step = str_utf8_length(name + at, length - at)))
				abort();
		free(name);
	}
	free(symbol);
	return 0;
}
