/*
 * fuzz_spans.c - any bytes as a file of spans: the reader answers with arrays that can be walked without checks, or with an error, in
 * bounded time and memory. The seeds in corpus/spans are what the scenes "nested" and "counted" (with counters) of test_span_read.c
 * record, cut to what they use.
 */
#include "run/span_read.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static uint64_t kept; /* so that no reading can be left out */

static bool take(void *context, const struct span_visit *visit)
{
	const struct span_file *file = context;
	kept += visit->end - visit->begin + (uint64_t)file->threads.items[visit->thread].tid;
	if (visit->kind == SPAN_WIRE_SPAN)
		kept += strlen(file->operators.items[visit->place].name);
	if (visit->kind == SPAN_WIRE_POINT)
		kept += strlen(file->series.items[visit->place].name);
	if (visit->kind == SPAN_WIRE_SNAPSHOT)
		kept += strlen(visit->text) + visit->snapshot->rss_bytes;
	for (uint32_t i = 0; visit->chunk && i < visit->chunk->parts; i++) {
		uint32_t place = span_file_operator(file, visit->chunk->part[i].node);
		kept += place != SPAN_NOWHERE ? file->operators.items[place].calls : 0;
	}
	return true;
}

static void walk(struct span_file *file)
{
	for (size_t i = 0; i < file->operators.len; i++) {
		const struct read_operator *about = &file->operators.items[i];
		if (about->parent != SPAN_NOWHERE && about->parent >= i)
			abort();
		kept += strlen(about->name) + about->calls;
		for (unsigned k = 0; k < SPAN_WIRE_EVENTS; k++)
			kept += about->counts.count[k];
	}
	span_file_visit(file, take, file);
	kept += strlen(file->header.executable) + strlen(file->header.source);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char path[64];
	struct span_file *file = NULL;
	struct err err;
	snprintf(path, sizeof(path), "%s/pitot-fuzz-%d.spans", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp",
		 (int)getpid());
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	close(fd);
	if (span_file_open(path, &file, &err) == 0) {
		walk(file);
		span_file_free(file);
	}
	unlink(path);
	return 0;
}
