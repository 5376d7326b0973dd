/* describe_line.h - what the two halves of the text format share; only describe*.c include it. */
#ifndef PITOT_MODEL_DESCRIBE_LINE_H
#define PITOT_MODEL_DESCRIBE_LINE_H

#include "base/names.h"
#include "model/arch.h"
#include "model/build.h"

struct describe_line {
	size_t number;
	char *text; /* owned; the words lie in it */
	char *words[64];
	size_t count;
	char *name;   /* before '='; NULL */
	size_t first; /* the operator's word */
	size_t end;   /* behind its numbers and keys */
	size_t of;    /* the first name after "of"; count: none */
};

struct describe {
	const char *name; /* of the file */
	struct build build;
	const struct sizes *asked;
	struct sizes sizes;
	bool declared[DIM_COUNT];
	VEC(struct describe_line) lines;
	struct names values; /* path → tensor */
	VEC(char *) texts;
	size_t last; /* what the line before wrote */
	size_t steps;
	bool has_output;
};

int describe_bad(struct describe *describe, const struct describe_line *line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int describe_number(struct describe *describe, const struct describe_line *line, const char *text, int64_t *out);
int describe_find(struct describe *describe, const struct describe_line *line, const char *name, size_t *out);
/* Gives what was written its name, and makes it the last. */
int describe_call(struct describe *describe, const struct describe_line *line, const char *name, size_t tensor);

/* A line with an operator. */
int describe_op(struct describe *describe, const struct describe_line *line);

#endif
