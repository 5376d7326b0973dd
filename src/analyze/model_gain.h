/*
 * model_gain.h - where the time of a profiled model goes, and what making a part of it faster would buy.
 *
 * Amdahl: a share p of the time made s times faster leaves 1 − p + p/s of it, and never less than 1 − p. What an operator could
 * gain is what it spends above the machine's measured roof, where that is known. Pure.
 */
#ifndef PITOT_ANALYZE_MODEL_GAIN_H
#define PITOT_ANALYZE_MODEL_GAIN_H

#include "base/err.h"
#include "store/model.h"

struct model_share {
	size_t op;
	double time_s, share, running; /* of the sum of all operators; the running sum of shares, this one included */
	double gain_s;                 /* above the roof; NaN: not known */
};

struct model_shares {
	double total_s; /* of all operators that were timed */
	VEC(struct model_share) items;
};

/* All operators that were timed: the longest first, or those with the largest gain first. */
void model_shares_of(const struct model_row *row, enum model_phase phase, bool by_gain, struct model_shares *out);
/* How many of the longest make up that share of the time. */
size_t model_shares_reach(const struct model_shares *shares, double share);

/* "attention=2x": every operator whose kind or type is that, whose name is, or whose layer has that part in its path. */
struct model_whatif {
	char what[64];
	double factor;       /* infinite: no time at all */
	size_t ops;          /* how many it meets */
	double part_s;       /* their time */
	double old_s, new_s; /* of the pass */
	double ceiling_s;    /* with the part at no time */
};

/* ERR_USAGE where the text is not understood, ERR_INPUT where nothing is called so or nothing was timed. */
int model_whatif(const struct model_row *row, const char *text, struct model_whatif *out, struct err *err);

/* log(quantity) against log(variable): exponent with its t interval. False below three different values. */
bool model_fit_power(const double *variable, const double *quantity, size_t count, struct model_fit *out);

#endif
