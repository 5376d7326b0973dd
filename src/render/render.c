/* render.c - the table of report formats. A new format is a new file and a row here. */
#include "render/renderers.h"

#include <string.h>

const struct renderer *const renderer_table[] = {
	&renderer_term, &renderer_md, &renderer_json, &renderer_csv, &renderer_operators, &renderer_heaptrack, NULL};

const struct renderer *renderer_find(const char *name)
{
	for (size_t i = 0; renderer_table[i]; i++)
		if (strcmp(renderer_table[i]->name, name) == 0)
			return renderer_table[i];
	return NULL;
}
