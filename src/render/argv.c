/* argv.c - see argv.h. The one file here that includes jansson: its names and those of base/json.h overlap. */
#include "render/argv.h"

#include <jansson.h>

int argv_parse(const char *text, struct argv_list *out)
{
	*out = (struct argv_list){0};
	if (!text)
		return 0;
	json_t *array = json_loads(text, 0, NULL);
	int code = json_is_array(array) ? 0 : -1;
	for (size_t i = 0; code == 0 && i < json_array_size(array); i++) {
		const char *word = json_string_value(json_array_get(array, i));
		if (!word) {
			argv_fini(out);
			code = -1;
			break;
		}
		vec_push(&out->items, mem_strdup(word));
	}
	json_decref(array);
	return code;
}

void argv_fini(struct argv_list *list)
{
	for (size_t i = 0; i < list->items.len; i++)
		free(list->items.items[i]);
	vec_fini(&list->items);
}
