/*
 * substitute.h - ${…} in the values of a pipeline file.
 *
 *	${name}               a declared parameter
 *	${name:raw}           the same, put into a shell script verbatim; elsewhere no different
 *	${env:NAME}           environment variable at load time; an error where it is not set
 *	${env:NAME:-words}    the same with a default (up to the next '}')
 *	$${                   a literal ${
 *
 * In a shell script values are inserted as literal text (see shell_quote.h), every other ${…} is the shell's own and
 * stays, unless its name is so close to a parameter's that it was probably meant; and comments stay as they are.
 * Everywhere else an unknown name is an error.
 */
#ifndef PITOT_CONFIG_SUBSTITUTE_H
#define PITOT_CONFIG_SUBSTITUTE_H

#include "config/pipeline.h"

/* Where the text stands, and which parameters it sees: those that the pipeline has so far. */
struct scope {
	const struct pipeline *pipeline;
	const char *path;
	int line;
	struct err *err;
};

/* *out is owned by the caller. */
int substitute_plain(const struct scope *scope, const char *text, char **out);
int substitute_shell(const struct scope *scope, const char *text, char **out);

/* The parameter that `text` consists of and nothing else ("${name}"), or NULL. */
const struct param *substitute_lone_param(const struct pipeline *pipeline, const char *text);
/* A name that ${…} can name: letters, digits and '_', not beginning with a digit. */
bool substitute_is_name(const char *text);

/* "; did you mean 'x'?" where some declared parameter is close, else "". */
void substitute_suggest(const struct pipeline *pipeline, const char *name, char *out, size_t size);

#endif
