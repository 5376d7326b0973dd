/*
 * fuzz_machine.c - libFuzzer target: any bytes as a stored machine, once as they are and once with a last line that is right
 * about them, so that the reader goes on to the lines themselves.
 *
 * Nothing may crash or leak, a refusal must say why, and what was accepted must come back the same when it is written.
 */
#include "model/machine_cache.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void parse(const char *text, size_t size)
{
	struct machine machine, again;
	struct err err = {0};
	int code = machine_parse(text, size, &machine, &err);
	if (code) {
		if (!err.text[0] || machine.rates.len)
			abort();
		return;
	}
	struct str first = {0}, second = {0};
	struct roof roof;
	machine_write(&machine, &first);
	if (machine_parse(first.text, first.len, &again, &err) != 0)
		abort();
	machine_write(&again, &second);
	if (strcmp(str_text(&first), str_text(&second)) != 0)
		abort();
	machine_roof(&machine, "fp32", machine.threads, &roof);
	str_fini(&first);
	str_fini(&second);
	machine_fini(&machine);
	machine_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct str sealed = {0};
	uint64_t sum = 0xcbf29ce484222325ull;
	parse((const char *)bytes, size);
	str_append(&sealed, "pitot-machine\t1\n");
	str_append_bytes(&sealed, (const char *)bytes, size);
	for (size_t i = 0; i < sealed.len; i++)
		sum = (sum ^ (unsigned char)sealed.text[i]) * 0x100000001b3ull;
	str_appendf(&sealed, "end\t%016" PRIx64 "\n", sum);
	parse(sealed.text, sealed.len);
	str_fini(&sealed);
	return 0;
}
