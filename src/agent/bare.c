/*
 * bare.c - see bare.h.
 *
 * Whatever a function did to the stack pointer, it undoes before it returns: followed to its return, the code itself says how
 * far above the stack pointer the return address lies and where the caller's registers are fetched from. So no symbol and no
 * prologue has to be found, and the stack in the middle of a kernel that keeps no frame is walked like any other.
 *
 * Branches are not taken, jumps are. A way that ends (a trap, a jump to where the code does not say, a loop) is given up for the
 * branch that leads the farthest: out of all loops. A register that is fetched from the stack is taken as the caller's: kernels keep what they
 * have to give back and nothing else in it under their own frame.
 */
#include "agent/bare.h"

#include "agent/x86.h"

#include <string.h>

#if defined(__x86_64__)

enum { GENERAL = 16, PENDING_MOST = 3, BACKWARD_MOST = 2, RETURN_MOST = 3, ENTRY_MOST = 6 };

/* Where a value stands relative to what a register holds at the beginning. */
struct spot {
	uint8_t base; /* X86_NONE: not known */
	int32_t offset;
};

struct state {
	uintptr_t at;
	struct spot values[GENERAL];
	struct spot fetched[ARCH_SAVED]; /* address that the register was fetched from; base X86_NONE: was not */
	struct spot stored[ARCH_SAVED];  /* address that its first value was put to */
};

struct search {
	const struct bare_code *code;
	struct state now, pending[PENDING_MOST];
	unsigned waiting, backward;
};

/* The processor's numbers as DWARF's. */
static const uint8_t dwarf_number[GENERAL] = {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};

static void add(struct spot *spot, int64_t bytes)
{
	int64_t sum = spot->offset + bytes;
	if (sum > INT32_MAX / 2 || sum < INT32_MIN / 2)
		spot->base = X86_NONE;
	else
		spot->offset = (int32_t)sum;
}

static unsigned saved_index(uint8_t number)
{
	unsigned i = 0;
	while (i < ARCH_SAVED && arch_saved[i] != dwarf_number[number])
		i++;
	return i;
}

/* Only the last time counts: a kernel may use the register for itself before. What is fetched from where it was stored on the
 * way is what the register holds at the beginning. */
static void fetch(struct state *state, uint8_t to, struct spot from)
{
	unsigned i = to < GENERAL ? saved_index(to) : ARCH_SAVED;
	if (to >= GENERAL || to == X86_RSP)
		return;
	state->values[to].base = X86_NONE;
	if (i == ARCH_SAVED)
		return;
	bool own = state->stored[i].base == from.base && state->stored[i].offset == from.offset;
	state->fetched[i] = own ? (struct spot){X86_NONE, 0} : from;
}

static void store(struct state *state, uint8_t from, struct spot to)
{
	unsigned i = from < GENERAL ? saved_index(from) : ARCH_SAVED;
	if (i < ARCH_SAVED && state->values[from].base == from && state->values[from].offset == 0)
		state->stored[i] = to;
}

static void pop(struct state *state, uint8_t to)
{
	fetch(state, to, state->values[X86_RSP]);
	add(&state->values[X86_RSP], 8);
}

/* Loads through other registers than the stack pointer are the function's own work. */
static void load(struct state *state, const struct x86_step *step)
{
	if (step->to == X86_RSP) {
		state->values[X86_RSP].base = X86_NONE;
		return;
	}
	if (step->from == X86_RSP) {
		struct spot from = state->values[X86_RSP];
		add(&from, step->value);
		fetch(state, step->to, from);
	} else if (step->to < GENERAL) {
		state->values[step->to].base = X86_NONE;
	}
}

static void move(struct state *state, const struct x86_step *step)
{
	struct spot *to = &state->values[step->to];
	if (step->from == X86_NONE) {
		to->base = X86_NONE;
		return;
	}
	*to = state->values[step->from];
	add(to, step->value);
}

/* The branches that lead the farthest are kept: the way out of nested loops is among them. */
static void keep_branch(struct search *search, uintptr_t target)
{
	struct state *place = NULL;
	for (unsigned i = 0; i < search->waiting; i++) {
		if (search->pending[i].at == target)
			return;
		if (place == NULL || search->pending[i].at < place->at)
			place = &search->pending[i];
	}
	if (search->waiting < PENDING_MOST)
		place = &search->pending[search->waiting++];
	else if (place->at > target)
		return;
	*place = search->now;
	place->at = target;
}

static bool turn_back(struct search *search)
{
	unsigned best = 0;
	if (search->waiting == 0)
		return false;
	for (unsigned i = 1; i < search->waiting; i++)
		if (search->pending[i].at > search->pending[best].at)
			best = i;
	search->now = search->pending[best];
	search->pending[best] = search->pending[--search->waiting];
	return true;
}

static bool go(struct search *search, const struct x86_step *step)
{
	uintptr_t behind = search->now.at + step->length, target = behind + (uintptr_t)(intptr_t)step->value;
	switch (step->kind) {
	case X86_JUMP:
		if (step->value < 0 && ++search->backward > BACKWARD_MOST)
			return turn_back(search);
		search->now.at = target;
		return true;
	case X86_BRANCH:
		if (step->value > 0)
			keep_branch(search, target);
		break;
	default:
		break;
	}
	search->now.at = behind;
	return true;
}

static void follow(struct state *state, const struct x86_step *step)
{
	switch (step->kind) {
	case X86_PUSH:
		add(&state->values[X86_RSP], -8);
		store(state, step->from, state->values[X86_RSP]);
		break;
	case X86_STORE:
		if (step->to == X86_RSP) {
			struct spot to = state->values[X86_RSP];
			add(&to, step->value);
			store(state, step->from, to);
		}
		break;
	case X86_POP:
		pop(state, step->to);
		break;
	case X86_ADD_SP:
		add(&state->values[X86_RSP], step->value);
		break;
	case X86_LOSE_SP:
		state->values[X86_RSP].base = X86_NONE;
		break;
	case X86_MOVE:
		move(state, step);
		break;
	case X86_LOAD:
		load(state, step);
		break;
	case X86_LEAVE:
		state->values[X86_RSP] = state->values[X86_RBP];
		pop(state, X86_RBP);
		break;
	default:
		break;
	}
}

/* A place is told from the CFA, or from the one other register that a rule has room for. */
static void place(struct cfi_rule *rule, unsigned i, struct spot from, struct spot sp)
{
	bool near = from.base == sp.base;
	int32_t distance = near ? from.offset - rule->cfa_offset : from.offset;
	rule->saved[i] = CFI_SAME;
	if (from.base == X86_NONE)
		return;
	rule->saved[i] = CFI_LOST;
	if (distance % 8 != 0 || distance / 8 <= CFI_LOST || distance / 8 >= CFI_SAME)
		return;
	if (!near && rule->based != 0 && rule->base_register != dwarf_number[from.base])
		return;
	rule->saved[i] = (int16_t)(distance / 8);
	if (!near) {
		rule->base_register = dwarf_number[from.base];
		rule->based |= (uint8_t)(1U << i);
	}
}

/* At the return: the word under the stack pointer is the address. */
static bool conclude(const struct state *state, struct cfi_rule *rule)
{
	struct spot sp = state->values[X86_RSP];
	if (sp.base == X86_NONE)
		return false;
	*rule = (struct cfi_rule){.cfa_register = dwarf_number[sp.base], .cfa_offset = sp.offset + 8, .ra = -1};
	for (unsigned i = 0; i < ARCH_SAVED; i++)
		place(rule, i, state->fetched[i], sp);
	return true;
}

bool bare_look_ahead(const struct bare_code *code, uintptr_t ip, unsigned steps, struct cfi_rule *rule)
{
	struct search search = {.code = code, .now = {.at = ip}};
	for (uint8_t i = 0; i < GENERAL; i++)
		search.now.values[i] = (struct spot){i, 0};
	for (unsigned i = 0; i < ARCH_SAVED; i++)
		search.now.fetched[i].base = search.now.stored[i].base = X86_NONE;
	for (; steps > 0; steps--) {
		struct x86_step step;
		uintptr_t place = search.now.at - code->start;
		bool known = place < code->size && x86_decode(code->bytes + place, code->size - place, &step);
		if (known && step.kind == X86_RETURN) {
			if (conclude(&search.now, rule))
				return true;
			known = false;
		}
		if (!known || step.kind == X86_STOP) {
			if (!turn_back(&search))
				return false;
			continue;
		}
		follow(&search.now, &step);
		if (!go(&search, &step))
			return false;
	}
	return false;
}

bool bare_shares_next(const struct bare_code *code, uintptr_t *ip, const struct cfi_rule *rule)
{
	struct x86_step step;
	uintptr_t place = *ip - code->start;
	if (place >= code->size || !x86_decode(code->bytes + place, code->size - place, &step))
		return false;
	if (step.kind != X86_OTHER && step.kind != X86_BRANCH && step.kind != X86_MOVE && step.kind != X86_LOAD)
		return false;
	/* The rule must not depend on what the instruction changes. */
	if (step.to < GENERAL &&
	    (step.to == X86_RSP || saved_index(step.to) < ARCH_SAVED || dwarf_number[step.to] == rule->cfa_register ||
	     dwarf_number[step.to] == rule->base_register))
		return false;
	*ip += step.length;
	return true;
}

bool bare_return(const struct bare_code *code, uintptr_t ip, struct cfi_rule *rule)
{
	uintptr_t at = ip;
	for (unsigned i = 0; i < RETURN_MOST; i++) {
		struct x86_step step;
		uintptr_t place = at - code->start;
		if (place >= code->size || !x86_decode(code->bytes + place, code->size - place, &step))
			return false;
		if (step.kind == X86_RETURN)
			return bare_look_ahead(code, ip, RETURN_MOST, rule);
		if (step.kind != X86_POP && step.kind != X86_ADD_SP && step.kind != X86_MOVE && step.kind != X86_LEAVE)
			return false;
		at += step.length;
	}
	return false;
}

/* push %rbp; mov %rsp, %rbp, as either assembler writes it. */
static bool is_frame_start(const struct bare_code *code, uintptr_t at)
{
	static const uint8_t forms[2][4] = {{0x55, 0x48, 0x89, 0xE5}, {0x55, 0x48, 0x8B, 0xEC}};
	uintptr_t place = at - code->start;
	return place < code->size && code->size - place >= 4 &&
	       (memcmp(code->bytes + place, forms[0], 4) == 0 || memcmp(code->bytes + place, forms[1], 4) == 0);
}

bool bare_entry(const struct bare_code *code, uintptr_t ip, struct cfi_rule *rule)
{
	bool pushed = is_frame_start(code, ip - 1);
	uintptr_t at = ip;
	for (unsigned i = 0; !pushed && !is_frame_start(code, at); i++) {
		struct x86_step step;
		uintptr_t place = at - code->start;
		if (i == ENTRY_MOST || place >= code->size ||
		    !x86_decode(code->bytes + place, code->size - place, &step) ||
		    (step.kind != X86_OTHER && step.kind != X86_BRANCH && step.kind != X86_LOAD) || step.to == X86_RSP)
			return false;
		at += step.length;
	}
	*rule = (struct cfi_rule){.cfa_register = ARCH_SP, .cfa_offset = pushed ? 16 : 8, .ra = -1};
	for (unsigned i = 0; i < ARCH_SAVED; i++)
		rule->saved[i] = CFI_SAME;
	if (pushed)
		rule->saved[0] = -2;
	return true;
}

bool bare_is_call(const uint8_t *before, size_t count)
{
	static const uint8_t lengths[] = {2, 3, 4, 6, 7};
	if (count >= 5 && before[count - 5] == 0xE8)
		return true;
	for (unsigned i = 0; i < sizeof lengths; i++) {
		size_t length = lengths[i];
		if (count >= length && before[count - length] == 0xFF && (before[count - length + 1] >> 3 & 7) == 2)
			return true;
	}
	return false;
}

#else

bool bare_look_ahead(const struct bare_code *code, uintptr_t ip, unsigned steps, struct cfi_rule *rule)
{
	(void)code, (void)ip, (void)steps, (void)rule;
	return false;
}

bool bare_shares_next(const struct bare_code *code, uintptr_t *ip, const struct cfi_rule *rule)
{
	(void)code, (void)ip, (void)rule;
	return false;
}

bool bare_return(const struct bare_code *code, uintptr_t ip, struct cfi_rule *rule)
{
	(void)code, (void)ip, (void)rule;
	return false;
}

bool bare_entry(const struct bare_code *code, uintptr_t ip, struct cfi_rule *rule)
{
	(void)code, (void)ip, (void)rule;
	return false;
}

bool bare_is_call(const uint8_t *before, size_t count)
{
	(void)before, (void)count;
	return true;
}

#endif
