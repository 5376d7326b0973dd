/* test_demangle.c - linker names of C, C++ and Rust, and what is cut off them. */
#include "base/mem.h"
#include "symbol/demangle.h"
#include "unit.h"

struct pair {
	const char *symbol, *name;
};

static void check(const struct pair *pairs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char *name = demangle_name(pairs[i].symbol);
		assert_string_equal(name, pairs[i].name);
		free(name);
	}
}

#define CHECK(pairs) check(pairs, sizeof(pairs) / sizeof((pairs)[0]))

static void parts_and_copies_are_folded_into_their_function(void **state)
{
	(void)state;
	static const struct pair pairs[] = {
		{"parse.cold", "parse"},
		{"parse.cold.12", "parse"},
		{"parse.part.0", "parse"},
		{"parse.constprop.0.isra.3", "parse"},
		{"parse.isra.0.cold", "parse"},
		{"parse.lto_priv.4", "parse"},
		{"parse.llvm.123456789", "parse"},
		{"memcpy@@GLIBC_2.14", "memcpy"},
		{"realpath@GLIBC_2.2.5", "realpath"},
		{"_ZN3foo3barEv.part.0", "foo::bar()"},
		/* No suffix of a compiler, or nothing before it. */
		{"go.shape.int", "go.shape.int"},
		{"main.main", "main.main"},
		{"parse.colder", "parse.colder"},
		{"parse.part.x", "parse.part.x"},
		{".cold", ".cold"},
		{"@plt", "@plt"},
		{"", ""},
	};
	CHECK(pairs);
}

static void cxx_names_are_whole_signatures(void **state)
{
	(void)state;
	static const struct pair pairs[] = {
		{"_ZNSt6vectorIiSaIiEE9push_backEOi", "std::vector<int, std::allocator<int> >::push_back(int&&)"},
		{"_ZN3FooC1Ev", "Foo::Foo()"},
		{"_ZTI3Foo", "typeinfo for Foo"},
		{"_Znwm", "operator new(unsigned long)"},
		{"_Zbroken", "_Zbroken"},
		{"_Z", "_Z"},
	};
	CHECK(pairs);
}

static void old_rust_names_lose_their_hash(void **state)
{
	(void)state;
	static const struct pair pairs[] = {
		{"_ZN4core3ptr42drop_in_place$LT$alloc..string..String$GT$17h0123456789abcdefE",
		 "core::ptr::drop_in_place<alloc::string::String>"},
		{"_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar17h930b740aa94f1d3aE",
		 "<Test + 'static as foo::Bar<Test>>::bar"},
		{"_ZN3std2rt10lang_start28_$u7b$$u7b$closure$u7d$$u7d$17hfedcba9876543210E.llvm.99",
		 "std::rt::lang_start::{{closure}}"},
		{"_ZN6a$RF$b5c$C$d17h0123456789abcdefE", "a&b::c,d"},
		/* Not a hash: C++. */
		{"_ZN3foo17h0123456789abcdegEv", "foo::h0123456789abcdeg()"},
	};
	CHECK(pairs);
}

static void new_rust_names_follow_the_grammar(void **state)
{
	(void)state;
	static const struct pair pairs[] = {
		{"_RNvMs_Cs1234_7mycrateNtB4_3Foo3bar", "<mycrate::Foo>::bar"},
		{"_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>"},
		{"_RINvNtC3std3mem8align_ofjdE", "std::mem::align_of::<usize, f64>"},
		{"_RNCNCNgCs6DXkGYLi8lr_2cc5spawn00B5_", "cc::spawn::{closure#0}::{closure#0}"},
		{"_RNCINkXs25_NgCsbmNqQUJIY6D_4core5sliceINyB9_4IterhENuNgNoBb_"
		 "4iter8iterator8Iterator9rpositionNCNgNpB9_"
		 "6memchr7memrchrs_0E0Bb_",
		 "<core::slice::Iter<u8> as "
		 "core::iter::iterator::Iterator>::rposition::<core::slice::memchr::memrchr::{closure#1}>"
		 "::{closure#0}"},
		{"_RINbNbCskIICzLVDPPb_5alloc5alloc8box_freeDINtNiB4_5boxed5FnBoxuEp6OutputuEL_ECs1iopQbuBiw2_3std",
		 "alloc::alloc::box_free::<dyn alloc::boxed::FnBox<(), Output = ()>>"},
		{"_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y",
		 "utf8_idents::\u10e1\u10d0\u10ed\u10db\u10d4\u10da\u10d0\u10d3_"
		 "\u10d2\u10d4\u10db\u10e0\u10d8\u10d4\u10da\u10d8"
		 "_\u10e1\u10d0\u10d3\u10d8\u10da\u10d8"},
		{"_RMCs4fqI2P2rA04_13const_genericINtB0_8UnsignedKhb_E", "<const_generic::Unsigned<11>>"},
		{"_RMCs4fqI2P2rA04_13const_genericINtB0_6SignedKanb_E", "<const_generic::Signed<-11>>"},
		{"_RMCs4fqI2P2rA04_13const_genericINtB0_4BoolKb1_E", "<const_generic::Bool<true>>"},
		{"_RMCs4fqI2P2rA04_13const_genericINtB0_4CharKc76_E", "<const_generic::Char<'v'>>"},
		{"_RINvC1a1fFG_UKCRL0_hEuTdEAjj4_QlE",
		 "a::f::<for<'a> unsafe extern \"C\" fn(&'a u8), (f64,), [usize; 4], &mut i32>"},
	};
	CHECK(pairs);
}

static void broken_rust_names_stay_as_they_are(void **state)
{
	(void)state;
	static const char *const broken[] = {"_R",         "_RN",      "_RNv",          "_RC99x",
					     "_RNvB_3foo", "_RNvC3fo", "_RINvC1a1fE_x", "_RNvC1a1b\xff",
					     "_RB_",       "_RYB_B_",  "_RMC1aB1_"};
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		struct str out = {0};
		assert_false(rust_v0_name(broken[i], strlen(broken[i]), &out));
		str_fini(&out);
	}
}

/* A few bytes that would print without end: each type refers to the one before it, twice. */
static void a_hostile_name_costs_no_more_than_a_long_one(void **state)
{
	(void)state;
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	struct str symbol = {0};
	str_append(&symbol, "_RINvC1a1fThhE");
	size_t last = 8; /* where the first type stands, counted after "_R" */
	while (symbol.len < 600) {
		size_t start = symbol.len - 2;
		char back[8];
		/* "0_" is 1, "1_" is 2, and so on. */
		if (last - 1 < 62)
			snprintf(back, sizeof(back), "B%c_", digits[last - 1]);
		else
			snprintf(back, sizeof(back), "B%c%c_", digits[(last - 1) / 62], digits[(last - 1) % 62]);
		str_appendf(&symbol, "T%s%sE", back, back);
		last = start;
	}
	str_append(&symbol, "E");
	char *name = demangle_name(symbol.text);
	assert_int_equal(strlen(name), DEMANGLE_NAME_MAX);
	assert_true(str_starts(name, "a::f::<(u8, u8), ((u8, u8), (u8, u8)), "));
	free(name);
	str_clear(&symbol);
	str_append(&symbol, "_RINvC1a1f");
	for (int i = 0; i < 20000; i++)
		str_append_char(&symbol, 'P');
	name = demangle_name(symbol.text);
	assert_true(strlen(name) <= DEMANGLE_NAME_MAX);
	free(name);
	str_fini(&symbol);
}

static void names_are_bounded_and_valid_text(void **state)
{
	(void)state;
	char *symbol = mem_alloc(100001);
	memset(symbol, 'x', 100000);
	char *name = demangle_name(symbol);
	assert_int_equal(strlen(name), DEMANGLE_NAME_MAX);
	free(name);
	for (int i = 0; i < 100000; i += 2)
		memcpy(symbol + i, "\xC3\xA4", 2);
	name = demangle_name(symbol + 1);
	assert_true(strlen(name) <= DEMANGLE_NAME_MAX);
	for (size_t at = 0, length = strlen(name), step; at < length; at += step) {
		step = str_utf8_length(name + at, length - at);
		assert_true(step > 0);
	}
	free(name);
	free(symbol);
	name = demangle_name("a\nb\x7f\xff");
	assert_string_equal(name, "a\xEF\xBF\xBD"
				  "b\xEF\xBF\xBD\xEF\xBF\xBD");
	free(name);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(parts_and_copies_are_folded_into_their_function),
	cmocka_unit_test(cxx_names_are_whole_signatures),
	cmocka_unit_test(old_rust_names_lose_their_hash),
	cmocka_unit_test(new_rust_names_follow_the_grammar),
	cmocka_unit_test(broken_rust_names_stay_as_they_are),
	cmocka_unit_test(a_hostile_name_costs_no_more_than_a_long_one),
	cmocka_unit_test(names_are_bounded_and_valid_text),
};

UNIT_MAIN(tests)
