/*
 * python_code.c - code objects and tasks become records of the wire file, once each.
 *
 * A lock-free table remembers what has its record. Its key is a print of the object: its address together with what it says
 * of itself (name, file, first line, line table). So a code object that was freed, with another one at its address since,
 * is another entry, and an address alone is never believed. Entries are never removed; when the neighbourhood of a print is
 * full, one of it is taken over, and the object there gets a second record if it comes again.
 *
 * Only the beginning of the table is used at first: each page that is touched is a fault of the program's, in the handler. When a
 * neighbourhood is full, four times as much is used from then on. What was entered before stays where it was, and is entered
 * again when it is found there.
 *
 *	print   0: free
 *	id      0: being written by another thread; whoever finds that writes a record of its own
 *
 * A taken-over entry is made safe by order: the id is cleared, the print changed, the new id stored, and a reader looks at the
 * print again after it has the id.
 *
 * The table belongs to one wire file: after a fork there is another file, and the child begins with an empty table.
 */
#include "agent/python.h"

enum { BITS_FIRST = 9, BITS_STEP = 2, BITS_LAST = 15, TABLE_SIZE = 1 << BITS_LAST, PROBES = 8 };

struct table_entry {
	_Atomic uint64_t print;
	_Atomic uint32_t id;
};

static struct table_entry table[TABLE_SIZE];
static _Atomic unsigned table_bits = BITS_FIRST;

void python_forked(void)
{
	unsigned used = 1u << atomic_load_explicit(&table_bits, memory_order_relaxed);
	for (unsigned i = 0; i < used; i++) {
		if (!atomic_load_explicit(&table[i].print, memory_order_relaxed))
			continue;
		atomic_store_explicit(&table[i].id, 0, memory_order_relaxed);
		atomic_store_explicit(&table[i].print, 0, memory_order_relaxed);
	}
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9fb21c651e98df25ULL;
	return hash ^ hash >> 28;
}

static struct table_entry *table_slot(uint64_t print, unsigned probe, unsigned bits)
{
	/* The lowest bit of a print is always set. */
	return &table[((print >> 1) + probe) & ((1u << bits) - 1)];
}

static wire_id find_among(uint64_t print, unsigned bits)
{
	for (unsigned i = 0; i < PROBES; i++) {
		struct table_entry *entry = table_slot(print, i, bits);
		uint64_t seen = atomic_load_explicit(&entry->print, memory_order_acquire);
		if (!seen)
			return 0;
		if (seen != print)
			continue;
		wire_id id = atomic_load_explicit(&entry->id, memory_order_acquire);
		return atomic_load_explicit(&entry->print, memory_order_acquire) == print ? id : 0;
	}
	return 0;
}

static bool add_among(uint64_t print, wire_id id, unsigned bits)
{
	for (unsigned i = 0; i < PROBES; i++) {
		struct table_entry *entry = table_slot(print, i, bits);
		uint64_t free = 0;
		if (atomic_compare_exchange_strong(&entry->print, &free, print)) {
			atomic_store_explicit(&entry->id, id, memory_order_release);
			return true;
		}
		if (free == print)
			return true;
	}
	return false;
}

static void table_add(uint64_t print, wire_id id)
{
	unsigned bits = atomic_load_explicit(&table_bits, memory_order_relaxed);
	for (; bits < BITS_LAST; bits += BITS_STEP) {
		if (add_among(print, id, bits))
			return;
		atomic_compare_exchange_strong(&table_bits, &(unsigned){bits}, bits + BITS_STEP);
	}
	if (add_among(print, id, bits))
		return;
	struct table_entry *entry = table_slot(print, (unsigned)(print >> 32) % PROBES, bits);
	atomic_store_explicit(&entry->id, 0, memory_order_relaxed);
	atomic_store_explicit(&entry->print, print, memory_order_release);
	atomic_store_explicit(&entry->id, id, memory_order_release);
}

static wire_id table_find(uint64_t print)
{
	unsigned last = atomic_load_explicit(&table_bits, memory_order_relaxed), bits = last;
	wire_id id = find_among(print, bits);
	while (!id && bits > BITS_FIRST) {
		bits -= BITS_STEP;
		id = find_among(print, bits);
	}
	if (id && bits != last)
		add_among(print, id, last);
	return id;
}

/* A bytes object's content; 0 bytes where it is none or too long. */
static size_t line_table(uintptr_t bytes, uintptr_t *start)
{
	if (!python_readable(bytes, python.at.bytes_data))
		return 0;
	size_t size = python_word(bytes + python.at.bytes_size);
	*start = bytes + python.at.bytes_data;
	return size <= WIRE_LINES_MAX && python_span(*start, size) ? size : 0;
}

static wire_id write_code(struct agent_thread *thread, uintptr_t code)
{
	char name[WIRE_TEXT_MAX], file[WIRE_TEXT_MAX];
	size_t name_bytes = python_text(python_word(code + python.at.code_name), name, sizeof(name));
	size_t file_bytes = python_text(python_word(code + python.at.code_file), file, sizeof(file));
	uintptr_t lines = 0;
	size_t line_bytes = line_table(python_word(code + python.at.code_lines), &lines);
	struct wire_code *record =
		file_record(thread, WIRE_CODE, (uint32_t)(sizeof(*record) + name_bytes + file_bytes + line_bytes));
	if (!record)
		return 0;
	record->version = python.version;
	record->first_line = python_int(code + python.at.code_first_line);
	record->name_bytes = (uint16_t)name_bytes;
	record->file_bytes = (uint16_t)file_bytes;
	record->line_bytes = (uint32_t)line_bytes;
	memcpy(record->text, name, name_bytes);
	memcpy(record->text + name_bytes, file, file_bytes);
	memcpy(record->text + name_bytes + file_bytes, (const char *)lines, line_bytes);
	file_publish(thread);
	return file_id(record);
}

/* The line table tells two functions of one name and place apart, as a notebook makes them: its size and first bytes.
 * `readable`: the pages of all three are known to be. */
static uint64_t code_print(uintptr_t code, const struct python_memo *is, bool readable)
{
	uint64_t name = python_text_print(is->name, readable), file = python_text_print(is->file, readable);
	if (!name || !file || !(readable || python_readable(is->lines, python.at.bytes_data + sizeof(uint64_t))))
		return 0;
	uint64_t print = mix(code ^ (uint64_t)(uint32_t)python_int(code + python.at.code_first_line) << 40, name);
	print = mix(print, file);
	print = mix(print ^ is->lines, python_word(is->lines + python.at.bytes_size) ^
					       python_word(is->lines + python.at.bytes_data) << 20);
	return print | 1;
}

/* Not compiled from anything: one text serves as its name and its file. */
static bool is_shim(uintptr_t code)
{
	return !python_int(code + python.at.code_first_line) &&
	       python_word(code + python.at.code_name) == python_word(code + python.at.code_file);
}

wire_id python_code(struct agent_thread *thread, uintptr_t code, struct python_memo *memo)
{
	if (is_shim(code))
		return PYTHON_SHIM;
	struct python_memo now = {.name = python_word(code + python.at.code_name),
				  .file = python_word(code + python.at.code_file),
				  .lines = python_word(code + python.at.code_lines)};
	bool same = memo && memo->print && memo->name == now.name && memo->file == now.file && memo->lines == now.lines;
	uint64_t print = code_print(code, &now, same);
	if (!print)
		return 0;
	if (same && memo->print == print)
		return memo->id;
	wire_id id = table_find(print);
	if (!id) {
		id = write_code(thread, code);
		if (id)
			table_add(print, id);
	}
	if (memo) {
		memo->name = now.name;
		memo->file = now.file;
		memo->lines = now.lines;
		memo->print = id ? print : 0;
		memo->id = id;
	}
	return id;
}

/* The name of a task that nobody has named is a number: "Task-7". An int keeps 30 bits in a word of 32. */
static size_t task_number(uintptr_t number, char *out)
{
	uintptr_t first = number + python.at.object_type + sizeof(uintptr_t);
	size_t digits = python_word(first) >> (python.at.minor >= 12 ? 3 : 0);
	if (!digits || digits > 2)
		return 0;
	uint64_t value = (uint32_t)python_int(first + sizeof(uintptr_t));
	if (digits == 2)
		value |= (uint64_t)(uint32_t)python_int(first + sizeof(uintptr_t) + sizeof(uint32_t)) << 30;
	char reversed[20];
	size_t count = 0, used = 5;
	memcpy(out, "Task-", used);
	for (; value; value /= 10)
		reversed[count++] = (char)('0' + value % 10);
	while (count)
		out[used++] = reversed[--count];
	return used;
}

wire_id python_task_name(struct agent_thread *thread, uintptr_t task, uintptr_t name)
{
	char text[WIRE_TEXT_MAX];
	uint64_t text_print = python_text_print(name, false);
	uint64_t number = text_print ? 0 : python_word(name + python.at.object_type + 2 * sizeof(uintptr_t));
	uint64_t print = mix(mix(task, text_print ^ name), number) | 1;
	wire_id id = table_find(print);
	if (id)
		return id;
	size_t bytes = text_print ? python_text(name, text, sizeof(text)) : task_number(name, text);
	struct wire_task *record = bytes ? file_record(thread, WIRE_TASK, (uint32_t)(sizeof(*record) + bytes)) : NULL;
	if (!record)
		return 0;
	record->name_bytes = (uint32_t)bytes;
	memcpy(record->name, text, bytes);
	file_publish(thread);
	id = file_id(record);
	table_add(print, id);
	return id;
}
