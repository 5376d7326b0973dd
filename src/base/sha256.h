/*
 * sha256.h - SHA-256 (FIPS 180-4): what tells one input file from another in a report.
 *
 * Not for secrets: nothing here runs in constant time. Where the CPU has instructions for it they are used; the result
 * is the same.
 */
#ifndef PITOT_BASE_SHA256_H
#define PITOT_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_BLOCK = 64, SHA256_HEX_SIZE = 65 };

struct sha256 {
	uint32_t state[8];
	uint64_t bytes;
	unsigned char rest[SHA256_BLOCK]; /* the bytes % 64 that make no block yet */
	void (*blocks)(uint32_t state[8], const unsigned char *bytes, size_t count);
};

void sha256_init(struct sha256 *sha);
/* With the loop in C, whatever the CPU has: for tests and for comparing. */
void sha256_init_plain(struct sha256 *sha);
void sha256_add(struct sha256 *sha, const void *bytes, size_t size);
/* 64 lower-case digits; afterwards only init is allowed. */
void sha256_hex(struct sha256 *sha, char out[SHA256_HEX_SIZE]);

#endif
