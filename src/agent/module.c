/*
 * module.c - the loaded objects that stacks have led to: each has its record in the wire file and its unwind tables here.
 *
 * glibc's _dl_find_object answers which object holds an address, without locks and in a handler (2.35 and later; before,
 * no object is known, so stacks are walked by frame pointers and addresses stay without a name).
 *
 * The table is open addressing by where an object starts. An entry's `state` is a sequence number times 4 plus what the entry
 * is: a reader takes it before and after it copies the fields, so one that is being written or reused is never believed. Two
 * threads that meet the same new object at once may both write a record of it; readers of the wire file allow for that.
 *
 * Objects go with dlclose: module_unloaded drops those of the table that are no longer there, and only where one was does
 * the generation rise. So a program that opens and closes objects all day which no sample ever saw stays in one generation.
 */
#include "agent/module.h"
#include "agent/sys.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

enum {
	MODULES = 1024,
	PROBES = 64,
	PAGES = 1024,
	PAGE_SHIFT = 12,
	HEADERS_MOST = 64,
	HEADERS_AT_ONCE = 8,
	NOTES_MOST = 16
};

enum state { STATE_FREE, STATE_WRITING, STATE_READY, STATE_GONE };

struct entry {
	_Atomic uint32_t state;
	_Atomic uintptr_t start, end, link;
	_Atomic uintptr_t table, table_start, table_end, code, code_end;
};

static struct entry entries[MODULES];
static _Atomic uint64_t pages[PAGES]; /* page number and generation: known to belong to an object with a record */
_Atomic uint32_t module_epochs;
static atomic_bool overflowed; /* objects without an entry: any of them may have gone */

/* An object as the loader tells it; one segment of it, where there are holes between them. */
struct object {
	uintptr_t start, end, link, table;
};

/* What its own headers tell. */
struct facts {
	struct module_view view;
	/* A copy of its first page, where headers and notes mostly are: each copy by the kernel takes as long as many frames. */
	uintptr_t page;
	const unsigned char *copy; /* NULL: it cannot be read */
	uint8_t build_id[sizeof(((struct wire_module *)0)->build_id)];
	uint8_t build_id_bytes;
};

/* The wire file has 16 bits for it. A program that gets there stays at the last one. */
uint16_t module_generation(void)
{
	uint32_t now = module_epoch();
	return now < UINT16_MAX ? (uint16_t)now : UINT16_MAX;
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE
/* Weak: the agent may be loaded where libc does not have it. */
extern __typeof(_dl_find_object) _dl_find_object __attribute__((weak));

static bool find_object(uintptr_t pc, struct object *object)
{
	struct dl_find_object found;
	if (_dl_find_object == NULL || _dl_find_object((void *)pc, &found) != 0)
		return false;
	object->start = (uintptr_t)found.dlfo_map_start;
	object->end = (uintptr_t)found.dlfo_map_end;
	object->link = (uintptr_t)found.dlfo_link_map;
	object->table = (uintptr_t)found.dlfo_eh_frame;
	return true;
}
#else
static bool find_object(uintptr_t pc, struct object *object)
{
	(void)pc, (void)object;
	return false;
}
#endif

bool module_holds(uintptr_t at)
{
	struct object object;
	return find_object(at, &object);
}

/* ---- the table */

static unsigned slot_of(uintptr_t start, unsigned probe)
{
	return (unsigned)((start >> PAGE_SHIFT) * 0x9E3779B1U + probe) % MODULES;
}

static bool entry_holds(const struct entry *entry, const struct object *object)
{
	return atomic_load_explicit(&entry->start, memory_order_relaxed) == object->start &&
	       atomic_load_explicit(&entry->end, memory_order_relaxed) == object->end &&
	       atomic_load_explicit(&entry->link, memory_order_relaxed) == object->link &&
	       atomic_load_explicit(&entry->table, memory_order_relaxed) == object->table;
}

static bool entry_read(struct entry *entry, const struct object *object, struct module_view *view)
{
	uint32_t before = atomic_load_explicit(&entry->state, memory_order_acquire);
	if (before % 4 != STATE_READY || !entry_holds(entry, object))
		return false;
	view->tables.header = object->table;
	view->tables.start = atomic_load_explicit(&entry->table_start, memory_order_relaxed);
	view->tables.end = atomic_load_explicit(&entry->table_end, memory_order_relaxed);
	view->code = atomic_load_explicit(&entry->code, memory_order_relaxed);
	view->code_end = atomic_load_explicit(&entry->code_end, memory_order_relaxed);
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&entry->state, memory_order_relaxed) == before;
}

static bool table_find(const struct object *object, struct module_view *view)
{
	for (unsigned probe = 0; probe < PROBES; probe++) {
		struct entry *entry = &entries[slot_of(object->start, probe)];
		if (atomic_load_explicit(&entry->state, memory_order_relaxed) == STATE_FREE)
			return false;
		if (entry_read(entry, object, view))
			return true;
	}
	return false;
}

static void table_add(const struct object *object, const struct module_view *view)
{
	for (unsigned probe = 0; probe < PROBES; probe++) {
		struct entry *entry = &entries[slot_of(object->start, probe)];
		uint32_t state = atomic_load_explicit(&entry->state, memory_order_relaxed);
		uint32_t next = state - state % 4 + 4;
		if ((state % 4 != STATE_FREE && state % 4 != STATE_GONE) ||
		    !atomic_compare_exchange_strong(&entry->state, &state, next + STATE_WRITING))
			continue;
		atomic_store_explicit(&entry->start, object->start, memory_order_relaxed);
		atomic_store_explicit(&entry->end, object->end, memory_order_relaxed);
		atomic_store_explicit(&entry->link, object->link, memory_order_relaxed);
		atomic_store_explicit(&entry->table, object->table, memory_order_relaxed);
		atomic_store_explicit(&entry->table_start, view->tables.start, memory_order_relaxed);
		atomic_store_explicit(&entry->table_end, view->tables.end, memory_order_relaxed);
		atomic_store_explicit(&entry->code, view->code, memory_order_relaxed);
		atomic_store_explicit(&entry->code_end, view->code_end, memory_order_relaxed);
		atomic_store_explicit(&entry->state, next + STATE_READY, memory_order_release);
		return;
	}
	atomic_store(&overflowed, true);
}

static bool still_loaded(struct entry *entry)
{
	struct object object;
	return find_object(atomic_load_explicit(&entry->start, memory_order_relaxed), &object) &&
	       entry_holds(entry, &object);
}

void module_unloaded(void)
{
	bool gone = atomic_load(&overflowed);
	for (unsigned i = 0; i < MODULES; i++) {
		uint32_t state = atomic_load_explicit(&entries[i].state, memory_order_acquire);
		if (state % 4 != STATE_READY || still_loaded(&entries[i]))
			continue;
		gone |= atomic_compare_exchange_strong(&entries[i].state, &state, state - state % 4 + STATE_GONE);
	}
	if (gone)
		atomic_fetch_add(&module_epochs, 1);
}

void module_restart(void)
{
	for (unsigned i = 0; i < MODULES; i++)
		atomic_store_explicit(&entries[i].state, STATE_FREE, memory_order_relaxed);
	for (unsigned i = 0; i < PAGES; i++)
		atomic_store_explicit(&pages[i], 0, memory_order_relaxed);
	atomic_store(&overflowed, false);
}

/* ---- what an object's headers say */

static bool facts_copy(const struct facts *facts, void *to, uintptr_t from, size_t bytes)
{
	uintptr_t offset = from - facts->page;
	if (!facts->copy || offset >= 1u << PAGE_SHIFT || bytes > (1u << PAGE_SHIFT) - offset)
		return guard_copy(to, from, bytes);
	memcpy(to, facts->copy + offset, bytes);
	return true;
}

/* Notes are name, description and type, each part padded to 4 bytes. */
static void read_build_id(uintptr_t at, uintptr_t end, struct facts *facts)
{
	for (unsigned i = 0; i < NOTES_MOST && end - at > sizeof(ElfW(Nhdr)); i++) {
		ElfW(Nhdr) note;
		char name[4];
		if (!facts_copy(facts, &note, at, sizeof note))
			return;
		uint64_t name_bytes = ((uint64_t)note.n_namesz + 3) & ~3ULL,
			 bytes = ((uint64_t)note.n_descsz + 3) & ~3ULL;
		if (name_bytes + bytes > end - at - sizeof note)
			return;
		uintptr_t text = at + sizeof note;
		at = text + name_bytes + bytes;
		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 || !facts_copy(facts, name, text, 4) ||
		    memcmp(name, "GNU", 4) != 0)
			continue;
		uint8_t most = sizeof facts->build_id;
		facts->build_id_bytes = note.n_descsz < most ? (uint8_t)note.n_descsz : most;
		if (!facts_copy(facts, facts->build_id, text + name_bytes, facts->build_id_bytes))
			facts->build_id_bytes = 0;
		return;
	}
}

static void read_header(const ElfW(Phdr) * header, uintptr_t bias, const struct object *object, struct facts *facts)
{
	uintptr_t start = bias + header->p_vaddr,
		  bytes = header->p_filesz < header->p_memsz ? header->p_filesz : header->p_memsz;
	if (start + bytes < start)
		return;
	if (header->p_type == PT_NOTE && facts->build_id_bytes == 0)
		read_build_id(start, start + bytes, facts);
	if (header->p_type != PT_LOAD || !(header->p_flags & PF_R))
		return;
	if (object->table >= start && object->table < start + bytes) {
		facts->view.tables.start = start;
		facts->view.tables.end = start + bytes;
	}
	/* Some linkers give the PLT a segment of its own: the large one is what matters. */
	if ((header->p_flags & PF_X) && start < object->end && start + bytes > object->start &&
	    bytes > facts->view.code_end - facts->view.code) {
		facts->view.code = start;
		facts->view.code_end = start + bytes;
	}
}

/*
 * Where the program headers are: the kernel says it of the program itself, whose segments the loader tells apart where there
 * are holes between them; others begin with them. Copied by the kernel: an object may be made otherwise.
 */
static uintptr_t find_headers(const struct object *object, const struct link_map *link, const struct facts *facts,
			      unsigned *count)
{
	ElfW(Ehdr) head;
	*count = (unsigned)getauxval(AT_PHNUM);
	if (link->l_name[0] == '\0')
		return getauxval(AT_PHDR);
	if (!facts_copy(facts, &head, object->start, sizeof head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
	    head.e_phentsize != sizeof(ElfW(Phdr)))
		return 0;
	*count = head.e_phnum;
	return object->start + head.e_phoff;
}

/* `room` has a page. */
static void read_facts(const struct object *object, const struct link_map *link, unsigned char *room,
		       struct facts *facts)
{
	ElfW(Phdr) headers[HEADERS_AT_ONCE];
	unsigned count;
	*facts = (struct facts){.view.tables.header = object->table, .page = object->start >> PAGE_SHIFT << PAGE_SHIFT};
	if (guard_copy(room, facts->page, 1u << PAGE_SHIFT))
		facts->copy = room;
	uintptr_t at = find_headers(object, link, facts, &count);
	for (unsigned done = 0; done < count && done < HEADERS_MOST; done += HEADERS_AT_ONCE) {
		unsigned more = count - done < HEADERS_AT_ONCE ? count - done : HEADERS_AT_ONCE;
		if (!facts_copy(facts, headers, at + done * sizeof headers[0], more * sizeof headers[0]))
			return;
		for (unsigned i = 0; i < more; i++)
			read_header(&headers[i], link->l_addr, object, facts);
	}
}

/* ---- its record */

/* "7f0000001000-7f0000002000 r--p 00000000 08:01 1234    /path": the path, where the line is about `start`. */
static const char *match_line(const char *line, uintptr_t start)
{
	uintptr_t value = 0;
	for (; *line != '\0' && *line != '-'; line++)
		value = value << 4 | (uintptr_t)(*line <= '9' ? *line - '0' : *line - 'a' + 10);
	return value == start ? strchr(line, '/') : NULL;
}

/* Looks through whole lines of `text`; what is left of the last one is moved to the front. Length of the path, 0: not there. */
static size_t match_lines(char *text, size_t *used, uintptr_t start)
{
	char *line = text, *end;
	while ((end = memchr(line, '\n', *used - (size_t)(line - text))) != NULL) {
		*end = '\0';
		const char *path = match_line(line, start);
		if (path != NULL) {
			size_t length = (size_t)(end - path);
			memmove(text, path, length);
			return length;
		}
		line = end + 1;
	}
	*used -= (size_t)(line - text);
	memmove(text, line, *used);
	return 0;
}

/* The kernel's name for what is mapped at `start`. */
static size_t read_mapped_path(uintptr_t start, char *text, size_t size)
{
	int fd = sys_open("/proc/self/maps", O_RDONLY, 0);
	size_t used = 0, length = 0;
	long got;
	if (fd < 0)
		return 0;
	while (length == 0 && used < size && (got = sys_read(fd, text + used, size - used)) > 0) {
		used += (size_t)got;
		length = match_lines(text, &used, start);
	}
	sys_close(fd);
	return length;
}

/*
 * The loader's name is a path where it is absolute. That of the program itself is empty, and the kernel has it; but where the
 * loader was run as a command, the kernel has the loader's. Else the name is relative to a directory that the program may have
 * left, and the mappings have to be asked. `room` is for the answers.
 */
static const char *find_path(const struct object *object, const char *name, char *room, size_t size, size_t *length)
{
	*length = 6;
	if (object->start == getauxval(AT_SYSINFO_EHDR))
		return "[vdso]";
	ssize_t found = 0;
	if (name[0] == '\0' && getauxval(AT_BASE) != 0)
		found = readlink("/proc/self/exe", room, size);
	else if (name[0] != '/')
		found = (ssize_t)read_mapped_path(object->start, room, size);
	*length = found > 0 ? (size_t)found : strlen(name);
	return found > 0 ? room : name;
}

static void write_record(struct agent_thread *thread, const struct object *object, const struct link_map *link,
			 const struct facts *facts)
{
	size_t length;
	int saved = errno;
	const char *path = find_path(object, link->l_name, (char *)thread->window, sizeof thread->window, &length);
	errno = saved;
	if (length > WIRE_TEXT_MAX)
		length = WIRE_TEXT_MAX;
	size_t bytes = (sizeof(struct wire_module) + length + WIRE_UNIT - 1) / WIRE_UNIT * WIRE_UNIT;
	struct wire_module *record = file_record(thread, WIRE_MODULE, (uint32_t)bytes);
	if (record == NULL)
		return;
	record->start = object->start;
	record->end = object->end;
	record->bias = link->l_addr;
	record->first_generation = module_generation();
	record->path_bytes = (uint16_t)length;
	record->build_id_bytes = facts->build_id_bytes;
	memcpy(record->build_id, facts->build_id, facts->build_id_bytes);
	memcpy(record->path, path, length);
	file_publish(thread);
}

bool module_find(struct agent_thread *thread, uintptr_t pc, struct module_view *view)
{
	struct object object;
	struct facts facts;
	if (!find_object(pc, &object))
		return false;
	if (table_find(&object, view))
		return true;
	const struct link_map *link = (const struct link_map *)object.link;
	read_facts(&object, link, thread->window, &facts);
	/* Entry first: whatever goes wrong with the record, an object is looked at once. */
	table_add(&object, &facts.view);
	write_record(thread, &object, link, &facts);
	python_look(link->l_addr, (uintptr_t)link->l_ld);
	*view = facts.view;
	return true;
}

bool module_note(struct agent_thread *thread, uintptr_t ip)
{
	struct module_view view;
	uintptr_t page = ip >> PAGE_SHIFT;
	uint64_t stamp = (uint64_t)page << 16 | (module_epoch() & 0xFFFF);
	_Atomic uint64_t *known = &pages[page % PAGES];
	if (atomic_load_explicit(known, memory_order_relaxed) == stamp)
		return true;
	if (!module_find(thread, ip, &view))
		return false;
	atomic_store_explicit(known, stamp, memory_order_relaxed);
	return true;
}
