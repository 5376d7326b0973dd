/* delta.c - the table of the formats in which a comparison is shown. */
#include "render/delta.h"
#include "render/delta_formats.h"

#include <string.h>

static const struct delta_renderer *const renderers[] = {&delta_term,   &delta_md,     &delta_json, &delta_html,
							 &delta_github, &delta_gitlab, &delta_junit};

const struct delta_renderer *delta_renderer_find(const char *name)
{
	for (size_t i = 0; i < sizeof(renderers) / sizeof(renderers[0]); i++)
		if (strcmp(renderers[i]->name, name) == 0)
			return renderers[i];
	return NULL;
}

int delta_line_of(const struct delta *delta, const struct gate_check *check)
{
	const char *text = delta->config_text, *found = text ? strstr(text, check->name) : NULL;
	int line = 1;
	for (const char *at = text; found && at < found; at++)
		line += *at == '\n';
	return line;
}
