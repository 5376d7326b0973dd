/*
 * export_sample.c - writes one of the profiles of export_case.h in one format, for the tests that give it to the tool which
 * the format is for.
 *
 *	export_sample PROFILE FORMAT > FILE
 */
#include "export_case.h"

#include <stdio.h>

static struct profile_data *profile_named(const char *name)
{
	if (strcmp(name, "sample") == 0)
		return sample_profile_new();
	if (strcmp(name, "empty") == 0)
		return export_no_samples();
	if (strcmp(name, "one") == 0)
		return export_one_sample();
	if (strcmp(name, "hostile") == 0)
		return export_hostile();
	if (strcmp(name, "recursion") == 0)
		return export_recursion(60);
	if (strcmp(name, "deep") == 0)
		return export_recursion(100000);
	return strcmp(name, "large") == 0 ? export_large(200000) : NULL;
}

int main(int argc, char **argv)
{
	const struct code_export *format = argc == 3 ? code_export_find(argv[2]) : NULL;
	struct profile_data *profile = format ? profile_named(argv[1]) : NULL;
	struct export_case it;
	struct str out = {0};
	struct err err = {0};
	if (!profile) {
		fprintf(stderr, "usage: export_sample PROFILE FORMAT\n");
		return 64;
	}
	export_case_init(&it, profile, (struct code_select){.by_line = format->by_line});
	sample_series(&it.report.stages.items[0], "cpu_percent", UNIT_PERCENT, 100);
	sample_series(&it.report.stages.items[0], "memory", UNIT_BYTES, 1e9);
	int status = format->render(&it.tree, &it.report, &out, &err);
	if (status)
		fprintf(stderr, "%s\n", err.text);
	else
		fwrite(str_text(&out), 1, out.len, stdout);
	str_fini(&out);
	export_case_fini(&it);
	return status ? 1 : 0;
}
