/*
 * machine.h - what this machine can do at best: operations, bytes and cycles per second, measured.
 *
 * Every rate was measured several times and says how often, how much the values differ, and by which method; one that could
 * not be measured is there with the reason. The roof is the best value seen: disturbance only ever makes slower, and a limit
 * must not lie below what the machine was seen to do. Median, range and interval say how reliably it is reached.
 *
 * Rows are found by kind and names; `threads` is 1 or the size of the whole team. "All" are the cores that the process may
 * use: one thread on each, no more than a CPU quota allows.
 */
#ifndef PITOT_MODEL_MACHINE_H
#define PITOT_MODEL_MACHINE_H

#include "base/err.h"
#include "model/roof.h"
#include "model/topology.h"
#include "probe/host.h"

#define MACHINE_KINDS(X)                                                                                               \
	X(FMA, "fma", "FLOP/s", "register-only loop of independent chains, best of the repetitions")                   \
	X(GEMM, "gemm", "FLOP/s", "square matrix product by OpenBLAS, 2n^3 operations, best of the repetitions")       \
	X(BANDWIDTH, "bandwidth", "bytes/s",                                                                           \
	  "STREAM kernel on doubles, bytes read plus bytes written, best without the first")                           \
	X(FREQUENCY, "frequency", "Hz", "chain of dependent additions of one cycle each, best of the repetitions")

enum machine_kind {
#define MACHINE_KIND_ID(id, name, unit, method) MACHINE_##id,
	MACHINE_KINDS(MACHINE_KIND_ID)
#undef MACHINE_KIND_ID
		MACHINE_KIND_COUNT
};

const char *machine_kind_name(enum machine_kind kind);
const char *machine_kind_unit(enum machine_kind kind);
const char *machine_kind_method(enum machine_kind kind);

enum { MACHINE_NAME_SIZE = 16, MACHINE_TEXT_SIZE = 160 };

struct machine_rate {
	enum machine_kind kind;
	char what[MACHINE_NAME_SIZE]; /* fma: instruction set; gemm: "sgemm", "dgemm"; bandwidth: "L1" to "memory" */
	char how[MACHINE_NAME_SIZE];  /* fma, gemm: "fp32", "fp64"; bandwidth: the kernel; frequency: "" */
	bool non_temporal;            /* bandwidth: stores past the caches */
	unsigned threads;
	uint64_t size; /* gemm: n; bandwidth: bytes of all arrays together; else 0 */
	bool known;
	size_t runs; /* that count */
	double best, median, worst;
	double low, high, level; /* interval of the median; NaN and the level that was possible where there is none */
	char source[MACHINE_TEXT_SIZE]; /* what exactly was executed */
	char reason[MACHINE_TEXT_SIZE]; /* of what is not known */
};

/* How the read bandwidth of one thread depends on how much memory it walks over. */
struct machine_point {
	uint64_t bytes;
	double best;
};

enum machine_effort { MACHINE_QUICK, MACHINE_NORMAL, MACHINE_THOROUGH };
const char *machine_effort_name(enum machine_effort effort); /* "quick", "normal", "thorough" */

struct machine {
	char fingerprint[17];
	uint64_t measured_utc_ns;
	double took_s;
	enum machine_effort effort;
	unsigned threads; /* of the team */
	VEC(struct machine_rate) rates;
	VEC(struct machine_point) sweep;
	VEC(char *) notes; /* what may have disturbed it, and what to know about it; owned */
};

void machine_fini(struct machine *machine);
void machine_note(struct machine *machine, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The known rate with the best value of that kind; `what` and `how` NULL: any. NULL: there is none. */
const struct machine_rate *machine_best(const struct machine *machine, enum machine_kind kind, const char *what,
					const char *how, unsigned threads);
/* (best - worst) / median. */
double machine_spread(const struct machine_rate *rate);
/* The limits for work in "fp32" or "fp64"; the peak is the FMA peak or the best GEMM, whichever is more. */
void machine_roof(const struct machine *machine, const char *precision, unsigned threads, struct roof *out);

#endif
