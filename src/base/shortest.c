/*
 * shortest.c - see shortest.h: Grisu2 (Loitsch, 2010).
 *
 * A double is a whole number times a power of two. Multiplied by a power of ten from the table, so that the product's
 * exponent lies within a narrow range, its whole part and its fraction can be taken apart with 64-bit integers; digits are
 * made until what is left cannot lead out of the interval of decimals that read back as the same double. The interval is
 * narrowed by the error of the products, which is why every result is right and one in a thousand is a digit longer than it
 * could be.
 */
#include "base/shortest.h"

#include <math.h>
#include <string.h>

/* A number f * 2^e. */
struct scaled {
	uint64_t f;
	int e;
};

/* 10^k for k = -348, -340, ... 340, rounded to 64 bits. */
static const struct scaled powers[] = {
	{0xfa8fd5a0081c0288ull, -1220}, {0xbaaee17fa23ebf76ull, -1193}, {0x8b16fb203055ac76ull, -1166},
	{0xcf42894a5dce35eaull, -1140}, {0x9a6bb0aa55653b2dull, -1113}, {0xe61acf033d1a45dfull, -1087},
	{0xab70fe17c79ac6caull, -1060}, {0xff77b1fcbebcdc4full, -1034}, {0xbe5691ef416bd60cull, -1007},
	{0x8dd01fad907ffc3cull, -980},  {0xd3515c2831559a83ull, -954},  {0x9d71ac8fada6c9b5ull, -927},
	{0xea9c227723ee8bcbull, -901},  {0xaecc49914078536dull, -874},  {0x823c12795db6ce57ull, -847},
	{0xc21094364dfb5637ull, -821},  {0x9096ea6f3848984full, -794},  {0xd77485cb25823ac7ull, -768},
	{0xa086cfcd97bf97f4ull, -741},  {0xef340a98172aace5ull, -715},  {0xb23867fb2a35b28eull, -688},
	{0x84c8d4dfd2c63f3bull, -661},  {0xc5dd44271ad3cdbaull, -635},  {0x936b9fcebb25c996ull, -608},
	{0xdbac6c247d62a584ull, -582},  {0xa3ab66580d5fdaf6ull, -555},  {0xf3e2f893dec3f126ull, -529},
	{0xb5b5ada8aaff80b8ull, -502},  {0x87625f056c7c4a8bull, -475},  {0xc9bcff6034c13053ull, -449},
	{0x964e858c91ba2655ull, -422},  {0xdff9772470297ebdull, -396},  {0xa6dfbd9fb8e5b88full, -369},
	{0xf8a95fcf88747d94ull, -343},  {0xb94470938fa89bcfull, -316},  {0x8a08f0f8bf0f156bull, -289},
	{0xcdb02555653131b6ull, -263},  {0x993fe2c6d07b7facull, -236},  {0xe45c10c42a2b3b06ull, -210},
	{0xaa242499697392d3ull, -183},  {0xfd87b5f28300ca0eull, -157},  {0xbce5086492111aebull, -130},
	{0x8cbccc096f5088ccull, -103},  {0xd1b71758e219652cull, -77},   {0x9c40000000000000ull, -50},
	{0xe8d4a51000000000ull, -24},   {0xad78ebc5ac620000ull, 3},     {0x813f3978f8940984ull, 30},
	{0xc097ce7bc90715b3ull, 56},    {0x8f7e32ce7bea5c70ull, 83},    {0xd5d238a4abe98068ull, 109},
	{0x9f4f2726179a2245ull, 136},   {0xed63a231d4c4fb27ull, 162},   {0xb0de65388cc8ada8ull, 189},
	{0x83c7088e1aab65dbull, 216},   {0xc45d1df942711d9aull, 242},   {0x924d692ca61be758ull, 269},
	{0xda01ee641a708deaull, 295},   {0xa26da3999aef774aull, 322},   {0xf209787bb47d6b85ull, 348},
	{0xb454e4a179dd1877ull, 375},   {0x865b86925b9bc5c2ull, 402},   {0xc83553c5c8965d3dull, 428},
	{0x952ab45cfa97a0b3ull, 455},   {0xde469fbd99a05fe3ull, 481},   {0xa59bc234db398c25ull, 508},
	{0xf6c69a72a3989f5cull, 534},   {0xb7dcbf5354e9beceull, 561},   {0x88fcf317f22241e2ull, 588},
	{0xcc20ce9bd35c78a5ull, 614},   {0x98165af37b2153dfull, 641},   {0xe2a0b5dc971f303aull, 667},
	{0xa8d9d1535ce3b396ull, 694},   {0xfb9b7cd9a4a7443cull, 720},   {0xbb764c4ca7a44410ull, 747},
	{0x8bab8eefb6409c1aull, 774},   {0xd01fef10a657842cull, 800},   {0x9b10a4e5e9913129ull, 827},
	{0xe7109bfba19c0c9dull, 853},   {0xac2820d9623bf429ull, 880},   {0x80444b5e7aa7cf85ull, 907},
	{0xbf21e44003acdd2dull, 933},   {0x8e679c2f5e44ff8full, 960},   {0xd433179d9c8cb841ull, 986},
	{0x9e19db92b4e31ba9ull, 1013},  {0xeb96bf6ebadf77d9ull, 1039},  {0xaf87023b9bf0ee6bull, 1066},
};
enum { FIRST_POWER = -348, POWER_STEP = 8, SIGNIFICAND_BITS = 52, EXPONENT_BIAS = 1075, MOST_DIGITS = 20 };

static struct scaled multiply(struct scaled a, struct scaled b)
{
	unsigned __int128 product = (unsigned __int128)a.f * b.f;
	uint64_t high = (uint64_t)(product >> 64), low = (uint64_t)product;
	return (struct scaled){high + (low >> 63), a.e + b.e + 64};
}

static struct scaled normalize(struct scaled number)
{
	int shift = __builtin_clzll(number.f);
	return (struct scaled){number.f << shift, number.e - shift};
}

static struct scaled take_apart(double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	uint64_t fraction = bits & ((1ull << SIGNIFICAND_BITS) - 1);
	int exponent = (int)(bits >> SIGNIFICAND_BITS & 0x7FF);
	if (!exponent)
		return (struct scaled){fraction, 1 - EXPONENT_BIAS};
	return (struct scaled){fraction | 1ull << SIGNIFICAND_BITS, exponent - EXPONENT_BIAS};
}

/* Halfway to the neighbours, both with the exponent of the upper. */
static void find_bounds(struct scaled value, struct scaled *low, struct scaled *high)
{
	*high = normalize((struct scaled){(value.f << 1) + 1, value.e - 1});
	if (value.f == 1ull << SIGNIFICAND_BITS)
		*low = (struct scaled){(value.f << 2) - 1, value.e - 2};
	else
		*low = (struct scaled){(value.f << 1) - 1, value.e - 1};
	low->f <<= low->e - high->e;
	low->e = high->e;
}

/* The power that brings the exponent into -60 to -32, and the decimal exponent that it takes away. */
static struct scaled find_power(int exponent, int *decimal)
{
	double k = (-61 - exponent) * 0.30102999566398114 + 347;
	int whole = (int)k;
	whole += k - whole > 0;
	int index = (whole >> 3) + 1;
	*decimal = -(FIRST_POWER + index * POWER_STEP);
	return powers[index];
}

/* Makes the last digit smaller as long as that comes closer to the true value. */
static void round_last(char *digits, int count, uint64_t delta, uint64_t rest, uint64_t unit, uint64_t distance)
{
	while (rest < distance && delta - rest >= unit &&
	       (rest + unit < distance || distance - rest > rest + unit - distance)) {
		digits[count - 1]--;
		rest += unit;
	}
}

static int count_digits(uint32_t number)
{
	int count = 1;
	for (; number >= 10; number /= 10)
		count++;
	return count;
}

static int make_digits(struct scaled value, struct scaled high, uint64_t delta, char *digits, int *decimal)
{
	static const uint32_t tens[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000};
	struct scaled one = {1ull << -high.e, high.e};
	uint64_t distance = high.f - value.f, fraction = high.f & (one.f - 1);
	uint32_t whole = (uint32_t)(high.f >> -one.e);
	int count = 0;
	for (int left = count_digits(whole); left > 0;) {
		uint32_t digit = whole / tens[left - 1];
		whole %= tens[left - 1];
		if (digit || count)
			digits[count++] = (char)('0' + digit);
		left--;
		uint64_t rest = ((uint64_t)whole << -one.e) + fraction;
		if (rest <= delta) {
			*decimal += left;
			round_last(digits, count, delta, rest, (uint64_t)tens[left] << -one.e, distance);
			return count;
		}
	}
	for (uint64_t unit = 1;;) {
		fraction *= 10;
		delta *= 10;
		unit *= 10;
		char digit = (char)(fraction >> -one.e);
		if (digit || count)
			digits[count++] = (char)('0' + digit);
		fraction &= one.f - 1;
		(*decimal)--;
		if (fraction < delta) {
			round_last(digits, count, delta, fraction, one.f, distance * unit);
			return count;
		}
	}
}

/* digits * 10^decimal the way %.17g would choose to write it. */
static size_t lay_out(const char *digits, int count, int decimal, char *out)
{
	int point = count + decimal; /* digits before the point */
	size_t at = 0;
	if (point > 17 || point < -3) {
		int exponent = point - 1, size = exponent < 0 ? -exponent : exponent;
		out[at++] = digits[0];
		if (count > 1) {
			out[at++] = '.';
			memcpy(out + at, digits + 1, (size_t)count - 1);
			at += (size_t)count - 1;
		}
		out[at++] = 'e';
		out[at++] = exponent < 0 ? '-' : '+';
		if (size >= 100)
			out[at++] = (char)('0' + size / 100);
		out[at++] = (char)('0' + size / 10 % 10);
		out[at++] = (char)('0' + size % 10);
		return at;
	}
	if (point <= 0) {
		out[at++] = '0';
		out[at++] = '.';
		for (int i = point; i < 0; i++)
			out[at++] = '0';
	}
	for (int i = 0; i < count || i < point; i++) {
		if (i == point && i > 0)
			out[at++] = '.';
		out[at++] = i < count ? digits[i] : '0';
	}
	return at;
}

size_t shortest_format(double value, char out[SHORTEST_SIZE])
{
	char digits[MOST_DIGITS];
	struct scaled low, high;
	size_t at = 0;
	int decimal;
	if (!isfinite(value) || value == 0) {
		const char *word = value == 0 ? "0" : isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
		memcpy(out, word, strlen(word) + 1);
		return strlen(word);
	}
	if (value < 0) {
		out[at++] = '-';
		value = -value;
	}
	struct scaled number = take_apart(value);
	find_bounds(number, &low, &high);
	struct scaled power = find_power(high.e, &decimal);
	struct scaled middle = multiply(normalize(number), power);
	high = multiply(high, power);
	low = multiply(low, power);
	low.f++;
	high.f--;
	int count = make_digits(middle, high, high.f - low.f, digits, &decimal);
	at += lay_out(digits, count, decimal, out + at);
	out[at] = '\0';
	return at;
}
