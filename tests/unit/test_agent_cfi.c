/*
 * test_agent_cfi.c - unwind tables: what the parser reads of tables made by hand, that it agrees with libdw on every object that
 * is loaded here, and that damaged ones neither lead it out of its memory nor keep it.
 */
#include "agent/cfi.h"
#include "agent/module.h"
#include "agent_stand_ins.h"
#include "unit.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <libelf.h>

/* ---- tables by hand, at the end of a page that nothing follows */

enum { PAGE = 4096, CODE = 0x1000 };

struct image {
	unsigned char bytes[1024];
	size_t used;
	bool wide;            /* entries have 64-bit lengths */
	uint8_t fde_encoding; /* of addresses in the FDE */
	const char *letters;
};

static void put(struct image *image, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		image->bytes[image->used++] = (unsigned char)(value >> (8 * i));
}

static void put_bytes(struct image *image, const char *bytes, size_t count)
{
	memcpy(image->bytes + image->used, bytes, count);
	image->used += count;
}

/* The mapping has no room behind its end: a read too far is a crash. */
static unsigned char *edge(void)
{
	static unsigned char *pages;
	if (pages == NULL) {
		pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		mprotect(pages + PAGE, PAGE, PROT_NONE);
	}
	return pages + PAGE;
}

static size_t begin_entry(struct image *image)
{
	put(image, image->wide ? 0xFFFFFFFF : 0, 4);
	if (image->wide)
		put(image, 0, 8);
	return image->used;
}

static void end_entry(struct image *image, size_t body)
{
	while (image->used % 8 != 0)
		put(image, 0, 1);
	uint64_t length = image->used - body;
	memcpy(image->bytes + body - (image->wide ? 8 : 4), &length, image->wide ? 8 : 4);
}

static unsigned address_bytes(uint8_t encoding)
{
	return (encoding & 0x0F) == 0x0B || (encoding & 0x0F) == 0x03 ? 4 : 8;
}

/* One function of 256 bytes at CODE from the image's start, with the given instructions. `total` is the image's final size. */
static void build(struct image *image, const char *program, size_t length, size_t total)
{
	uintptr_t home = (uintptr_t)edge() - total;
	image->used = 0;
	put_bytes(image, "\x01\x1b\x03\x3b", 4);
	size_t pointer = image->used;
	put(image, 0, 4);
	put(image, 1, 4);
	put(image, CODE, 4); /* datarel to the header */
	size_t entry = image->used;
	put(image, 0, 4);
	uint32_t frame = (uint32_t)(image->used - pointer);
	memcpy(image->bytes + pointer, &frame, 4);
	size_t cie = image->used, body = begin_entry(image);
	put(image, 0, 4);
	put(image, 1, 1);
	put_bytes(image, image->letters, strlen(image->letters) + 1);
	put_bytes(image, "\x01\x78\x10", 3); /* code 1, data -8, return address in column 16 */
	if (image->letters[0] == 'z') {
		put(image, 1, 1);
		put(image, image->fde_encoding, 1);
	}
	put_bytes(image, "\x0c\x07\x08\x90\x01", 5); /* CFA is rsp + 8, the return address at CFA - 8 */
	end_entry(image, body);
	uint32_t fde = (uint32_t)image->used;
	memcpy(image->bytes + entry, &fde, 4);
	body = begin_entry(image);
	put(image, image->used - cie, 4);
	uintptr_t start = home + CODE, place = home + image->used;
	unsigned size = address_bytes(image->fde_encoding);
	uint8_t base = image->fde_encoding & 0x70;
	put(image, base == 0x10 ? start - place : base == 0x30 ? start - home : start, size);
	put(image, 256, size);
	if (image->letters[0] == 'z')
		put(image, 0, 1);
	put_bytes(image, program, length);
	end_entry(image, body);
}

static enum cfi_answer ask(struct image *image, size_t keep, uintptr_t at, struct cfi_rule *rule)
{
	unsigned char *home = edge() - image->used;
	struct cfi_view view = {(uintptr_t)home, (uintptr_t)home + keep, (uintptr_t)home};
	memcpy(home, image->bytes, image->used);
	return cfi_find(&view, (uintptr_t)home + CODE + at, rule, NULL);
}

/* Made twice: addresses that are not relative depend on the size. */
static void make(struct image *image, const char *program, size_t length)
{
	build(image, program, length, 512);
	build(image, program, length, image->used);
}

#define MAKE(image, program) make(image, program, sizeof(program) - 1)

static const struct image plain = {.fde_encoding = 0x1B, .letters = "zR"};

static struct cfi_rule rule_at(struct image *image, uintptr_t at)
{
	struct cfi_rule rule;
	assert_int_equal(ask(image, image->used, at, &rule), CFI_FOUND);
	return rule;
}

static void a_prologue_is_followed_byte_by_byte(void **state)
{
	(void)state;
	struct image image = plain;
	/* 1: push rbp; 4: rbp is the frame pointer; 0x84: leave */
	MAKE(&image, "\x41\x0e\x10\x86\x02\x43\x0d\x06\x02\x80\x0c\x07\x08\xc6");
	struct cfi_rule rule = rule_at(&image, 0);
	assert_int_equal(rule.cfa_register, ARCH_SP);
	assert_int_equal(rule.cfa_offset, 8);
	assert_int_equal(rule.ra, -1);
	assert_int_equal(rule.saved[0], CFI_SAME);
	rule = rule_at(&image, 1);
	assert_int_equal(rule.cfa_offset, 16);
	assert_int_equal(rule.saved[0], -2);
	rule = rule_at(&image, 4);
	assert_int_equal(rule.cfa_register, ARCH_FP);
	assert_int_equal(rule.cfa_offset, 16);
	rule = rule_at(&image, 0x83);
	assert_int_equal(rule.cfa_register, ARCH_FP);
	rule = rule_at(&image, 0x84);
	assert_int_equal(rule.cfa_register, ARCH_SP);
	assert_int_equal(rule.cfa_offset, 8);
	assert_int_equal(rule.saved[0], CFI_SAME);
	assert_int_equal(rule.saved[1], CFI_SAME);
}

static void addresses_outside_the_function_have_no_rule(void **state)
{
	(void)state;
	struct image image = plain;
	struct cfi_rule rule;
	MAKE(&image, "");
	assert_int_equal(ask(&image, image.used, 255, &rule), CFI_FOUND);
	assert_int_equal(ask(&image, image.used, 256, &rule), CFI_NONE);
	assert_int_equal(ask(&image, image.used, (uintptr_t)-1, &rule), CFI_NONE);
}

static void every_encoding_of_addresses_is_read(void **state)
{
	(void)state;
	static const uint8_t encodings[] = {0x00, 0x03, 0x04, 0x0C, 0x1B, 0x1C, 0x33, 0x3B, 0x3C};
	for (unsigned i = 0; i < sizeof encodings; i++)
		for (unsigned wide = 0; wide < 2; wide++) {
			struct image image = {.fde_encoding = encodings[i], .letters = "zR", .wide = wide};
			struct cfi_rule rule;
			MAKE(&image, "\x41\x0e\x10");
			/* An absolute address of 32 bits does not reach the test's memory. */
			enum cfi_answer expected = encodings[i] == 0x03 ? CFI_NONE : CFI_FOUND;
			assert_int_equal(ask(&image, image.used, 5, &rule), expected);
			if (expected == CFI_FOUND)
				assert_int_equal(rule.cfa_offset, 16);
		}
}

static void state_is_remembered_and_restored(void **state)
{
	(void)state;
	struct image image = plain;
	/* CFA 16; remember; +16: CFA 8; restore; +16: again 16 */
	MAKE(&image, "\x0e\x10\x0a\x50\x0e\x08\x50\x0b\x2e\x20");
	assert_int_equal(rule_at(&image, 0).cfa_offset, 16);
	assert_int_equal(rule_at(&image, 16).cfa_offset, 8);
	assert_int_equal(rule_at(&image, 32).cfa_offset, 16);
	MAKE(&image, "\x0b");
	struct cfi_rule rule;
	assert_int_equal(ask(&image, image.used, 0, &rule), CFI_UNUSABLE);
}

static void expressions_reduce_to_a_register_or_a_word_in_memory(void **state)
{
	(void)state;
	struct image image = plain;
	MAKE(&image, "\x0f\x03\x76\x78\x06\x10\x06\x02\x76\x00"); /* [rbp - 8]; rbp is at [rbp + 0] */
	struct cfi_rule rule = rule_at(&image, 0);
	assert_int_equal(rule.flags, CFI_INDIRECT);
	assert_int_equal(rule.cfa_register, ARCH_FP);
	assert_int_equal(rule.cfa_offset, -8);
	assert_int_equal(rule.based, 1);
	assert_int_equal(rule.base_register, ARCH_FP);
	assert_int_equal(rule.saved[0], 0);
	MAKE(&image, "\x0f\x06\x77\x98\x01\x06\x23\x08"); /* [rsp + 152] + 8 */
	rule = rule_at(&image, 0);
	assert_int_equal(rule.cfa_offset, 152);
	assert_int_equal(rule.cfa_add, 8);
	/* A stub of the PLT: one word more on the stack from its eleventh byte on. */
	MAKE(&image, "\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22");
	for (unsigned i = 0; i < 48; i++) {
		struct cfi_rule stub;
		enum cfi_answer answer = ask(&image, image.used, i, &stub);
		uintptr_t at = (uintptr_t)edge() - image.used + CODE + i;
		assert_int_equal(answer, CFI_FOUND);
		assert_int_equal(stub.cfa_offset, at % 16 >= 11 ? 16 : 8);
	}
	MAKE(&image, "\x0f\x0a\x77\x08\x79\x00\x38\x1e\x22\x06\x23\x08"); /* [rsp + r9 * 8 + 8] + 8 */
	rule = rule_at(&image, 0);
	assert_int_equal(rule.flags, CFI_INDIRECT | CFI_INDEXED);
	assert_int_equal(rule.cfa_register, ARCH_SP);
	assert_int_equal(rule.base_register, 9);
	assert_int_equal(rule.cfa_offset, 8);
	assert_int_equal(rule.cfa_add, 8);
	MAKE(&image, "\x0f\x04\x77\x00\x06\x06"); /* a word at a word: not supported, and said so */
	assert_int_equal(ask(&image, image.used, 0, &rule), CFI_UNUSABLE);
}

static void roots_signals_and_registers_are_told_apart(void **state)
{
	(void)state;
	struct image image = plain;
	MAKE(&image, "\x07\x10");
	assert_int_equal(rule_at(&image, 0).flags, CFI_ROOT);
	MAKE(&image, "\x09\x10\x05\x0e\x00");
	struct cfi_rule rule = rule_at(&image, 0);
	assert_int_equal(rule.flags, CFI_RA_REGISTER);
	assert_int_equal(rule.ra, 5);
	image.letters = "zRS";
	MAKE(&image, "");
	assert_int_equal(rule_at(&image, 0).flags, CFI_SIGNAL);
	image.letters = "";
	image.fde_encoding = 0x00;
	MAKE(&image, "\x41\x0e\x10");
	assert_int_equal(rule_at(&image, 1).cfa_offset, 16);
}

static void an_image_cut_anywhere_is_not_read_beyond(void **state)
{
	(void)state;
	struct image image = plain;
	struct cfi_rule rule;
	MAKE(&image, "\x41\x0e\x10\x86\x02\x43\x0d\x06\x0f\x03\x76\x78\x06\x02\x80\x0c\x07\x08\xc6");
	struct image whole = image;
	for (size_t keep = 0; keep < whole.used; keep++) {
		/* The last bytes before the hole are the image's first ones. */
		unsigned char *home = edge() - keep;
		memcpy(home, whole.bytes, keep);
		struct cfi_view view = {(uintptr_t)home, (uintptr_t)home + keep, (uintptr_t)home};
		assert_int_not_equal(cfi_find(&view, (uintptr_t)home + CODE + 5, &rule, NULL), CFI_FOUND);
	}
}

static void any_byte_may_be_wrong(void **state)
{
	(void)state;
	struct image image = plain;
	unsigned found = 0;
	MAKE(&image, "\x41\x0e\x10\x86\x02\x43\x0d\x06\x0f\x03\x76\x78\x06\x02\x80\x0c\x07\x08\xc6");
	for (size_t at = 0; at < image.used; at++)
		for (unsigned value = 0; value < 256; value++) {
			struct image other = image;
			struct cfi_rule rule;
			other.bytes[at] = (unsigned char)value;
			found += ask(&other, other.used, 5, &rule) == CFI_FOUND;
		}
	assert_true(found > image.used && found < image.used * 256);
}

/* ---- agreement with libdw */

struct tally {
	unsigned asked, found, supported, wide;
};

static bool same_cfa(const struct cfi_rule *rule, const Dwarf_Op *ops, size_t count)
{
	if (count == 1 && ops[0].atom == DW_OP_bregx)
		return rule->cfa_register == ops[0].number && rule->cfa_offset == (int64_t)ops[0].number2;
	if (count == 1 && ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31)
		return rule->cfa_register == ops[0].atom - DW_OP_breg0 && rule->cfa_offset == (int64_t)ops[0].number;
	return count > 1; /* an expression: judged by stepping through code that has them */
}

/* libdw does not tell a register that nothing is said of from one that is lost. */
static bool same_place(int16_t place, bool based, const Dwarf_Op *ops, size_t count)
{
	if (count == 0)
		return place == CFI_LOST || place == CFI_SAME;
	if (count == 1 && ops[0].atom == DW_OP_call_frame_cfa)
		return !based && place == 0;
	if (count == 2 && ops[0].atom == DW_OP_call_frame_cfa && ops[1].atom == DW_OP_plus_uconst)
		return !based && place * 8 == (int64_t)ops[1].number;
	return based || place == CFI_LOST;
}

/* Both ends of a range have its rule, and what lies next to it is another row or another function. */
static void check_range(const struct cfi_view *view, uintptr_t pc, const struct cfi_rule *rule,
			const struct cfi_range *range)
{
	struct cfi_rule first, last;
	struct cfi_range again;
	assert_true(range->start <= pc && pc < range->end);
	assert_int_equal(cfi_find(view, range->start, &first, &again), CFI_FOUND);
	assert_true(again.start == range->start && again.end == range->end);
	assert_int_equal(cfi_find(view, range->end - 1, &last, NULL), CFI_FOUND);
	assert_memory_equal(rule, &first, sizeof first);
	assert_memory_equal(rule, &last, sizeof last);
}

static void compare_with_libdw(Dwarf_CFI *cfi, const struct cfi_view *view, uintptr_t bias, uintptr_t pc,
			       struct tally *tally)
{
	Dwarf_Frame *frame = NULL;
	Dwarf_Op *ops, scratch[3];
	size_t count;
	struct cfi_rule rule;
	struct cfi_range range;
	enum cfi_answer answer = cfi_find(view, pc, &rule, &range);
	tally->asked++;
	if (dwarf_cfi_addrframe(cfi, pc - bias, &frame) != 0) {
		assert_int_equal(answer, CFI_NONE);
		return;
	}
	tally->found++;
	assert_int_not_equal(answer, CFI_NONE);
	if (answer == CFI_FOUND) {
		tally->supported++;
		tally->wide += range.end - range.start > 1;
		check_range(view, pc, &rule, &range);
		assert_int_equal(dwarf_frame_register(frame, ARCH_RA, scratch, &ops, &count), 0);
		bool is_root = count == 0 && ops == scratch;
		assert_int_equal(is_root, (rule.flags & CFI_ROOT) != 0);
		if (!is_root) {
			if (!(rule.flags & CFI_RA_REGISTER))
				assert_true(same_place(rule.ra, rule.based >> ARCH_SAVED & 1, ops, count));
			assert_int_equal(dwarf_frame_cfa(frame, &ops, &count), 0);
			assert_true(same_cfa(&rule, ops, count));
			for (unsigned i = 0; i < ARCH_SAVED; i++) {
				assert_int_equal(dwarf_frame_register(frame, arch_saved[i], scratch, &ops, &count), 0);
				assert_true(same_place(rule.saved[i], rule.based >> i & 1, ops, count));
			}
		}
	}
	free(frame);
}

static void compare_object(struct agent_thread *thread, uintptr_t inside, unsigned every)
{
	struct module_view view;
	struct tally tally = {0, 0, 0, 0};
	assert_true(module_find(thread, inside, &view));
	const struct wire_module *module = stand_in_module(inside);
	assert_non_null(module);
	char path[WIRE_TEXT_MAX + 1];
	memcpy(path, module->path, module->path_bytes);
	path[module->path_bytes] = '\0';
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	Dwarf_CFI *cfi = elf == NULL ? NULL : dwarf_getcfi_elf(elf);
	assert_non_null(cfi);
	for (uintptr_t pc = module->start; pc < view.tables.start; pc += every)
		compare_with_libdw(cfi, &view.tables, module->bias, pc, &tally);
	print_message("%s: %u addresses, %u have rules, %u supported\n", path, tally.asked, tally.found,
		      tally.supported);
	assert_true(tally.found > 100);
	assert_true((tally.found - tally.supported) * 1000.0 < tally.found);
	assert_true(tally.wide > tally.supported / 2);
	dwarf_cfi_end(cfi);
	elf_end(elf);
	close(fd);
}

static void the_rules_of_loaded_objects_are_those_that_libdw_reads(void **state)
{
	(void)state;
	struct agent_thread *thread = stand_in_thread();
	static const char *const names[][2] = {
		{"libstdc++.so.6", "__cxa_throw"}, {"libdw.so.1", "dwarf_begin"}, {"libz.so.1", "deflate"}};
	compare_object(thread, (uintptr_t)&malloc, 11);
	for (unsigned i = 0; i < 3; i++) {
		void *handle = dlopen(names[i][0], RTLD_NOW);
		assert_non_null(handle);
		compare_object(thread, (uintptr_t)dlsym(handle, names[i][1]), 7);
		dlclose(handle);
	}
	compare_object(thread, (uintptr_t)&cfi_find, 3);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_prologue_is_followed_byte_by_byte),
	cmocka_unit_test(addresses_outside_the_function_have_no_rule),
	cmocka_unit_test(every_encoding_of_addresses_is_read),
	cmocka_unit_test(state_is_remembered_and_restored),
	cmocka_unit_test(expressions_reduce_to_a_register_or_a_word_in_memory),
	cmocka_unit_test(roots_signals_and_registers_are_told_apart),
	cmocka_unit_test(an_image_cut_anywhere_is_not_read_beyond),
	cmocka_unit_test(any_byte_may_be_wrong),
	cmocka_unit_test(the_rules_of_loaded_objects_are_those_that_libdw_reads),
};

UNIT_MAIN(tests)
