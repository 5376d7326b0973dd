/*
 * fuzz_pipeline.c - libFuzzer target: any bytes as a pipeline file, and as a line of output.
 *
 * Nothing may crash, leak, hang or grow without bound, and a refusal must say why.
 */
#include "base/err.h"
#include "config/pipeline.h"
#include "config/quality.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void parse_as_pipeline(const char *text, size_t size)
{
	struct pipeline *pipeline = NULL;
	struct err err = {0};
	int code = pipeline_parse(text, size, "fuzz.yaml", NULL, NULL, &pipeline, &err);
	if (code ? pipeline || !err.text[0] : !pipeline || !pipeline->stages.len)
		abort();
	pipeline_free(pipeline);
}

static void parse_as_line(const char *text, size_t size)
{
	char name[32];
	double value = NAN;
	if (quality_parse_line(text, size, name, sizeof(name), &value) && (!name[0] || !isfinite(value)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	parse_as_pipeline((const char *)bytes, size);
	parse_as_line((const char *)bytes, size);
	return 0;
}
