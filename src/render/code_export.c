/* code_export.c - the table of formats for the code profile. A new format is a new file and a row here. */
#include "render/exports.h"

#include <string.h>

const struct code_export *const code_export_table[] = {&code_export_folded,
						       &code_export_speedscope,
						       &code_export_pprof,
						       &code_export_chrome,
						       &code_export_callgrind,
						       &code_export_svg,
						       NULL};

const struct code_export *code_export_find(const char *name)
{
	for (size_t i = 0; code_export_table[i]; i++)
		if (strcmp(code_export_table[i]->name, name) == 0)
			return code_export_table[i];
	return NULL;
}
