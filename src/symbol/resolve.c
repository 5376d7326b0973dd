/*
 * resolve.c - one object: its file is opened, its symbol tables and debug information are read, and every wanted address
 * gets its frames.
 *
 * Names: the debug information's, through the linker's name in C++ and Rust, so that a function has the same name wherever
 * it comes from; the symbol table's where the debug information has none; "[libfoo.so+0x1230]" where neither
 * knows, with the address at which the unwind table says that the function begins, so that all of a nameless function is
 * one entry.
 */
#include "base/file.h"
#include "base/mem.h"
#include "symbol/debug_file.h"
#include "symbol/demangle.h"
#include "symbol/function_list.h"
#include "symbol/inline_chain.h"
#include "symbol/object.h"

#include <string.h>
#include <unistd.h>

struct resolver {
	struct symbol_object *object;
	struct debug_file file;
	struct function_list functions;
	struct inline_chain *chain; /* NULL: no debug information */
	struct map names;           /* identity of a function in the debug information, to our text */
};

const char *object_keep(struct symbol_object *object, char *text)
{
	vec_push(&object->texts, text);
	return text;
}

/* Takes "/./", "//" and "/part/.." out of an absolute path, in place. */
static void shorten_path(char *path)
{
	char *out = path;
	for (const char *at = path; *at;) {
		const char *part = at + strspn(at, "/");
		size_t length = strcspn(part, "/");
		at = part + length;
		if (length == 0 || (length == 1 && part[0] == '.'))
			continue;
		if (length == 2 && part[0] == '.' && part[1] == '.') {
			while (out > path && *--out != '/')
				continue;
			continue;
		}
		*out++ = '/';
		memmove(out, part, length);
		out += length;
	}
	*out = '\0';
}

/* Owned by the caller. Where a part is a symbolic link, only the long form may lead to the file. */
static char *whole_path(const char *folder, const char *name)
{
	char *whole = folder && folder[0] == '/' ? file_join(folder, name) : mem_strdup(name);
	if (whole[0] != '/' || (!strstr(whole, "/.") && !strstr(whole, "//")))
		return whole;
	char *brief = mem_strdup(whole);
	shorten_path(brief);
	bool misled = access(whole, F_OK) == 0 && access(brief, F_OK) != 0;
	free(misled ? brief : whole);
	return misled ? whole : brief;
}

const char *object_file(struct symbol_object *object, const char *name, const char *folder)
{
	if (!name || !name[0])
		return NULL;
	uint64_t key = (uint64_t)(uintptr_t)name;
	char *ours = map_get(&object->files, key);
	if (!ours) {
		char *whole = whole_path(folder, name);
		ours = demangle_clean(whole, strlen(whole), FILE_NAME_MAX);
		free(whole);
		object_keep(object, ours);
		map_put(&object->files, key, ours);
	}
	return ours;
}

static const char *unknown_name(struct resolver *resolver, uint64_t pc)
{
	const char *path = resolver->object->path, *slash = strrchr(path, '/');
	uint64_t start = unwind_table_start(&resolver->functions.unwind, pc);
	uint64_t shown = start ? start : pc;
	/* One text for all of a function: negative keys are no identities, which are pointers. */
	char *name = map_get(&resolver->names, ~shown);
	if (!name) {
		char *file = demangle_clean(slash ? slash + 1 : path, strlen(slash ? slash + 1 : path), FILE_NAME_MAX);
		name = mem_printf("[%s+0x%llx]", file, (unsigned long long)shown);
		free(file);
		object_keep(resolver->object, name);
		map_put(&resolver->names, ~shown, name);
	}
	return name;
}

static const char *table_name(struct resolver *resolver, uint64_t pc)
{
	struct function_entry *entry = function_list_find(&resolver->functions, pc);
	return entry ? function_entry_name(entry, resolver->object) : unknown_name(resolver, pc);
}

/* C++ and Rust. Other linkers' names say less than the source's: glibc's close is __GI___close, Fortran's dgemm is dgemm_. */
static bool is_mangled(const char *symbol)
{
	return symbol && symbol[0] == '_' && (symbol[1] == 'Z' || symbol[1] == 'R');
}

/* A function of C++ or Rust without a linker's name in the debug information has one in the symbol table, with its namespace. */
static bool table_knows_more(struct resolver *resolver, const struct inline_frame *frame, uint64_t pc)
{
	if (is_mangled(frame->symbol))
		return false;
	const struct function_entry *entry = function_list_find(&resolver->functions, pc);
	return !frame->name || (entry && is_mangled(entry->symbol));
}

static const char *frame_name(struct resolver *resolver, const struct inline_frame *frame, uint64_t pc, bool inlined)
{
	if (!inlined && table_knows_more(resolver, frame, pc))
		return table_name(resolver, pc);
	const char *text = is_mangled(frame->symbol) || !frame->name ? frame->symbol : frame->name;
	if (!text || !text[0])
		return "[inlined]";
	char *name = map_get(&resolver->names, frame->identity);
	if (!name) {
		name = demangle_name(text);
		object_keep(resolver->object, name);
		map_put(&resolver->names, frame->identity, name);
	}
	return name;
}

/* How many frames the debug information gave. */
static uint32_t add_chain(struct resolver *resolver, size_t index)
{
	struct symbol_object *object = resolver->object;
	uint64_t pc = object->wanted.items[index];
	struct inline_frame frame, next;
	uint32_t count = 0;
	bool more = resolver->chain && inline_chain_next(resolver->chain, index, 0, &frame);
	while (more) {
		more = inline_chain_next(resolver->chain, index, count + 1, &next);
		vec_push(&object->frames,
			 ((struct symbol_frame){.function = frame_name(resolver, &frame, pc, more),
						.file = object_file(object, frame.file, frame.folder),
						.line = frame.line > 0 ? frame.line : 0,
						.first_line = frame.first_line > 0 ? frame.first_line : 0,
						.inlined = more}));
		frame = next;
		count++;
	}
	return count;
}

static void add_answer(struct resolver *resolver, size_t index)
{
	struct symbol_object *object = resolver->object;
	struct answer answer = {.pc = object->wanted.items[index], .first = (uint32_t)object->frames.len};
	answer.count = add_chain(resolver, index);
	if (answer.count == 0) {
		vec_push(&object->frames, ((struct symbol_frame){.function = table_name(resolver, answer.pc)}));
		answer.count = 1;
	}
	vec_push(&object->answers, answer);
}

static char *note_for(const struct resolver *resolver, bool has_lines)
{
	if (resolver->file.problem)
		return mem_strdup(resolver->file.problem);
	if (resolver->file.stand_in)
		return mem_strdup("the file is gone or changed; named from its debug file");
	if (has_lines || strcmp(resolver->object->path, "[vdso]") == 0)
		return NULL;
	if (resolver->functions.full)
		return mem_strdup("no debug information: functions without lines");
	return mem_strdup("stripped, no debug file");
}

static void open_chain(struct resolver *resolver, Dwarf *dwarf, Dwarf_Addr bias)
{
	const struct symbol_object *object = resolver->object;
	uint64_t *pcs = mem_alloc((object->wanted.len + 1) * sizeof(pcs[0]));
	for (size_t i = 0; i < object->wanted.len; i++)
		pcs[i] = object->wanted.items[i] - bias;
	resolver->chain = inline_chain_new(dwarf, pcs, object->wanted.len);
	free(pcs);
}

void resolve_object(struct symbol_object *object)
{
	struct resolver resolver = {.object = object};
	Dwarf_Addr bias = 0;
	Dwarf *dwarf = NULL;
	if (debug_file_open(&resolver.file, object)) {
		dwarf = debug_file_dwarf(&resolver.file, &bias);
		function_list_init(&resolver.functions, resolver.file.module);
		if (dwarf)
			open_chain(&resolver, dwarf, bias);
	}
	vec_reserve(&object->answers, object->wanted.len);
	for (size_t i = 0; i < object->wanted.len; i++)
		add_answer(&resolver, i);
	object->note = note_for(&resolver, dwarf != NULL);
	inline_chain_free(resolver.chain);
	function_list_fini(&resolver.functions);
	debug_file_close(&resolver.file);
	map_fini(&resolver.names);
	map_fini(&object->files);
}
