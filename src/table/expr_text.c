/*
 * expr_text.c - kernels on texts. A result is a piece of the text that went in wherever that is possible, so nothing is copied;
 * what has to be made anew lies in the run's arena until the next rows.
 */
#include "table/date.h"
#include "table/expr_eval.h"
#include "table/number.h"

#include <ctype.h>
#include <endian.h>
#include <math.h>
#include <string.h>

static const struct span text_missing = {"", 0};

/* Where the word, which is bytes in the order of the text, has the byte first: 8 where it has not. */
static inline uint32_t text_byte_of_word(uint64_t word, uint64_t same)
{
	uint64_t apart = word ^ same;
	uint64_t hits = (apart - 0x0101010101010101ull) & ~apart & 0x8080808080808080ull; /* right up to the first */
	return hits ? (uint32_t)__builtin_ctzll(hits) / 8 : 8;
}

static inline uint64_t text_word(const char *at)
{
	uint64_t word;
	memcpy(&word, at, sizeof(word));
	return le64toh(word);
}

static inline uint64_t text_half(const char *at)
{
	uint32_t half;
	memcpy(&half, at, sizeof(half));
	return le32toh(half);
}

/* Where the byte stands from `from` on, or `length`. Texts are short: two words that overlap do for most, whatever their length. */
static inline uint32_t text_find_byte(struct span text, uint32_t from, char byte)
{
	uint64_t same = 0x0101010101010101ull * (unsigned char)byte;
	uint32_t at = from;
	for (; text.length - at >= 8; at += 8) {
		uint32_t hit = text_byte_of_word(text_word(text.text + at), same);
		if (hit < 8)
			return at + hit;
	}
	if (text.length - from >= 8) { /* the last eight, most of which were seen; none of those was it */
		at = text.length - 8;
		return at + text_byte_of_word(text_word(text.text + at), same);
	}
	uint32_t left = text.length - at;
	if (left >= 4) {
		uint64_t first = text_half(text.text + at), last = text_half(text.text + text.length - 4);
		uint32_t hit = text_byte_of_word(first | last << 8 * (left - 4), same);
		return hit < left ? at + hit : text.length;
	}
	while (at < text.length && text.text[at] != byte)
		at++;
	return at;
}

/* Where `part` stands in `text` from `from` on, or `length`. */
static uint32_t text_find(struct span text, uint32_t from, struct span part)
{
	if (!part.length || part.length > text.length || from >= text.length)
		return text.length;
	for (uint32_t at = from;; at++) {
		at = text_find_byte(text, at, part.text[0]);
		if (part.length == 1 || at + part.length > text.length)
			return at + part.length > text.length ? text.length : at;
		if (memcmp(text.text + at, part.text, part.length) == 0)
			return at;
	}
}

static struct span text_constant(const struct expr_call *call, unsigned argument)
{
	const char *text = call->arg_nodes[argument]->text;
	return (struct span){text, (uint32_t)strlen(text)};
}

static struct span text_part(struct span text, struct span separator, long number)
{
	if (number < 0) {
		long parts = 1;
		for (uint32_t at = text_find(text, 0, separator); at < text.length;
		     at = text_find(text, at + separator.length, separator))
			parts++;
		number = parts + number + 1;
	}
	uint32_t begin = 0, end = text_find(text, 0, separator);
	for (long part = 1; part < number; part++) {
		if (end >= text.length)
			return text_missing;
		begin = end + separator.length;
		end = text_find(text, begin, separator);
	}
	return number >= 1 ? (struct span){text.text + begin, end - begin} : text_missing;
}

static int text_part_kernel(struct expr_call *call)
{
	struct span separator = text_constant(call, 1);
	long number = (long)call->arg_nodes[2]->number;
	for (size_t i = 0; i < call->run->rows; i++)
		call->out->texts[i] = text_part(call->args[0]->texts[i], separator, number);
	return 0;
}

/* Before or after the first separator; without one, all of it before and nothing after. */
static int text_side(struct expr_call *call)
{
	struct span separator = text_constant(call, 1);
	bool after = call->node->function->variant;
	for (size_t i = 0; i < call->run->rows; i++) {
		struct span text = call->args[0]->texts[i];
		uint32_t at = text_find(text, 0, separator);
		if (!after)
			call->out->texts[i] = (struct span){text.text, at};
		else if (at < text.length)
			call->out->texts[i] =
				(struct span){text.text + at + separator.length, text.length - at - separator.length};
		else
			call->out->texts[i] = text_missing;
	}
	return 0;
}

static int text_replace_all(struct expr_call *call, struct span text, struct span old, struct span fresh,
			    struct span *out)
{
	size_t count = 0, size = 0;
	for (uint32_t at = text_find(text, 0, old); at < text.length; at = text_find(text, at + old.length, old))
		count++;
	char *bytes = expr_arena_take(call->run, text.length + count * fresh.length, call->err);
	if (!bytes)
		return ERR_UNAVAILABLE;
	uint32_t from = 0;
	while (from < text.length) {
		uint32_t at = text_find(text, from, old);
		memcpy(bytes + size, text.text + from, at - from);
		size += at - from;
		if (at < text.length && fresh.length) {
			memcpy(bytes + size, fresh.text, fresh.length);
			size += fresh.length;
		}
		from = at < text.length ? at + old.length : at;
	}
	*out = (struct span){bytes, (uint32_t)size};
	return 0;
}

static int text_replace(struct expr_call *call)
{
	struct span old = text_constant(call, 1), fresh = text_constant(call, 2);
	for (size_t i = 0; i < call->run->rows; i++) {
		struct span text = call->args[0]->texts[i];
		uint32_t at = text_find(text, 0, old);
		uint32_t rest = at + old.length;
		if (at >= text.length)
			call->out->texts[i] = text;
		else if (!fresh.length && rest == text.length)
			call->out->texts[i] = (struct span){text.text, at};
		else if (!fresh.length && at == 0 && text_find(text, rest, old) == text.length)
			call->out->texts[i] = (struct span){text.text + rest, text.length - rest};
		else if (text_replace_all(call, text, old, fresh, &call->out->texts[i]))
			return ERR_UNAVAILABLE;
	}
	return 0;
}

/* Characters, not bytes: the length in them, and the offset of one. */
static uint32_t text_characters(struct span text)
{
	uint32_t count = 0;
	for (uint32_t at = 0; at < text.length; at++)
		count += ((unsigned char)text.text[at] & 0xc0) != 0x80;
	return count;
}

static uint32_t text_offset(struct span text, double character)
{
	uint32_t at = 0;
	for (double passed = 0; at < text.length; at++) {
		passed += ((unsigned char)text.text[at] & 0xc0) != 0x80;
		if (passed > character)
			break;
	}
	return at;
}

static int text_slice(struct expr_call *call)
{
	double from = call->arg_nodes[1]->number, count = call->arg_nodes[2]->number;
	for (size_t i = 0; i < call->run->rows; i++) {
		struct span text = call->args[0]->texts[i];
		double first = from < 0 ? text_characters(text) + from : from - 1;
		uint32_t begin = text_offset(text, first < 0 ? 0 : first);
		uint32_t end = first + count > 0 ? text_offset(text, first + count) : begin;
		call->out->texts[i] = (struct span){text.text + begin, end > begin ? end - begin : 0};
	}
	return 0;
}

static bool text_is_digit(char byte)
{
	return (unsigned char)(byte - '0') < 10;
}

/* The first run of digits, or the one at the end. */
static int text_digits(struct expr_call *call)
{
	bool last = call->node->function->variant;
	for (size_t i = 0; i < call->run->rows; i++) {
		struct span text = call->args[0]->texts[i];
		uint32_t begin = 0, end = text.length;
		if (last) {
			begin = end;
			while (begin > 0 && text_is_digit(text.text[begin - 1]))
				begin--;
		} else {
			while (begin < text.length && !text_is_digit(text.text[begin]))
				begin++;
			for (end = begin; end < text.length && text_is_digit(text.text[end]);)
				end++;
		}
		call->out->texts[i] = (struct span){text.text + begin, end - begin};
	}
	return 0;
}

static int text_trim(struct expr_call *call)
{
	for (size_t i = 0; i < call->run->rows; i++) {
		struct span text = call->args[0]->texts[i];
		while (text.length && isspace((unsigned char)text.text[text.length - 1]))
			text.length--;
		while (text.length && isspace((unsigned char)text.text[0])) {
			text.text++;
			text.length--;
		}
		call->out->texts[i] = text;
	}
	return 0;
}

/* ASCII letters only: what else has cases depends on the language. */
static int text_case(struct expr_call *call)
{
	bool upper = call->node->function->variant;
	for (size_t i = 0; i < call->run->rows; i++) {
		struct span text = call->args[0]->texts[i];
		char *bytes = expr_arena_take(call->run, text.length, call->err);
		if (!bytes)
			return ERR_UNAVAILABLE;
		for (uint32_t at = 0; at < text.length; at++) {
			unsigned char byte = (unsigned char)text.text[at];
			bool changes = upper ? byte >= 'a' && byte <= 'z' : byte >= 'A' && byte <= 'Z';
			bytes[at] = (char)(changes ? byte ^ 0x20 : byte);
		}
		call->out->texts[i] = (struct span){bytes, text.length};
	}
	return 0;
}

static int text_concat(struct expr_call *call)
{
	for (size_t i = 0; i < call->run->rows; i++) {
		struct span a = call->args[0]->texts[i], b = call->args[1]->texts[i];
		char *bytes = expr_arena_take(call->run, (size_t)a.length + b.length, call->err);
		if (!bytes || (uint64_t)a.length + b.length > UINT32_MAX)
			return bytes ? expr_no_memory((size_t)a.length + b.length, call->err) : ERR_UNAVAILABLE;
		if (a.length)
			memcpy(bytes, a.text, a.length);
		if (b.length)
			memcpy(bytes + a.length, b.text, b.length);
		call->out->texts[i] = (struct span){bytes, a.length + b.length};
	}
	return 0;
}

static int text_length(struct expr_call *call)
{
	for (size_t i = 0; i < call->run->rows; i++)
		call->out->numbers[i] = text_characters(call->args[0]->texts[i]);
	return 0;
}

enum { TEXT_STARTS, TEXT_ENDS, TEXT_CONTAINS };

static int text_test(struct expr_call *call)
{
	struct span part = text_constant(call, 1);
	for (size_t i = 0; i < call->run->rows; i++) {
		struct span text = call->args[0]->texts[i];
		bool fits = part.length <= text.length, holds;
		switch (call->node->function->variant) {
		case TEXT_STARTS:
			holds = fits && (!part.length || memcmp(text.text, part.text, part.length) == 0);
			break;
		case TEXT_ENDS:
			holds = fits && (!part.length ||
					 memcmp(text.text + text.length - part.length, part.text, part.length) == 0);
			break;
		default:
			holds = fits && (!part.length || text_find(text, 0, part) < text.length);
		}
		call->out->numbers[i] = holds;
	}
	return 0;
}

static int text_to_number(struct expr_call *call)
{
	uint64_t unparsed = 0;
	for (size_t i = 0; i < call->run->rows; i++) {
		struct span text = call->args[0]->texts[i];
		double number = NAN;
		if (number_parse_whole(text.text, text.length, &number)) {
			call->out->numbers[i] = number;
			continue;
		}
		if (text.length && (!number_parse(text.text, text.length, &number) || isinf(number))) {
			number = NAN;
			unparsed++;
		}
		call->out->numbers[i] = number;
	}
	call->out->unparsed = unparsed;
	return 0;
}

static int text_to_date(struct expr_call *call)
{
	const char *format = call->arg_nodes[1]->text;
	struct date_shape shape;
	bool shaped = date_shape_of(format, &shape);
	uint64_t unparsed = 0;
	for (size_t i = 0; i < call->run->rows; i++) {
		struct span text = call->args[0]->texts[i];
		double days = NAN;
		if (shaped && date_parse_shape(text.text, text.length, &shape, &days)) {
			call->out->numbers[i] = days;
			continue;
		}
		if (text.length && !date_parse(text.text, text.length, format, &days))
			unparsed++;
		call->out->numbers[i] = days;
	}
	call->out->unparsed = unparsed;
	return 0;
}

const struct expr_function expr_text_functions[] = {
	{"part", "tTN", 't', text_part_kernel, 0, .shape = "part(text, separator, number)"},
	{"before", "tT", 't', text_side, 0, .shape = "before(text, separator)"},
	{"after", "tT", 't', text_side, 1, .shape = "after(text, separator)"},
	{"replace", "tTT", 't', text_replace, 0, .shape = "replace(text, old, new)"},
	{"slice", "tNN", 't', text_slice, 0, .shape = "slice(text, from, count)"},
	{"digits", "t", 't', text_digits, 0, .shape = "digits(text)"},
	{"last_digits", "t", 't', text_digits, 1, .shape = "last_digits(text)"},
	{"trim", "t", 't', text_trim, 0, .shape = "trim(text)"},
	{"lower", "t", 't', text_case, 0, .shape = "lower(text)"},
	{"upper", "t", 't', text_case, 1, .shape = "upper(text)"},
	{"concat", "tt", 't', text_concat, 0, .shape = "concat(a, b)"},
	{"length", "t", 'n', text_length, 0, .shape = "length(text)"},
	{"starts", "tT", 'n', text_test, TEXT_STARTS, .shape = "starts(text, part)"},
	{"ends", "tT", 'n', text_test, TEXT_ENDS, .shape = "ends(text, part)"},
	{"contains", "tT", 'n', text_test, TEXT_CONTAINS, .shape = "contains(text, part)"},
	{"number", "t", 'n', text_to_number, 0, .shape = "number(text)"},
	{"date", "tT", 'd', text_to_date, 0, .shape = "date(text, format)"},
	{0},
};
