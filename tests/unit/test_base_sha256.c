/* test_base_sha256.c - the vectors of FIPS 180-4 and its supplement, however the bytes arrive, by both loops. */
#include "base/sha256.h"
#include "unit.h"

typedef void init_fn(struct sha256 *sha);

static void expect(init_fn *init, const char *text, size_t size, size_t step, const char *want)
{
	struct sha256 sha;
	char hex[SHA256_HEX_SIZE];
	init(&sha);
	for (size_t at = 0; at < size; at += step)
		sha256_add(&sha, text + at, step < size - at ? step : size - at);
	sha256_hex(&sha, hex);
	assert_string_equal(hex, want);
}

static void the_vectors_of_the_standard_hold(void **state)
{
	static const struct {
		const char *text, *hex;
	} cases[] = {
		{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
		{"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrs"
		 "mnopqrstnopqrstu",
		 "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		expect(sha256_init, cases[i].text, strlen(cases[i].text), 1000, cases[i].hex);
		expect(sha256_init_plain, cases[i].text, strlen(cases[i].text), 1000, cases[i].hex);
	}
}

static void a_million_letters_give_the_known_sum_in_steps_of_any_size(void **state)
{
	static const size_t steps[] = {1, 63, 64, 65, 1000, 1000000};
	char *text = malloc(1000000);
	(void)state;
	assert_non_null(text);
	memset(text, 'a', 1000000);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		const char *want = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
		expect(sha256_init, text, 1000000, steps[i], want);
		expect(sha256_init_plain, text, 1000000, steps[i], want);
	}
	free(text);
}

static void both_loops_agree_at_every_length_around_the_blocks(void **state)
{
	unsigned char bytes[300];
	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(i * 37 + 11);
	for (size_t size = 0; size <= sizeof(bytes); size++) {
		struct sha256 fast, plain;
		char a[SHA256_HEX_SIZE], b[SHA256_HEX_SIZE];
		sha256_init(&fast);
		sha256_init_plain(&plain);
		sha256_add(&fast, bytes, size);
		sha256_add(&plain, bytes, size);
		sha256_hex(&fast, a);
		sha256_hex(&plain, b);
		assert_string_equal(a, b);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(the_vectors_of_the_standard_hold),
	cmocka_unit_test(a_million_letters_give_the_known_sum_in_steps_of_any_size),
	cmocka_unit_test(both_loops_agree_at_every_length_around_the_blocks),
};

UNIT_MAIN(tests)
