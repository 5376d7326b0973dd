/*
 * x86.c - see x86.h. The length of an instruction follows from its opcode alone: two tables say, per opcode of the one-byte
 * and of the 0F map, which operands come after it; VEX and EVEX use the same maps.
 */
#include "agent/x86.h"

#include <string.h>

/*
 * m ModRM. b, z ModRM and an immediate of 1 byte, of 4 (2 with the 66 prefix). 1, 4, 2, 3 an immediate of 1, 4 or 2, 2, 3 bytes. v one
 * of 4, or 8 with REX.W. o an address. g, G ModRM, with an immediate for `test`. p a prefix. E leads to another map. x invalid.
 */
static const char one_byte[] = "mmmm14xxmmmm14xE"
			       "mmmm14xxmmmm14xx"
			       "mmmm14pxmmmm14px"
			       "mmmm14pxmmmm14px"
			       "pppppppppppppppp"
			       "................"
			       "xxEmpppp4z1b...."
			       "1111111111111111"
			       "bzxbmmmmmmmmmmmm"
			       "..........x....."
			       "oooo....14......"
			       "11111111vvvvvvvv"
			       "bb2.EEbz3.2..1x."
			       "mmmmxxx.mmmmmmmm"
			       "1111111144x1...."
			       "p.pp..gG......mm";
static const char two_byte[] = "mmmmx.....x.xm.x"
			       "mmmmmmmmmmmmmmmm"
			       "mmmmxxxxmmmmmmmm"
			       "......x.ExExxxxx"
			       "mmmmmmmmmmmmmmmm"
			       "mmmmmmmmmmmmmmmm"
			       "mmmmmmmmmmmmmmmm"
			       "bbbbmmm.mmmmmmmm"
			       "4444444444444444"
			       "mmmmmmmmmmmmmmmm"
			       "...mbmxx...mbmmm"
			       "mmmmmmmmmmbmmmmm"
			       "mmbmbbbm........"
			       "mmmmmmmmmmmmmmmm"
			       "mmmmmmmmmmmmmmmm"
			       "mmmmmmmmmmmmmmmm";

_Static_assert(sizeof one_byte == 257 && sizeof two_byte == 257, "one letter per opcode");

enum map { MAP_ONE, MAP_0F, MAP_0F38, MAP_0F3A };

struct decoder {
	const uint8_t *code;
	size_t bytes, at;
	enum map map;
	uint8_t opcode, rex, modrm, sib;
	bool narrow; /* 66 */
	bool vector; /* VEX or EVEX: none of these moves the stack pointer */
	bool has_modrm;
	int32_t displacement;
	size_t immediate, immediate_bytes; /* where, how long */
};

static uint8_t peek(const struct decoder *decoder, size_t ahead)
{
	return decoder->at + ahead < decoder->bytes ? decoder->code[decoder->at + ahead] : 0;
}

static int32_t read_signed(const struct decoder *decoder, size_t at, size_t bytes)
{
	int32_t value = 0;
	if (at + bytes > decoder->bytes)
		return 0;
	if (bytes == 1)
		return (int8_t)decoder->code[at];
	memcpy(&value, decoder->code + at, bytes < 4 ? bytes : 4);
	return bytes == 2 ? (int16_t)value : value;
}

static bool read_prefixes(struct decoder *decoder)
{
	for (unsigned i = 0; i < 14; i++) {
		uint8_t byte = peek(decoder, 0);
		if (decoder->at >= decoder->bytes)
			return false;
		if (one_byte[byte] != 'p')
			return true;
		/* REX counts only right before the opcode. */
		decoder->rex = (byte & 0xF0) == 0x40 ? byte : 0;
		decoder->narrow |= byte == 0x66;
		decoder->at++;
	}
	return false;
}

/* Maps of VEX and EVEX by number; those beyond (half precision) have ModRM and no immediate, as 0F38. */
static bool choose_map(struct decoder *decoder, unsigned number)
{
	decoder->vector = true;
	decoder->map = number == 1 ? MAP_0F : number == 3 ? MAP_0F3A : MAP_0F38;
	return number >= 1 && number <= 6 && number != 4;
}

static bool read_opcode(struct decoder *decoder)
{
	uint8_t byte = peek(decoder, 0);
	size_t skip = 1;
	bool known = true;
	if (byte == 0xC5) {
		known = choose_map(decoder, 1);
		skip = 2;
	} else if (byte == 0xC4) {
		known = choose_map(decoder, peek(decoder, 1) & 0x1F);
		skip = 3;
	} else if (byte == 0x62) {
		known = choose_map(decoder, peek(decoder, 1) & 0x07);
		skip = 4;
	} else if (byte == 0x0F) {
		uint8_t second = peek(decoder, 1);
		decoder->map = second == 0x38 ? MAP_0F38 : second == 0x3A ? MAP_0F3A : MAP_0F;
		skip = decoder->map == MAP_0F ? 1 : 2;
	} else {
		skip = 0;
	}
	decoder->at += skip;
	decoder->opcode = peek(decoder, 0);
	decoder->at++;
	return known && decoder->at <= decoder->bytes;
}

static void read_modrm(struct decoder *decoder)
{
	decoder->has_modrm = true;
	decoder->modrm = peek(decoder, 0);
	decoder->at++;
	unsigned mode = decoder->modrm >> 6, operand = decoder->modrm & 7;
	size_t bytes = mode == 1 ? 1 : mode == 2 ? 4 : 0;
	if (mode == 3)
		return;
	if (operand == 4) {
		decoder->sib = peek(decoder, 0);
		decoder->at++;
		if (mode == 0 && (decoder->sib & 7) == 5)
			bytes = 4;
	} else if (mode == 0 && operand == 5) {
		bytes = 4;
	}
	decoder->displacement = read_signed(decoder, decoder->at, bytes);
	decoder->at += bytes;
}

/* Everything behind the opcode. */
static bool read_operands(struct decoder *decoder)
{
	char form = decoder->map == MAP_ONE    ? one_byte[decoder->opcode]
		    : decoder->map == MAP_0F   ? two_byte[decoder->opcode]
		    : decoder->map == MAP_0F3A ? 'b'
					       : 'm';
	size_t wide = decoder->narrow ? 2 : 4;
	if (form == 'm' || form == 'b' || form == 'z' || form == 'g' || form == 'G')
		read_modrm(decoder);
	bool test = (decoder->modrm >> 3 & 7) < 2;
	switch (form) {
	case 'b':
	case '1':
		decoder->immediate_bytes = 1;
		break;
	case 'z':
		decoder->immediate_bytes = wide;
		break;
	case '4': /* jumps and calls have 4 whatever the prefixes */
		decoder->immediate_bytes = (decoder->opcode & 0xFE) == 0xE8 || decoder->map == MAP_0F ? 4 : wide;
		break;
	case '2':
	case '3':
		decoder->immediate_bytes = (size_t)(form - '0');
		break;
	case 'v':
		decoder->immediate_bytes = decoder->rex & 8 ? 8 : wide;
		break;
	case 'o':
		decoder->immediate_bytes = 8;
		break;
	case 'g':
		decoder->immediate_bytes = test ? 1 : 0;
		break;
	case 'G':
		decoder->immediate_bytes = test ? wide : 0;
		break;
	case 'm':
	case '.':
		break;
	default:
		return false;
	}
	decoder->immediate = decoder->at;
	decoder->at += decoder->immediate_bytes;
	return decoder->at <= decoder->bytes;
}

static uint8_t register_field(const struct decoder *decoder)
{
	return (uint8_t)((decoder->modrm >> 3 & 7) | (decoder->rex & 4) << 1);
}

static uint8_t operand_field(const struct decoder *decoder)
{
	return (uint8_t)((decoder->modrm & 7) | (decoder->rex & 1) << 3);
}

/* The base register of a memory operand without an index; X86_NONE for others. */
static uint8_t memory_base(const struct decoder *decoder)
{
	unsigned mode = decoder->modrm >> 6, operand = decoder->modrm & 7;
	if (mode == 3 || (mode == 0 && operand == 5))
		return X86_NONE;
	if (operand != 4)
		return operand_field(decoder);
	if ((decoder->sib >> 3 & 7) != 4 || (decoder->rex & 2) || (mode == 0 && (decoder->sib & 7) == 5))
		return X86_NONE;
	return (uint8_t)((decoder->sib & 7) | (decoder->rex & 1) << 3);
}

static void say(struct x86_step *step, enum x86_kind kind, uint8_t to, uint8_t from, int32_t value)
{
	step->kind = kind;
	step->to = to;
	step->from = from;
	step->value = value;
}

/* 81 and 83: arithmetic with an immediate. */
static void classify_arithmetic(const struct decoder *decoder, int32_t value, struct x86_step *step)
{
	unsigned operation = decoder->modrm >> 3 & 7;
	if (decoder->modrm >> 6 != 3 || operand_field(decoder) != X86_RSP || !(decoder->rex & 8))
		return;
	if (operation == 0)
		say(step, X86_ADD_SP, X86_RSP, X86_RSP, value);
	else if (operation == 5)
		say(step, X86_ADD_SP, X86_RSP, X86_RSP, (int32_t)(0U - (uint32_t)value));
	else if (operation != 7)
		say(step, X86_LOSE_SP, X86_RSP, X86_RSP, 0);
}

/* mov between registers, loads, lea: 64 bits wide only. */
static void classify_move(const struct decoder *decoder, struct x86_step *step)
{
	bool is_register = decoder->modrm >> 6 == 3;
	uint8_t base = memory_base(decoder);
	if (!(decoder->rex & 8))
		return;
	if (decoder->opcode == 0x89 && is_register)
		say(step, X86_MOVE, operand_field(decoder), register_field(decoder), 0);
	else if (decoder->opcode == 0x89)
		say(step, X86_STORE, base, register_field(decoder), decoder->displacement);
	else if (decoder->opcode == 0x8B && is_register)
		say(step, X86_MOVE, register_field(decoder), operand_field(decoder), 0);
	else if (decoder->opcode == 0x8B)
		say(step, X86_LOAD, register_field(decoder), base, decoder->displacement);
	else if (decoder->opcode == 0x8D)
		say(step, X86_MOVE, register_field(decoder), base, decoder->displacement);
}

/* 01 to 3B: arithmetic between registers, 64 bits wide. 38 to 3B compare. */
static void classify_registers(const struct decoder *decoder, struct x86_step *step)
{
	bool to_operand = (decoder->opcode & 7) == 1;
	if (!(decoder->rex & 8) || decoder->opcode >= 0x38 || (to_operand && decoder->modrm >> 6 != 3))
		return;
	if ((to_operand ? operand_field(decoder) : register_field(decoder)) == X86_RSP)
		say(step, X86_LOSE_SP, X86_RSP, X86_RSP, 0);
}

/* FF: calls go on behind, jumps do not; push. */
static void classify_group5(const struct decoder *decoder, struct x86_step *step)
{
	unsigned operation = decoder->modrm >> 3 & 7;
	if (operation == 4 || operation == 5)
		step->kind = X86_STOP;
	else if (operation == 6)
		step->kind = X86_PUSH;
}

static void classify(const struct decoder *decoder, struct x86_step *step)
{
	uint8_t opcode = decoder->opcode, low = (uint8_t)((opcode & 7) | (decoder->rex & 1) << 3);
	int32_t value = read_signed(decoder, decoder->immediate, decoder->immediate_bytes);
	if (decoder->vector || decoder->map > MAP_0F)
		return;
	if (decoder->map == MAP_0F) {
		if (opcode >= 0x80 && opcode <= 0x8F)
			say(step, X86_BRANCH, X86_NONE, X86_NONE, value);
		else if (opcode == 0x0B)
			step->kind = X86_STOP;
		return;
	}
	if (opcode < 0x40 && ((opcode & 7) == 1 || (opcode & 7) == 3))
		classify_registers(decoder, step);
	else if (opcode >= 0x50 && opcode <= 0x57)
		say(step, X86_PUSH, X86_RSP, low, 0);
	else if (opcode >= 0x58 && opcode <= 0x5F)
		say(step, X86_POP, low, X86_RSP, 0);
	else if (opcode == 0x68 || opcode == 0x6A || opcode == 0x9C)
		step->kind = X86_PUSH;
	else if (opcode == 0x9D || opcode == 0x8F)
		say(step, X86_POP, X86_NONE, X86_RSP, 0);
	else if (opcode == 0x81 || opcode == 0x83)
		classify_arithmetic(decoder, value, step);
	else if (opcode == 0x89 || opcode == 0x8B || opcode == 0x8D)
		classify_move(decoder, step);
	else if (opcode == 0xC9)
		step->kind = X86_LEAVE;
	else if (opcode == 0xC3 || opcode == 0xC2)
		step->kind = X86_RETURN;
	else if (opcode == 0xE9 || opcode == 0xEB)
		say(step, X86_JUMP, X86_NONE, X86_NONE, value);
	else if ((opcode >= 0x70 && opcode <= 0x7F) || (opcode >= 0xE0 && opcode <= 0xE3))
		say(step, X86_BRANCH, X86_NONE, X86_NONE, value);
	else if (opcode == 0xCC || opcode == 0xF4 || opcode == 0xCB || opcode == 0xCA || opcode == 0xCF ||
		 opcode == 0xC8)
		step->kind = X86_STOP;
	else if (opcode == 0xFF)
		classify_group5(decoder, step);
}

bool x86_decode(const uint8_t *code, size_t bytes, struct x86_step *step)
{
	struct decoder decoder = {.code = code, .bytes = bytes < 15 ? bytes : 15};
	*step = (struct x86_step){X86_OTHER, 0, X86_NONE, X86_NONE, 0};
	if (!read_prefixes(&decoder) || !read_opcode(&decoder) || !read_operands(&decoder))
		return false;
	step->length = (uint8_t)decoder.at;
	classify(&decoder, step);
	return true;
}
