/*
 * make_wire_seed.c - writes the seed of fuzz_wire: a wire file with two threads and one of every record, node, sample and site.
 *
 *	make build/libcore.a
 *	cc -std=c17 -D_GNU_SOURCE -Isrc -Itests/unit tests/fuzz/make_wire_seed.c build/libcore.a -o seed
 *	./seed tests/fuzz/corpus/wire/two-threads
 *	./seed tests/fuzz/corpus/wire/types types
 *
 * The second has objects by type, which have no room beside the others.
 */
#include "wire_make_memory.h"

#include <stdio.h>
#include <unistd.h>

static int write_types(const char *path, struct err *err)
{
	struct wire_make make;
	wire_id id;
	wire_make_begin(&make, 100, 1);
	wire_make_thread(&make, 100, "main");
	struct wire_types *types = wire_make_record(&make, WIRE_TYPES, sizeof(*types), &id);
	types->state = WIRE_TYPES_READY;
	types->current = 2;
	struct wire_type_table *table = &types->tables[1];
	*table = (struct wire_type_table){.mono_ns = 9, .live_bytes = 5000, .period_bytes = 64, .count = 3, .looks = 1};
	table->types[0] = (struct wire_type){3000, 60, 10, 4, WIRE_TYPE_NAMED, "Row"};
	table->types[1] = (struct wire_type){1000, 20, 10, 2, WIRE_TYPE_NAMED, "collections.OrderedDict"};
	table->types[2] = (struct wire_type){500, 5, 10, 1, WIRE_TYPE_UNKNOWN, ""};
	make.header->pages_used = MAKE_SAMPLES_AT;
	int code = wire_make_write(&make, path, err);
	return code ? code : truncate(path, MAKE_SAMPLES_AT * WIRE_PAGE);
}

int main(int argc, char **argv)
{
	enum { PAGES = MAKE_SAMPLES_AT + MAKE_CHUNK_PAGES + 2 };
	struct wire_make make;
	struct err err = {0};
	if (argc == 3)
		return write_types(argv[1], &err) != 0;
	wire_make_begin(&make, 100, 1);
	wire_make_thread(&make, 100, "main");
	wire_make_module(&make, 0x1000, 0x2000, 0x1000, 0, "/lib/a.so");
	wire_id code = wire_make_code(&make, "f", "/x.py", 7), task = wire_make_task(&make, "fetch");
	wire_id root = wire_make_node(&make, 0, WIRE_NODE_NATIVE, 0x1100);
	wire_id python = wire_make_node(&make, root, WIRE_NODE_PYTHON, (uint64_t)code << 32 | 12);
	wire_id mark = wire_make_node(&make, 0, WIRE_NODE_MARK, WIRE_MARK_TRUNCATED);
	wire_make_thread(&make, 101, "worker")->creator = python;
	wire_make_sample(&make, 0, 10, python, 1, WIRE_SAMPLE_GIL, task);
	wire_make_sample(&make, 0, 20, mark, 2, WIRE_SAMPLE_TRUNCATED, 0);
	wire_make_sample(&make, 1, 30, root, 3, WIRE_SAMPLE_SYSCALL, 0);
	wire_id site, mirror;
	wire_make_memory(&make, 1000)->peak_number = 2;
	wire_make_site(&make, python, make.owners[0], WIRE_HEAP_MALLOC, &site)->samples = 3;
	wire_make_site(&make, python, make.owners[0], WIRE_HEAP_MALLOC, &mirror)->principal = site;
	/* The second thread's chunk and that of the sites, moved behind it, end the file; one page is enough for each. */
	enum { SITES_AT = PAGES - 1 };
	struct wire_chunk *second = (struct wire_chunk *)(make.bytes + (SITES_AT - 1) * WIRE_PAGE);
	struct wire_chunk *sites = (struct wire_chunk *)(make.bytes + SITES_AT * WIRE_PAGE);
	memcpy(sites, make.bytes + MAKE_SITES_AT * WIRE_PAGE, WIRE_PAGE);
	wire_id first = (wire_id)((SITES_AT * WIRE_PAGE + sizeof(*sites) + WIRE_SITES_FROM) / WIRE_UNIT);
	((struct wire_site *)((char *)(sites + 1) + WIRE_SITES_FROM))[1].principal = first;
	second->pages = sites->pages = 1;
	make.header->pages_used = PAGES;
	if (argc != 2 || wire_make_write(&make, argv[1], &err) != 0 || truncate(argv[1], PAGES * WIRE_PAGE) != 0) {
		fprintf(stderr, "usage: seed FILE: %s\n", err.text);
		return 1;
	}
	return 0;
}
