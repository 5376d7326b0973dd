/*
 * account.h - memory for models: asked for in few large blocks, against a limit, and counted.
 *
 * A model that does not fit is refused before anything is allocated, with the sizes; the kernel would otherwise end the
 * process, or another one, somewhere in the middle.
 */
#ifndef PITOT_MODEL_ACCOUNT_H
#define PITOT_MODEL_ACCOUNT_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct account {
	uint64_t most;       /* 0: no limit */
	uint64_t held, peak; /* bytes */
};

/* What could be allocated here now: what the kernel calls available, within the limits of the process and of the container that it
 * is in; UINT64_MAX where nobody says. */
uint64_t account_available(void);

/* Zeroed, aligned to 64 bytes. ERR_UNAVAILABLE beyond the limit, or where there is no memory; 0 floats give NULL. */
int account_take(struct account *account, size_t floats, float **out, struct err *err);
void account_give(struct account *account, float *block, size_t floats);

/* Resident set of this process by /proc; 0 where that cannot be read. */
uint64_t account_resident(void);

#endif
