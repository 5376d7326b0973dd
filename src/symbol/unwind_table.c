/*
 * unwind_table.c - see unwind_table.h.
 *
 *	.eh_frame_hdr  1, encodings (3 bytes), .eh_frame's place (4), count (4), then sorted pairs: function, its entry (4 + 4)
 *	.eh_frame      entry: length (4), parent (4), function (4), bytes of code (4), …
 *
 * Only the encoding that all compilers use is read (offsets of four bytes); the contents are not trusted.
 */
#include "symbol/unwind_table.h"

#include <gelf.h>
#include <string.h>

enum { HEADER_BYTES = 12, PAIR_BYTES = 8, ENTRY_BYTES = 16, COUNT_ENCODING = 0x03, PAIR_ENCODING = 0x3b };

static int32_t read_i32(const uint8_t *at)
{
	int32_t value;
	memcpy(&value, at, sizeof(value));
	return value;
}

static void load_section(Elf_Scn *section, const GElf_Shdr *header, struct unwind_section *out)
{
	Elf_Data *data = header->sh_type == SHT_NOBITS ? NULL : elf_rawdata(section, NULL);
	if (data && data->d_buf)
		*out = (struct unwind_section){data->d_buf, data->d_size, header->sh_addr};
}

void unwind_table_init(struct unwind_table *table, Elf *elf)
{
	*table = (struct unwind_table){0};
	size_t names;
	if (elf_getshdrstrndx(elf, &names))
		return;
	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
		GElf_Shdr memory, *header = gelf_getshdr(section, &memory);
		const char *name = header ? elf_strptr(elf, names, header->sh_name) : NULL;
		if (name && strcmp(name, ".eh_frame_hdr") == 0)
			load_section(section, header, &table->header);
		else if (name && strcmp(name, ".eh_frame") == 0)
			load_section(section, header, &table->frames);
	}
	const struct unwind_section *header = &table->header;
	if (header->size < HEADER_BYTES || header->bytes[0] != 1 || header->bytes[2] != COUNT_ENCODING ||
	    header->bytes[3] != PAIR_ENCODING)
		return;
	size_t count = (uint32_t)read_i32(header->bytes + 8), room = (header->size - HEADER_BYTES) / PAIR_BYTES;
	table->count = count < room ? count : room;
}

static uint64_t pair_start(const struct unwind_table *table, size_t index)
{
	return table->header.address +
	       (uint64_t)(int64_t)read_i32(table->header.bytes + HEADER_BYTES + index * PAIR_BYTES);
}

static uint64_t pair_bytes(const struct unwind_table *table, size_t index)
{
	const uint8_t *pair = table->header.bytes + HEADER_BYTES + index * PAIR_BYTES;
	uint64_t entry = table->header.address + (uint64_t)(int64_t)read_i32(pair + 4);
	uint64_t at = entry - table->frames.address;
	if (table->frames.size < ENTRY_BYTES || at > table->frames.size - ENTRY_BYTES)
		return 0;
	return (uint32_t)read_i32(table->frames.bytes + at + 12);
}

uint64_t unwind_table_start(const struct unwind_table *table, uint64_t pc)
{
	size_t low = 0, high = table->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (pair_start(table, middle) <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return 0;
	uint64_t start = pair_start(table, low - 1);
	return pc - start < pair_bytes(table, low - 1) ? start : 0;
}
