/*
 * cfi.h - call frame information: how the caller's registers are found from an address' own, by .eh_frame.
 *
 * The parser knows nothing of the process: it is given a range of memory and reads nothing outside it.
 */
#ifndef PITOT_AGENT_CFI_H
#define PITOT_AGENT_CFI_H

#include "agent/arch.h"

#include <stdbool.h>
#include <stdint.h>

/* Memory that can be read: the loaded segment that holds .eh_frame_hdr and .eh_frame. */
struct cfi_view {
	uintptr_t start, end;
	uintptr_t header; /* of .eh_frame_hdr; 0: there is none */
};

enum cfi_flag {
	CFI_INDIRECT = 1,    /* CFA = word at [register + offset] + add, else register + offset */
	CFI_SIGNAL = 2,      /* a signal interrupted the caller: its ip is the instruction itself */
	CFI_ROOT = 4,        /* there is no caller */
	CFI_RA_REGISTER = 8, /* the return address is in the register `ra` */
	CFI_POINTER = 16,    /* not from CFI: the frame pointer is trusted */
	CFI_INDEXED = 32     /* with CFI_INDIRECT: 8 times base_register is added to what the word is at */
};

enum { CFI_SAME = INT16_MAX, CFI_LOST = INT16_MIN };

/*
 * The rule for one address. A saved register lies `place * 8` bytes from the CFA, or, where its bit of `based` is set, from
 * base_register. Three words, so that a cache can hold it without locks.
 */
struct cfi_rule {
	int32_t cfa_offset;
	uint8_t cfa_register;
	uint8_t base_register;
	uint8_t flags;
	uint8_t based; /* bit i: saved[i]; bit ARCH_SAVED: ra */
	int16_t cfa_add;
	int16_t ra;
	int16_t saved[ARCH_SAVED]; /* in the order of arch_saved; CFI_SAME: unchanged; CFI_LOST: not known */
};

_Static_assert(sizeof(struct cfi_rule) == 24, "three words");

/* CFI_UNUSABLE: damaged, or of a kind that is not supported. */
enum cfi_answer { CFI_FOUND, CFI_NONE, CFI_UNUSABLE };

/* Addresses that share a rule: [start, end). */
struct cfi_range {
	uintptr_t start, end;
};

/* The rule for the instruction at `pc`, and around it the addresses for which it holds as well; `range` may be NULL. */
enum cfi_answer cfi_find(const struct cfi_view *view, uintptr_t pc, struct cfi_rule *rule, struct cfi_range *range);

/* The rule of code that keeps a frame pointer. */
void cfi_frame_pointer(struct cfi_rule *rule);

#endif
