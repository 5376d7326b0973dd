/*
 * small KIB FILE - touches that many KiB and writes into FILE what the kernel says was the most that it had resident. Unlike
 * ru_maxrss, VmHWM begins anew with exec, so whoever started it has no part in it.
 */
#include "truth.h"

#include <string.h>

int main(int argc, char **argv)
{
	if (argc != 3)
		return 64;
	size_t bytes = (size_t)atol(argv[1]) << 10;
	char *memory = malloc(bytes);
	if (!memory)
		return 1;
	memset(memory, 1, bytes);
	char line[256];
	FILE *status = fopen("/proc/self/status", "r"), *out = fopen(argv[2], "w");
	if (!status || !out)
		return 1;
	while (fgets(line, sizeof(line), status))
		if (strncmp(line, "VmHWM:", 6) == 0)
			fprintf(out, "%ld\n", atol(line + 6) * 1024);
	return memory[bytes / 2] != 1 || fclose(out) != 0;
}
