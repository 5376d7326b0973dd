/*
 * rust_v0.c - the second scheme of Rust's names ("_R…"): a grammar of paths, types and constants, with references back to what
 * was said before.
 *
 *	_RNvMs_Cs1234_7mycrateNtB4_3Foo3bar    <mycrate::Foo>::bar
 *
 * Crate hashes are left out. A name is parsed while it is printed; references go strictly backwards, depth and steps are
 * limited, and the output stops at DEMANGLE_NAME_MAX, so that a hostile name costs no more than a long one. What does not
 * follow the grammar is no Rust name, and stays as it is.
 */
#include "symbol/demangle.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

enum { DEPTH_MOST = 200, STEPS_MOST = 20000, PUNYCODE_MOST = 256 };

struct reader {
	const char *text; /* after "_R": what references count from */
	size_t length, at;
	struct str *out;
	bool failed;
	bool quiet; /* parse without printing */
	int depth;
	int steps;
	uint64_t lifetimes; /* bound around here */
};

static void read_path(struct reader *r, bool in_value);
static void read_type(struct reader *r);
static void read_const(struct reader *r);

static void print_bytes(struct reader *r, const char *text, size_t length)
{
	if (!r->quiet && !r->failed && r->out->len < DEMANGLE_NAME_MAX)
		str_append_bytes(r->out, text, length);
}

static void print(struct reader *r, const char *text)
{
	print_bytes(r, text, strlen(text));
}

static void print_number(struct reader *r, uint64_t number)
{
	if (!r->quiet && !r->failed && r->out->len < DEMANGLE_NAME_MAX)
		str_appendf(r->out, "%llu", (unsigned long long)number);
}

static char peek(const struct reader *r)
{
	if (r->at >= r->length)
		return '\0';
	return r->text[r->at];
}

static bool take(struct reader *r, char wanted)
{
	bool there = !r->failed && peek(r) == wanted && wanted;
	r->at += there;
	return there;
}

static char next(struct reader *r)
{
	char c = peek(r);
	if (!c)
		r->failed = true;
	else
		r->at++;
	return c;
}

/* Every nesting goes through here. */
static bool enter(struct reader *r)
{
	if (r->failed || ++r->depth > DEPTH_MOST || ++r->steps > STEPS_MOST)
		r->failed = true;
	return !r->failed;
}

static void leave(struct reader *r)
{
	r->depth--;
}

/* "_" is 0, "0_" is 1, … */
static uint64_t read_base62(struct reader *r)
{
	if (take(r, '_'))
		return 0;
	uint64_t value = 0;
	while (!r->failed && !take(r, '_')) {
		char c = next(r);
		uint64_t digit = c >= '0' && c <= '9'   ? (uint64_t)(c - '0')
				 : c >= 'a' && c <= 'z' ? (uint64_t)(c - 'a') + 10
				 : c >= 'A' && c <= 'Z' ? (uint64_t)(c - 'A') + 36
							: 62;
		if (digit == 62 || __builtin_mul_overflow(value, 62, &value) ||
		    __builtin_add_overflow(value, digit + 1, &value))
			r->failed = true;
		value--;
	}
	return value + 1;
}

static uint64_t read_optional(struct reader *r, char tag)
{
	return take(r, tag) ? read_base62(r) + 1 : 0;
}

struct identifier {
	const char *text;
	size_t length;
	bool punycode;
};

static struct identifier read_plain_identifier(struct reader *r)
{
	struct identifier id = {.punycode = take(r, 'u')};
	size_t length = 0;
	if (!isdigit((unsigned char)peek(r)))
		r->failed = true;
	if (!take(r, '0'))
		while (isdigit((unsigned char)peek(r)) && length < r->length)
			length = length * 10 + (size_t)(r->text[r->at++] - '0');
	take(r, '_');
	if (r->failed || length > r->length - r->at) {
		r->failed = true;
		return id;
	}
	id.text = r->text + r->at;
	id.length = length;
	r->at += length;
	return id;
}

static size_t encode_utf8(uint32_t point, char out[4])
{
	if (point < 0x80) {
		out[0] = (char)point;
		return 1;
	}
	size_t length = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
	for (size_t i = length; i-- > 1; point >>= 6)
		out[i] = (char)(0x80 | (point & 0x3F));
	out[0] = (char)((0xF00 >> length & 0xF0) | point);
	return length;
}

/* RFC 3492's way to make the distances small. */
static uint32_t adapt_bias(uint32_t delta, uint32_t count, bool first)
{
	uint32_t k = 0;
	delta = first ? delta / 700 : delta / 2;
	for (delta += delta / count; delta > 455; k += 36)
		delta /= 35;
	return k + 36 * delta / (delta + 38);
}

/* One distance in digits of varying base. False where the digits end or overflow. */
static bool read_distance(const char **at, const char *end, uint32_t bias, uint32_t *i)
{
	uint32_t weight = 1;
	for (uint32_t k = 36;; k += 36) {
		if (*at >= end)
			return false;
		char c = *(*at)++;
		uint32_t digit = c >= 'a' && c <= 'z'   ? (uint32_t)(c - 'a')
				 : c >= '0' && c <= '9' ? (uint32_t)(c - '0') + 26
							: 36;
		if (digit == 36 || (uint64_t)digit * weight > INT32_MAX - (uint64_t)*i)
			return false;
		*i += digit * weight;
		uint32_t threshold = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
		if (digit < threshold)
			return true;
		if (weight > INT32_MAX / 36)
			return false;
		weight *= 36 - threshold;
	}
}

/* Rust writes "_" where punycode has "-". */
static size_t decode_punycode(const struct identifier *id, uint32_t points[PUNYCODE_MOST])
{
	const char *at = id->text, *end = id->text + id->length;
	const char *split = memrchr(id->text, '_', id->length);
	size_t count = 0;
	for (; split && at < split && count < PUNYCODE_MOST; at++)
		points[count++] = (unsigned char)*at;
	if (split)
		at = split + 1;
	uint32_t point = 128, bias = 72, i = 0;
	while (at < end && count < PUNYCODE_MOST) {
		uint32_t before = i;
		if (!read_distance(&at, end, bias, &i))
			return 0;
		bias = adapt_bias(i - before, (uint32_t)count + 1, before == 0);
		point += i / ((uint32_t)count + 1);
		i %= (uint32_t)count + 1;
		if (point > 0x10FFFF || (point >= 0xD800 && point < 0xE000))
			return 0;
		memmove(&points[i + 1], &points[i], (count - i) * sizeof(points[0]));
		points[i++] = point;
		count++;
	}
	return at < end ? 0 : count;
}

static void print_identifier(struct reader *r, const struct identifier *id)
{
	if (r->failed || r->quiet)
		return;
	uint32_t points[PUNYCODE_MOST];
	size_t count = id->punycode ? decode_punycode(id, points) : 0;
	if (id->punycode && count == 0)
		print(r, "punycode:");
	if (count == 0)
		print_bytes(r, id->text, id->length);
	for (size_t i = 0; i < count; i++) {
		char bytes[4];
		print_bytes(r, bytes, encode_utf8(points[i], bytes));
	}
}

/* Reads again from an earlier place with `read`. */
#define FOLLOW_BACK(r, read)                                                                                           \
	do {                                                                                                           \
		size_t here_ = (r)->at - 1;                                                                            \
		uint64_t target_ = read_base62(r);                                                                     \
		if ((r)->failed || target_ >= here_) {                                                                 \
			(r)->failed = true;                                                                            \
		} else if (!(r)->quiet && (r)->out->len < DEMANGLE_NAME_MAX) {                                         \
			size_t resume_ = (r)->at;                                                                      \
			(r)->at = (size_t)target_;                                                                     \
			read;                                                                                          \
			(r)->at = resume_;                                                                             \
		}                                                                                                      \
	} while (0)

static void print_lifetime(struct reader *r, uint64_t number)
{
	if (number == 0) {
		print(r, "'_");
		return;
	}
	if (number > r->lifetimes) {
		r->failed = true;
		return;
	}
	uint64_t depth = r->lifetimes - number;
	print(r, "'");
	if (depth < 26) {
		char name = (char)('a' + (int)depth);
		print_bytes(r, &name, 1);
	} else {
		print(r, "_");
		print_number(r, depth);
	}
}

static void read_generic_arg(struct reader *r)
{
	if (take(r, 'L'))
		print_lifetime(r, read_base62(r));
	else if (take(r, 'K'))
		read_const(r);
	else
		read_type(r);
}

static void read_generic_args(struct reader *r)
{
	for (bool first = true; !r->failed && !take(r, 'E'); first = false) {
		if (!first)
			print(r, ", ");
		read_generic_arg(r);
	}
}

static void read_nested(struct reader *r, bool in_value)
{
	char space = next(r);
	if (!isalpha((unsigned char)space))
		r->failed = true;
	read_path(r, in_value);
	uint64_t number = read_optional(r, 's');
	struct identifier id = read_plain_identifier(r);
	if (isupper((unsigned char)space)) {
		print(r, "::{");
		if (space == 'C')
			print(r, "closure");
		else if (space == 'S')
			print(r, "shim");
		else
			print_bytes(r, &space, 1);
		if (id.length) {
			print(r, ":");
			print_identifier(r, &id);
		}
		print(r, "#");
		print_number(r, number);
		print(r, "}");
	} else if (id.length) {
		print(r, "::");
		print_identifier(r, &id);
	}
}

/* Where an impl stands says nothing to the reader of a name. */
static void skip_impl_path(struct reader *r)
{
	bool before = r->quiet;
	r->quiet = true;
	read_optional(r, 's');
	read_path(r, false);
	r->quiet = before;
}

static void read_impl(struct reader *r, char tag)
{
	if (tag != 'Y')
		skip_impl_path(r);
	print(r, "<");
	read_type(r);
	if (tag != 'M') {
		print(r, " as ");
		read_path(r, false);
	}
	print(r, ">");
}

static void read_path(struct reader *r, bool in_value)
{
	if (!enter(r))
		return;
	char tag = next(r);
	if (tag == 'C') {
		read_optional(r, 's');
		struct identifier id = read_plain_identifier(r);
		print_identifier(r, &id);
	} else if (tag == 'M' || tag == 'X' || tag == 'Y') {
		read_impl(r, tag);
	} else if (tag == 'N') {
		read_nested(r, in_value);
	} else if (tag == 'I') {
		read_path(r, in_value);
		print(r, in_value ? "::<" : "<");
		read_generic_args(r);
		print(r, ">");
	} else if (tag == 'B') {
		FOLLOW_BACK(r, read_path(r, in_value));
	} else {
		r->failed = true;
	}
	leave(r);
}

static const char *basic_type(char tag)
{
	static const char *const names[26] = {"i8",    "bool", "char", "f64", "str",  "f32",  NULL,  "u8", "isize",
					      "usize", NULL,   "i32",  "u32", "i128", "u128", "_",   NULL, NULL,
					      "i16",   "u16",  "()",   "...", NULL,   "i64",  "u64", "!"};
	return tag >= 'a' && tag <= 'z' ? names[tag - 'a'] : NULL;
}

/* "for<'a, 'b> ": the number of lifetimes bound, to be unbound by the caller. */
static uint64_t read_binder(struct reader *r)
{
	uint64_t count = read_optional(r, 'G');
	if (count > DEPTH_MOST)
		r->failed = true;
	if (count == 0 || r->failed)
		return 0;
	print(r, "for<");
	for (uint64_t i = 0; i < count; i++) {
		r->lifetimes++;
		print(r, i ? ", " : "");
		print_lifetime(r, 1);
	}
	print(r, "> ");
	return count;
}

static void read_function_type(struct reader *r)
{
	uint64_t bound = read_binder(r);
	if (take(r, 'U'))
		print(r, "unsafe ");
	if (take(r, 'K')) {
		print(r, "extern \"");
		if (take(r, 'C')) {
			print(r, "C");
		} else {
			struct identifier abi = read_plain_identifier(r);
			for (size_t i = 0; !r->failed && i < abi.length; i++)
				print_bytes(r, abi.text[i] == '_' ? "-" : &abi.text[i], 1);
		}
		print(r, "\" ");
	}
	print(r, "fn(");
	read_generic_args(r);
	print(r, ")");
	if (!take(r, 'u')) {
		print(r, " -> ");
		read_type(r);
	}
	r->lifetimes -= bound;
}

/* dyn Trait<Assoc = Type>: the bindings come after the path, inside of its own brackets where it has some. */
static void read_dyn_trait(struct reader *r)
{
	size_t start = r->out->len;
	read_path(r, false);
	bool open = !r->quiet && r->out->len > start && r->out->text[r->out->len - 1] == '>' && peek(r) == 'p';
	if (open)
		r->out->text[--r->out->len] = '\0';
	bool any = open;
	while (take(r, 'p')) {
		print(r, any ? ", " : "<");
		any = true;
		struct identifier id = read_plain_identifier(r);
		print_identifier(r, &id);
		print(r, " = ");
		read_type(r);
	}
	if (any)
		print(r, ">");
}

static void read_dyn(struct reader *r)
{
	print(r, "dyn ");
	uint64_t bound = read_binder(r);
	for (bool first = true; !r->failed && !take(r, 'E'); first = false) {
		if (!first)
			print(r, " + ");
		read_dyn_trait(r);
	}
	r->lifetimes -= bound;
	if (!take(r, 'L')) {
		r->failed = true;
		return;
	}
	uint64_t lifetime = read_base62(r);
	if (lifetime) {
		print(r, " + ");
		print_lifetime(r, lifetime);
	}
}

static void read_reference(struct reader *r, bool mutable)
{
	print(r, "&");
	if (take(r, 'L')) {
		uint64_t lifetime = read_base62(r);
		if (lifetime) {
			print_lifetime(r, lifetime);
			print(r, " ");
		}
	}
	print(r, mutable ? "mut " : "");
	read_type(r);
}

static void read_sequence(struct reader *r, bool array)
{
	print(r, "[");
	read_type(r);
	if (array) {
		print(r, "; ");
		read_const(r);
	}
	print(r, "]");
}

static void read_tuple(struct reader *r)
{
	int count = 0;
	print(r, "(");
	for (; !r->failed && !take(r, 'E'); count++) {
		print(r, count ? ", " : "");
		read_type(r);
	}
	print(r, count == 1 ? ",)" : ")");
}

static void read_type(struct reader *r)
{
	if (!enter(r))
		return;
	char tag = next(r);
	if (basic_type(tag)) {
		print(r, basic_type(tag));
	} else if (tag == 'A' || tag == 'S') {
		read_sequence(r, tag == 'A');
	} else if (tag == 'T') {
		read_tuple(r);
	} else if (tag == 'R' || tag == 'Q') {
		read_reference(r, tag == 'Q');
	} else if (tag == 'P' || tag == 'O') {
		print(r, tag == 'P' ? "*const " : "*mut ");
		read_type(r);
	} else if (tag == 'F') {
		read_function_type(r);
	} else if (tag == 'D') {
		read_dyn(r);
	} else if (tag == 'B') {
		FOLLOW_BACK(r, read_type(r));
	} else {
		r->at -= r->at > 0;
		read_path(r, false);
	}
	leave(r);
}

/* Hexadecimal digits up to "_"; as a number where they fit. */
static void read_const_number(struct reader *r, char type)
{
	bool negative = take(r, 'n');
	size_t start = r->at;
	uint64_t value = 0;
	while (isxdigit((unsigned char)peek(r)) && !isupper((unsigned char)peek(r))) {
		char c = next(r);
		value = value << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	}
	size_t digits = r->at - start;
	if (!take(r, '_'))
		r->failed = true;
	if (type == 'b' && digits <= 1 && value <= 1) {
		print(r, value ? "true" : "false");
	} else if (type == 'c' && value >= 0x20 && value < 0x7F && digits <= 2) {
		char quoted[] = {'\'', (char)value, '\''};
		print_bytes(r, quoted, sizeof(quoted));
	} else {
		print(r, negative ? "-" : "");
		print(r, digits > 16 || type == 'c' ? "0x" : "");
		if (digits > 16 || type == 'c')
			print_bytes(r, r->text + start, digits);
		else
			print_number(r, value);
	}
}

static void read_const(struct reader *r)
{
	if (!enter(r))
		return;
	char tag = next(r);
	if (tag == 'p')
		print(r, "_");
	else if (tag == 'B')
		FOLLOW_BACK(r, read_const(r));
	else if (tag && strchr("almnshijoxytbc", tag))
		read_const_number(r, tag);
	else
		r->failed = true; /* structural constants are not in stable Rust */
	leave(r);
}

bool rust_v0_name(const char *symbol, size_t length, struct str *out)
{
	if (length < 4 || memcmp(symbol, "_R", 2) != 0 || !isupper((unsigned char)symbol[2]))
		return false;
	str_clear(out);
	struct reader r = {.text = symbol + 2, .length = length - 2, .out = out};
	read_path(&r, true);
	/* Which crate made this copy of a generic function. */
	if (!r.failed && isupper((unsigned char)peek(&r))) {
		r.quiet = true;
		read_path(&r, false);
	}
	return !r.failed && (r.at == r.length || peek(&r) == '.' || peek(&r) == '$') && out->len > 0;
}
