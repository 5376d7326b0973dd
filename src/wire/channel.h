/*
 * channel.h - the lines that a profiled program sends to its pitot.
 *
 * PITOT_CHANNEL names a file that the run has created. Each record is one line, appended by a single write(2) on a
 * descriptor opened with O_APPEND, so that records of many threads and processes never mix:
 *
 *	M <monotonic ns> <pid> <name> <value>\n      a quality metric
 *	K <monotonic ns> <pid> <label>\n             a mark on the time axis
 *
 * Fields are separated by one space. In names and labels every byte outside printable ASCII, and the percent sign, is
 * written as %XX, so that a line has no other spaces or line ends. A value is decimal with a point, whatever the
 * program's locale says.
 *
 * A reader must take the last line as unfinished while it has no line end, and drop and count what does not parse: a
 * full disk can cut a record in the middle. Both sides include this header; it needs libc only, never allocates, and the
 * reader's numeric locale must be "C".
 */
#ifndef PITOT_WIRE_CHANNEL_H
#define PITOT_WIRE_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHANNEL_VARIABLE "PITOT_CHANNEL"

enum {
	CHANNEL_TEXT_SIZE = 256,  /* a name or label with its terminator */
	CHANNEL_LINE_SIZE = 1024, /* the longest line: all of the text escaped, two numbers, a value */
};

enum channel_kind { CHANNEL_METRIC = 'M', CHANNEL_MARK = 'K' };

struct channel_record {
	enum channel_kind kind;
	uint64_t mono_ns;
	int64_t pid;
	double value; /* of a metric */
	char text[CHANNEL_TEXT_SIZE];
};

/* Copies a name or label, cut between two UTF-8 characters where it is too long. True where nothing was cut. */
bool channel_set_text(struct channel_record *record, const char *text);
/* The line with its line end into `out` (at least CHANNEL_LINE_SIZE, terminated); its length, or 0 where the record has
 * no name or its value is not finite. */
size_t channel_format(const struct channel_record *record, char *out);
/* Copies a number as printf wrote it in some locale, with a point for that locale's decimal sign. Its length. */
size_t channel_copy_number(const char *printed, char *out, size_t size);
/* `line` without its line end. False where it is no record; `out` is then undefined. */
bool channel_parse(const char *line, size_t length, struct channel_record *out);

#endif
