/*
 * memory_view.h - allocation sites as samples of a code profile: so the tree of calls, its views, its tables and its exports
 * serve memory too, with bytes in the place of nanoseconds.
 *
 * Pure. A sample is a site; its weight is the site's bytes by the weight that is chosen. Sites whose thread is not known
 * count for their process's main thread. Only kinds that make up a process's live bytes are taken: maps of files and of
 * the allocators themselves would count what is not the program's, or count it twice.
 *
 * The peak is that of all processes together: at that instant a process has the sites of its own peak, exactly where both
 * fall into one step of its course, and else in proportion to what it had live (memory_peak.h).
 */
#ifndef PITOT_ANALYZE_MEMORY_VIEW_H
#define PITOT_ANALYZE_MEMORY_VIEW_H

#include "analyze/code_tree.h"
#include "store/memory.h"

/* Which sites, and what of the peak a process has; NULL: all of it. */
struct memory_choice {
	const struct profile_data *profile;
	const struct memory_data *memory;
	const double *peak_parts; /* per process of the profile */
	double period;            /* of the sampling, in bytes */
};

struct memory_choice memory_choose(const struct profile_data *profile, const struct memory_data *memory,
				   const double *peak_parts);

/* A sum over sites. `unit` is the most that one sample more would have added to the error: the period, or 0 where all was counted. */
struct memory_sum {
	double bytes, count, variance, unit;
};

struct memory_view {
	struct profile_data profile; /* borrowed but for its samples */
	VEC(uint32_t) sites;         /* per sample: index of the site */
};

/* Samples by thread; `weight` MEMORY_WEIGHT_COUNT: all sites, by what they allocated. Sites without bytes are left out. */
void memory_view_open(const struct memory_choice *choice, enum memory_weight weight, struct memory_view *out);
void memory_view_close(struct memory_view *view);

struct memory_sum memory_site_sum(const struct memory_choice *choice, const struct memory_site *site,
				  enum memory_weight weight);
void memory_sum_add(struct memory_sum *to, const struct memory_sum *more);

/* The 99 % interval, as of a count of samples: wider above than below where there are few. */
void memory_sum_interval(const struct memory_sum *sum, double *low, double *high);

#endif
