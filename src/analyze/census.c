/* census.c - see census.h. */
#include "analyze/census.h"
#include "store/store.h"

#include <string.h>

enum { PROGRAMS_MOST = 1000 }; /* a rule cares for programs that came often; names without end are somebody's joke */

/* "python" of "/usr/bin/python3.11 -m x": folder, arguments and version taken off. Owned by the caller. */
static char *program_name(const char *command)
{
	size_t length = strcspn(command ? command : "", " \t\n");
	const char *slash = memrchr(command ? command : "", '/', length);
	const char *name = slash ? slash + 1 : command ? command : "";
	length -= slash ? (size_t)(slash + 1 - command) : 0;
	size_t bare = length;
	while (bare > 0 && strchr("0123456789.-", name[bare - 1]))
		bare--;
	return mem_strndup(name, bare ? bare : length);
}

static struct census_program *find_program(struct census *census, const char *name)
{
	for (size_t i = 0; i < census->programs.len; i++)
		if (strcmp(census->programs.items[i].name, name) == 0)
			return &census->programs.items[i];
	return NULL;
}

static void count_process(const struct process_row *process, struct census *census)
{
	if (process->end_ns <= process->start_ns)
		return;
	double life_s = (double)(process->end_ns - process->start_ns) / 1e9;
	char *name = program_name(process->command);
	struct census_program *program = find_program(census, name);
	if (program || census->programs.len == PROGRAMS_MOST) {
		free(name);
	} else {
		program = vec_add(&census->programs);
		program->name = name;
		program->shortest_s = life_s;
	}
	if (!program)
		return;
	program->processes++;
	program->shortest_s = life_s < program->shortest_s ? life_s : program->shortest_s;
	if (life_s >= CENSUS_BRIEF_S)
		return;
	program->brief++;
	program->brief_s += life_s;
}

static int by_processes(const void *a, const void *b)
{
	const struct census_program *x = a, *y = b;
	if (x->processes != y->processes)
		return x->processes < y->processes ? 1 : -1;
	return strcmp(x->name, y->name);
}

void census_compute(const struct process_list *processes, struct census *out)
{
	*out = (struct census){0};
	for (size_t i = 0; i < processes->items.len; i++)
		count_process(&processes->items.items[i], out);
	if (out->programs.len > 1)
		qsort(out->programs.items, out->programs.len, sizeof(*out->programs.items), by_processes);
}

void census_fini(struct census *census)
{
	for (size_t i = 0; i < census->programs.len; i++)
		free(census->programs.items[i].name);
	vec_fini(&census->programs);
}
