/*
 * fuzz_channel.c - any bytes as a line of the channel.
 *
 * What parses must survive being written and parsed again; what does not must be refused without harm.
 */
#include "wire/channel.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct channel_record record, again;
	if (!channel_parse((const char *)bytes, size, &record))
		return 0;
	char line[CHANNEL_LINE_SIZE];
	size_t length = channel_format(&record, line);
	if (length == 0 || !channel_parse(line, length - 1, &again))
		abort();
	if (strcmp(record.text, again.text) != 0 || record.mono_ns != again.mono_ns || record.pid != again.pid)
		abort();
	return 0;
}
