/* owner.c - see owner.h. */
#include "store/owner.h"
#include "base/file.h"

#include <stdio.h>
#include <string.h>

enum { STATE_FIELD = 3, START_FIELD = 22 };

uint64_t owner_start_ticks(int64_t pid)
{
	char *path = mem_printf("%s/%lld/stat", file_procfs(), (long long)pid);
	char line[1024];
	ssize_t length = file_read_small(path, line, sizeof(line));
	free(path);
	if (pid <= 0 || length <= 0)
		return 0;
	/* The command name, field 2, may hold spaces and parentheses: fields are counted from its last ')'. */
	char *at = strrchr(line, ')');
	if (!at || at[1] == '\0' || at[2] == 'Z' || at[2] == 'X')
		return 0;
	for (int field = STATE_FIELD - 1; at && field < START_FIELD; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

void owner_boot_id(char *out, size_t size)
{
	char *path = mem_printf("%s/sys/kernel/random/boot_id", file_procfs());
	if (file_read_small(path, out, size) < 0)
		out[0] = '\0';
	free(path);
}

bool owner_is_alive(const struct run_row *run)
{
	char boot_id[64];
	owner_boot_id(boot_id, sizeof(boot_id));
	if (!run->boot_id || strcmp(run->boot_id, boot_id) != 0)
		return false;
	uint64_t start = owner_start_ticks(run->owner_pid);
	return start != 0 && start == run->owner_start;
}
