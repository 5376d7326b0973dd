/*
 * python_look.c - is this loaded object a CPython, which one, and where are its things.
 *
 * An interpreter is recognised by its symbols: _PyRuntime (3.7 on) or _PyThreadState_Current (3.6). Its version stands in
 * Py_Version (3.11 on) or in the text that Py_GetVersion prints, which that function names in its instructions; its layout
 * comes from python_offsets.c and, from 3.13 on, from the interpreter's own table at the start of _PyRuntime.
 *
 * The first interpreter that is found stays: two in one process are possible, but nobody has two that both run.
 */
#include "agent/core.h"
#include "agent/python.h"

#include <dlfcn.h>
#include <link.h>

struct python_interpreter python;

#ifdef DLFO_STRUCT_HAS_EH_DBASE
/* Weak: the agent may be loaded where libc does not have it. */
extern __typeof(_dl_find_object) _dl_find_object __attribute__((weak));

/* The loader answers without a lock. */
static bool is_loaded(uintptr_t place)
{
	struct dl_find_object found;
	return _dl_find_object == NULL || _dl_find_object((void *)place, &found) == 0;
}
#else
static bool is_loaded(uintptr_t place)
{
	(void)place;
	return true;
}
#endif

bool python_is_here(void)
{
	int ready = PYTHON_READY;
	if (atomic_load_explicit(&python.stage, memory_order_acquire) != PYTHON_READY)
		return false;
	/* While objects are being unmapped, the loader still says that they are there. */
	if (*(volatile const int *)&_r_debug.r_state == RT_DELETE)
		return false;
	if (is_loaded(python.place))
		return true;
	atomic_compare_exchange_strong(&python.stage, &ready, PYTHON_UNSEEN);
	return false;
}

enum look_name {
	LOOK_RUNTIME, /* first: what a program is searched for */
	LOOK_CURRENT,
	LOOK_VERSION,
	LOOK_GET_VERSION,
	LOOK_EVAL,
	LOOK_EVAL_COLD,
	LOOK_GET_STATE_OLD, /* up to 3.12 */
	LOOK_GET_STATE,
	LOOK_BOUND_STATE,
	LOOK_CODE,
	LOOK_FRAME,
	LOOK_TEXT,
	LOOK_DICT,
	LOOK_COROUTINE,
	LOOK_GENERATOR,
	LOOK_NAMES
};

static const char *const look_names[LOOK_NAMES] = {
	[LOOK_RUNTIME] = "_PyRuntime",
	[LOOK_CURRENT] = "_PyThreadState_Current",
	[LOOK_VERSION] = "Py_Version",
	[LOOK_GET_VERSION] = "Py_GetVersion",
	[LOOK_EVAL] = "_PyEval_EvalFrameDefault",
	[LOOK_EVAL_COLD] = "_PyEval_EvalFrameDefault.cold",
	[LOOK_GET_STATE_OLD] = "_PyThreadState_UncheckedGet",
	[LOOK_GET_STATE] = "PyThreadState_GetUnchecked",
	[LOOK_BOUND_STATE] = "PyGILState_GetThisThreadState",
	[LOOK_CODE] = "PyCode_Type",
	[LOOK_FRAME] = "PyFrame_Type",
	[LOOK_TEXT] = "PyUnicode_Type",
	[LOOK_DICT] = "PyDict_Type",
	[LOOK_COROUTINE] = "PyCoro_Type",
	[LOOK_GENERATOR] = "PyGen_Type",
};

/* "3.9.18", "3.14.0rc1" as PY_VERSION_HEX; 0: no version. */
static uint32_t parse_version(uintptr_t at)
{
	if (!guard_readable(at, 8))
		return 0;
	const char *text = (const char *)at;
	unsigned numbers[3] = {0};
	for (unsigned i = 0; i < 3; i++) {
		if (*text < '0' || *text > '9')
			return 0;
		for (; *text >= '0' && *text <= '9' && numbers[i] < 100; text++)
			numbers[i] = numbers[i] * 10 + (unsigned)(*text - '0');
		if (i < 2 && *text++ != '.')
			return 0;
	}
	if (numbers[0] != 3 || numbers[1] > 255 || numbers[2] > 255)
		return 0;
	return numbers[0] << 24 | numbers[1] << 16 | numbers[2] << 8 | 0xf0;
}

#if defined(__x86_64__)
/* What the four bytes at `at`, the end of an instruction, add to the address behind it. */
static uintptr_t relative(uintptr_t at)
{
	return at + 4 + (uintptr_t)(intptr_t)python_int(at);
}

/* Py_GetVersion hands the version's text to a printing function: one of its `lea x(%rip), %reg` is the text. */
static uint32_t version_in_code(const struct elf_symbol *function)
{
	for (size_t i = 0; i + 7 <= function->bytes && i < 256; i++) {
		const unsigned char *code = (const unsigned char *)function->address + i;
		if ((code[0] & 0xfb) != 0x48 || code[1] != 0x8d || (code[2] & 0xc7) != 0x05)
			continue;
		uint32_t version = parse_version(relative(function->address + i + 3));
		if (version)
			return version;
	}
	return 0;
}

/* Behind `lea N(%rip), %rdi`: the call, perhaps padded by prefixes, then `mov D(%rax), %rax`. */
static void tls_from_call(struct python_interpreter *out, const unsigned char *code, const unsigned char *end,
			  uintptr_t index)
{
	while (code < end && (*code == 0x66 || *code == 0x48))
		code++;
	code += code < end && *code == 0xe8 ? 5 : 6; /* direct, or through the table of addresses */
	if (code + 7 > end || code[0] != 0x48 || code[1] != 0x8b || !guard_readable(index, 16))
		return;
	int64_t more = code[2] == 0x40 ? (int8_t)code[3] : code[2] == 0x80 ? python_int((uintptr_t)code + 3) : 0;
	out->tls = PYTHON_TLS_DYNAMIC;
	out->tls_module = python_word(index);
	out->tls_offset = (int64_t)python_word(index + 8) + more;
}

/* The function that returns the thread-local current state is a few instructions, of one of three shapes:
 *	mov %fs:N, %rax                         fixed place, in a program
 *	mov N(%rip), %rax; mov %fs:(%rax), %rax fixed place, in a library that is there from the start
 *	lea N(%rip), %rdi; call __tls_get_addr  module and offset stand at that address
 * The function itself must not be called: __tls_get_addr may allocate. */
static void tls_from_code(struct python_interpreter *out, const struct elf_symbol *function)
{
	const unsigned char *code = (const unsigned char *)function->address, *end = code + function->bytes;
	for (unsigned i = 0; i < 24 && code + 9 <= end; i++, code++) {
		if (memcmp(code, "\x64\x48\x8b\x04\x25", 5) == 0) {
			out->tls = PYTHON_TLS_FIXED;
			out->tls_offset = python_int((uintptr_t)code + 5);
			return;
		}
		if (memcmp(code, "\x48\x8b\x05", 3) == 0 && code + 11 <= end &&
		    memcmp(code + 7, "\x64\x48\x8b\x00", 4) == 0) {
			out->tls = PYTHON_TLS_FIXED;
			out->tls_offset = (int64_t)python_follow(relative((uintptr_t)code + 3));
			return;
		}
		if (memcmp(code, "\x48\x8d\x3d", 3) == 0) {
			tls_from_call(out, code + 7, end, relative((uintptr_t)code + 3));
			return;
		}
	}
}

/* 3.6 keeps the key in a variable of its own: the `mov N(%rip), %edi` of the function that reads it. */
static uintptr_t key_in_code(const struct elf_symbol *function)
{
	for (size_t i = 0; i + 6 <= function->bytes && i < 32; i++) {
		const unsigned char *code = (const unsigned char *)function->address + i;
		if (code[0] == 0x8b && code[1] == 0x3d)
			return relative(function->address + i + 2);
	}
	return 0;
}
#else
static uint32_t version_in_code(const struct elf_symbol *function)
{
	(void)function;
	return 0;
}

static void tls_from_code(struct python_interpreter *out, const struct elf_symbol *function)
{
	(void)out, (void)function;
}

static uintptr_t key_in_code(const struct elf_symbol *function)
{
	(void)function;
	return 0;
}
#endif

/* Where groups of the interpreter's own table begin, in words; the table grows between minor versions. */
struct debug_layout {
	unsigned minor, interp_modules, thread, frame, code, object, dict, bytes, text, generator;
};

static const struct debug_layout debug_layouts[] = {
	{.minor = 13,
	 .interp_modules = 11,
	 .thread = 19,
	 .frame = 28,
	 .code = 34,
	 .object = 44,
	 .dict = 56,
	 .bytes = 64,
	 .text = 67},
	{.minor = 14,
	 .interp_modules = 12,
	 .thread = 22,
	 .frame = 31,
	 .code = 39,
	 .object = 50,
	 .dict = 66,
	 .bytes = 74,
	 .text = 77,
	 .generator = 83},
};

enum { DEBUG_WORDS = 96, DEBUG_OFFSET_MOST = 1 << 20 };

bool python_debug_offsets(struct python_offsets *at, const uint64_t *words, unsigned minor)
{
	const struct debug_layout *layout = &debug_layouts[minor > 13];
	if (memcmp(words, "xdebugpy", 8) != 0 || words[1] >> 16 != (0x300u | minor))
		return false;
	for (unsigned i = 3; i < layout->text + 4; i++)
		if (words[i] > DEBUG_OFFSET_MOST)
			return false;
	const uint64_t *object = words + layout->object;
	if (!((object[0] == 16 && object[1] == 8) || (object[0] == 32 && object[1] == 24)))
		return false;
	at->runtime_interpreters = (uint32_t)words[5];
	at->interp_next = (uint32_t)words[8];
	at->interp_threads = (uint32_t)words[9];
	at->interp_modules = (uint32_t)words[layout->interp_modules];
	const uint64_t *thread = words + layout->thread, *frame = words + layout->frame, *code = words + layout->code;
	at->state_next = (uint32_t)thread[2];
	at->state_interp = (uint32_t)thread[3];
	at->state_frame = (uint32_t)thread[4];
	at->state_thread = (uint32_t)thread[5];
	at->frame_previous = (uint32_t)frame[1];
	at->frame_code = (uint32_t)frame[2];
	at->frame_instruction = (uint32_t)frame[3];
	at->frame_size = at->frame_locals = (uint32_t)frame[4];
	at->frame_owner = (uint32_t)frame[5];
	at->code_size = (uint32_t)code[0];
	at->code_file = (uint32_t)code[1];
	at->code_name = (uint32_t)code[3];
	at->code_lines = (uint32_t)code[4];
	at->code_first_line = (uint32_t)code[5];
	at->code_code = (uint32_t)code[9];
	at->object_type = (uint32_t)object[1];
	at->type_name = (uint32_t)object[3];
	at->dict_keys = (uint32_t)words[layout->dict + 1];
	at->dict_values = (uint32_t)words[layout->dict + 2];
	at->bytes_size = (uint32_t)words[layout->bytes + 1];
	at->bytes_data = (uint32_t)words[layout->bytes + 2];
	at->text_state = (uint32_t)words[layout->text + 1];
	at->text_length = (uint32_t)words[layout->text + 2];
	at->text_ascii = (uint32_t)words[layout->text + 3];
	at->text_wide = at->text_ascii + 16; /* two words for the text's UTF-8 */
	if (layout->generator)
		at->generator_frame = (uint32_t)words[layout->generator + 2];
	return true;
}

/* The row of this version; for one that is newer than the table, what the interpreter says of itself. */
static bool choose_offsets(struct python_interpreter *out)
{
	unsigned minor = out->version >> 16 & 0xff;
	for (unsigned i = 0; i < python_offsets_count; i++)
		if (python_offsets[i].minor == minor)
			out->at = python_offsets[i];
	out->text_shift = minor >= 14 ? 16 : 2;
	if (minor < 13)
		return out->at.minor == minor;
	out->at.minor = minor;
	return guard_readable(out->runtime, DEBUG_WORDS * sizeof(uint64_t)) &&
	       python_debug_offsets(&out->at, (const uint64_t *)out->runtime, minor);
}

static uint32_t find_version(const struct elf_symbol *found)
{
	if (found[LOOK_VERSION].address)
		return (uint32_t)python_follow(found[LOOK_VERSION].address);
	return found[LOOK_GET_VERSION].address ? version_in_code(&found[LOOK_GET_VERSION]) : 0;
}

/* A program that uses a variable of a library has it in its own memory (a copy relocation), and the library uses that. */
static void prefer_program(struct elf_symbol *found)
{
	static const enum look_name variables[] = {LOOK_RUNTIME, LOOK_CURRENT, LOOK_CODE,      LOOK_FRAME,
						   LOOK_TEXT,    LOOK_DICT,    LOOK_COROUTINE, LOOK_GENERATOR};
	struct elf_object program;
	if (!elf_open_program(&program))
		return;
	for (unsigned i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		struct elf_symbol own = elf_find(&program, look_names[variables[i]]);
		if (own.address)
			found[variables[i]] = own;
	}
}

static void fill(struct python_interpreter *out, const struct elf_symbol *found)
{
	unsigned minor = out->at.minor;
	if (minor < 7) {
		out->current = found[LOOK_CURRENT].address;
		out->key = key_in_code(&found[LOOK_BOUND_STATE]);
	} else {
		out->current = out->at.runtime_current ? out->runtime + out->at.runtime_current : 0;
		out->key = out->at.runtime_tss ? out->runtime + out->at.runtime_tss + sizeof(int) : 0;
		out->key_is_started = true;
	}
	if (minor >= 12)
		tls_from_code(out, &found[found[LOOK_GET_STATE].address ? LOOK_GET_STATE : LOOK_GET_STATE_OLD]);
	out->type_code = found[LOOK_CODE].address;
	out->type_frame = found[LOOK_FRAME].address;
	out->type_text = found[LOOK_TEXT].address;
	out->type_dict = found[LOOK_DICT].address;
	out->type_coroutine = found[LOOK_COROUTINE].address;
	out->type_generator = found[LOOK_GENERATOR].address;
	for (unsigned i = 0; i < PYTHON_EVAL_RANGES; i++) {
		const struct elf_symbol *eval = &found[i ? LOOK_EVAL_COLD : LOOK_EVAL];
		out->eval[i] = (struct python_range){eval->address, eval->address + eval->bytes};
	}
}

static enum wire_python recognise(struct python_interpreter *out, const struct elf_symbol *found)
{
	out->runtime = found[LOOK_RUNTIME].address;
	out->version = find_version(found);
	out->tls = PYTHON_TLS_NONE;
	if (!found[LOOK_CODE].address || !found[LOOK_FRAME].address || !found[LOOK_TEXT].address)
		return WIRE_PYTHON_NO_SYMBOLS;
	if (out->version >> 24 != 3 || !choose_offsets(out))
		return WIRE_PYTHON_UNKNOWN_VERSION;
	out->place = found[LOOK_GET_VERSION].address;
	fill(out, found);
	return WIRE_PYTHON_READ;
}

static void tell(enum wire_python known)
{
	struct wire_header *header = file_header();
	if (!header)
		return;
	atomic_store(&header->python_version, python.version);
	atomic_store(&header->python, known);
}

/* A program of that name without symbols is an interpreter that cannot be read, unless its library is still to be seen. */
static void note_unreadable(uintptr_t dynamic)
{
	struct wire_header *header = file_header();
	if (!header || !elf_is_program(dynamic) || atomic_load(&header->python) != WIRE_PYTHON_NONE)
		return;
	const char *slash = memrchr(header->executable, '/', strnlen(header->executable, sizeof(header->executable)));
	if (strncmp(slash ? slash + 1 : header->executable, "python", 6) == 0)
		atomic_store(&header->python, WIRE_PYTHON_NO_SYMBOLS);
}

void python_look(uintptr_t bias, uintptr_t dynamic)
{
	struct elf_object object;
	struct elf_symbol found[LOOK_NAMES] = {0};
	int unseen = PYTHON_UNSEEN;
	int stage = atomic_load_explicit(&python.stage, memory_order_acquire);
	if (stage == PYTHON_READY)
		tell(WIRE_PYTHON_READ); /* a fork's child sees its objects again, for a new file */
	if (stage != PYTHON_UNSEEN)
		return;
	bool open = elf_open(&object, bias, dynamic);
	if (open && (elf_find(&object, look_names[LOOK_RUNTIME]).address ||
		     elf_find(&object, look_names[LOOK_CURRENT]).address)) {
		for (unsigned i = 0; i < LOOK_NAMES; i++)
			found[i] = elf_find(&object, look_names[i]);
		prefer_program(found);
	} else if (!elf_find_in_file(bias, dynamic, look_names, found, LOOK_NAMES)) {
		note_unreadable(dynamic);
		return;
	}
	if (!atomic_compare_exchange_strong(&python.stage, &unseen, PYTHON_FILLING))
		return;
	enum wire_python known = recognise(&python, found);
	tell(known);
	atomic_store_explicit(&python.stage, known == WIRE_PYTHON_READ ? PYTHON_READY : PYTHON_UNSEEN,
			      memory_order_release);
	if (open && memory_python_seen)
		memory_python_seen(bias, dynamic);
}
