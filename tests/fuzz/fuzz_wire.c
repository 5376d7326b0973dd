/*
 * fuzz_wire.c - any bytes as an agent's wire file: the reader answers with arrays that can be walked without checks, or with
 * an error, in bounded time and memory. make_wire_seed.c made the seed in corpus/wire.
 */
#include "run/wire_read.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static uint64_t kept; /* so that no reading can be left out */

static bool take(void *context, const struct read_sample *sample)
{
	const struct wire_file *file = context;
	kept += sample->weight_ns + (uint64_t)file->threads.items[sample->thread].tid;
	kept += sample->task != WIRE_NOWHERE ? strlen(file->tasks.items[sample->task]) : 0;
	for (uint32_t at = sample->node; at != WIRE_NOWHERE; at = file->nodes.items[at].parent) {
		const struct read_node *node = &file->nodes.items[at];
		if (node->kind == WIRE_NODE_PYTHON)
			kept += strlen(file->codes.items[node->code].name);
		else if (node->kind == WIRE_NODE_NATIVE)
			kept += wire_module_at(file, node->value, node->generation) != NULL;
	}
	return true;
}

/* Ids have become places: whatever a site names is there. */
static void walk_memory(const struct wire_file *file)
{
	for (size_t i = 0; i < file->memory->sites.len; i++) {
		const struct read_site *site = &file->memory->sites.items[i];
		kept += site->allocated.bytes + site->peak.calls + (site->live.variance >= 0);
		kept += site->node != WIRE_NOWHERE ? file->nodes.items[site->node].depth : 0;
		kept += site->thread != WIRE_NOWHERE ? (uint64_t)file->threads.items[site->thread].tid : 0;
	}
	for (size_t i = 0; i < file->memory->course.len; i++)
		kept += file->memory->course.items[i].most;
	for (size_t i = 0; i < file->residents.len; i++)
		kept += file->residents.items[i].rss_bytes;
	kept += strlen(file->memory->allocator);
}

static void walk_types(const struct wire_file *file)
{
	for (size_t i = 0; i < file->types->items.len; i++) {
		const struct read_type *type = &file->types->items.items[i];
		kept += type->amount.bytes + (type->name ? strlen(type->name) : 0);
	}
}

static void walk(struct wire_file *file)
{
	if (file->types)
		walk_types(file);
	if (file->memory)
		walk_memory(file);
	wire_samples(file, take, file);
	for (size_t i = 0; i < file->order.len; i++)
		kept += file->nodes.items[file->order.items[i]].depth;
	for (size_t i = 0; i < file->codes.len; i++)
		for (size_t k = 0; k < file->codes.items[i].line_bytes; k++)
			kept += file->codes.items[i].lines[k];
	for (size_t i = 0; i < file->threads.len; i++)
		if (file->threads.items[i].creator != WIRE_NOWHERE)
			kept += file->nodes.items[file->threads.items[i].creator].value;
	kept += strlen(file->summary.executable) + strlen(file->summary.stop_reason);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char path[64];
	struct wire_file *file = NULL;
	struct err err;
	snprintf(path, sizeof(path), "%s/pitot-fuzz-%d.wire", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp",
		 (int)getpid());
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	close(fd);
	if (wire_read(path, &file, &err) == 0)
		walk(file);
	wire_file_free(file);
	unlink(path);
	return 0;
}
