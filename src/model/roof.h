/*
 * roof.h - the roofline: how fast something could have been on a machine with these limits, and what held it up.
 *
 * Of work that does F floating-point operations and moves B bytes in t seconds, the intensity is F / B. No machine does more
 * than min(peak, intensity × bandwidth) operations per second; the two meet at the ridge, peak / bandwidth. Below the ridge
 * memory is the limit, above it computing; within ROOF_NEAR of it the measured limits are not sharp enough to tell.
 * Pure. Rates are per second, in plain FLOP/s and bytes/s: never compared across units.
 */
#ifndef PITOT_MODEL_ROOF_H
#define PITOT_MODEL_ROOF_H

#include <stdbool.h>

/* A factor: the band around the ridge in which neither limit is named. */
#define ROOF_NEAR 1.25
/* How far above a measured limit a rate may be before it is called impossible: limits are measured too. */
#define ROOF_TOLERANCE 1.05

struct roof {
	double peak_flops;    /* FLOP/s; NaN or 0: not known */
	double memory_bytes;  /* bytes/s of the memory; NaN or 0: not known */
	double fastest_bytes; /* bytes/s of the fastest cache; NaN or 0: not known */
};

enum roof_bound {
	ROOF_BOUND_UNKNOWN, /* a limit or a number is missing */
	ROOF_BOUND_COMPUTE,
	ROOF_BOUND_MEMORY,
	ROOF_BOUND_RIDGE, /* near the ridge */
};

enum roof_doubt {
	ROOF_SOUND,
	ROOF_ABOVE_MEMORY, /* more bytes than memory gives: they came from a cache, or were counted more than once */
	ROOF_ABOVE_CACHE,  /* impossible: more bytes than the fastest cache gives */
	ROOF_ABOVE_PEAK,   /* impossible: more operations than the peak */
	ROOF_NOT_A_RATE,   /* a count or time that is negative, not finite, or a time of 0 */
};

struct roof_place {
	double flops, bytes;     /* per second; NaN where they are not known */
	double intensity;        /* FLOP per byte; infinite without bytes, NaN without both */
	double ridge;            /* FLOP per byte */
	double attainable_flops; /* the roof above this intensity; NaN where it is not known */
	double efficiency;       /* the share of the limit that binds, 1 at best; NaN where it is not known */
	enum roof_bound bound;
	enum roof_doubt doubt;
};

/* `bytes` NaN: not counted; the place is then judged by the peak alone. */
void roof_place(const struct roof *roof, double flops, double bytes, double seconds, struct roof_place *out);

double roof_ridge(const struct roof *roof);                        /* NaN where it is not known */
double roof_attainable(const struct roof *roof, double intensity); /* the same */
bool roof_is_impossible(enum roof_doubt doubt);
const char *roof_bound_words(enum roof_bound bound); /* "compute-bound", "memory-bound", "near the ridge", "unknown" */
const char *roof_doubt_words(enum roof_doubt doubt); /* NULL where there is none */

#endif
