/*
 * inline_chain.c - see inline_chain.h.
 *
 *	units       dwarf_get_units, with the split part of a unit where it was found beside it
 *	functions   of a unit: children, and those of namespaces; where that leaves an address without one, everything
 *	            (functions inside of types and of functions)
 *	calls       of a function: inlined subroutines, through lexical blocks
 *
 * A range that begins at 0 belongs to code that the linker threw away. Nesting is limited, as debug information may be damaged.
 */
#include "symbol/inline_chain.h"
#include "base/mem.h"

#include <dwarf.h>
#include <string.h>

enum { NESTING_MOST = 256, NONE = UINT32_MAX };

struct unit {
	Dwarf_Die die;  /* with functions: the split part where there is one */
	Dwarf_Die line; /* with the line table */
	Dwarf_Files *files;
	const char *folder; /* that the compiler ran in */
	bool files_read;
	bool searched; /* to the bottom */
};

struct call {
	Dwarf_Die die;
	uint32_t parent; /* NONE: the function itself */
};

struct place {
	uint64_t pc;
	uint32_t unit, function, call; /* NONE: not known */
};

struct inline_chain {
	Dwarf *dwarf;
	size_t count;
	struct place *places;
	VEC(struct unit) units;
	VEC(Dwarf_Die) functions;
	VEC(struct call) calls;
};

/* The first place at or after the address. */
static size_t first_place(const struct inline_chain *chain, uint64_t pc)
{
	size_t low = 0, high = chain->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (chain->places[middle].pc < pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Sets what a range covers. How many places that were. */
typedef size_t claim(struct place *place, uint32_t within, uint32_t mark);

static size_t claim_unit(struct place *place, uint32_t within, uint32_t mark)
{
	(void)within;
	if (place->unit != NONE)
		return 0;
	place->unit = mark;
	return 1;
}

static size_t claim_function(struct place *place, uint32_t within, uint32_t mark)
{
	if (place->unit != within)
		return 0;
	place->function = mark;
	return 1;
}

static size_t claim_call(struct place *place, uint32_t within, uint32_t mark)
{
	if (place->function != within)
		return 0;
	place->call = mark;
	return 1;
}

/* Any place of this range at all: whether to look inside. */
static size_t claim_nothing(struct place *place, uint32_t within, uint32_t mark)
{
	(void)mark;
	return place->function == within;
}

static size_t claim_ranges(struct inline_chain *chain, Dwarf_Die *die, claim *how, uint32_t within, uint32_t mark)
{
	Dwarf_Addr base, low, high;
	size_t claimed = 0;
	for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &low, &high)) > 0;) {
		if (low == 0 || high <= low)
			continue;
		for (size_t i = first_place(chain, low); i < chain->count && chain->places[i].pc < high; i++)
			claimed += how(&chain->places[i], within, mark);
	}
	return claimed;
}

static void find_units(struct inline_chain *chain)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die, split;
	uint8_t type;
	while (dwarf_get_units(chain->dwarf, cu, &cu, NULL, &type, &die, &split) == 0) {
		if (type == DW_UT_type || type == DW_UT_split_type || type == DW_UT_partial)
			continue;
		if (claim_ranges(chain, &die, claim_unit, 0, (uint32_t)chain->units.len) == 0)
			continue;
		bool has_split = type == DW_UT_skeleton && split.addr;
		Dwarf_Attribute memory;
		vec_push(&chain->units,
			 ((struct unit){.die = has_split ? split : die,
					.line = die,
					.folder = dwarf_formstring(dwarf_attr(&die, DW_AT_comp_dir, &memory))}));
	}
}

static bool holds_functions(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_module;
}

static bool may_hold_functions(int tag)
{
	return tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block || tag == DW_TAG_structure_type ||
	       tag == DW_TAG_class_type || tag == DW_TAG_union_type || tag == DW_TAG_enumeration_type ||
	       holds_functions(tag);
}

static void find_functions(struct inline_chain *chain, Dwarf_Die *parent, uint32_t unit, bool everywhere, int depth)
{
	Dwarf_Die die;
	if (depth > NESTING_MOST || dwarf_child(parent, &die) != 0)
		return;
	do {
		int tag = dwarf_tag(&die);
		if (tag == DW_TAG_subprogram &&
		    claim_ranges(chain, &die, claim_function, unit, (uint32_t)chain->functions.len))
			vec_push(&chain->functions, die);
		if (everywhere ? may_hold_functions(tag) : holds_functions(tag))
			find_functions(chain, &die, unit, everywhere, depth + 1);
	} while (dwarf_siblingof(&die, &die) == 0);
}

static void find_calls(struct inline_chain *chain, Dwarf_Die *parent, uint32_t function, uint32_t call, int depth)
{
	Dwarf_Die die;
	if (depth > NESTING_MOST || dwarf_child(parent, &die) != 0)
		return;
	do {
		int tag = dwarf_tag(&die);
		if (tag == DW_TAG_inlined_subroutine) {
			uint32_t mark = (uint32_t)chain->calls.len;
			if (claim_ranges(chain, &die, claim_call, function, mark)) {
				vec_push(&chain->calls, ((struct call){.die = die, .parent = call}));
				find_calls(chain, &die, function, mark, depth + 1);
			}
		} else if (tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block) {
			bool ranged = dwarf_hasattr(&die, DW_AT_ranges) || dwarf_hasattr(&die, DW_AT_low_pc);
			if (!ranged || claim_ranges(chain, &die, claim_nothing, function, 0))
				find_calls(chain, &die, function, call, depth + 1);
		}
	} while (dwarf_siblingof(&die, &die) == 0);
}

/* Units whose plain functions do not cover all that is wanted are looked through to the bottom. */
static void find_hidden_functions(struct inline_chain *chain)
{
	for (size_t i = 0; i < chain->count; i++) {
		uint32_t number = chain->places[i].unit;
		if (number == NONE || chain->places[i].function != NONE || chain->units.items[number].searched)
			continue;
		chain->units.items[number].searched = true;
		find_functions(chain, &chain->units.items[number].die, number, true, 0);
	}
}

struct inline_chain *inline_chain_new(Dwarf *dwarf, const uint64_t *pcs, size_t count)
{
	struct inline_chain *chain = mem_alloc(sizeof(*chain));
	chain->dwarf = dwarf;
	chain->count = count;
	chain->places = mem_alloc((count + 1) * sizeof(chain->places[0]));
	for (size_t i = 0; i < count; i++)
		chain->places[i] = (struct place){.pc = pcs[i], .unit = NONE, .function = NONE, .call = NONE};
	find_units(chain);
	for (size_t i = 0; i < chain->units.len; i++)
		find_functions(chain, &chain->units.items[i].die, (uint32_t)i, false, 0);
	find_hidden_functions(chain);
	for (size_t i = 0; i < chain->functions.len; i++)
		find_calls(chain, &chain->functions.items[i], (uint32_t)i, NONE, 0);
	return chain;
}

void inline_chain_free(struct inline_chain *chain)
{
	if (!chain)
		return;
	vec_fini(&chain->units);
	vec_fini(&chain->functions);
	vec_fini(&chain->calls);
	free(chain->places);
	free(chain);
}

/* What an instance of a function is an instance of; the DIE itself where it stands alone. */
static Dwarf_Die origin_of(Dwarf_Die *die)
{
	Dwarf_Attribute memory;
	Dwarf_Die origin;
	Dwarf_Attribute *attribute = dwarf_attr(die, DW_AT_abstract_origin, &memory);
	return attribute && dwarf_formref_die(attribute, &origin) ? origin : *die;
}

static void name_function(Dwarf_Die *die, struct inline_frame *out)
{
	Dwarf_Attribute memory;
	Dwarf_Attribute *linkage = dwarf_attr_integrate(die, DW_AT_linkage_name, &memory);
	if (!linkage)
		linkage = dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &memory);
	out->symbol = linkage ? dwarf_formstring(linkage) : NULL;
	out->name = dwarf_diename(die);
	Dwarf_Die origin = origin_of(die);
	out->identity = (uint64_t)(uintptr_t)origin.addr;
	dwarf_decl_line(die, &out->first_line);
}

static void set_line(struct unit *unit, uint64_t pc, Dwarf_Die *function, struct inline_frame *out)
{
	Dwarf_Line *line = dwarf_getsrc_die(&unit->line, pc);
	if (line) {
		out->file = dwarf_linesrc(line, NULL, NULL);
		dwarf_lineno(line, &out->line);
	}
	if (!out->file && function)
		out->file = dwarf_decl_file(function);
}

/* The place in the caller that an inlined call stands for. */
static void set_call_line(struct unit *unit, Dwarf_Die *call, struct inline_frame *out)
{
	Dwarf_Attribute memory;
	Dwarf_Word line = 0, file = 0;
	if (dwarf_formudata(dwarf_attr(call, DW_AT_call_line, &memory), &line) == 0 && line <= INT32_MAX)
		out->line = (int)line;
	if (!unit->files_read) {
		size_t count;
		unit->files_read = true;
		if (dwarf_getsrcfiles(&unit->die, &unit->files, &count) != 0)
			unit->files = NULL;
	}
	if (unit->files && dwarf_formudata(dwarf_attr(call, DW_AT_call_file, &memory), &file) == 0)
		out->file = dwarf_filesrc(unit->files, file, NULL, NULL);
}

bool inline_chain_next(struct inline_chain *chain, size_t index, size_t depth, struct inline_frame *out)
{
	const struct place *place = &chain->places[index];
	*out = (struct inline_frame){0};
	if (place->unit == NONE)
		return false;
	struct unit *unit = &chain->units.items[place->unit];
	uint32_t inner = NONE;
	uint32_t call = place->call;
	for (size_t i = 0; i < depth; i++) {
		if (call == NONE)
			return false;
		inner = call;
		call = chain->calls.items[call].parent;
	}
	Dwarf_Die *die = call != NONE              ? &chain->calls.items[call].die
			 : place->function != NONE ? &chain->functions.items[place->function]
						   : NULL;
	out->folder = unit->folder;
	if (die)
		name_function(die, out);
	if (inner == NONE)
		set_line(unit, place->pc, die, out);
	else
		set_call_line(unit, &chain->calls.items[inner].die, out);
	return true;
}
