/*
 * collect_frame.c - from a node of a wire file to frames with names.
 *
 * A native address belongs to the module that was loaded there at the time; what is in none was made at run time and may
 * stand in the process's JIT map; what is in neither keeps its address as its name. Inlined calls make several frames of one
 * node, the outermost first.
 */
#include "base/file.h"
#include "base/str.h"
#include "run/collect_inside.h"
#include "symbol/python_line.h"

#include <stdlib.h>
#include <string.h>

static struct symbol_object *object_of(struct frame_maker *maker, const struct read_module *module)
{
	return symbol_add(maker->collect->symbols, module->path, module->build_id_bytes ? module->build_id : NULL,
			  module->build_id_bytes);
}

static bool is_exact(const struct read_node *node)
{
	return node->flags & WIRE_NODE_EXACT;
}

/* A call that never returns may be the last instruction of its object: the return address then lies behind it. */
static uint64_t instruction_of(const struct read_node *node)
{
	return is_exact(node) || node->value == 0 ? node->value : node->value - 1;
}

static const struct read_module *module_of(const struct frame_maker *maker, const struct read_node *node)
{
	return wire_module_at(maker->file, instruction_of(node), node->generation);
}

void frame_want(struct frame_maker *maker, const struct read_node *node)
{
	const struct read_module *module = node->kind == WIRE_NODE_NATIVE ? module_of(maker, node) : NULL;
	if (module)
		symbol_want(object_of(maker, module), node->value - module->bias, is_exact(node));
}

void frame_want_entry(struct frame_maker *maker, uint64_t address)
{
	const struct read_module *module = wire_module_at(maker->file, address, UINT32_MAX);
	if (module)
		symbol_want(object_of(maker, module), address - module->bias, true);
}

static int64_t add(struct collect *collect, struct profile_frame *frame, int64_t parent)
{
	struct profile_stack stack = {.parent = parent};
	if (!collect_stored(collect, store_profile_frame(collect->options->store, frame, collect->err)))
		return 0;
	source_want(collect, frame);
	stack.frame_id = frame->id;
	if (!collect_stored(collect, store_profile_stack(collect->options->store, &stack, collect->err)))
		return 0;
	return stack.id;
}

int64_t frame_mark_stack(struct collect *collect, const char *text)
{
	struct profile_frame frame = {.kind = FRAME_MARK, .function = (char *)text};
	return add(collect, &frame, 0);
}

static int64_t add_native(struct frame_maker *maker, const struct read_node *node, const struct read_module *module,
			  int64_t parent)
{
	const struct symbol_frame *found = NULL;
	size_t count = symbol_get(object_of(maker, module), node->value - module->bias, is_exact(node), &found);
	for (size_t i = count; i-- > 0;) {
		struct profile_frame frame = {.kind = FRAME_NATIVE,
					      .function = (char *)found[i].function,
					      .module = module->path,
					      .file = (char *)found[i].file,
					      .line = found[i].line,
					      .first_line = found[i].first_line,
					      .inlined = found[i].inlined};
		parent = add(maker->collect, &frame, parent);
		if (!parent)
			return 0;
	}
	return parent;
}

static const struct jit_map *jit_of(struct frame_maker *maker)
{
	struct err err;
	if (!maker->jit_tried && jit_map_load(maker->file->summary.pid, &maker->jit, &err) != 0)
		maker->jit = NULL;
	maker->jit_tried = true;
	return maker->jit;
}

/* CPython's trampolines stand beside the Python frames that the agent has read itself: one of the two is enough. */
static int64_t add_unmapped(struct frame_maker *maker, const struct read_node *node, int64_t parent)
{
	struct jit_symbol symbol;
	const struct jit_map *map = jit_of(maker);
	if (map && jit_map_find(map, instruction_of(node), &symbol)) {
		if (symbol.python && maker->file->summary.python == WIRE_PYTHON_READ && parent)
			return parent;
		struct profile_frame frame = {.kind = symbol.python ? FRAME_PYTHON : FRAME_JIT,
					      .function = (char *)symbol.name,
					      .file = (char *)symbol.file,
					      .line = symbol.line};
		return add(maker->collect, &frame, parent);
	}
	char *name = mem_printf("[unknown 0x%llx]", (unsigned long long)node->value);
	struct profile_frame frame = {.kind = FRAME_NATIVE, .function = name};
	int64_t stack = add(maker->collect, &frame, parent);
	free(name);
	return stack;
}

/* One file has one name, whether a process was started with "x.py" or with its whole path. NULL: none. Owned by the caller. */
static char *python_file(const struct frame_maker *maker, const char *file)
{
	const char *folder = maker->file->summary.folder;
	if (!file[0])
		return NULL;
	while (file[0] == '.' && file[1] == '/')
		file += 2;
	return file[0] == '/' || file[0] == '<' || folder[0] != '/' ? mem_strdup(file) : file_join(folder, file);
}

static int64_t add_python(struct frame_maker *maker, const struct read_node *node, int64_t parent)
{
	const struct read_code *code = &maker->file->codes.items[node->code];
	char *file = python_file(maker, code->file);
	int line =
		python_line_at(code->version, code->lines, code->line_bytes, code->first_line, (uint32_t)node->value);
	struct profile_frame frame = {.kind = FRAME_PYTHON,
				      .function = code->name,
				      .file = file,
				      .line = line > 0 ? line : 0,
				      .first_line = code->first_line};
	int64_t stack = add(maker->collect, &frame, parent);
	free(file);
	return stack;
}

static int64_t add_mark(struct frame_maker *maker, const struct read_node *node, int64_t parent)
{
	static const char *const words[] = {[WIRE_MARK_TRUNCATED] = "[truncated]",
					    [WIRE_MARK_UNMATCHED] = "[unmatched]",
					    [WIRE_MARK_BUSY] = "[agent at work]"};
	struct profile_frame frame = {.kind = FRAME_MARK, .function = (char *)words[node->value]};
	return add(maker->collect, &frame, parent);
}

bool frame_is_agent(const struct frame_maker *maker, const struct read_node *node)
{
	const struct read_module *module = node->kind == WIRE_NODE_NATIVE ? module_of(maker, node) : NULL;
	return module &&
	       (str_ends(module->path, "/libpitot-agent.so") || str_ends(module->path, "/libpitot-agent-memory.so"));
}

int64_t frame_agent_stack(struct collect *collect, int64_t parent)
{
	struct profile_frame frame = {.kind = FRAME_MARK, .function = "[pitot's agent]"};
	return add(collect, &frame, parent);
}

int64_t frame_stack(struct frame_maker *maker, const struct read_node *node, int64_t parent)
{
	if (node->kind == WIRE_NODE_PYTHON)
		return add_python(maker, node, parent);
	if (node->kind == WIRE_NODE_MARK)
		return add_mark(maker, node, parent);
	const struct read_module *module = module_of(maker, node);
	return module ? add_native(maker, node, module, parent) : add_unmapped(maker, node, parent);
}

char *frame_entry_name(struct frame_maker *maker, uint64_t address)
{
	const struct symbol_frame *found = NULL;
	const struct read_module *module = wire_module_at(maker->file, address, UINT32_MAX);
	size_t count = module ? symbol_get(object_of(maker, module), address - module->bias, true, &found) : 0;
	return count ? mem_strdup(found[count - 1].function) : NULL;
}

void frame_maker_fini(struct frame_maker *maker)
{
	jit_map_free(maker->jit);
	maker->jit = NULL;
}
